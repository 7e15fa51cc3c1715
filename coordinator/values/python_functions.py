"""The calls of Python kernels in an engine's SQL: ``procession_eval_<type>('<program>', columns…)``.

The name says the result's Presto type in hexadecimal, so that an engine knows from the text alone what to register, and
``eval`` or ``vary``: whether equal arguments give equal results, ``rare``: few rows need it, or ``few``: they do, and
DuckDB hands their values over one by one, which saves a batch of Arrow for two odd values of 2,048. The program is
``coordinator.kernels.functions.program``'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shared.plan.types import Type, parse_type

_NAME = re.compile(r"\bprocession_(eval|vary|rare|few)_([0-9a-f]+)\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function that an engine must know before it runs the SQL."""

    name: str
    result: Type
    volatile: bool
    by_row: bool = False


_HANDED_OVER = {"boolean", "tinyint", "smallint", "integer", "bigint", "varchar", "json", "decimal", "double", "real"}
"""Values that DuckDB gives to a Python function as Arrow does; dates of far years are texts there."""
_TAKEN_BACK = _HANDED_OVER | {"date", "timestamp"}


def python_function(result: Type, *, volatile: bool, rare: bool = False, arguments: Iterable[Type] = ()) -> str:
    """The name under which a program with this result is called; ``arguments`` of a rare one."""
    kind = "vary" if volatile else "eval"
    if rare:
        plain = result.base in _TAKEN_BACK and all(argument.base in _HANDED_OVER for argument in arguments)
        kind = "few" if plain else "rare"
    return f"procession_{kind}_{str(result).encode().hex()}"


def runs_programs(sql: str) -> bool:
    """Whether programs run for all rows, and not only for those that an engine's own functions leave."""
    return any("_rare_" not in function.name and not function.by_row for function in python_functions(sql))


def python_functions(sql: str) -> frozenset[PythonFunction]:
    """Those that the SQL may call; text that only looks like a name gives nothing, or a function nobody calls."""
    if "procession_" not in sql.lower():
        return frozenset()
    found = set()
    for kind, code in {(k.lower(), c.lower()) for k, c in _NAME.findall(sql)}:
        try:
            result = parse_type(bytes.fromhex(code).decode())
        except ValueError:
            continue
        found.add(PythonFunction(f"procession_{kind}_{code}", result, kind == "vary", kind == "few"))
    return frozenset(found)

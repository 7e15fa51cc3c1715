"""Keys of joins with NULLs inside: Presto's joins refuse to compare two that are otherwise the same.

Engines take such keys for equal. What stands here is asked of the pairs of rows that they found.
"""

from __future__ import annotations

from sqlglot import exp

from coordinator.kernels.functions.arrow_forms import field_name
from coordinator.unparser.trees import column, name
from shared.plan.expressions import Variable
from shared.plan.types import Type, parse_type

_MESSAGES = {
    "array": "ARRAY comparison not supported for arrays with null elements",
    "row": "ROW comparison not supported for fields with null elements",
    "map": "MAP comparison not supported for null value elements",
}


def refused_pairs(left: Variable, right: Variable, dialect: str) -> exp.Expr | None:
    """True for a pair of equal keys, an error of NOT_SUPPORTED where they have NULLs inside; None where none can be.

    Both keys are read, so that no engine asks it of rows that found no other.
    """
    type_ = parse_type(left.type)
    if type_.base not in _MESSAGES:
        return None
    key, other = (_tests(column(v.name).sql(dialect=dialect), type_, dialect, 0) for v in (left, right))
    branches = [
        f"WHEN {test} AND {second} THEN {_error(kind, dialect)}"
        for (test, kind), (second, _) in zip(key, other, strict=True)
    ]
    return exp.Var(this=f"CASE {' '.join(branches)} ELSE TRUE END")


def _error(kind: str, dialect: str) -> str:
    function = "error" if dialect == "duckdb" else "raise_error"
    shown = exp.Literal.string(f"KernelError: NOT_SUPPORTED: {_MESSAGES[kind]}").sql(dialect=dialect)
    return f"CAST({function}({shown}) AS BOOLEAN)"


def _tests(value: str, type_: Type, dialect: str, depth: int) -> list[tuple[str, str]]:
    """Whether a NULL stands directly in the value, and then in the values in it, each with the kind that holds it."""
    item = f"procession_n{depth}"
    match type_.base:
        case "array" | "map":
            items = value if type_.base == "array" else f"map_values({value})"
            tests = [(f"{item} IS NULL", type_.base), *_tests(item, type_.arguments[-1], dialect, depth + 1)]
            return [(_any(items, item, test, dialect), kind) for test, kind in tests]
        case "row":
            fields = [
                (f"({value}).{name(field_name(type_, i)).sql(dialect=dialect)}", kind)
                for i, kind in enumerate(type_.arguments)
            ]
            direct = " OR ".join(f"{field} IS NULL" for field, _ in fields)
            inner = [test for field, kind in fields for test in _tests(field, kind, dialect, depth)]
            return [(f"({value} IS NOT NULL AND ({direct}))", "row"), *inner]
        case _:
            return []


def _any(items: str, item: str, test: str, dialect: str) -> str:
    if dialect == "duckdb":
        return f"len(list_filter({items}, lambda {item}: {test})) > 0"
    return f"exists({items}, {item} -> {test})"

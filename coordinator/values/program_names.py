"""What the programs of the kernels in an engine's SQL compute, in the words of people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.program import compiled
from coordinator.values.java_forms import in_java

_DUCKDB = re.compile(r"\bprocession_(eval|vary)_[0-9a-f]+\('((?:[^']|'')*)'", re.IGNORECASE)
_SPARK = re.compile(r"\bprocession_(eval|vary)_[0-9a-f]+\('((?:[^'\\]|\\.)*)'", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")
_INTERNAL, _AGGREGATE = "$", "aggregate$"
_OPAQUE = ("jsonpath", "likepattern", "joniregexp", "re2jregexp", "codepoints")
"""Types of patterns, which only say how another argument is read."""
_FAILURE = "fail"
"""Runs for no row of a query that succeeds."""
_SHOWN = 8


def programs(sql: str, dialect: str) -> frozenset[str]:
    """The different programs that run row by row for all rows, as JSON; not those that few rows need."""
    if dialect == "spark":
        found = {_ESCAPED.sub(r"\1", program) for _, program in _SPARK.findall(sql)}
    else:
        found = {program.replace("''", "'") for _, program in _DUCKDB.findall(sql)}
    return frozenset(program for program in found if _is_slow(program, dialect))


def _is_slow(program: str, dialect: str) -> bool:
    """Whether Python looks at each row: not for what takes whole columns, nor for what Spark's JVM does."""
    try:
        if dialect == "spark" and in_java(json.loads(program)["expression"]):
            return False
        return not compiled(program).by_columns
    except (KernelError, ValueError, KeyError, TypeError):
        return True  # a text of the user's that looks like a call


def program_names(sql: str, dialect: str) -> str:
    """Functions and casts that run row by row as programs, such as ``json_extract, cast(varchar as json)``."""
    names = dict.fromkeys(name for program in sorted(programs(sql, dialect)) for name in _names_of(program))
    shown = sorted(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


def _names_of(program: str) -> Iterator[str]:
    try:
        return _names(json.loads(program)["expression"])
    except (ValueError, KeyError, TypeError):
        return iter(())  # a text of the user's that looks like a call


def _names(step: object) -> Iterator[str]:
    if not isinstance(step, list) or not step:
        return
    match step:
        case ["cast", bool(attempt), str(source), str(target), inner]:
            if target not in _OPAQUE:
                yield f"{'try_cast' if attempt else 'cast'}({source} as {target})"
            yield from _names(inner)
        case ["call", str(name), *_, list(inner)]:
            if not name.startswith(_INTERNAL) and name != _FAILURE:
                yield name.removeprefix(_AGGREGATE)
            elif name.startswith("$operator$"):
                yield name.removeprefix("$operator$")
            for each in inner:
                yield from _names(each)
        case ["try", body]:
            yield "try"
            yield from _names(body)
        case ["lambda", _, body]:
            yield from _names(body)
        case ["form", _, _, list(inner)]:
            for each in inner:
                yield from _names(each)

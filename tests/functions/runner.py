"""Many expressions in one statement, on an engine of this process."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from coordinator.connectors.registry import Catalogs
from coordinator.dispatch.encode import encode_rows
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from coordinator.unparser import unparse
from coordinator.unparser.session_zone import in_session_zone
from shared.errors import ProcessionError
from shared.plan.types import parse_type
from shared.spi.session import Session

Run = Callable[[str], Iterable[pa.RecordBatch]]
_COLUMNS_AT_ONCE = 8
_AT_ONCE = 40


def answer(text: str, dialect: str, run: Run, zone: str = "UTC") -> Any:
    """The rows of a statement over values, or the error's name and text."""
    session = Session(user="test", time_zone=zone)
    try:
        plan = plan_query(parse_query(text), session, Catalogs([]))
        with in_session_zone(zone):
            sql = unparse(plan.root, dialect, lambda *_: None)
        types = tuple(parse_type(column.type) for column in plan.columns)
        return [row for batch in run(sql) for row in json.loads(b"[" + encode_rows(batch, types, False) + b"]")]
    except ProcessionError as error:
        return error.code.name, error.wire_message


def answers(expressions: Sequence[str], dialect: str, run: Run, source: str = "") -> Iterator[Any]:
    """The cell of each expression; those of a statement that fails are asked one by one."""
    for start in range(0, len(expressions), _AT_ONCE):
        part = expressions[start : start + _AT_ONCE]
        rows = answer("SELECT " + ", ".join(f"{e} AS c{i}" for i, e in enumerate(part)) + f" {source}", dialect, run)
        if isinstance(rows, tuple):
            for expression in part:
                single = answer(f"SELECT {expression} AS c {source}", dialect, run)
                yield single if isinstance(single, tuple) else single[0][0]
        else:
            yield from rows[0]


def columns(expressions: Sequence[str], dialect: str, run: Run, source: str) -> Iterator[Any]:
    """All cells of each expression, in order with NULLs last; those of a statement that fails are asked one by one."""
    for start in range(0, len(expressions), _COLUMNS_AT_ONCE):
        part = expressions[start : start + _COLUMNS_AT_ONCE]
        asked = ", ".join(f"{e} AS c{i}" for i, e in enumerate(part))
        rows = answer(f"SELECT {asked} {source}", dialect, run)
        if isinstance(rows, tuple):
            singles = [answer(f"SELECT {expression} AS c {source}", dialect, run) for expression in part]
            yield from (
                single if isinstance(single, tuple) else _sorted(row[0] for row in single) for single in singles
            )
        else:
            yield from (_sorted(row[i] for row in rows) for i in range(len(part)))


def _sorted(cells: Iterable[Any]) -> list[Any]:
    return sorted(cells, key=lambda cell: (cell is None, cell or 0))


def same(actual: Any, expected: Any) -> bool:
    """Equal, floating-point numbers to nine digits."""
    if isinstance(expected, float) and isinstance(actual, float):
        return math.isclose(actual, expected, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(actual) == len(expected) and all(map(same, actual, expected))
    return type(actual) is type(expected) and bool(actual == expected)


def wrong(expressions: Iterable[str], found: Iterable[Any], expected: Iterable[Any]) -> list[str]:
    """What differs, for a reader."""
    triples = zip(expressions, found, expected, strict=True)
    return [f"{e}\n  is     {f!r}\n  wanted {x!r}" for e, f, x in triples if not same(f, x)]

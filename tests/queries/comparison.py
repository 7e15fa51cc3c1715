"""Rows of the Presto client beside DuckDB's rows of the same statement."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import duckdb
import sqlglot

_DECIMAL = re.compile(r"decimal\(\d+,(\d+)\)")


def assert_same_result(text: str, cursor: Any, oracle: duckdb.DuckDBPyConnection) -> int:
    """Runs ``text`` (Presto's dialect) by both; same rows, in order where the statement orders. Gives their number."""
    cursor.execute(text)
    ours = cursor.fetchall()
    types = [column[1] for column in cursor.description]
    theirs = oracle.execute(sqlglot.transpile(text, read="presto", write="duckdb")[0]).fetchall()
    actual = [[actual_cell(v, t) for v, t in zip(row, types, strict=True)] for row in ours]
    expected = [[expected_cell(v, t) for v, t in zip(row, types, strict=True)] for row in theirs]
    assert sorted(map(repr, actual)) == sorted(map(repr, expected))
    for position in ordered_columns(text, [column[0] for column in cursor.description]):
        assert [row[position] for row in actual] == [row[position] for row in expected]
    return len(ours)


def expected_cell(value: Any, presto_type: str) -> Any:
    """DuckDB's value as the client shows a value of the Presto type; doubles to nine digits."""
    if value is None:
        return None
    scale = _DECIMAL.fullmatch(presto_type)
    if scale is not None:
        # DuckDB gives a double for an average or a quotient of decimals; Presto keeps the scale, rounding half up.
        exact = value if isinstance(value, Decimal) else Decimal(repr(value))
        return str(exact.quantize(Decimal(1).scaleb(-int(scale[1])), ROUND_HALF_UP))
    if presto_type == "double":
        return f"{float(value):.9g}"
    return value if isinstance(value, int) else str(value)


def actual_cell(value: Any, presto_type: str) -> Any:
    if presto_type == "double" and value is not None:
        return f"{float(value):.9g}"
    return value


def ordered_columns(text: str, names: list[str]) -> list[int]:
    """Positions of the result columns that lead the ORDER BY: ties of all its items may come in any order."""
    order = sqlglot.parse_one(text, read="presto").args.get("order")
    keys = [item.this.name for item in order.expressions] if order is not None else []
    return [names.index(key) for key in keys if key in names]

"""The tables that statements are about: the same rows as Iceberg tables of a service and in a DuckDB."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.fuzz.calls import (
    ARRAY,
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    MAP,
    ROW,
    TEXTS,
    TIMESTAMP,
    VARCHAR,
)
from benchmarks.fuzz.queries import Table
from tests.e2e.service import Service

COLUMNS: tuple[tuple[str, str, Any], ...] = (
    ("id", BIGINT, pa.int64()),
    ("i", INTEGER, pa.int32()),
    ("d", DOUBLE, pa.float64()),
    ("p", DECIMAL, pa.decimal128(12, 2)),
    ("s", VARCHAR, pa.string()),
    ("b", BOOLEAN, pa.bool_()),
    ("dt", DATE, pa.date32()),
    ("ts", TIMESTAMP, pa.timestamp("us")),
    ("a", ARRAY, pa.list_(pa.int64())),
    ("x", TEXTS, pa.list_(pa.string())),
    ("m", MAP, pa.map_(pa.string(), pa.int64())),
    ("r", ROW, pa.struct([("x", pa.int64()), ("y", pa.string())])),
)
SIZES = {"many": 60, "few": 5, "none": 0}
TABLES = tuple(Table(name, tuple((c, kind) for c, kind, _ in COLUMNS)) for name in SIZES)
SCHEMA = pa.schema([(name, kind) for name, _, kind in COLUMNS])


def row(number: int) -> dict[str, Any]:
    """Values with NULLs and ties in every column."""

    def null(every: int, value: Any) -> Any:
        return None if number % every == every - 1 else value

    texts = ("", "a", "b", "abc", "cab", "Ünï", "A b", "bcabc")
    return {
        "id": number,
        "i": null(7, number % 5 - 2),
        "d": null(6, (number % 9 - 4) * 0.25),
        "p": null(5, Decimal(number % 11 - 5) / 4),
        "s": null(8, texts[number % len(texts)]),
        "b": null(9, number % 3 == 0),
        "dt": null(11, date(2020, 2, 27) + timedelta(days=number % 4 * 13 - 13)),
        "ts": null(10, datetime(2020, 2, 28, 22) + timedelta(minutes=number % 13 * 47)),
        "a": null(6, [null(4, number % 3), number % 4][: number % 3]),
        "x": null(7, ["a", texts[number % 5]][: number % 3]),
        "m": null(5, [("a", number % 3), ("b", null(2, 1))][: number % 3]),
        "r": null(9, {"x": number % 4, "y": null(3, "y")}),
    }


def rows(name: str) -> pa.Table:
    return pa.Table.from_pylist([row(number) for number in range(SIZES[name])], schema=SCHEMA)


def make_tables(service: Service, schema: str) -> None:
    """In the embedded catalog; the largest in two files."""
    lake = service.lake()
    lake.create_namespace_if_not_exists(schema)
    for name in SIZES:
        table, data = lake.create_table(f"{schema}.{name}", schema=SCHEMA), rows(name)
        for part in (data.slice(0, 31), data.slice(31)):
            if part.num_rows:
                table.append(part)


def oracle() -> duckdb.DuckDBPyConnection:
    """The same rows in memory, NULLs last as in Presto."""
    connection = duckdb.connect()
    for setting in ("TimeZone = 'UTC'", "default_null_order = 'nulls_last'", "threads = 1"):
        connection.execute(f"SET {setting}")
    connection.execute("SET order_by_non_integer_literal = true")
    for name in SIZES:
        data = rows(name)  # noqa: F841
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM data")
    return connection

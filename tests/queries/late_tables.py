"""Tables for late materialization: one wide table in several files, dimensions with and without partners, old files.

``SQL`` makes the same rows in DuckDB, which is the oracle; ``create`` writes them as Iceberg tables of a service.
"""

from __future__ import annotations

import itertools
from typing import Any

import duckdb

from tests.e2e.service import Service

SCHEMA = "db"
SQL = {
    "wide": """
        SELECT CAST(i AS BIGINT) AS id, CAST((i * 7919) % 1000 AS INTEGER) AS k, CAST(i % 13 AS INTEGER) AS g,
            CASE WHEN i % 7 <> 0 THEN 'näme-' || i END AS name, 'c' || (i % 17) AS code,
            repeat(chr(CAST(97 + i % 26 AS INTEGER)), CAST(i % 40 AS INTEGER)) AS filler,
            CASE WHEN i % 5 <> 0 THEN i * 0.25 END AS ratio, CAST(i * 3 - 500 AS DECIMAL(12, 2)) AS amount,
            DATE '2020-01-01' + CAST(i % 700 AS INTEGER) AS day,
            TIMESTAMP '2021-03-04 05:06:07.123' + to_seconds(CAST(i AS BIGINT)) AS at,
            i % 3 = 0 AS flag, CASE WHEN i % 4 <> 0 THEN [CAST(x + i AS BIGINT) for x in range(i % 4)] END
            AS items, CASE WHEN i % 11 <> 0 THEN {'p': CAST(i AS BIGINT), 'q': 'q' || (i % 9)} END AS pair,
            MAP {'a': CAST(i AS BIGINT), 'b': CAST(i % 5 AS BIGINT)} AS tags
        FROM range(2000) t(i)""",
    "dim": """
        SELECT CAST(j * 3 AS BIGINT) AS did, 'label ' || (j % 50) AS label, CAST(j % 6 AS INTEGER) AS grade,
            CASE WHEN j % 4 <> 0 THEN 'note ' || j END AS note, CAST(j AS DOUBLE) AS weight
        FROM range(900) t(j)""",
    "fan": """
        SELECT CAST(m % 40 AS BIGINT) AS fid, CAST(m AS BIGINT) AS line, 'text ' || m AS body,
            'tail ' || (m % 3) AS tail
        FROM range(200) t(m)""",
    "empty": "SELECT CAST(1 AS BIGINT) AS eid, 'x' AS ename WHERE false",
}
_PARTS = {"wide": 4, "dim": 2, "fan": 2}


def oracle() -> duckdb.DuckDBPyConnection:
    """DuckDB with the tables."""
    connection = duckdb.connect()
    for name, query in SQL.items():
        connection.execute(f"CREATE TABLE {name} AS {query}")
    return connection


def create(service: Service, connection: duckdb.DuckDBPyConnection) -> None:
    """The tables of the oracle as Iceberg tables, in files of unequal size."""
    lake = service.lake()
    lake.create_namespace_if_not_exists(SCHEMA)
    for name in SQL:
        rows = connection.sql(f"SELECT * FROM {name}").to_arrow_table()
        table = lake.create_table(f"{SCHEMA}.{name}", schema=rows.schema)
        bounds = _bounds(rows.num_rows, _PARTS.get(name, 1))
        for start, end in itertools.pairwise(bounds):
            if end > start:
                table.append(rows.slice(start, end - start))


def _bounds(rows: int, parts: int) -> list[int]:
    return [rows * i * i // (parts * parts) for i in range(parts + 1)]


def normalized(value: Any, kind: Any) -> Any:
    """A value of Presto's client or of DuckDB in one spelling; ``kind`` is the parsed Presto type."""
    if value is None:
        return None
    match kind.base:
        case "row":
            parts = list(value.values()) if isinstance(value, dict) else list(value)
            return [normalized(v, f.type) for v, f in zip(parts, kind.fields, strict=True)]
        case "array":
            return [normalized(v, kind.arguments[0]) for v in value]
        case "map":
            return sorted((str(k), normalized(v, kind.arguments[1])) for k, v in value.items())
        case "double" | "real":
            return f"{float(value):.9g}"
        case "timestamp":
            return str(value).replace("T", " ").ljust(19)[:23].rstrip("0").rstrip(".")
        case "decimal":
            return f"{float(value):.2f}"
        case _:
            return str(value).lower() if kind.base == "boolean" else str(value)

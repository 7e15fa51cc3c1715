"""Queries whose columns are fetched by row position: the same rows as without, and as DuckDB's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import sqlglot

from shared.plan.types import parse_type
from tests.e2e.service import Service
from tests.queries import late_tables

pytestmark = [pytest.mark.spark, pytest.mark.slow]

OFF = {"engine": "SPARK", "enable_global_late_materialization": "false"}
ON = {
    "engine": "SPARK",
    "enable_global_late_materialization": "true",
    "global_late_materialization_cost_based": "false",
    "global_late_materialization_min_columns": "1",
}


def shapes() -> list[tuple[str, str]]:
    """``(sort, query)`` of every record."""
    text = Path(__file__).with_name("late_shapes.slt").read_text()
    records = [record.split("\n", 1) for record in text.split("\nquery ")[1:]]
    return [(head.strip(), query.strip()) for head, query in records]


ALL = shapes()
CHOSEN = ALL if os.environ.get("PROCESSION_TEST_FULL") else ALL[::12]


@pytest.fixture(scope="module")
def late(queries: Service) -> Iterator[duckdb.DuckDBPyConnection]:
    with late_tables.oracle() as connection:
        late_tables.create(queries, connection)
        yield connection


@pytest.mark.parametrize(("sort", "query"), CHOSEN)
def test_shape(sort: str, query: str, queries: Service, late: duckdb.DuckDBPyConnection) -> None:
    theirs = late.execute(sqlglot.transpile(query, read="presto", write="duckdb")[0]).fetchall()
    for properties in (OFF, ON):
        cursor = queries.cursor(catalog="iceberg", schema=late_tables.SCHEMA, session_properties=properties)
        cursor.execute(query)
        rows = cursor.fetchall()
        kinds = [parse_type(column[1]) for column in cursor.description]
        found, expected = (
            [[late_tables.normalized(v, k) for v, k in zip(row, kinds, strict=True)] for row in some]
            for some in (rows, theirs)
        )
        if sort == "rowsort":
            found, expected = sorted(found, key=repr), sorted(expected, key=repr)
        assert found == expected, properties

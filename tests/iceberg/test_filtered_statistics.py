"""SHOW STATS with a WHERE: of exactly the rows that DuckDB counts for the condition, or refused."""

from __future__ import annotations

from datetime import date
from math import inf
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import ReturnRows
from shared.errors import ProcessionError
from shared.properties import Property
from shared.spi.session import Session

LONG = "a text that is longer than the bounds of metadata keep"
FIRST = pa.table({"k": pa.array([1, 2], pa.int64()), "g": ["a", "a"], "x": [1.5, None], "d": [date(2024, 1, 1), None]})
SECOND = pa.table(
    {"k": pa.array([3, 4, 5], pa.int64()), "g": ["b", None, LONG], "x": [-inf, inf, 0.5], "d": [date(2024, 2, 1)] * 3}
)
REFUSED = "Only predicates that can be pushed down are supported in the SHOW STATS WHERE clause"


@pytest.fixture
def ask(lake: Any) -> Any:
    """The rows that SHOW STATS gives for ``(SELECT columns FROM t WHERE condition)``."""
    table = lake.create("t", [FIRST.slice(0, 0)])
    with table.update_spec() as change:
        change.add_identity("g")
    for rows in (FIRST, SECOND):
        table.append(rows)
    lake.create("plain", [FIRST, SECOND])
    values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": f"file://{lake.home}/wh"}
    properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    catalogs, checkers = Catalogs([CatalogConfig("lab", "iceberg", properties, lake.home)]), PlanCheckers()

    def asked(condition: str, columns: str = "*", table: str = "t") -> list[Any]:
        text = f"SHOW STATS FOR (SELECT {columns} FROM {table} WHERE {condition})"
        work = plan_statement(text, Session("test", catalog="lab", schema="db"), catalogs, checkers).work
        assert isinstance(work, ReturnRows)
        return [tuple(row) for row in work.rows]

    return asked


@pytest.mark.parametrize(
    "condition",
    [
        "g = 'a'",
        "g IS NULL",
        "g = 'a' OR g IS NULL",
        "g > 'a'",
        f"g IN ('b', '{LONG}')",
        f"g = '{LONG}'",
        "g = 'none'",
        "g = 'a' AND k < 100",
        "k >= 3",
        "d >= DATE '2024-02-01' AND k > 2",
    ],
)
def test_conditions_that_metadata_decides(ask: Any, condition: str) -> None:
    rows = pa.concat_tables([FIRST, SECOND])
    ((count, low, high, nulls),) = duckdb.sql(
        f"SELECT count(*), min(k), max(k), count(*) - count(d) FROM rows WHERE {condition}"
    ).fetchall()
    assert rows.num_rows == 5
    found = {row[0]: row for row in ask(condition)}
    assert found[None][4] == count
    assert found["k"][5:7] == (None if low is None else str(low), None if high is None else str(high))
    assert found["d"][3] == (nulls / count if count else None)


@pytest.mark.parametrize("condition", ["k > 1", "x > 0", "g = 'a' AND k = 1", "g || '' = 'a'", "g = (SELECT 'a')"])
def test_conditions_that_rows_would_have_to_decide(ask: Any, condition: str) -> None:
    with pytest.raises(ProcessionError, match=REFUSED):
        ask(condition)


def test_files_of_both_kinds_in_a_table_without_partitions(ask: Any) -> None:
    assert ask("k > 2", "k", "plain")[-1][4] == 3
    with pytest.raises(ProcessionError, match=REFUSED):
        ask("k > 3", "k", "plain")
    with pytest.raises(ProcessionError, match="Column 'nope' cannot be resolved"):
        ask("nope = 1")


def test_bounds_are_written_as_presto_writes_numbers(ask: Any) -> None:
    found = {row[0]: row for row in ask("k > 2", "*", "plain")}
    assert found["x"][5:7] == ("-Infinity", "Infinity")
    assert found["d"][5:7] == ("2024-02-01", "2024-02-01")

"""Refreshes by Spark: whatever was appended, compacted and refreshed in which order, the stored rows are those that
DuckDB computes from the table's files."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from tests.e2e.service import Service
from tests.tiers import FULL

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Statement = Callable[[str], Any]

QUERIES = {
    "grouped": "SELECT k, count(*) AS n, count(v) AS nv, sum(v) AS total, sum(p) AS money, min(d) AS lo, max(d) AS hi, "
    "min(k) AS least FROM t WHERE v IS NULL OR v <> 13 GROUP BY k",
    "whole": "SELECT count(*) AS n, sum(v) AS total, max(p) AS dearest FROM t",
    "months": "SELECT CAST(date_trunc('month', d) AS date) AS m, v % 3 AS r, count(*) AS n FROM t GROUP BY 1, 2",
    "projected": "SELECT v + 1 AS w, upper(k) AS k, d FROM t WHERE v > 5",
}
ASKED = QUERIES if FULL else {name: QUERIES[name] for name in ("grouped", "projected")}
"""One that is merged group by group, and one to which rows are added."""
NEVER_MERGED = {
    "averages": "SELECT k, avg(v) AS a FROM t GROUP BY k",
    "floats": "SELECT k, sum(f) AS s FROM t GROUP BY k",
    "had": "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 2",
    "different": "SELECT k, count(DISTINCT v) AS n FROM t GROUP BY k",
    "joined": "SELECT a.k, b.v FROM t a JOIN t b ON a.v = b.v",
    "limited": "SELECT k FROM t ORDER BY v LIMIT 3",
    "united": "SELECT k FROM t UNION ALL SELECT k FROM t",
    "hidden": "SELECT count(*) AS n FROM t GROUP BY k",
    "cubed": "SELECT k, v, count(*) AS n FROM t GROUP BY CUBE (k, v)",
    "windowed": "SELECT k, row_number() OVER (ORDER BY v) AS n FROM t",
}


@pytest.fixture(scope="module")
def run(whole_service: Service) -> Statement:
    whole_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.kept")
    return lambda sql: whole_service.execute(sql, catalog="iceberg", schema="kept")


def rows_of(value: random.Random, count: int) -> str:
    rows = []
    for _ in range(count):
        v = value.choice(["NULL", *map(str, range(20))])
        k = value.choice(["NULL", "''", "'a'", "'b'", "'é'"])
        p = value.choice(["NULL", "0.01", "-3.50", "99999999.99"])
        d = value.choice(["NULL", "DATE '2020-01-31'", "DATE '1969-12-31'", "DATE '2020-02-01'"])
        rows.append(f"({v}, {k}, {p}, {d}, {v}e0)" if v != "NULL" else f"({v}, {k}, {p}, {d}, NULL)")
    return ", ".join(rows)


def right(service: Service, sql: str) -> list[tuple[Any, ...]]:
    t = service.lake().load_table("kept.t").scan().to_arrow()  # noqa: F841 - DuckDB finds it
    return by_text(duckdb.sql(sql).fetchall())


def by_text(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(str(value) for value in row) for row in rows)


def test_any_order_of_changes(whole_service: Service, run: Statement) -> None:
    value = random.Random(20)
    run("CREATE TABLE t (v bigint, k varchar, p decimal(10, 2), d date, f double)")
    for name, query in ASKED.items():
        run(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    steps = ["append", "refresh", "append", "append", "refresh", "compact", "refresh", "append", "compact", "refresh"]
    steps += ["delete", "refresh", "append", "refresh"]
    ways = []
    for step in steps:
        match step:
            case "append":
                run(f"INSERT INTO t VALUES {rows_of(value, 12)}")
            case "compact":
                run("CALL iceberg.system.rewrite_data_files('kept', 't')")
            case "delete":
                run("DELETE FROM t WHERE v = 7")
            case _:
                for name, query in ASKED.items():
                    said = run(f"EXPLAIN REFRESH MATERIALIZED VIEW {name}")[0][0]
                    ways.append((name, next((w for w in ("merged", "added", "whole") if f" {w}, " in said), "nothing")))
                    run(f"REFRESH MATERIALIZED VIEW {name}")
                    assert "up to date" in run(f"EXPLAIN SELECT * FROM {name}")[0][0]
                    assert by_text(run(f"SELECT * FROM {name}")) == right(whole_service, query), (name, step)
    of_groups = ["whole", "merged", "nothing", "merged", "whole", "merged"]
    for view in ASKED:
        expected = ["added" if w == "merged" else w for w in of_groups] if view == "projected" else of_groups
        assert [way for name, way in ways if name == view] == expected, view
    # The table behind the views is one whose files get looked after.
    run("CALL iceberg.system.rewrite_data_files('kept', '__mv_storage__projected')")
    assert by_text(run("SELECT * FROM projected")) == right(whole_service, QUERIES["projected"])
    run("INSERT INTO t VALUES (6, 'late', 1.00, NULL, 1e0)")
    assert "added" in run("EXPLAIN REFRESH MATERIALIZED VIEW projected")[0][0]
    run("REFRESH MATERIALIZED VIEW projected")
    assert by_text(run("SELECT * FROM projected")) == right(whole_service, QUERIES["projected"])


def test_what_is_not_exact_is_refreshed_as_a_whole(whole_service: Service, run: Statement) -> None:
    """After the test above, whose table this one takes over."""
    for name, query in NEVER_MERGED.items():
        run(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        run(f"REFRESH MATERIALIZED VIEW {name}")
    run("INSERT INTO t VALUES (1, 'a', 1.00, NULL, 0.1e0)")
    for name in NEVER_MERGED:
        assert "refreshed as a whole" in run(f"EXPLAIN REFRESH MATERIALIZED VIEW {name}")[0][0], name


def test_reads_on_both_engines(run: Statement, whole_service: Service) -> None:
    for engine in ("SPARK", "EMBEDDED"):
        rows = whole_service.execute(
            "SELECT * FROM kept.projected", catalog="iceberg", session_properties={"engine": engine}
        )
        assert by_text(rows) == right(whole_service, QUERIES["projected"])
    run("DROP MATERIALIZED VIEW projected")
    assert "projected" not in {name for (name,) in run("SHOW TABLES")}

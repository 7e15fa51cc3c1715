"""What EXPLAIN shows of late materialization: which columns are deferred, and why not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.transforms import IdentityTransform

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import FetchRows, ReturnRows, RunOnSpark
from shared.properties import Property
from shared.spi.session import Session

PREFIX = "global_late_materialization_"
ON = {"engine": "spark", "enable_global_late_materialization": "true", PREFIX + "cost_based": "false"}


class NoCheckers:
    def validate_intermediate(self, plan: Any, session: Any, warn: Any) -> None: ...

    def validate_final(self, plan: Any, session: Any, warn: Any) -> None: ...


@pytest.fixture
def plan(lake: Any) -> Any:
    rows = {"id": [1, 2], "k": [3, 4], "name": ["a", "b"], "note": ["x", None], "p": ["u", "v"]}
    table = lake.create("t", [pa.table(rows)])
    with table.update_spec() as update:
        update.add_field("p", IdentityTransform(), "p")
    lake.create("u", [pa.table({"uid": [1], "label": ["l"], "n": [5]})])
    values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": f"file://{lake.home}/wh"}
    properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    catalogs = Catalogs([CatalogConfig("lab", "iceberg", properties, lake.home)])

    def work_of(query: str, **given: str) -> Any:
        settings = ON | {
            PREFIX + k if k != "enable" else "enable_global_late_materialization": v for k, v in given.items()
        }
        session = Session(user="test", catalog="lab", schema="db", properties=settings)
        return plan_statement(query, session, catalogs, NoCheckers()).work

    return work_of


def explained(plan: Any, query: str, **given: str) -> str:
    work = plan(f"EXPLAIN (TYPE LOGICAL) {query}", **given)
    assert isinstance(work, ReturnRows)
    return str(work.rows[0][0])


def deferred(plan: Any, query: str, **given: str) -> list[str]:
    found = re.search(r"- Fetch\[.*?deferred = (.*?)\]", explained(plan, query, **given))
    return [] if found is None else sorted(found[1].split(", "))


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * FROM t ORDER BY k LIMIT 2", ["id", "name", "note"]),
        ("SELECT name, name AS again FROM t ORDER BY k LIMIT 2", ["name"]),
        ("SELECT upper(name) AS u, note FROM t ORDER BY k LIMIT 2", ["name", "note"]),
        ("SELECT upper(name) AS u, note FROM t ORDER BY u LIMIT 2", ["note"]),
        ("SELECT name || CAST(k AS varchar) AS u FROM t ORDER BY k LIMIT 2", ["name"]),
        ("SELECT x || note AS y FROM (SELECT upper(name) AS x, note, k FROM t) ORDER BY k LIMIT 2", ["name", "note"]),
        ("SELECT x || note AS y, x FROM (SELECT upper(name) x, note, k FROM t) WHERE x > 'A' AND k > 1", ["note"]),
        ("SELECT name || CAST(rand() AS varchar) AS u, note FROM t ORDER BY k LIMIT 2", ["note"]),
        ("SELECT upper(label) AS l, upper(name) AS m FROM t JOIN u ON id = uid ORDER BY k LIMIT 2", ["label", "name"]),
        ("SELECT l, note FROM t LEFT JOIN (SELECT coalesce(label, '-') AS l, uid FROM u) ON id = uid", ["note"]),
        ("SELECT * FROM t JOIN u ON id = uid ORDER BY k LIMIT 2", ["label", "n", "name", "note"]),
        ("SELECT * FROM t FULL JOIN u ON id = uid AND name = label WHERE k > 1", ["note"]),
        ("SELECT a.name, b.note FROM t a JOIN t b ON a.id = b.k WHERE a.k = 1", ["name", "note_1"]),
        ("SELECT name, note FROM t WHERE name LIKE 'a%'", ["note"]),
        ("SELECT name, note, rank() OVER (ORDER BY k) AS r FROM t LIMIT 1", ["name", "note"]),
        ("SELECT k, name, note FROM t WHERE id IN (SELECT uid FROM u)", ["k", "name", "note"]),
        ("SELECT k, note FROM t WHERE EXISTS (SELECT 1 FROM u WHERE uid = id)", ["k", "note"]),
        ("WITH w AS (SELECT * FROM t) SELECT a.name, b.note FROM w a JOIN w b ON a.id = b.k", ["name", "note_1"]),
        ("SELECT name, note FROM (SELECT *, lag(id) OVER (ORDER BY k) r FROM t) WHERE r = 1", ["name", "note"]),
        ("SELECT name, note FROM (SELECT *, row_number() OVER (ORDER BY k) r FROM t) WHERE r = 1", ["name", "note"]),
        ("SELECT id, name FROM t UNION ALL SELECT uid, label FROM u ORDER BY 1 LIMIT 3", ["name_1"]),
        ("SELECT name FROM t WHERE name > 'a' UNION ALL SELECT label FROM u LIMIT 3", []),
        ("SELECT name, count(*) AS c FROM t GROUP BY name LIMIT 2", []),
        ("SELECT DISTINCT name, note FROM t LIMIT 2", []),
        ("SELECT * FROM t", []),
    ],
)
def test_deferred_columns(query: str, columns: list[str], plan: Any) -> None:
    assert deferred(plan, query) == columns


def test_one_fetch_serves_several_tables(plan: Any) -> None:
    told = explained(plan, "SELECT note, label FROM t JOIN u ON id = uid ORDER BY k LIMIT 2")
    assert told.count("- Fetch[") == 1
    assert told.count("- LookUp[") == 2


@pytest.mark.parametrize(
    ("query", "given", "reason"),
    [
        ("SELECT * FROM t", {}, "every row of the table is in the result"),
        ("SELECT * FROM t ORDER BY k LIMIT 9", {"max_rows": "8"}, "up to 9 rows are in the result, more than"),
        ("SELECT id FROM t ORDER BY k LIMIT 9", {}, "only 1 narrow column of t would be fetched"),
        ("SELECT p FROM t ORDER BY k LIMIT 9", {}, "no column of t that only the result needs"),
        ("SELECT * FROM t ORDER BY k LIMIT 9", {"cost_based": "true"}, "no table has 16MB to read"),
    ],
)
def test_reasons(query: str, given: dict[str, str], reason: str, plan: Any) -> None:
    assert f"Late materialization: {reason}" in explained(plan, query, **given)
    assert isinstance(plan(query, **given), RunOnSpark)


PRICED = {"cost_based": "true", "min_table_size": "0B"}
EVERY = "without LIMIT, no filter or join is known to leave few rows"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT * FROM t WHERE k > 4", None),
        ("SELECT * FROM t WHERE k >= 3", EVERY),
        ("SELECT * FROM t WHERE k + id > 100", None),
        ("SELECT * FROM t WHERE k * 2 - id >= 4", EVERY),
        ("SELECT * FROM t WHERE k BETWEEN -5 AND 10", EVERY),
        ("SELECT * FROM t WHERE k = 17", None),
        ("SELECT * FROM t JOIN u ON id = uid WHERE n + k > 9", None),
        ("SELECT * FROM t JOIN u ON id = uid WHERE n + k > 0", EVERY),
        ("SELECT t.* FROM t JOIN u ON id = uid WHERE n = 6", None),
        ("SELECT * FROM t WHERE k > 0 LIMIT 2", "the scan stops at the LIMIT by itself"),
        ("SELECT * FROM t WHERE k > 100 LIMIT 2", None),
        ("SELECT * FROM t ORDER BY k LIMIT 2", None),
    ],
)
def test_bounds_of_columns_decide(query: str, reason: str | None, plan: Any) -> None:
    told = explained(plan, query, **PRICED)
    assert ("- Fetch[" in told) == (reason is None)
    assert reason is None or f"Late materialization: {reason}" in told


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t",
        "SELECT * FROM t WHERE k >= 3",
        "SELECT * FROM t WHERE k + id >= 4",
        "SELECT * FROM t WHERE length(name) * k > 0",
        "SELECT * FROM t JOIN u ON id = uid",
        "SELECT * FROM t LEFT JOIN u ON id = uid WHERE k > 2",
        "SELECT *, rank() OVER (ORDER BY k) AS r FROM t",
        "SELECT * FROM t ORDER BY k",
        "SELECT * FROM t LIMIT 100",
    ],
)
def test_where_every_row_survives_the_work_is_the_same_off_and_on(query: str, plan: Any) -> None:
    """Declined while planning, where bounds or the table's size say so: not a byte more is read."""
    declines = {"cost_based": "true", "min_table_size": "1kB"}
    assert isinstance(plan(query, **declines), RunOnSpark)
    assert plan(query, **declines) == plan(query, enable="false")


def test_explain_shows_where_the_first_rows_are_looked_for(plan: Any, lake: Any) -> None:
    numbers = list(range(10_000))
    lake.create("big", [pa.table({"id": numbers, "k": numbers, "note": [f"n{i}" for i in numbers]})])
    told = explained(plan, "SELECT * FROM big ORDER BY k LIMIT 10")
    bound = re.search(r"Late materialization: the first rows are looked for where k <= (\d+), everywhere if", told)
    assert bound is not None, told
    assert 10 <= int(bound[1]) < 5000
    assert "looked for" not in explained(plan, "SELECT * FROM big ORDER BY k LIMIT 10", guess_first_rows="false")


def test_what_is_computed_of_fetched_columns_stands_above_the_fetch(plan: Any) -> None:
    query = "SELECT upper(name) AS u, k + 1 AS n FROM t ORDER BY k LIMIT 2"
    told = explained(plan, query)
    assert re.search(r"- Project\[.*?\n.*?\(name\).*?- Fetch\[.*?deferred = name\].*- LookUp\[", told, re.DOTALL), told
    work = plan(query)
    assert isinstance(work, FetchRows)
    assert work.computed is not None
    assert work.computed.columns == ("name",)
    assert [v.name for look_up in work.look_ups for v in look_up.outputVariables] == ["name"]
    assert "name" not in work.first.sql
    assert "UPPER" in work.computed.sql.upper()


@pytest.mark.parametrize(
    ("join", "told"),
    [
        ("t JOIN u ON id = uid", 1),
        ("t LEFT JOIN u ON id = uid", 1),
        ("t JOIN u ON id = uid JOIN u v ON v.uid = id", 2),
        ("t FULL JOIN u ON id = uid", 0),
        ("t RIGHT JOIN u ON id = uid", 0),
        ("t JOIN u ON id < uid", 0),
    ],
)
def test_the_first_pass_copies_build_sides_that_became_small(join: str, told: int, plan: Any) -> None:
    """What Spark is told: its own estimate is of the files, not of the columns that are left."""
    work = plan(f"SELECT * FROM {join} ORDER BY k LIMIT 2")
    assert isinstance(work, FetchRows)
    hint = re.search(r"/\*\+ BROADCAST\(([^)]*)\) \*/", work.first.sql)
    assert (0 if hint is None else len(hint[1].split(", "))) == told
    assert "BROADCAST" not in work.otherwise.sql


def test_narrow_columns_when_asked_for(plan: Any) -> None:
    assert deferred(plan, "SELECT id FROM t ORDER BY k LIMIT 9", min_columns="1") == ["id"]


def test_both_passes_read_the_same_snapshot(plan: Any, lake: Any) -> None:
    work = plan("SELECT * FROM t ORDER BY k LIMIT 2")
    assert isinstance(work, FetchRows)
    snapshot = lake.table("t").current_snapshot().snapshot_id
    assert f"VERSION AS OF {snapshot}" in work.first.sql
    assert work.look_ups[0].table.connectorHandle["icebergTableName"]["snapshotId"] == snapshot


def test_metadata_tables_are_read_in_one_pass(plan: Any) -> None:
    assert "t$files is a metadata table" in explained(plan, 'SELECT * FROM "t$files" ORDER BY record_count LIMIT 2')


def test_off(plan: Any) -> None:
    query = "SELECT * FROM t ORDER BY k LIMIT 2"
    assert "Late" not in explained(plan, query, enable="false")
    assert isinstance(plan(query, enable="false"), RunOnSpark)


ROWS_IN_ORDER = [
    ("SELECT id, note FROM big ORDER BY k LIMIT 10", 10, True),
    ("SELECT id, note FROM big ORDER BY k DESC LIMIT 10", 10, True),
    ("SELECT id, note FROM big ORDER BY k OFFSET 100 LIMIT 7", 7, True),
    ("SELECT id, note FROM big WHERE id % 2 = 0 ORDER BY k, id LIMIT 10", 10, True),
    ("SELECT note, b.uid FROM big JOIN u b ON id = uid ORDER BY k LIMIT 10", 10, True),
    ("SELECT note, d FROM big ORDER BY d DESC LIMIT 3", 3, True),
    ("SELECT note, id FROM big ORDER BY at LIMIT 3", 3, True),
    ("SELECT id, note FROM big ORDER BY k NULLS FIRST LIMIT 10", 0, False),
    ("SELECT id, note FROM big ORDER BY k LIMIT 9000", 0, False),
    ("SELECT id, note FROM big ORDER BY k + 1 LIMIT 10", 0, False),
    ("SELECT id, note FROM big RIGHT JOIN u ON id = uid ORDER BY k LIMIT 10", 0, False),
    ("SELECT id, note, rank() OVER (ORDER BY id) AS r FROM big ORDER BY k LIMIT 10", 0, False),
]


@pytest.mark.parametrize(("query", "rows", "guessed"), ROWS_IN_ORDER)
def test_first_rows_are_looked_for_where_they_are(query: str, rows: int, guessed: bool, plan: Any, lake: Any) -> None:
    """What the guess leaves has the right rows: counted by DuckDB over the same rows."""
    numbers = range(10_000)
    big = pa.table(
        {
            "id": list(numbers),
            "k": [None if i % 9 == 0 else i * 7919 % 10_000 for i in numbers],
            "note": [f"n{i}" for i in numbers],
            "d": pa.array([i % 3000 for i in numbers], pa.date32()),
            "at": pa.array([i * 1_000_000_123 for i in numbers], pa.timestamp("us")),
        }
    )
    lake.create("big", [big.slice(0, 4000), big.slice(4000)])
    work = plan(query)
    assert isinstance(work, FetchRows)
    assert (work.likely is not None) == guessed
    if work.likely is None:
        return
    assert work.likely.rows == rows
    condition = re.search(
        r"`(k|d|at)` (<=|>=) (CAST\('[^']*' AS \w+\)|TIMESTAMP_NTZ '[^']*'|DATE '[^']*')", work.likely.work.sql
    )
    assert condition is not None, work.likely.work.sql
    bound = f'"{condition[1]}"' + f" {condition[2]} {condition[3].replace('TIMESTAMP_NTZ', 'TIMESTAMP')}"
    wanted = rows + (100 if "OFFSET" in query else 0)
    kept = duckdb.sql(f"SELECT count(*) FROM big WHERE {bound}").fetchall()[0][0]
    assert wanted <= kept < 5000, bound

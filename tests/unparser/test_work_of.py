"""What a plan becomes: SQL for the embedded engine, SQL for Spark, or the rows of a connector with nothing computed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from coordinator.unparser import work_of, work_on_spark
from coordinator.unparser.engine_choice import EngineLimits
from coordinator.values.program_names import program_names, programs
from coordinator.vocabulary.planned_statement import (
    CutRows,
    KeepRows,
    NameRows,
    OrderRows,
    RunLocally,
    RunOnSpark,
    SelectRows,
)
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import OutputNode, TableHandle, TableScanNode
from shared.spi.relation import CatalogTable, ReadHere, Relation, RowsRelation
from tests.optimizer.rule_cases import TIDY, RuleCases

ROWS = RowsRelation("system", TableHandle(connectorId="system", connectorHandle={}), ("nationkey", "name", "regionkey"))
FEW, MANY = 10, 1_000_000


def _lake(rows: int, *, only: bool = False) -> Callable[[TableScanNode], Relation]:
    here = ReadHere(ROWS, size_bytes=100, rows=rows, files=1, direct=True, only=only)
    return lambda _scan: CatalogTable(("lake", "db", "t"), 7, here)


def _spark_alone(_scan: TableScanNode) -> Relation:
    return CatalogTable(("lake", "db", "t"), 7, "it is ORC")


def _plan(cases: RuleCases, sql: str) -> OutputNode:
    return cases.planned(TIDY[1], sql, first=TIDY)[1]


NAMES = "SELECT n_name FROM nation WHERE n_nationkey > 3"
PROGRAM = "SELECT n_name FROM nation WHERE levenshtein_distance(n_name, 'x') > 3"


def test_a_small_table_is_read_here_and_can_be_read_there(rule_cases: RuleCases) -> None:
    work = work_of(_plan(rule_cases, NAMES), _lake(FEW))
    assert isinstance(work, RunLocally)
    assert work.why.startswith("it reads 100B in 10 rows")
    assert work.otherwise is not None
    assert (there := work_on_spark(work.otherwise)) is not None
    assert "`lake`.`db`.`t` VERSION AS OF 7" in there.sql


def test_explain_asks_for_texts_only_where_they_decide(rule_cases: RuleCases) -> None:
    """The engine that runs a query is the same with and without them, and so is what is said of programs."""
    for sql, rows in ((NAMES, FEW), (NAMES, MANY), (PROGRAM, FEW), (PROGRAM, MANY)):
        plan = _plan(rule_cases, sql)
        whole, alone = work_of(plan, _lake(rows)), work_of(plan, _lake(rows), explained=True)
        assert type(alone) is type(whole)
        assert isinstance(alone, RunLocally | RunOnSpark) and isinstance(whole, RunLocally | RunOnSpark)
        assert alone.why == whole.why
        dialect = "duckdb" if isinstance(whole, RunLocally) else "spark"
        assert program_names(alone.sql, dialect) == program_names(whole.sql, dialect)
    assert isinstance(local := work_of(_plan(rule_cases, NAMES), _lake(FEW), explained=True), RunLocally)
    assert local.otherwise is None


@pytest.mark.parametrize(
    "sql",
    [
        NAMES,
        PROGRAM,
        "SELECT n_name FROM nation WHERE levenshtein_distance(n_name, 'x') > 3 ORDER BY 1 LIMIT 2",
        "SELECT n_regionkey, reduce_agg(n_nationkey, 0, (a, b) -> a + b, (a, b) -> a + b) FROM nation GROUP BY 1",
        "SELECT json_extract_scalar(n_comment, '$.a') FROM nation",
        "SELECT try(cast(n_name AS integer)), url_decode(n_name), CAST(n_comment AS json) FROM nation",
        "SELECT n_name FROM nation WHERE word_stem(n_name) IN (SELECT r_name FROM region)",
    ],
)
@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_no_program_goes_unseen_by_explain(rule_cases: RuleCases, sql: str, dialect: str) -> None:
    """What is known of programs while trees are made is what their text holds."""
    plan, limits = _plan(rule_cases, sql), EngineLimits("embedded" if dialect == "duckdb" else "spark")
    works = [work_of(plan, _lake(FEW), limits, explained=explained) for explained in (True, False)]
    texts = [work.sql for work in works if isinstance(work, RunLocally | RunOnSpark)]
    found = [programs(text, dialect) for text in texts]
    assert found[0] == found[1]
    assert texts[0] or not found[1]  # Spark's JVM computes some of them


@pytest.mark.parametrize(
    ("sql", "rows", "engine", "runs"),
    [
        (PROGRAM, FEW, "auto", RunLocally),
        (PROGRAM, MANY, "embedded", RunLocally),
        (NAMES, MANY, "auto", RunLocally),
        (NAMES, FEW, "spark", RunOnSpark),
        (NAMES, FEW, "embedded", RunLocally),
    ],
)
def test_by_rows_and_by_what_the_session_asks_for(
    rule_cases: RuleCases, sql: str, rows: int, engine: str, runs: type
) -> None:
    work = work_of(_plan(rule_cases, sql), _lake(rows), EngineLimits(engine))  # type: ignore[arg-type]
    assert type(work) is runs


def test_what_spark_alone_reads(rule_cases: RuleCases) -> None:
    plan = _plan(rule_cases, NAMES)
    work = work_of(plan, _spark_alone)
    assert isinstance(work, RunOnSpark)
    assert work.why == "lake.db.t is read by Spark alone: it is ORC"
    with pytest.raises(
        ProcessionError, match=r"The embedded engine cannot run this query: lake\.db\.t is read"
    ) as refused:
        work_of(plan, _spark_alone, EngineLimits("embedded"))
    assert refused.value.code is ErrorCode.NOT_SUPPORTED


def test_what_spark_cannot_read(rule_cases: RuleCases) -> None:
    work = work_of(_plan(rule_cases, NAMES), _lake(FEW, only=True), EngineLimits("spark"))
    assert isinstance(work, RunLocally)
    assert work.otherwise is None


def test_a_part_of_a_query_runs_where_the_rest_does(rule_cases: RuleCases) -> None:
    assert isinstance(work_of(_plan(rule_cases, NAMES), _lake(FEW), copies=True), RunOnSpark)


def test_a_scan_is_asked_for_once(rule_cases: RuleCases) -> None:
    """Connectors look at files to answer."""
    asked: list[str] = []

    def relation_of(scan: TableScanNode) -> Relation:
        asked.append(scan.id)
        return _lake(FEW)(scan)

    work_of(_plan(rule_cases, "SELECT 1 FROM nation a JOIN nation b ON a.n_nationkey = b.n_regionkey"), relation_of)
    assert len(asked) == len(set(asked)) == 2


COLUMNS = "FROM system.jdbc.columns"


@pytest.mark.parametrize(
    ("sql", "steps"),
    [
        (f"SELECT column_name {COLUMNS}", [NameRows, NameRows]),
        (f"SELECT column_name AS x, column_name AS y {COLUMNS} LIMIT 3", [NameRows, CutRows, NameRows]),
        (
            f"SELECT column_name {COLUMNS} WHERE ordinal_position > 3 OR type_name = 'x'",
            [NameRows, KeepRows, NameRows, NameRows],
        ),
        (f"SELECT column_name {COLUMNS} ORDER BY column_name DESC", [NameRows, OrderRows, NameRows]),
        (
            f"SELECT column_name {COLUMNS} ORDER BY ordinal_position LIMIT 2",
            [NameRows, OrderRows, CutRows, NameRows, NameRows],
        ),
    ],
)
def test_rows_that_are_only_selected(rule_cases: RuleCases, sql: str, steps: list[type]) -> None:
    """Steps in the order in which they are done."""
    work = work_of(_plan(rule_cases, sql), rule_cases.catalogs.relation)
    assert isinstance(work, SelectRows)
    assert [type(step) for step in work.steps] == steps


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT ordinal_position + 1 {COLUMNS}",
        f"SELECT count(*) {COLUMNS}",
        f"SELECT DISTINCT column_name {COLUMNS}",
        f"SELECT column_name {COLUMNS} WHERE rand() < 2",
        f"SELECT 1 {COLUMNS} a CROSS JOIN system.jdbc.columns b",
        "SELECT n_name FROM nation",
        "SELECT query_id FROM system.runtime.queries WHERE started IS NOT NULL",
    ],
)
def test_rows_that_are_more_than_selected(rule_cases: RuleCases, sql: str) -> None:
    """The last two by the types of columns that they read."""
    assert isinstance(work_of(_plan(rule_cases, sql), rule_cases.catalogs.relation), RunLocally)


def test_how_rows_are_ordered_and_kept(rule_cases: RuleCases) -> None:
    sql = (
        f"SELECT column_name {COLUMNS} WHERE upper(column_name) > 'A' "
        "ORDER BY column_name DESC NULLS FIRST, ordinal_position LIMIT 7"
    )
    work = work_of(_plan(rule_cases, sql), rule_cases.catalogs.relation)
    assert isinstance(work, SelectRows)
    (order,) = (step for step in work.steps if isinstance(step, OrderRows))
    assert order == OrderRows((("column_name", True, True), ("ordinal_position", False, False)))
    (kept,) = (step for step in work.steps if isinstance(step, KeepRows))
    assert kept.columns == ("column_name",)
    assert CutRows(7) in work.steps


@pytest.mark.parametrize(
    ("order", "descending", "nulls_first"),
    [("", False, False), ("ASC NULLS FIRST", False, True), ("DESC", True, False), ("DESC NULLS FIRST", True, True)],
)
def test_orders(rule_cases: RuleCases, order: str, descending: bool, nulls_first: bool) -> None:
    """NULLs are last unless the statement says so, in either direction."""
    work = work_of(
        _plan(rule_cases, f"SELECT table_name {COLUMNS} ORDER BY table_name {order}"), rule_cases.catalogs.relation
    )
    assert isinstance(work, SelectRows)
    assert OrderRows((("table_name", descending, nulls_first),)) in work.steps

"""A query that is put by for Spark: what Spark gets later is what it would have got when the query was planned."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.registry import Catalogs
from coordinator.engine.executor import Executor
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from coordinator.unparser import unparse_for_spark, work_of, work_on_spark
from coordinator.unparser.approximations import estimating_as
from coordinator.unparser.kept_zones import with_zones_as_text
from coordinator.unparser.plan_for_spark import put_by
from coordinator.unparser.scans import RelationOf
from coordinator.unparser.session_zone import in_session_zone
from coordinator.validation.worker import pickled
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, RunLocally
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import OutputNode, TableHandle, TableScanNode
from shared.spi.relation import CatalogTable, ReadHere, Relation, RowsRelation
from tests.execution import FakeExecution
from tests.optimizer.rule_cases import RuleCases
from tests.unparser.small_statements import STATEMENTS
from tests.unparser.test_more_statements import AGGREGATES, RELATIONS, WINDOWS
from tests.unparser.written import FIRST

PROGRAMS = (
    "SELECT n_name FROM nation WHERE n_nationkey = 3 OR word_stem(n_name) = 'x'",
    "SELECT max(n_regionkey) FROM nation a, region b WHERE a.n_regionkey = b.r_regionkey AND b.r_name LIKE 'A%'",
)
ROWS = RowsRelation("lake", TableHandle(connectorId="lake", connectorHandle={}), ("a",))


def _lake(scan: TableScanNode) -> Relation:
    """Each table at a snapshot of its own."""
    table = str(scan.table.connectorHandle["tableName"])
    return CatalogTable(("lake", "db", table), 7 + len(table), ReadHere(ROWS, 100, 10, 1, direct=True))


def _text(plan: OutputNode) -> str:
    try:
        return _named(_unshared(with_zones_as_text(plan), _lake))
    except ProcessionError:
        return ""


def _unshared(plan: OutputNode, relation_of: RelationOf) -> str:
    """Each part as often as it is used: of parts for several uses no relations are kept."""
    return unparse_for_spark(plan.source, plan.outputVariables, relation_of)[0]


def _named(sql: str) -> str:
    return re.sub("procession_[0-9a-f]{12}", "procession", sql)


def _later(plan: OutputNode) -> str:
    """What Spark gets of a work that went through a planner's pipe."""
    kept = pickle.loads(pickled(put_by(with_zones_as_text(plan), _lake)))
    work = work_on_spark(kept)
    return "" if work is None else _named(work.sql)


@pytest.mark.parametrize("sql", [*STATEMENTS, *WINDOWS, *AGGREGATES, *RELATIONS, *PROGRAMS])
def test_spark_gets_the_same_text_later(rule_cases: RuleCases, sql: str) -> None:
    _, plan = rule_cases.planned(FIRST[-1], sql, first=FIRST)
    assert _later(plan) == _text(plan)


def test_the_queries_of_tpch(statements: dict[str, str], catalogs: Any, tpch_session: Any) -> None:
    for number in range(1, 23):
        plan = plan_query(parse_query(statements[f"q{number:02d}"]), tpch_session, catalogs).root
        relation_of = catalogs.connector("tpch").relation
        work = work_on_spark(put_by(plan, relation_of))
        assert work is not None
        assert work.sql == _unshared(plan, relation_of)


def test_the_session_is_that_of_planning(rule_cases: RuleCases) -> None:
    """Zone and estimates are asked for while SQL is written, when its session is gone."""
    sql = "SELECT CAST(CAST(max(n_name) AS timestamp) AS timestamp with time zone), approx_distinct(n_name) FROM nation"
    _, plan = rule_cases.planned(FIRST[-1], sql, first=FIRST)
    texts = set()
    for zone, choice in (("UTC", "BOUNDED"), ("Asia/Tokyo", "BOUNDED"), ("UTC", "SPARK")):
        with in_session_zone(zone), estimating_as(choice):
            expected, kept = _text(plan), put_by(with_zones_as_text(plan), _lake)
        work = work_on_spark(kept)
        assert work is not None
        assert _named(work.sql) == expected
        texts.add(expected)
    assert len(texts) == 3


def test_a_plan_that_spark_cannot_run(rule_cases: RuleCases) -> None:
    _, plan = rule_cases.planned(FIRST[-1], "SELECT n_name FROM nation", first=FIRST)
    refused = ReadHere(ROWS, 100, 10, 1, direct=True, too_wide=True, refused="its pages are too long")
    assert work_on_spark(put_by(plan, lambda _: CatalogTable(("lake", "db", "t"), 7, refused))) is None


class Gone:
    """An embedded engine that fails, after some rows or none."""

    def __init__(self, code: ErrorCode, rows: int) -> None:
        self._error = ProcessionError(code, "too much")
        self._rows = rows

    def run(self, *_: Any) -> Iterator[pa.RecordBatch]:
        if self._rows:
            yield pa.record_batch({"n": list(range(self._rows))})
        raise self._error


class Asked:
    """A Spark that notes what it is asked."""

    shares_disk = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def run(self, sql: str, *_: Any) -> Iterator[pa.RecordBatch]:
        self.asked.append(sql)
        yield pa.record_batch({"n": [42]})


@pytest.mark.parametrize(
    ("code", "rows", "there"),
    [
        (ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, 0, True),
        (ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, 2, True),
        (ErrorCode.DIVISION_BY_ZERO, 0, True),
        (ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, 0, False),
    ],
)
def test_spark_runs_what_the_embedded_engine_gave_up(
    rule_cases: RuleCases, code: ErrorCode, rows: int, there: bool
) -> None:
    """Unless rows were delivered, the error is the query's own, or Spark cannot: then the error is the first one."""
    _, plan = rule_cases.planned(FIRST[-1], "SELECT n_nationkey FROM nation", first=FIRST)
    planned = work_of(plan, _lake)
    assert isinstance(planned, RunLocally)
    here = ReadHere(ROWS, 100, 10, 1, direct=True, too_wide=True, refused="" if there else "its pages are too long")
    kept = put_by(plan, lambda _: CatalogTable(("lake", "db", "t"), 7, here)) if not there else planned.otherwise
    spark, work = Asked(), RunLocally("SELECT 1", otherwise=kept)
    executor = Executor(Catalogs([]), Gone(code, rows), spark, lambda _: "")  # type: ignore[arg-type]
    found = executor.execute(PlannedStatement("SELECT", (Column("n", "bigint"),), work), FakeExecution())
    if there and not rows and code is ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT:
        assert [batch.to_pydict() for batch in found] == [{"n": [42]}]
        assert spark.asked == [_unshared(plan, _lake)]
    else:
        with pytest.raises(ProcessionError, match="too much") as failed:
            list(found)
        assert failed.value.code is code
        assert not spark.asked

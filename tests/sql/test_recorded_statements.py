"""Statements of Presto's own test suites against the answers of a real Presto 0.296 over its ``tpch`` catalog.

``tests/data/presto_statements_recorded.jsonl.gz``: a statement a line, with ``columns`` and ``data`` or ``error`` as
the protocol gave them to a client in the zone UTC. The statements are the string constants of the test classes of
presto-tests and presto-main-base 0.296 that are queries; those whose answers are long or differ from run to run are
left out. ``presto_statements_exceptions.json`` lists, by what differs, those that we answer otherwise.
``presto_generated_recorded.jsonl.gz`` holds generated statements with the same server's answers.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.dispatch.encode import encode_rows
from coordinator.engine.executor import Executor
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import RunOnSpark
from shared.errors import ProcessionError
from shared.plan.types import parse_type
from shared.spi.session import Session
from tests import tpch_tables
from tests.execution import FakeExecution
from tests.functions.recorded import Answer, alike

pytestmark = pytest.mark.slow

FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
_DATA = Path(__file__).parents[1] / "data"


class Procession:
    """Plans and runs statements as the coordinator does, without HTTP and without Spark."""

    def __init__(self, etc: Path, properties: str = "") -> None:
        (etc / "catalog").mkdir()
        (etc / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file(properties), encoding="utf-8")
        self._catalogs = Catalogs(read_catalogs(etc / "catalog"))
        self._local = LocalEngine()
        self._executor = Executor(self._catalogs, self._local, None, lambda _: "")  # type: ignore[arg-type]

    def answer(self, sql: str) -> Answer | None:
        """Ours, in the recorded form; None for what only Spark runs."""
        session = Session(user="test", time_zone="UTC", catalog="tpch", schema="tiny")
        try:
            planned = plan_statement(sql, session, self._catalogs, PlanCheckers())
            if isinstance(planned.work, RunOnSpark):
                return None
            kinds = tuple(parse_type(column.type) for column in planned.columns)
            batches = self._executor.execute(planned, FakeExecution())
            rows = [row for batch in batches for row in json.loads(b"[" + encode_rows(batch, kinds, False) + b"]")]
        except ProcessionError as error:
            place = None if error.location is None else [error.location.line, error.location.column]
            return {"error": [error.code.name, error.wire_message, place]}
        return {"columns": [[column.name, column.type] for column in planned.columns], "data": rows}

    def close(self) -> None:
        """Ends the engine."""
        self._local.close()


@pytest.fixture(scope="module")
def procession(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Procession]:
    made = Procession(tmp_path_factory.mktemp("etc"))
    yield made
    made.close()


def recorded(name: str = "statements") -> list[Answer]:
    with gzip.open(_DATA / f"presto_{name}_recorded.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def excepted() -> set[str]:
    listed = json.loads((_DATA / "presto_statements_exceptions.json").read_text(encoding="utf-8"))
    return {sql for statements in listed.values() for sql in statements}


def test_statements_answer_as_a_real_presto(procession: Procession) -> None:
    skipped, wrong, asked = excepted(), [], 0
    for theirs in recorded():
        sql = theirs["sql"]
        if sql in skipped or not (FULL or zlib.crc32(sql.encode()) % 2):
            continue
        asked += 1
        ours = procession.answer(sql)
        if ours is not None and not alike(ours, theirs):
            wrong.append(f"{sql}\n  ours   {str(ours)[:400]}\n  Presto {str(theirs)[:400]}")
    assert asked > 50
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong)


def test_generated_statements_answer_as_a_real_presto(procession: Procession) -> None:
    """Casts between all types, operators over NULLs, and random expressions, joins, groupings, windows, subqueries."""
    wrong = []
    for theirs in recorded("generated"):
        ours = procession.answer(theirs["sql"])
        if ours is None or not alike(ours, theirs):
            wrong.append(f"{theirs['sql']}\n  ours   {str(ours)[:400]}\n  Presto {str(theirs)[:400]}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong)


@pytest.mark.skipif(not FULL, reason="what comes right elsewhere should not fail the short run")
def test_what_is_excepted_still_differs(procession: Procession) -> None:
    """A statement that has come right leaves the list."""
    listed = excepted()
    theirs = {line["sql"]: line for line in recorded()}
    assert listed <= theirs.keys()
    answers = ((sql, procession.answer(sql)) for sql in sorted(listed))
    assert [sql for sql, ours in answers if ours is not None and alike(ours, theirs[sql])] == []

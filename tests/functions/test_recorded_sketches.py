"""Sketches against the bytes and the estimates of a real Presto: see ``tests.functions.recorded_sketches``."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from coordinator.unparser.approximations import estimating_for
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.functions.recorded_sketches import alike, exceptions, recorded
from tests.functions.runner import answer
from tests.sql.test_recorded_statements import Procession

pytestmark = pytest.mark.slow

FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
_PART = 12
"""One statement of so many is asked when not all are."""


@pytest.fixture(scope="module")
def procession(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Procession]:
    made = Procession(tmp_path_factory.mktemp("etc"), "tpch.column-naming=STANDARD\n")
    yield made
    made.close()


def test_sketches_are_those_of_a_real_presto(procession: Procession) -> None:
    excepted, wrong = exceptions(), []
    for theirs in recorded():
        sql = theirs["sql"]
        if sql in excepted or not (FULL or zlib.crc32(sql.encode()) % _PART == 0):
            continue
        ours = procession.answer(sql)
        if ours is None or not alike(ours, theirs):
            wrong.append(f"{sql}\n  ours   {str(ours)[:400]}\n  Presto {str(theirs)[:400]}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong)


@pytest.mark.skipif(not FULL, reason="what comes right elsewhere should not fail the short run")
def test_what_is_excepted_still_differs(procession: Procession) -> None:
    """A statement that has come right leaves the list; what Presto answers in two ways may agree by chance."""
    excepted = exceptions()
    theirs = {line["sql"]: line for line in recorded()}
    assert excepted.keys() <= theirs.keys()
    asked = ((sql, procession.answer(sql)) for sql in excepted if theirs[sql]["stable"])
    assert [sql for sql, ours in asked if ours is not None and alike(ours, theirs[sql])] == []


def test_there_are_enough() -> None:
    assert len(recorded()) > 1000
    assert len(exceptions()) < 150


@pytest.mark.spark
def test_sketches_on_spark_have_the_same_bytes(spark_engine: Any) -> None:
    """A few of each kind; a collected group is in order there while one task makes it."""
    made = ("approx_set(", "qdigest_agg(", "tdigest_agg(")
    asked = [t for name in made for t in recorded() if name in t["sql"] and "100)) t(x)" in t["sql"] and t["stable"]]
    asked = [t for t in asked if "error" not in t and "merge" not in t["sql"]][::8]
    assert len(asked) > 5
    wrong = []
    for theirs in asked:
        rows = answer(theirs["sql"], "spark", lambda sql: spark_engine.run(sql, FakeExecution()))
        if not alike({"columns": theirs["columns"], "data": rows}, theirs):
            wrong.append((theirs["sql"], rows))
    assert wrong == []


@pytest.mark.spark
def test_estimates_on_spark_are_prestos_where_that_is_asked_for(spark_engine: Any) -> None:
    """Its own sketches estimate otherwise; Presto's count the same in any order of rows."""
    session = Session(user="test", properties={"spark_approximate_functions": "PRESTO"})
    columns = ("x", "x / 7e0", "'v' || CAST(x AS varchar)", "CAST(x AS decimal(10,2))")
    sqls = {f"SELECT approx_distinct({column}) FROM UNNEST(sequence(1,5000)) t(x)" for column in columns}
    asked = [t for t in recorded() if t["sql"] in sqls]
    assert len(asked) == len(columns)
    wrong = []
    for theirs in asked:
        with estimating_for(session):
            rows = answer(theirs["sql"], "spark", lambda sql: spark_engine.run(sql, FakeExecution()))
        if not alike({"columns": theirs["columns"], "data": rows}, theirs):
            wrong.append((theirs["sql"], rows))
    assert wrong == []

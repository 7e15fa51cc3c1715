"""Sketches against the bytes and the estimates of a real Presto: see ``tests.functions.recorded_sketches``."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from coordinator.unparser.approximations import estimating_for
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.functions.recorded_sketches import alike, exceptions, recorded
from tests.functions.runner import Run, answer, answers
from tests.sql.test_recorded_statements import Procession

pytestmark = pytest.mark.slow

FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
_PART = 72
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
    assert len(exceptions()) < 40


@pytest.mark.spark
def test_sketches_on_spark_have_the_same_bytes(spark_engine: Any) -> None:
    """A few of each kind; a collected group is in order there while one task makes it."""
    made = ("approx_set(", "qdigest_agg(", "tdigest_agg(", "make_set_digest(", "khyperloglog_agg(")
    asked = [t for name in made for t in recorded() if name in t["sql"] and "100)) t(x)" in t["sql"] and t["stable"]]
    asked = [t for t in asked if "error" not in t and "merge" not in t["sql"]][::8]
    assert len(asked) > 5
    wrong = []
    for theirs in asked:
        rows = answer(theirs["sql"], "spark", lambda sql: spark_engine.run(sql, FakeExecution()))
        if not alike({"columns": theirs["columns"], "data": rows}, theirs):
            wrong.append((theirs["sql"], rows))
    assert wrong == []


_COUNTED = re.compile(r"SELECT (approx_distinct\(.*\)) (FROM UNNEST\(sequence\(1,\d+\)\) t\(x\).*)")


@pytest.mark.spark
def test_different_values_on_spark_are_estimated_as_presto_does(spark_engine: Any) -> None:
    """Recorded calls over numbers, of all types and errors, sparse and dense; one statement a source.

    A third of the calls of each source, or all in a full run.
    """
    asked: dict[str, dict[str, int]] = {}
    known = 0
    for theirs in recorded():
        found = _COUNTED.fullmatch(theirs["sql"])
        if found and "error" not in theirs and len(theirs["columns"]) == len(theirs["rows"]) == 1:
            known += 1
            if not (FULL or zlib.crc32(theirs["sql"].encode()) % 3 == 0):
                continue
            asked.setdefault(found[2], {})[found[1]] = theirs["rows"][0][0]
    assert known > 80
    assert sum(map(len, asked.values())) > 15
    run = _on(spark_engine)
    misses = [
        (call, source, ours, theirs)
        for source, calls in asked.items()
        for (call, theirs), ours in zip(calls.items(), answers(list(calls), "spark", run, source), strict=True)
        if ours != theirs
    ]
    assert misses == []


def test_types_without_a_hash_are_refused_for_spark() -> None:
    """With Presto's texts, before anything is sent."""
    asked = [t for t in recorded() if _COUNTED.fullmatch(t["sql"]) and "XX HASH 64" in t.get("message", "")]
    assert asked
    for theirs in asked:
        assert answer(theirs["sql"], "spark", _never) == (theirs["error"], theirs["message"])


_GROUPS = """
SELECT x % 7 AS g, approx_distinct(x % 1900), approx_distinct(CAST(x AS varchar)) FILTER (WHERE x % 3 = 0),
    approx_distinct(IF(x % 5 = 0, CAST(x AS real)), 0.1e0), approx_distinct(x > 3), approx_distinct(-0e0 * (x % 2 - 1)),
    approx_distinct(DISTINCT x), count(DISTINCT x % 11), approx_distinct(IF(x < 0, x))
FROM UNNEST(sequence(1, 9000)) t(x) GROUP BY 1 ORDER BY 1"""
_WINDOWS = """
SELECT x, approx_distinct(x % 50) OVER (ORDER BY x ROWS UNBOUNDED PRECEDING),
    approx_distinct(x) OVER (PARTITION BY x % 2), approx_distinct(CAST(x AS real), 0.26e0) OVER (PARTITION BY x % 2)
FROM UNNEST(sequence(1, 800)) t(x) ORDER BY 1"""


@pytest.mark.spark
@pytest.mark.parametrize("sql", [_GROUPS, _WINDOWS], ids=["groups", "windows"])
def test_both_engines_estimate_alike(spark_engine: Any, procession: Procession, sql: str) -> None:
    """Groups, FILTER, DISTINCT, windows, both zeros, columns without values."""
    here = procession.answer(sql)
    assert here is not None
    assert answer(sql, "spark", _on(spark_engine)) == here["data"]


@pytest.mark.spark
def test_a_session_may_ask_for_sparks_estimate(spark_engine: Any) -> None:
    """Its own sketch says another number."""
    sql = "SELECT approx_distinct(x) FROM UNNEST(sequence(1,5000)) t(x)"
    with estimating_for(Session(user="test", properties={"spark_approximate_functions": "SPARK"})):
        ((found,),) = answer(sql, "spark", _on(spark_engine))
    assert found != 4941
    assert abs(found - 5000) < 500


def _on(engine: Any) -> Run:
    return lambda sql: engine.run(sql, FakeExecution())


def _never(sql: str) -> Any:
    raise AssertionError(sql)

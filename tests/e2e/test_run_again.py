"""A query that loses its Spark before the first row answers all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.service import Service, start_service, write_etc
from tests.e2e.test_faults import in_background, running_query, spark_of, wide

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Service]:
    running = start_service(write_etc(tmp_path / "etc"), tmp_path / "data", tmp_path / "log")
    yield running
    assert running.stop() == 0


def test_a_query_outlives_its_spark(fresh: Service) -> None:
    fresh.execute("CALL system.clean_data_cache()")
    fresh.create("t", [wide(0, rows=3_000)])
    count = "SELECT count(*) FROM iceberg.db.t a CROSS JOIN iceberg.db.t b WHERE length(a.text || b.text) > 3"
    thread, outcome = in_background(fresh, count, session_properties={"engine": "SPARK"})
    running_query(fresh)
    first = spark_of(fresh)
    first.kill()
    thread.join(240)
    assert outcome == [[[9_000_000]]]
    assert spark_of(fresh).pid != first.pid
    spark = fresh.get("/v1/status")["spark"]
    assert (spark["state"], spark["restarts"]) == ("UP", 1)

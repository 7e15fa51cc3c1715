"""Counts over the last minutes, by a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.dispatch.totals import Totals, percentile
from coordinator.server.query_manager import PREFIXES
from tests.protocol.conftest import MovableClock, Server, running_server


def test_windows_forget() -> None:
    clock = MovableClock()
    totals = Totals(clock)
    for _ in range(3):
        totals.started()
    clock.advance(30)
    totals.started()
    assert totals.last(60).counts["StartedQueries"] == 4
    clock.advance(40)
    assert (totals.last(60).counts["StartedQueries"], totals.last(300).counts["StartedQueries"]) == (1, 4)
    clock.advance(2000)
    totals.started()
    assert (totals.last(900).counts["StartedQueries"], totals.counts["StartedQueries"]) == (1, 5)
    assert len(totals._slots) == 1


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.sampled_from([0.5, 0.75, 0.95, 0.99, 1.0]))
def test_percentiles(values: list[float], share: float) -> None:
    assert percentile(values, share) == numpy.percentile(values, share * 100, method="inverted_cdf")
    assert percentile([], share) == 0.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


def test_ends_are_counted_by_kind(server: Server) -> None:
    for sql in ("SELECT 1", "SELECT 1/0", "SELEC 1", "PLAN defect"):
        server.pages(sql)
    running = server.until(server.post("SELECT slow"), "RUNNING")
    server.client.delete(running.json()["nextUri"])
    query = server.dispatcher.registry.get(running.json()["id"])
    assert query is not None
    server.wait_for(lambda: query.state.done)
    text = server.client.get("/metrics").text
    for name, count in {
        "SubmittedQueries_TotalCount": 5,
        "StartedQueries_OneMinute_Count": 5,
        "CompletedQueries_TotalCount": 5,
        "FailedQueries_TotalCount": 4,
        "UserErrorFailures_FiveMinute_Count": 3,
        "InternalFailures_OneMinute_Count": 1,
        "CanceledQueries_TotalCount": 1,
        "AbandonedQueries_TotalCount": 0,
        "RunningQueries": 0,
    }.items():
        for prefix in PREFIXES:
            assert f"{prefix}_{name} {float(count)}\n" in text, name
    assert 'procession_query_elapsed_seconds_bucket{le="+Inf"} 5.0' in text
    assert "procession_query_elapsed_seconds_count 5.0" in text

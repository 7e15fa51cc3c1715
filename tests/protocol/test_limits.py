"""Time limits of the server and the session, and planning after the queue where eager validation is off."""

from __future__ import annotations

import pytest

from coordinator.dispatch.settings import DispatchSettings


@pytest.mark.parametrize(
    ("settings", "session", "shown"),
    [
        (DispatchSettings(sweep_interval=0.05, max_run_time=120), "", "maximum time limit of 2.00m"),
        (DispatchSettings(sweep_interval=0.05), "query_max_run_time=100s", "maximum time limit of 1.67m"),
        (
            DispatchSettings(sweep_interval=0.05),
            "query_max_execution_time=50s",
            "the maximum execution time limit of 50.00s defined at the QUERY level",
        ),
    ],
)
def test_a_query_past_its_limit_fails(start_server, settings, session, shown):
    headers = {"X-Presto-User": "tester"} | ({"X-Presto-Session": session} if session else {})
    with start_server(settings=settings) as server:
        running = server.until(server.post("SELECT slow", headers), "RUNNING")
        query = server.dispatcher.registry.get(running.json()["id"])
        server.clock.advance(45)
        server.sweep(query)
        assert not query.state.done
        server.clock.advance(90)
        server.sweep(query)
        error = server.client.get(running.json()["nextUri"]).json()["error"]
        assert (error["errorName"], error["errorType"]) == ("EXCEEDED_TIME_LIMIT", "INSUFFICIENT_RESOURCES")
        assert error["message"] == f"Query exceeded {shown}"


def test_planning_waits_for_the_queue_where_it_is_not_eager(start_server):
    with start_server(settings=DispatchSettings(eager_validation=False)) as server:
        pages = server.pages("SELECT 1")
        assert [page.json()["data"] for page in pages if "data" in page.json()] == [[[1]]]
        query = server.dispatcher.registry.get(pages[0].json()["id"])
        assert [state.value for state in query._entered] == [
            "WAITING_FOR_PREREQUISITES", "QUEUED", "DISPATCHING", "PLANNING", "STARTING", "RUNNING", "FINISHING",
            "FINISHED",
        ]  # fmt: skip


def test_a_session_chooses_to_plan_after_the_queue(start_server):
    headers = {"X-Presto-User": "tester", "X-Presto-Session": "eager_plan_validation_enabled=false"}
    with start_server() as server:
        refused = server.pages("SELECT vetoed", headers)[-1].json()
        assert refused["stats"]["state"] == "FAILED"
        query = server.dispatcher.registry.get(refused["id"])
        assert "PLANNING" in [state.value for state in query._entered]

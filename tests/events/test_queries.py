"""One created and one completed event for each statement, however it ends (the server is real, the rest are fakes)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coordinator.dispatch.events import QueryEvents
from coordinator.events.bus import Make
from shared.spi.event_listener import Event, QueryCompletedEvent, QueryCreatedEvent, QueryStartedEvent
from tests.event_samples import service
from tests.protocol.conftest import Server, running_server


class Told:
    """What was published; made when it is asked for."""

    def __init__(self) -> None:
        self.makes: list[Make] = []

    def events(self, query_id: str) -> list[Event]:
        made = [make() for make in self.makes]
        return [
            event
            for event in made
            if isinstance(event, QueryCreatedEvent | QueryCompletedEvent) and event.metadata.query_id == query_id
        ]


@pytest.fixture(scope="module")
def told() -> Told:
    return Told()


@pytest.fixture(scope="module")
def server(told: Told) -> Any:
    with running_server(events=QueryEvents(told.makes.append, service(Path()))) as running:
        yield running


def ended(server: Server, told: Told, query_id: str) -> QueryCompletedEvent:
    query = server.dispatcher.registry.get(query_id)
    assert query is not None
    server.wait_for(lambda: query.state.done)
    events = told.events(query_id)
    assert [type(event) for event in events] == [QueryCreatedEvent, QueryCompletedEvent]
    assert isinstance(events[1], QueryCompletedEvent)
    return events[1]


@pytest.mark.parametrize(
    ("sql", "state", "error"),
    [
        ("SELECT 1", "FINISHED", None),
        ("SELECT 1/0", "FAILED", "DIVISION_BY_ZERO"),
        ("SELEC 1", "FAILED", "SYNTAX_ERROR"),
        ("SELECT vetoed", "FAILED", "NOT_SUPPORTED"),
        ("PLAN defect", "FAILED", "GENERIC_INTERNAL_ERROR"),
    ],
)
def test_ends_of_statements(server: Server, told: Told, sql: str, state: str, error: str | None) -> None:
    headers = {"X-Presto-User": "ann", "X-Presto-Source": "warn", "X-Presto-Client-Tags": "a,b"}
    query_id = server.pages(sql, headers)[0].json()["id"]
    event = ended(server, told, query_id)
    assert event.metadata.query_state == state
    assert (None if event.failure_info is None else event.failure_info.error_code.name) == error
    assert event.context.client_tags == ("a", "b")
    assert event.end_time >= event.create_time
    assert [warning.message for warning in event.warnings] == (
        ["be careful"] if "1" in sql and error != "SYNTAX_ERROR" else []
    )


def test_a_cancelled_and_a_refused_statement(server: Server, told: Told) -> None:
    running = server.until(server.post("SELECT slow"), "RUNNING")
    server.client.delete(running.json()["nextUri"])
    event = ended(server, told, running.json()["id"])
    assert event.failure_info is not None
    assert event.failure_info.error_code.name == "USER_CANCELED"
    long = server.post("x" * 1_100_000).json()["id"]
    event = ended(server, told, long)
    assert event.failure_info is not None
    assert event.failure_info.error_code.name == "QUERY_TEXT_TOO_LARGE"


def test_secrets_are_hidden_and_trace_context_is_taken(server: Server, told: Told) -> None:
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    headers = {"X-Presto-User": "ann", "X-Presto-Session": "a_password=sesame,other=x", "traceparent": traceparent}
    query_id = server.pages("SET SECRET password = 'sesame'", headers)[0].json()["id"]
    events = told.events(query_id)
    assert "sesame" not in str(events)
    assert isinstance(events[0], QueryCreatedEvent)
    assert events[0].context.session_properties == {"a_password": "***", "other": "x"}
    assert events[0].context.traceparent == traceparent


@pytest.mark.parametrize("wrong", ["", "00-0-0-0", "00-" + "0" * 32 + "-b7ad6b7169203331-01", "x" * 5000])
def test_wrong_trace_context_is_left_out(server: Server, told: Told, wrong: str) -> None:
    query_id = server.pages("SELECT 1", {"X-Presto-User": "ann", "traceparent": wrong})[0].json()["id"]
    (first, _) = told.events(query_id)
    assert isinstance(first, QueryCreatedEvent)
    assert first.context.traceparent is None


def test_what_runs_is_told_where_it_is_asked_for_and_what_has_ended_is_not(told: Told) -> None:
    makes: list[Any] = []
    with running_server(events=QueryEvents(makes.append, service(Path()), starts=True)) as server:
        page = server.until(server.post("SELECT slow"), "RUNNING")
        query = server.dispatcher.registry.get(page.json()["id"])
        assert query is not None
        _, made = makes
        event = made()
        assert isinstance(event, QueryStartedEvent)
        assert (event.query_id, event.query_state, event.query_type) == (query.id, "RUNNING", "SELECT")
        assert event.execution_start_time is not None
        assert event.execution_start_time >= query.created
        server.client.delete(f"/v1/query/{query.id}")
        server.wait_for(lambda: query.state.done)
        assert made() is None

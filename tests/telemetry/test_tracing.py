"""Traces of statements, as a collector in this process gets them from OpenTelemetry's own exporter."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import structlog
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from coordinator.config import read_config
from coordinator.dispatch.events import QueryEvents
from coordinator.events.bus import EventBus, NamedListener
from coordinator.events.tracing import TracingSettings, tracing_listener
from coordinator.listeners import load_event_delivery
from coordinator.vocabulary.trace_context import begin_tracing, outgoing_headers, trace_of
from coordinator.vocabulary.traced_calls import traced
from tests.event_samples import FAILURE, completed, service
from tests.protocol.conftest import ANSWERS, running_server

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(BaseHTTPRequestHandler):
    received: list[tuple[str, ExportTraceServiceRequest]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.received.append((self.path, ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, ExportTraceServiceRequest]]]]:
    handler = type("Handler", (Collector,), {"received": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler.received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def settings(endpoint: str) -> TracingSettings:
    return TracingSettings.model_validate({"tracing.enabled": "true", "otel.exporter.endpoint": endpoint})


def spans_of(received: list[tuple[str, ExportTraceServiceRequest]]) -> dict[str, Any]:
    return {
        span.name: span
        for _, request in received
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }


@pytest.mark.slow
def test_a_statement_is_a_span_of_the_clients_trace() -> None:
    with collector() as (endpoint, received):
        bus = EventBus([NamedListener("tracing", tracing_listener(settings(endpoint), service()), linger=0.0)])
        bus.start()
        with running_server(events=QueryEvents(bus.publish, service(Path()))) as server:
            headers = {"X-Presto-User": "ann", "traceparent": f"00-{TRACE}-{PARENT}-01"}
            query_id = server.pages("SELECT 1", headers)[0].json()["id"]
            server.pages("SELECT 1", {"X-Presto-User": "ann", "traceparent": f"00-{TRACE}-{PARENT}-00"})  # not sampled
        bus.close()
    assert {path for path, _ in received} == {"/v1/traces"}
    attributes = {a.key: a.value.string_value for a in received[0][1].resource_spans[0].resource.attributes}
    assert (attributes["service.name"], attributes["service.instance.id"]) == ("procession", "node-1")
    spans = spans_of(received)
    assert set(spans) == {
        "query", "receive", "parse", "analyze", "plan", "optimize", "fragment", "check", "queue", "dispatch", "deliver"
    }  # fmt: skip
    root = spans.pop("query")
    trace = trace_of(query_id, f"00-{TRACE}-{PARENT}-01")
    assert (root.trace_id.hex(), root.parent_span_id.hex(), root.span_id.hex()) == (TRACE, PARENT, trace.span_id)
    assert {a.key: a.value.string_value for a in root.attributes}["trino.query_id"] == query_id
    for span in spans.values():
        assert (span.trace_id.hex(), span.parent_span_id) == (TRACE, root.span_id)
        assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= root.end_time_unix_nano
    assert len({span.span_id for span in spans.values()}) == len(spans)


@pytest.mark.slow
def test_calls_of_other_services_are_below_the_verb_that_makes_them() -> None:
    def reading() -> Any:
        # Where the fake planner asks the same, nobody collects.
        with traced("catalog.commit_table", object="db.t"), traced("store.write", file="a.avro"):
            return ANSWERS["SELECT 1"]()

    with collector() as (endpoint, received):
        bus = EventBus([NamedListener("tracing", tracing_listener(settings(endpoint), service()), linger=0.0)])
        bus.start()
        events = QueryEvents(bus.publish, service(Path()))
        with running_server({"SELECT traced": reading}, events=events, traced=True) as server:
            server.pages("SELECT traced", {"X-Presto-User": "ann"})
            server.pages("SELECT traced", {"X-Presto-User": "ann", "traceparent": f"00-{TRACE}-{PARENT}-00"})
        bus.close()
    spans = spans_of(received)
    commit, write, dispatch = spans["catalog.commit_table"], spans["store.write"], spans["dispatch"]
    assert (commit.parent_span_id, write.parent_span_id) == (dispatch.span_id, commit.span_id)
    assert {commit.trace_id, write.trace_id} == {spans["query"].trace_id}
    assert commit.kind == 3, "a client's"
    about = {a.key: a.value.string_value for a in commit.attributes}
    assert about["procession.object"] == "db.t"
    assert spans["query"].trace_id.hex() != TRACE, "that client did not sample"


@pytest.mark.slow
def test_failures_have_their_status_and_no_text() -> None:
    with collector() as (endpoint, received):
        listener = tracing_listener(settings(endpoint), service())
        listener.receive([completed(failure_info=FAILURE, text="SELECT 'private'")])
        listener.close()
    root = spans_of(received)["query"]
    assert (root.status.code, root.status.message) == (2, "DIVISION_BY_ZERO: / by zero")
    assert "private" not in str(received)


def test_a_collector_that_is_away_is_a_failure_of_the_listener_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    listener = tracing_listener(settings("http://127.0.0.1:9"), service())
    with pytest.raises(OSError, match="did not take"):
        listener.receive([completed()])
    listener.close()


def test_the_configuration_switches_it_on(tmp_path: Path) -> None:
    (tmp_path / "config.properties").write_text(
        "tracing.enabled=true\notel.exporter.endpoint=http://127.0.0.1:9\nhistory.enabled=false\n"
    )
    delivery = load_event_delivery(read_config(tmp_path), service(tmp_path))
    assert [stats.name for stats in delivery.bus.stats()] == ["tracing"]
    assert (delivery.history, delivery.each_creation) == (None, False)


def test_ids_go_into_the_log_and_to_other_services() -> None:
    def run() -> None:
        assert outgoing_headers() == {}
        begin_tracing("q1", f"00-{TRACE}-{PARENT}-01")
        assert structlog.contextvars.get_contextvars() == {"query_id": "q1", "trace_id": TRACE}
        assert outgoing_headers() == {"traceparent": f"00-{TRACE}-{trace_of('q1', None).span_id}-01"}

    Context().run(run)

"""OpenTelemetry: a trace of each statement, made of its completed event, so that none pays for it while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any, Literal, Protocol

from pydantic import Field

from coordinator.values.settings import Settings
from coordinator.vocabulary.trace_context import span_of, trace_of
from shared.properties import ConfigurationError
from shared.spi.event_listener import Event, ListenerContext, QueryCompletedEvent, TracedCallInfo

_BEFORE_QUEUE = ("receive", "parse", "analyze", "plan", "optimize", "fragment", "check")


class TracingSettings(Settings):
    """Properties of etc/config.properties."""

    enabled: bool = Field(
        False,
        alias="tracing.enabled",
        description="Send a trace of each statement to an OpenTelemetry collector (docs/operations.md).",
    )
    endpoint: str | None = Field(
        None,
        alias="otel.exporter.endpoint",
        pattern=r"https?://.+",
        description="The collector, such as `http://host:4318`. OTEL_EXPORTER_OTLP_ENDPOINT counts when it is not set.",
    )
    protocol: Literal["http/protobuf"] = Field(
        "http/protobuf", alias="otel.exporter.protocol", description="Only `http/protobuf`."
    )


class Exporter(Protocol):
    """What of OpenTelemetry's SpanExporter is used."""

    def export(self, spans: Sequence[Any]) -> Any: ...

    def shutdown(self) -> None: ...


class TracingListener:
    """Spans ``query``, one for each verb, named as in the timeline, and one for each call of another service."""

    def __init__(self, exporter: Exporter, context: ListenerContext) -> None:
        """Raises ConfigurationError where OpenTelemetry's SDK is not installed."""
        self._exporter = exporter
        self._sdk, self._api = _module("opentelemetry.sdk.trace"), _module("opentelemetry.trace")
        about = {
            "service.name": "procession",
            "service.version": context.server_version,
            "service.instance.id": context.node_id,
            "deployment.environment.name": context.environment,
        }
        # Of the environment's variables, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
        resource = _module("opentelemetry.sdk.resources")
        self._resource = resource.Resource(about).merge(resource.OTELResourceDetector().detect())

    def receive(self, events: Sequence[Event]) -> None:
        spans = [span for event in events if isinstance(event, QueryCompletedEvent) for span in self._spans(event)]
        if spans and self._exporter.export(spans).name != "SUCCESS":
            raise OSError("the collector did not take the spans")

    def close(self) -> None:
        self._exporter.shutdown()

    def _spans(self, event: QueryCompletedEvent) -> Iterator[Any]:
        query_id = event.metadata.query_id
        trace = trace_of(query_id, event.context.traceparent)
        if not trace.sampled:
            return
        root = self._context(trace.trace_id, trace.span_id)
        parent = None if trace.parent_id is None else self._context(trace.trace_id, trace.parent_id, remote=True)
        yield self._span("query", root, parent, (event.create_time, event.end_time), _attributes(event), event)
        verbs = dict(_verbs(event))
        for verb, times in verbs.items():
            own = self._context(trace.trace_id, span_of(query_id, verb))
            yield self._span(verb, own, root, times, {"procession.query_id": query_id}, None)
        for call in event.calls:
            above = span_of(query_id, call.verb if call.verb in verbs else "query")
            yield self._of_call(call, trace.trace_id, above, query_id)

    def _of_call(self, call: TracedCallInfo, trace_id: str, above: str, query_id: str) -> object:
        about = {f"procession.{name}": value for name, value in call.about.items()}
        failed = None if call.error is None else self._api.Status(self._api.StatusCode.ERROR, call.error)
        ended = call.start_time + timedelta(seconds=call.duration)
        return self._sdk.ReadableSpan(
            name=call.name,
            context=self._context(trace_id, call.span_id),
            parent=self._context(trace_id, call.parent or above),
            resource=self._resource,
            attributes={**about, "procession.query_id": query_id},
            kind=self._api.SpanKind.CLIENT,
            status=failed or self._api.Status(self._api.StatusCode.UNSET),
            start_time=_nanoseconds(call.start_time),
            end_time=_nanoseconds(ended),
        )

    def _context(self, trace_id: str, span_id: str, *, remote: bool = False) -> Any:
        flags = self._api.TraceFlags(self._api.TraceFlags.SAMPLED)
        return self._api.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=remote, trace_flags=flags)

    def _span(
        self,
        name: str,
        own: Any,
        parent: Any,
        times: tuple[datetime, datetime],
        attributes: dict[str, Any],
        event: QueryCompletedEvent | None,
    ) -> Any:
        codes, failure = self._api.StatusCode, None if event is None else event.failure_info
        status = self._api.Status(codes.UNSET)
        if failure is not None:
            status = self._api.Status(codes.ERROR, f"{failure.error_code.name}: {failure.failure_message}")
        return self._sdk.ReadableSpan(
            name=name,
            context=own,
            parent=parent,
            resource=self._resource,
            attributes={key: value for key, value in attributes.items() if value is not None},
            kind=self._api.SpanKind.SERVER if event is not None else self._api.SpanKind.INTERNAL,
            status=status,
            start_time=_nanoseconds(times[0]),
            end_time=_nanoseconds(times[1]),
        )


def tracing_listener(settings: TracingSettings, context: ListenerContext) -> TracingListener:
    """Raises ConfigurationError where OpenTelemetry's SDK is not installed."""
    exporters = _module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    endpoint = None if settings.endpoint is None else settings.endpoint.rstrip("/") + "/v1/traces"
    return TracingListener(exporters.OTLPSpanExporter(endpoint=endpoint), context)


def _attributes(event: QueryCompletedEvent) -> dict[str, Any]:
    """The text is left out: it may hold what traces should not."""
    failure = event.failure_info
    return {
        "procession.query_id": event.metadata.query_id,
        "trino.query_id": event.metadata.query_id,
        "trino.query_type": event.context.query_type,
        "trino.error_code": None if failure is None else failure.error_code.code,
        "trino.error_name": None if failure is None else failure.error_code.name,
        "trino.error_type": None if failure is None else failure.error_code.type,
        "db.system.name": "procession",
        "db.namespace": event.context.catalog,
        "enduser.id": event.context.user,
        "procession.source": event.context.source,
        "procession.engine": event.execution.engine,
        "procession.rows": event.statistics.output_rows,
    }


def _verbs(event: QueryCompletedEvent) -> Iterator[tuple[str, tuple[datetime, datetime]]]:
    """When each verb ran: those before the queue one after the other, delivery up to the end."""
    seconds, at = event.statistics.verbs, event.create_time
    for verb in _BEFORE_QUEUE:
        if verb in seconds:
            ended = min(at + timedelta(seconds=seconds[verb]), event.end_time)
            yield verb, (at, ended)
            at = ended
    begun = event.execution_start_time or at
    if "queue" in seconds:
        yield "queue", (max(at, begun - timedelta(seconds=seconds["queue"])), max(at, begun))
    if "dispatch" in seconds:
        yield "dispatch", (begun, min(event.end_time, begun + timedelta(seconds=seconds["dispatch"])))
    if "deliver" in seconds:
        yield "deliver", (max(begun, event.end_time - timedelta(seconds=seconds["deliver"])), event.end_time)


def _nanoseconds(instant: datetime) -> int:
    return round(instant.timestamp() * 1_000_000) * 1000


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigurationError(
            "tracing.enabled needs OpenTelemetry: pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
        ) from error

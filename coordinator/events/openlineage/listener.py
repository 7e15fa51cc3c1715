"""The listener ``openlineage``: START when a statement has been planned, COMPLETE or FAIL at its end."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.parse import urlsplit

import httpx
import msgspec
import stamina
import structlog

from coordinator.events.openlineage.run_events import Naming, run_event
from coordinator.events.openlineage.settings import OpenLineageSettings
from coordinator.events.settings import parse_listener_settings
from shared.properties import ConfigurationError
from shared.spi.event_listener import Event, EventListener, ListenerContext, QueryCompletedEvent, QueryUpdatedEvent

_log = structlog.get_logger("procession.openlineage")
_ATTEMPTS = 3


class OpenLineageProvider:
    name = "openlineage"

    def create(self, properties: Mapping[str, str], context: ListenerContext) -> EventListener:
        settings = parse_listener_settings(OpenLineageSettings, properties)
        if settings.transport.upper() == "HTTP" and settings.url is None:
            raise ConfigurationError("property 'openlineage-event-listener.transport.url' is missing")
        address = settings.trino_uri or settings.presto_uri or context.server_address
        naming = Naming(
            urlsplit(address).netloc,
            settings.scheme,
            settings.namespace,
            settings.job_name,
            frozenset(settings.disabled_facets),
        )
        transport = HttpTransport(settings) if settings.url and settings.transport.upper() == "HTTP" else LogTransport()
        return OpenLineageListener(naming, settings.types, transport)


class Transport(Protocol):
    def send(self, event: Mapping[str, object]) -> None: ...

    def close(self) -> None: ...


class OpenLineageListener:
    """Remembers which runs have begun: a START whose end never comes is an empty promise in a lineage store."""

    def __init__(self, naming: Naming, types: frozenset[str], transport: Transport) -> None:
        self._naming, self._types, self._transport = naming, types, transport
        self._begun: set[str] = set()

    def receive(self, events: Sequence[Event]) -> None:
        """Sends all; raises the last error after trying each."""
        failure: Exception | None = None
        for event in events:
            for made in self._made(event):
                try:
                    self._transport.send(made)
                except httpx.HTTPError as error:
                    failure = error
        if failure is not None:
            raise failure

    def close(self) -> None:
        self._transport.close()

    def _made(self, event: Event) -> list[dict[str, object]]:
        if not isinstance(event, QueryUpdatedEvent | QueryCompletedEvent):
            return []
        if event.context.query_type not in self._types:
            return []
        query_id = event.metadata.query_id
        if isinstance(event, QueryUpdatedEvent):
            self._begun.add(query_id)
            return [run_event(event, "START", self._naming)]
        begun = query_id in self._begun
        self._begun.discard(query_id)
        start = [] if begun else [run_event(event, "START", self._naming)]
        return [*start, run_event(event, "COMPLETE" if event.failure_info is None else "FAIL", self._naming)]


class LogTransport:
    """Events in the service's log."""

    def send(self, event: Mapping[str, object]) -> None:
        _log.info("lineage", lineage=msgspec.json.encode(event).decode())

    def close(self) -> None:
        return


class HttpTransport:
    """POST to a lineage service; tried three times where it does not answer or says 500 or more."""

    def __init__(self, settings: OpenLineageSettings) -> None:
        headers = {"Content-Type": "application/json", **_pairs(settings.headers, "headers")}
        if settings.api_key is not None:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        self._gzip = settings.compression == "gzip"
        if self._gzip:
            headers["Content-Encoding"] = "gzip"
        assert settings.url is not None
        self._address = httpx.URL(settings.url).join(settings.endpoint)
        self._client = httpx.Client(
            timeout=settings.timeout, headers=headers, params=_pairs(settings.url_params, "url-params")
        )

    def send(self, event: Mapping[str, object]) -> None:
        """Raises httpx.HTTPError."""
        body = msgspec.json.encode(event)
        content = gzip.compress(body, 5) if self._gzip else body
        for attempt in stamina.retry_context(on=_may_pass, attempts=_ATTEMPTS, timeout=30.0):
            with attempt:
                self._client.post(self._address, content=content).raise_for_status()

    def close(self) -> None:
        self._client.close()


def _may_pass(error: Exception) -> bool:
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code >= 500
    return isinstance(error, httpx.TransportError)


def _pairs(entries: Sequence[str], name: str) -> dict[str, str]:
    found = {}
    for entry in entries:
        key, separator, value = entry.partition(":")
        if not separator or not key.strip():
            raise ConfigurationError(f"'openlineage-event-listener.transport.{name}': expected name:value")
        found[key.strip()] = value.strip()
    return found

"""The listener ``http``: events as JSON to a URL, with the property names of Trino's http-event-listener."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import httpx
import msgspec
from pydantic import Field

from coordinator.events.settings import parse_listener_settings
from coordinator.values.settings import Names, Seconds, Settings
from shared.properties import ConfigurationError, read_properties
from shared.spi.event_listener import Event, EventListener, ListenerContext

_CONTENT_TYPE = "application/json; charset=utf-8"


class HttpSettings(Settings):
    """etc/event-listener.properties with event-listener.name=http"""

    log_created: bool = Field(
        False, alias="http-event-listener.log-created", description="Send the event of a created query."
    )
    log_completed: bool = Field(
        False, alias="http-event-listener.log-completed", description="Send the event of a completed query."
    )
    log_others: bool = Field(
        False,
        alias="http-event-listener.log-others",
        description="Send progress of procedures, denied accesses and events of the service (ours).",
    )
    uri: str = Field(
        alias="http-event-listener.connect-ingest-uri", pattern=r"https?://.+", description="Where events are sent."
    )
    headers: Names = Field(
        (),
        alias="http-event-listener.connect-http-headers",
        description="Headers of every request, as `Name:value,Name:value`.",
    )
    headers_file: Path | None = Field(
        None,
        alias="http-event-listener.connect-http-headers-file",
        description="A properties file of more headers; a name may stand in one place only.",
    )
    method: Literal["POST", "PUT"] = Field(
        "POST", alias="http-event-listener.connect-http-method", description="`POST` or `PUT`."
    )
    retry_count: int = Field(
        0,
        alias="http-event-listener.connect-retry-count",
        ge=0,
        le=100,
        description="How often a request is repeated that failed, or was answered with a status of 500 or more.",
    )
    retry_delay: Seconds = Field(
        1.0, alias="http-event-listener.connect-retry-delay", ge=0, description="Wait before the first repetition."
    )
    backoff_base: float = Field(
        2.0,
        alias="http-event-listener.connect-backoff-base",
        ge=1,
        description="The wait grows by this factor with each repetition.",
    )
    max_delay: Seconds = Field(
        60.0, alias="http-event-listener.connect-max-delay", ge=0, description="The longest wait."
    )
    timeout: Seconds = Field(
        10.0, alias="http-event-listener.request-timeout", gt=0, description="How long a request may take (ours)."
    )
    batch_size: int = Field(
        1,
        alias="http-event-listener.batch-size",
        ge=1,
        le=500,
        description="How many events one request carries: 1 sends an object as Trino does, more a JSON array (ours).",
    )
    truststore: Path | None = Field(
        None,
        alias="http-event-listener.trust-store-path",
        description="A PEM file of the authorities that the server's certificate may come from.",
    )


class HttpProvider:
    name = "http"

    def create(self, properties: Mapping[str, str], context: ListenerContext) -> EventListener:
        settings = parse_listener_settings(HttpSettings, properties)
        about = {"User-Agent": f"procession/{context.server_version}"}
        return HttpListener(settings, about | _headers(settings))


class HttpListener:
    """One connection pool; repeats wait on the listener's own thread."""

    def __init__(self, settings: HttpSettings, headers: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._closing = threading.Event()
        given = {"Content-Type": _CONTENT_TYPE, **(headers or {})}
        self._client = httpx.Client(timeout=settings.timeout, headers=given, verify=_verify(settings.truststore))

    def receive(self, events: Sequence[Event]) -> None:
        """Sends all; raises the last error after trying each request."""
        wanted = [event for event in events if self._wanted(event)]
        size, failure = self._settings.batch_size, None
        for at in range(0, len(wanted), size):
            batch = wanted[at : at + size]
            try:
                self._send(msgspec.json.encode(batch[0] if size == 1 else batch))
            except httpx.HTTPError as error:
                failure = error
        if failure is not None:
            raise failure

    def close(self) -> None:
        self._client.close()

    def _wanted(self, event: Event) -> bool:
        match event.__struct_config__.tag:
            case "queryCreated":
                return self._settings.log_created
            case "queryCompleted":
                return self._settings.log_completed
            case _:
                return self._settings.log_others

    def _send(self, body: bytes) -> None:
        settings, delay = self._settings, self._settings.retry_delay
        for attempt in range(settings.retry_count + 1):
            try:
                answer = self._client.request(settings.method, settings.uri, content=body)
                if answer.status_code < 500 or attempt == settings.retry_count:
                    answer.raise_for_status()
                    return
            except httpx.TransportError:
                if attempt == settings.retry_count:
                    raise
            self._closing.wait(min(delay, settings.max_delay))
            delay *= settings.backoff_base


def _verify(truststore: Path | None) -> ssl.SSLContext | bool:
    return True if truststore is None else ssl.create_default_context(cafile=truststore)


def _headers(settings: HttpSettings) -> dict[str, str]:
    headers: dict[str, str] = {}
    for entry in settings.headers:
        name, separator, value = entry.partition(":")
        if not separator or not name.strip():
            raise ConfigurationError("'http-event-listener.connect-http-headers': expected Name:value")
        headers[name.strip()] = value.strip()
    if settings.headers_file is not None:
        for given in read_properties(settings.headers_file).values():
            if given.name in headers:
                raise given.error(f"{given.name} is given twice")
            headers[given.name] = given.value
    return headers

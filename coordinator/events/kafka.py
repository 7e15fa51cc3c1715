"""The listener ``kafka``, where a client for it is installed, with the property names of Trino's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Protocol

import msgspec
from pydantic import Field

from coordinator.events.settings import parse_listener_settings
from coordinator.values.settings import Names, Seconds, Settings
from shared.properties import ConfigurationError
from shared.spi.event_listener import Event, EventListener, ListenerContext, QueryCompletedEvent, QueryCreatedEvent


class KafkaSettings(Settings):
    """etc/event-listener.properties with event-listener.name=kafka"""

    brokers: Names = Field(
        alias="kafka-event-listener.broker-endpoints", min_length=1, description="`host:port,host:port`."
    )
    created_topic: str | None = Field(
        None, alias="kafka-event-listener.created-event.topic", description="Topic of created queries."
    )
    completed_topic: str | None = Field(
        None, alias="kafka-event-listener.completed-event.topic", description="Topic of completed queries."
    )
    publish_created: bool = Field(
        True, alias="kafka-event-listener.publish-created-event", description="Whether created queries are sent."
    )
    publish_completed: bool = Field(
        True, alias="kafka-event-listener.publish-completed-event", description="Whether completed queries are sent."
    )
    client_id: str = Field("procession", alias="kafka-event-listener.client-id", description="Name for the brokers.")
    ends_start: bool = Field(
        True,
        alias="kafka-event-listener.terminate-on-initialization-failure",
        description="Whether a coordinator does not start while no broker answers; otherwise events are lost, and"
        " counted, until one does.",
    )
    request_timeout: Seconds = Field(
        10.0, alias="kafka-event-listener.request-timeout", gt=0, description="How long the brokers may take."
    )


class Message(Protocol):
    """What of kafka-python's FutureRecordMetadata is used."""

    exception: BaseException | None

    def failed(self) -> bool: ...


class Producer(Protocol):
    """What of kafka-python's KafkaProducer is used."""

    def send(self, topic: str, value: bytes, key: bytes) -> Message: ...

    def flush(self, timeout: float) -> object: ...

    def close(self) -> object: ...


class LostMessagesError(Exception):
    """Brokers did not take some messages."""


class KafkaProvider:
    name = "kafka"

    def create(self, properties: Mapping[str, str], context: ListenerContext) -> EventListener:
        settings = parse_listener_settings(KafkaSettings, properties)
        for wanted, topic, name in (
            (settings.publish_created, settings.created_topic, "created"),
            (settings.publish_completed, settings.completed_topic, "completed"),
        ):
            if wanted and topic is None:
                raise ConfigurationError(f"property 'kafka-event-listener.{name}-event.topic' is missing")
        kafka = _client()
        made = _producer(kafka, settings) if settings.ends_start else None
        return KafkaListener(settings, made, context, lambda: _producer(kafka, settings))


class KafkaListener:
    """The key of a message is the query's id, so that a query's events stay in order."""

    def __init__(
        self, settings: KafkaSettings, producer: Producer | None, context: ListenerContext, make: Callable[[], Producer]
    ) -> None:
        """``make`` is asked for a producer for as long as there is none."""
        self._settings, self._producer, self._make = settings, producer, make
        self._about = {"environment": context.environment, "nodeId": context.node_id}

    def receive(self, events: Sequence[Event]) -> None:
        """Raises what the client does, and LostMessagesError for what the brokers refused, such as too large ones."""
        producer = self._producer = self._producer or self._make()
        sent = []
        for event in events:
            topic = self._topic(event)
            if topic is not None and isinstance(event, QueryCreatedEvent | QueryCompletedEvent):
                body = msgspec.json.encode({"eventMetadata": self._about, "eventPayload": event})
                sent.append(producer.send(topic, value=body, key=event.metadata.query_id.encode()))
        producer.flush(self._settings.request_timeout)
        if lost := [message.exception for message in sent if message.failed()]:
            raise LostMessagesError(f"{len(lost)} of {len(sent)} messages were refused: {lost[0]!r}")

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close()

    def _topic(self, event: Event) -> str | None:
        match event:
            case QueryCreatedEvent() if self._settings.publish_created:
                return self._settings.created_topic
            case QueryCompletedEvent() if self._settings.publish_completed:
                return self._settings.completed_topic
            case _:
                return None


def _client() -> ModuleType:
    try:
        return import_module("kafka")
    except ImportError as error:
        raise ConfigurationError("the event listener kafka needs a client: pip install kafka-python") from error


def _producer(kafka: ModuleType, settings: KafkaSettings) -> Producer:
    try:
        made: Producer = kafka.KafkaProducer(
            bootstrap_servers=list(settings.brokers),
            client_id=settings.client_id,
            request_timeout_ms=int(settings.request_timeout * 1000),
        )
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ConfigurationError(f"'kafka-event-listener.broker-endpoints': no broker answers ({reason})") from error
    return made

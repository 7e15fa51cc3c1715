"""The listeners jsonl, http and kafka: what arrives, in what form, and what is done when nobody takes it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from coordinator.events.http import HttpListener, HttpProvider, HttpSettings
from coordinator.events.json_lines import JsonLines
from coordinator.events.kafka import KafkaListener, KafkaSettings, LostMessagesError
from tests.event_samples import FAILURE, completed, created, progress, service, updated

URL = "https://events.example.com/in"
PREFIX = "http-event-listener."


def test_lines_hold_one_object_each_with_prestos_names(tmp_path: Path) -> None:
    listener = JsonLines(tmp_path / "logs" / "events.jsonl")
    listener.receive([created(), completed(failure_info=FAILURE), progress()])
    listener.close()
    file = tmp_path / "logs" / "events.jsonl"
    first, second, third = map(json.loads, file.read_text().splitlines())
    assert [event["eventType"] for event in (first, second, third)] == [
        "queryCreated",
        "queryCompleted",
        "procedureProgress",
    ]
    assert first["createTime"] == "2026-11-23T06:00:00.123456Z"
    assert second["metadata"]["queryId"] == "q1"
    assert second["context"]["resourceGroupId"] == ["global", "ann"]
    assert second["failureInfo"]["errorCode"]["name"] == "DIVISION_BY_ZERO"
    assert second["ioMetadata"]["output"]["columns"][0]["sourceColumns"][0]["column"] == "price"
    assert file.stat().st_mode & 0o777 == 0o600


def test_long_files_are_set_aside_and_the_oldest_removed(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    listener = JsonLines(file, max_size=2_000, max_files=2, events=frozenset(["queryCreated"]))
    for number in range(20):
        listener.receive([created(f"q{number:02}"), progress()])
    listener.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl", "events.jsonl.1", "events.jsonl.2"]
    files = [tmp_path / "events.jsonl.2", tmp_path / "events.jsonl.1", file]
    assert all(path.stat().st_size <= 2_000 for path in files)
    ids = [json.loads(line)["metadata"]["queryId"] for path in files for line in path.read_text().splitlines()]
    assert ids == [f"q{number:02}" for number in range(20)][-len(ids) :]
    assert len(ids) >= 4


def http(**settings: str) -> HttpListener:
    given = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in settings.items()}
    made = HttpProvider().create({f"{PREFIX}connect-ingest-uri": URL, **given}, service())
    assert isinstance(made, HttpListener)
    return made


@respx.mock
def test_http_sends_one_event_a_request_as_trino_does() -> None:
    route = respx.post(URL).respond(200)
    listener = http(log_completed="true", connect_http_headers="X-Api-Key:sesame, X-Other:a:b")
    listener.receive([created(), completed(), progress()])
    listener.close()
    (call,) = route.calls
    assert call.request.headers["X-Api-Key"] == "sesame"
    assert call.request.headers["X-Other"] == "a:b"
    assert call.request.headers["Content-Type"] == "application/json; charset=utf-8"
    body = json.loads(call.request.content)
    assert (body["metadata"]["queryId"], body["context"]["user"], body["statistics"]["wallTime"]) == ("q1", "ann", 3.0)


@respx.mock
def test_http_repeats_what_may_pass_and_nothing_else() -> None:
    route = respx.put(URL)
    route.side_effect = [httpx.Response(503), httpx.ConnectError("no"), httpx.Response(200), httpx.Response(400)]
    listener = http(log_created="true", connect_http_method="PUT", connect_retry_count="2", connect_retry_delay="1ms")
    with pytest.raises(httpx.HTTPStatusError, match="400"):
        listener.receive([created("first"), created("second")])
    assert route.call_count == 4
    sent = [json.loads(call.request.content)["metadata"]["queryId"] for call in route.calls]
    assert sent == ["first", "first", "first", "second"]


@respx.mock
def test_http_batches() -> None:
    route = respx.post(URL).respond(200)
    listener = http(log_created="true", log_others="true", batch_size="2")
    listener.receive([created("a"), created("b"), progress("c")])
    assert [len(json.loads(call.request.content)) for call in route.calls] == [2, 1]


def test_http_headers_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("Authorization=Bearer x\n")
    with respx.mock:
        route = respx.post(URL).respond(200)
        http(log_created="true", connect_http_headers_file=str(file)).receive([created()])
        assert route.calls[0].request.headers["Authorization"] == "Bearer x"
    with pytest.raises(Exception, match="given twice"):
        http(connect_http_headers="Authorization:y", connect_http_headers_file=str(file))
    assert HttpSettings.model_fields["retry_count"].default == 0


@dataclass
class FakeMessage:
    exception: BaseException | None = None

    def failed(self) -> bool:
        return self.exception is not None


class FakeProducer:
    def __init__(self, largest: int = 1 << 20) -> None:
        self.largest = largest
        self.sent: list[tuple[str, Any, bytes]] = []
        self.flushed = 0
        self.closed = False

    def send(self, topic: str, value: bytes, key: bytes) -> FakeMessage:
        if len(value) > self.largest:
            return FakeMessage(ValueError("too large"))  # kafka-python raises nothing here, nor when it flushes
        self.sent.append((topic, json.loads(value), key))
        return FakeMessage()

    def flush(self, timeout: float) -> None:
        self.flushed += 1

    def close(self) -> None:
        self.closed = True


def kafka_settings(**changes: str) -> KafkaSettings:
    return KafkaSettings.model_validate(
        {
            "kafka-event-listener.broker-endpoints": "a:1,b:2",
            "kafka-event-listener.created-event.topic": "made",
            "kafka-event-listener.completed-event.topic": "done",
        }
        | {f"kafka-event-listener.{name}": value for name, value in changes.items()}
    )


def no_producer() -> FakeProducer:
    raise ConnectionError("no broker answers")


def test_kafka_messages_are_wrapped_as_trinos() -> None:
    settings = kafka_settings()
    assert settings.brokers == ("a:1", "b:2")
    producer = FakeProducer()
    listener = KafkaListener(settings, producer, service(), no_producer)
    listener.receive([created(), updated(), completed(), progress()])
    listener.close()
    assert [(topic, key) for topic, _, key in producer.sent] == [("made", b"q1"), ("done", b"q1")]
    assert producer.sent[1][1]["eventPayload"]["metadata"]["queryState"] == "FINISHED"
    assert producer.sent[0][1]["eventMetadata"] == {"environment": "test", "nodeId": "node-1"}
    assert (producer.flushed, producer.closed) == (1, True)


def test_messages_that_brokers_refuse_are_counted() -> None:
    listener = KafkaListener(kafka_settings(), producer := FakeProducer(5000), service(), no_producer)
    with pytest.raises(LostMessagesError, match=r"1 of 3 messages were refused: ValueError\('too large'\)"):
        listener.receive([created("a"), completed("b", text="x" * 9000), completed("c")])
    assert [key for _, _, key in producer.sent] == [b"a", b"c"]


def test_brokers_may_come_later() -> None:
    made: list[FakeProducer] = []
    away = [True]

    def make() -> FakeProducer:
        if away[0]:
            raise ConnectionError("no broker answers")
        made.append(FakeProducer())
        return made[-1]

    listener = KafkaListener(kafka_settings(), None, service(), make)
    with pytest.raises(ConnectionError):
        listener.receive([completed("a")])
    away[0] = False
    listener.receive([completed("b")])
    listener.receive([completed("c")])
    listener.close()
    assert [[key for _, _, key in each.sent] for each in made] == [[b"b", b"c"]]
    KafkaListener(kafka_settings(), None, service(), no_producer).close()

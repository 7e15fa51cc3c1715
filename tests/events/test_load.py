"""Files of event listeners: Presto's shape, several at once, and what is wrong with them told by file and line."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from coordinator.config import CoordinatorConfig, read_config
from coordinator.events.load import load_listeners
from coordinator.room_settings import secrets_in
from shared.properties import ConfigurationError
from tests.event_samples import created, service


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "config.properties").write_text("")
    return tmp_path / "etc"


def config_of(etc: Path, **files: str) -> CoordinatorConfig:
    for name, text in files.items():
        (etc / f"{name.replace('_', '-')}.properties").write_text(text)
    return read_config(etc)


def test_several_listeners_named_by_their_files(etc: Path) -> None:
    config = config_of(
        etc,
        event_listener="event-listener.name=jsonl\n",
        event_listener_audit="event-listener.name=jsonl\njsonl-event-listener.file=audit.jsonl\n",
    )
    listeners = load_listeners(config.event_listeners, service(etc.parent), 10)
    assert [each.name for each in listeners] == ["audit", "event-listener"]
    listeners[0].listener.receive([created()])
    for each in listeners:
        each.listener.close()
    assert (etc.parent / "audit.jsonl").read_text().count("\n") == 1


def test_prestos_list_of_files(etc: Path) -> None:
    (etc / "mine.properties").write_text("event-listener.name=jsonl\n")
    config = config_of(etc, config="event-listener.config-files=etc/mine.properties\n", event_listener="no=listener\n")
    assert [listener.file.name for listener in config.event_listeners] == ["mine.properties"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("jsonl-event-listener.file=x\n", 1, "event-listener.name is missing"),
        ("event-listener.name=nobody\n", 1, "no event listener is named 'nobody'"),
        ("event-listener.name=jsonl\njsonl-event-listener.fil=x\n", 2, "did you mean jsonl-event-listener.file"),
        ("event-listener.name=jsonl\n\njsonl-event-listener.max-size=big\n", 3, "write a number with a unit"),
        ("event-listener.name=jsonl\njsonl-event-listener.events=queryCreated,other\n", 2, "unknown event other"),
        ("event-listener.name=http\n", 1, "'http-event-listener.connect-ingest-uri' is missing"),
        ("event-listener.name=http\nhttp-event-listener.connect-ingest-uri=ftp://x\n", 2, "ftp://x"),
        ("event-listener.name=openlineage\nopenlineage-event-listener.transport.type=HTTP\n", 1, "transport.url"),
        ("event-listener.name=kafka\nkafka-event-listener.broker-endpoints=x:1\n", 1, "created-event.topic"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(etc: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_listeners(config_of(etc, event_listener=text).event_listeners, service(etc.parent), 10)
    assert str(caught.value).startswith(f"{etc / 'event-listener.properties'}:{line}: ")
    assert problem in str(caught.value)


@pytest.mark.skipif(find_spec("kafka") is not None, reason="a client is installed")
def test_kafka_without_a_client_says_what_to_install(etc: Path) -> None:
    text = (
        "event-listener.name=kafka\nkafka-event-listener.broker-endpoints=127.0.0.1:1\n"
        "kafka-event-listener.created-event.topic=a\nkafka-event-listener.completed-event.topic=b\n"
    )
    with pytest.raises(ConfigurationError, match="pip install kafka-python"):
        load_listeners(config_of(etc, event_listener=text).event_listeners, service(etc.parent), 10)


def test_keys_of_listeners_are_secrets(etc: Path) -> None:
    text = "event-listener.name=openlineage\nopenlineage-event-listener.transport.api-key=open-sesame\n"
    assert "open-sesame" in secrets_in(config_of(etc, event_listener=text))

"""An embedded Spark that lives and cannot be used any more: the statement that finds out has it started again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors.exceptions.connect import UnknownException

from coordinator.engine.spark import engine as engines
from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.java import Java
from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.runner import Fixed, Runner
from coordinator.engine.spark.server import EmbeddedServer
from coordinator.engine.spark.settings import SparkSettings
from shared.errors import ErrorCode, ProcessionError
from tests.execution import FakeExecution

BROKEN = UnknownException(
    "Could not initialize class org.apache.iceberg.formats.FormatModelRegistry", reason="java.lang.NoClassDefFoundError"
)
STOPPED = UnknownException("Cannot call methods on a stopped SparkContext.", reason="java.lang.IllegalStateException")
PLAIN = UnknownException("Something else is wrong.", reason="java.lang.IllegalStateException")


class Child:
    """A JVM of which nothing is known but whether it has ended."""

    ended: int | None = None

    def poll(self) -> int | None:
        return self.ended

    def stop(self) -> None:
        self.ended = 0


class Session:
    """Answers every statement with ``error``."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.conf = SimpleNamespace(set=lambda _name, _value: None)
        self.client = SimpleNamespace(_session_hooks=[])
        self.tags: list[str] = []

    def addTag(self, tag: str) -> None:
        self.tags.append(tag)

    def removeTag(self, tag: str) -> None:
        self.tags.remove(tag)

    def registerProgressHandler(self, _handler: object) -> None:
        pass

    def sql(self, _text: str, _arguments: object = None) -> Any:
        raise self.error


def server() -> EmbeddedServer:
    child: Any = Child()
    return EmbeddedServer(child, 1, "token", Java(Path("java"), 17, "PATH"))


def failure_of(error: Exception, of: EmbeddedServer | None) -> tuple[ProcessionError, Connection]:
    session: Any = Session(error)
    connection = Connection(session, of, 1, ProgressRelay())
    with pytest.raises(ProcessionError) as failed:
        list(Runner(Fixed(connection), FakeExecution()).batches(lambda each: each.sql("SELECT 1")))
    assert session.tags == []
    return failed.value, connection


@pytest.mark.parametrize("error", [BROKEN, STOPPED])
def test_a_server_that_cannot_be_used_is_given_up(error: Exception) -> None:
    of = server()
    failure, connection = failure_of(error, of)
    assert (failure.code, failure.retriable) == (ErrorCode.REMOTE_HOST_GONE, True)
    assert "started again" in failure.message
    assert (of.alive, of.gone, connection.alive) == (False, False, False)


def test_one_that_had_another_failure_is_kept() -> None:
    of = server()
    failure, connection = failure_of(PLAIN, of)
    assert (failure.code, failure.retriable) == (ErrorCode.REMOTE_TASK_ERROR, False)
    assert (of.alive, connection.alive) == (True, True)


def test_a_server_of_others_is_not_ours_to_start_again() -> None:
    failure, connection = failure_of(BROKEN, None)
    assert (failure.code, failure.retriable) == (ErrorCode.REMOTE_TASK_ERROR, False)
    assert connection.alive


def test_the_next_statement_has_a_new_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A class stays broken as long as its server lives: that one is stopped."""
    servers = [server(), server()]
    begun: list[EmbeddedServer] = []

    def start(_settings: SparkSettings, _conf: Mapping[str, str], *_rest: object, **_named: object) -> EmbeddedServer:
        begun.append(servers[len(begun)])
        return begun[-1]

    monkeypatch.setattr(engines, "start_server", start)
    monkeypatch.setattr(engines, "open_session", lambda *_args, **_named: Session(BROKEN if len(begun) == 1 else PLAIN))
    monkeypatch.setattr(engines, "drop_session", lambda *_args, **_named: None)
    monkeypatch.setattr(engines, "configured_parallelism", lambda *_args: 1)
    engine = SparkEngine(SparkSettings(work_dir=tmp_path), {})
    for code in (ErrorCode.REMOTE_HOST_GONE, ErrorCode.REMOTE_TASK_ERROR, ErrorCode.REMOTE_TASK_ERROR):
        with pytest.raises(ProcessionError) as failed:
            list(engine.run("SELECT 1", FakeExecution()))
        assert failed.value.code is code
    assert begun == servers
    assert [each.gone for each in servers] == [True, False]
    assert engine.status.restarts == 1
    engine.stop()
    assert servers[1].gone

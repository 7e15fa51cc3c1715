"""Sessions that are lost, servers that are silent or of no use: nobody waits for them, and the next statement works."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.sessions import ask, drop_session, open_session
from coordinator.engine.spark.settings import SparkSettings
from shared.errors import ErrorCode, ProcessionError
from tests.spark_packages import PACKAGES

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def own_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    """An engine that these tests may harm, watched closely."""
    settings = SparkSettings(
        work_dir=tmp_path_factory.mktemp("spark"),
        driver_memory="512m",
        packages=PACKAGES,
        watchdog_interval=0.5,
        watchdog_timeout=8,
    )
    engine = SparkEngine(settings, {})
    yield engine
    engine.stop()


def seven(engine: SparkEngine, execution: Any) -> list[Any]:
    return pa.Table.from_batches(engine.run("SELECT 7 AS n", execution)).to_pylist()


def answers(engine: SparkEngine, execution: Any) -> bool:
    try:
        return seven(engine, execution) == [{"n": 7}]
    except ProcessionError:
        return False


def eventually(condition: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


def jvm_of(connection: Connection) -> int:
    assert connection.server is not None
    guard = connection.server.child.pid
    return int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])


def test_a_released_session_is_made_again_by_the_next_statement(own_engine: SparkEngine, executions: Any) -> None:
    for _ in range(5):
        connection = own_engine.connect()
        connection.session.client.release_session()
        with pytest.raises(ProcessionError) as lost:
            seven(own_engine, executions())
        assert (lost.value.code, lost.value.retriable) == (ErrorCode.REMOTE_HOST_GONE, True)
        assert seven(own_engine, executions()) == [{"n": 7}]
        assert own_engine.connect().server is connection.server
        assert own_engine.connect() is not connection


def test_a_statement_of_a_user_does_not_pretend_that_spark_is_gone(own_engine: SparkEngine, executions: Any) -> None:
    connection = own_engine.connect()
    for words in ("[INVALID_HANDLE.SESSION_CLOSED]", "Cannot call methods on a stopped SparkContext", "UNAVAILABLE"):
        with pytest.raises(ProcessionError) as raised:
            list(own_engine.run(f"SELECT raise_error('{words}')", executions()))
        assert raised.value.code is ErrorCode.GENERIC_USER_ERROR
    assert own_engine.connect() is connection


def suspend(process_id: int) -> None:
    """Returns once every thread stands still: on a busy machine that takes a while after the signal."""
    os.kill(process_id, signal.SIGSTOP)

    def stands() -> bool:
        try:
            stats = [(thread / "stat").read_bytes() for thread in Path(f"/proc/{process_id}/task").iterdir()]
        except OSError:  # a thread that has ended meanwhile
            return False
        return {stat.rpartition(b")")[2].split()[0] for stat in stats} == {b"T"}

    eventually(stands)


def test_dropping_a_session_of_a_silent_server_waits_for_nothing(own_engine: SparkEngine, executions: Any) -> None:
    seven(own_engine, executions())
    connection = own_engine.connect()
    server = connection.server
    assert server is not None
    others = [open_session(server.url, embedded=True, answer_seconds=100) for _ in range(3)]
    for session in others:
        session.conf.set("spark.sql.shuffle.partitions", "3")
    jvm = jvm_of(connection)
    suspend(jvm)
    try:
        start = time.monotonic()
        assert ask(others[0], 1) == "silent"
        drop_session(others[0], release=True)
        drop_session(others[1], release=False)
        del session
        others.clear()
        gc.collect()
        assert time.monotonic() - start < 50
    finally:
        with suppress(ProcessLookupError):  # its engine has given it up, had this taken so long
            os.kill(jvm, signal.SIGCONT)
    eventually(lambda: answers(own_engine, executions()))


def test_statements_of_a_remote_server_that_falls_silent_may_be_sent_again(
    own_engine: SparkEngine, executions: Any, tmp_path: Path
) -> None:
    connection = own_engine.connect()
    assert connection.server is not None
    settings = SparkSettings(
        work_dir=tmp_path, remote=connection.server.url, watchdog_interval=0.2, watchdog_timeout=0.5
    )
    remote = SparkEngine(settings, {})
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(list(remote.run("SELECT count(*) FROM range(1e12)", executions())))
        except ProcessionError as error:
            outcome.append((error.code, error.retriable))

    remote.start()
    try:
        eventually(lambda: answers(remote, executions()))  # a busy machine takes longer now and then
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        time.sleep(1)
        jvm = jvm_of(connection)
        suspend(jvm)
        try:
            thread.join(60)
            assert outcome == [(ErrorCode.REMOTE_HOST_GONE, True)]
        finally:
            with suppress(ProcessLookupError):
                os.kill(jvm, signal.SIGCONT)
    finally:
        # What ran there goes on, as nobody could end it; the next test's server is another one.
        remote.stop()


@pytest.mark.full("a killed Spark in test_faults is replaced; a silent one is noticed above")
def test_a_silent_server_is_replaced_and_its_statements_may_be_sent_again(
    own_engine: SparkEngine, executions: Any
) -> None:
    own_engine.start()
    connection = own_engine.connect()
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(list(own_engine.run("SELECT count(*) FROM range(1e12)", executions())))
        except ProcessionError as error:
            outcome.append((error.code, error.retriable))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(1)
    suspend(jvm_of(connection))
    eventually(lambda: own_engine.status.given_up == 1)
    thread.join(60)
    assert outcome == [(ErrorCode.REMOTE_HOST_GONE, True)]
    eventually(lambda: own_engine.status.state == "up" and own_engine.connect() is not connection)
    assert seven(own_engine, executions()) == [{"n": 7}]
    assert own_engine.status.restarts == 1
    assert "did not answer" in own_engine.status.problem


@pytest.mark.full("a killed Spark in test_faults, which is replaced as well")
def test_a_server_without_memory_ends_and_is_replaced(own_engine: SparkEngine, executions: Any) -> None:
    connection = own_engine.connect()
    restarts = own_engine.status.restarts
    with pytest.raises(ProcessionError) as gone:
        list(own_engine.run("SELECT sum(length(repeat(id, 300000000))), collect_list(repeat('x', 100000000 + id)) "
                            "FROM range(64)", executions()))  # fmt: skip
    assert (gone.value.code, gone.value.retriable) == (ErrorCode.REMOTE_HOST_GONE, True)
    eventually(lambda: own_engine.status.restarts == restarts + 1 and own_engine.status.state == "up")
    assert own_engine.connect() is not connection
    assert seven(own_engine, executions()) == [{"n": 7}]

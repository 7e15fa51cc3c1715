"""Statements on a Spark of others that was given up, against a server of this process that never answers them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pyspark.sql.connect.proto as messages
import pytest
from pyspark.sql.connect.proto import base_pb2_grpc

from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.runner import Fixed, Runner
from coordinator.engine.spark.sessions import LostSessions, drop_session, open_session
from shared.errors import ErrorCode, ProcessionError
from tests.execution import FakeExecution
from tests.spark.relay import Relay


class Silent(base_pb2_grpc.SparkConnectServiceServicer):  # type: ignore[misc]
    """Takes statements and answers none; remembers which sessions were ended."""

    def __init__(self) -> None:
        self.running = threading.Event()
        self.over = threading.Event()
        self.released: list[str] = []

    def ExecutePlan(self, request: Any, context: Any) -> Iterator[Any]:
        self.running.set()
        self.over.wait(30)
        yield from ()

    def ReleaseSession(self, request: Any, context: Any) -> Any:
        self.released.append(request.session_id)
        return messages.ReleaseSessionResponse(session_id=request.session_id)


@pytest.fixture
def served() -> Iterator[tuple[Silent, Relay]]:
    service = Silent()
    server = grpc.server(ThreadPoolExecutor(4))
    base_pb2_grpc.add_SparkConnectServiceServicer_to_server(service, server)
    relay = Relay(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    yield service, relay
    service.over.set()
    relay.close()
    server.stop(0)


def session_through(relay: Relay) -> Any:
    return open_session(f"sc://127.0.0.1:{relay.port}", embedded=False, answer_seconds=1.0)


def eventually(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def test_what_ran_on_it_is_retriable_and_ended_once_it_is_reached_again(served: tuple[Silent, Relay]) -> None:
    service, relay = served
    lost, session = LostSessions(), session_through(relay)
    connection = Connection(session, None, 1, ProgressRelay())
    runner = Runner(Fixed(connection), FakeExecution())  # type: ignore[arg-type]
    failures: list[Exception] = []

    def run() -> None:
        try:
            list(runner.batches(lambda s: s.sql("SELECT 1")))
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert service.running.wait(20)
    relay.silence()
    # As the watchdog does it.
    connection.lost.set()
    drop_session(session, release=False, lost=lost)
    thread.join(20)
    (failure,) = failures
    assert isinstance(failure, ProcessionError)
    assert (failure.code, failure.retriable) == (ErrorCode.REMOTE_HOST_GONE, True)
    assert service.released == []
    relay.mend()
    lost.release(session_through(relay))
    eventually(lambda: service.released == [session.client._session_id])


def test_a_session_whose_release_fails_is_ended_later(served: tuple[Silent, Relay]) -> None:
    service, relay = served
    lost, session = LostSessions(), session_through(relay)
    relay.cut()
    drop_session(session, release=True, lost=lost)
    eventually(lambda: session.client.is_closed)
    relay.mend()
    lost.release(session_through(relay))
    eventually(lambda: service.released == [session.client._session_id])
    lost.release(session_through(relay))
    assert len(service.released) == 1

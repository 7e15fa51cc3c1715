"""Requests of sessions whose channel is closed, and of servers that say nothing."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pyspark.sql.connect.proto as messages
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark.sessions import ask, drop_session, open_session


@pytest.fixture
def session() -> Iterator[SparkSession]:
    """With a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"sc://localhost:{silent.getsockname()[1]}/;token=x"
        made = open_session(url, embedded=True, answer_seconds=0.3)
        yield made
        drop_session(made, release=False)


def test_what_pyspark_still_sends_is_an_error(session: SparkSession) -> None:
    """A statement that is being released holds the stub; grpc ended the process here, when calls were intercepted."""
    stub = session.client._stub
    drop_session(session, release=False)
    with pytest.raises(ValueError, match="closed channel"):
        stub.ReleaseExecute(messages.ReleaseExecuteRequest(session_id="a"))
    assert ask(session, 1) == "session gone"


@pytest.mark.slow
def test_small_requests_end_in_time(session: SparkSession) -> None:
    began = time.monotonic()
    with pytest.raises(SparkConnectGrpcException):
        session.conf.get("spark.sql.session.timeZone")
    assert time.monotonic() - began < 60
    assert ask(session, 0.2) == "silent"

"""Making and ending sessions without what pyspark does at their end.

``SparkSession.stop`` and ``__del__`` wait, under locks that all sessions share, until requests to a server have ended
that may be dead: a garbage collection on the event loop then stands still with the whole service. Here a session is
told good-bye on a thread of its own and within a deadline, or, when its server is dead, not at all.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import grpc
import pyspark.sql.connect.proto as connect_messages
from pyspark.sql.connect.client.core import SparkConnectClient
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark.channels import channel_builder

_BOUNDED = frozenset({"Config", "Interrupt", "ReleaseExecute", "ReleaseSession", "FetchErrorDetails"})
"""Requests that a server which works answers at once, whatever else it does."""
_RELEASE_SECONDS = 5.0
Answer = Literal["alive", "session gone", "silent"]


def open_session(url: str, *, embedded: bool, answer_seconds: float, trust_store: Path | None = None) -> SparkSession:
    """A session with the server at ``url``, which is not contacted yet; small requests fail past the deadline."""
    builder = channel_builder(url, trust_store)
    # Not by SparkSession.builder, which keeps the first session of the process, and of each thread, for ever.
    session = SparkSession(connection=builder)
    client = session.client
    # No interceptor: grpc makes each call of an intercepted channel anew, and crashes the process on a closed one.
    for name in _BOUNDED:
        setattr(client._stub, name, _Bounded(getattr(client._stub, name), answer_seconds))
    # A dead server on this machine does not come back under the same address: fail soon, then restart it.
    policy = DefaultPolicy(max_retries=3 if embedded else 8, initial_backoff=50, max_backoff=2000, jitter=100)
    client.set_retry_policies([policy])
    # What __del__ calls, on whatever thread collects garbage.
    client.close = _nothing
    atexit.unregister(client._cleanup_ml_cache)
    return session


def drop_session(session: SparkSession, *, release: bool) -> None:
    """End ``session``. With ``release`` its server is told, in the background; returns at once."""
    client = session.client
    if not client.is_closed:
        if release:
            threading.Thread(target=_release, args=(client,), name="spark-release", daemon=True).start()
        else:
            _close(client)


def ask(session: SparkSession, seconds: float) -> Answer:
    """Ask the server for a setting of ``session``; blocks for ``seconds`` at most."""
    client = session.client
    request = connect_messages.ConfigRequest(session_id=client._session_id, client_type=client._builder.userAgent)
    if client._user_id:
        request.user_context.user_id = client._user_id
    if client._server_session_id is not None:
        request.client_observed_server_side_session_id = client._server_session_id
    request.operation.get_option.keys.append("spark.sql.session.timeZone")
    try:
        client._stub.Config(request, metadata=client._builder.metadata(), timeout=seconds)
    except grpc.RpcError as error:
        text = str(error)
        if "INVALID_HANDLE.SESSION" in text:
            return "session gone"
        silent = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        return "silent" if error.code() in silent else "alive"
    except Exception:  # closed meanwhile
        return "session gone"
    return "alive"


def _release(client: SparkConnectClient) -> None:
    request = connect_messages.ReleaseSessionRequest(
        session_id=client._session_id, client_type=client._builder.userAgent
    )
    if client._user_id:
        request.user_context.user_id = client._user_id
    with contextlib.suppress(Exception):
        client._stub.ReleaseSession(request, metadata=client._builder.metadata(), timeout=_RELEASE_SECONDS)
    _close(client)


def _close(client: SparkConnectClient) -> None:
    client._closed = True
    with contextlib.suppress(Exception):
        client._channel.close()


def _nothing() -> None:
    """Sessions are ended by ``drop_session`` alone."""


class _Bounded:
    """A small request that ends when it is not answered in time."""

    def __init__(self, call: Callable[..., object], seconds: float) -> None:
        self._call, self._seconds = call, seconds

    def __call__(self, request: object, timeout: float | None = None, **more: object) -> object:
        return self._call(request, timeout=self._seconds if timeout is None else timeout, **more)

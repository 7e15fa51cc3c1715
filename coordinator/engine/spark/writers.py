"""Sessions for writes. Iceberg takes properties of a commit from the session's settings, so writes share none."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.server import EmbeddedServer

_MOST_IDLE = 4
_COMMIT_PROPERTY = "spark.sql.iceberg.snapshot-property.procession.query-id"


class WriterSessions:
    """Idle sessions of one server, handed out to one statement at a time; more are made when none is idle."""

    def __init__(self, make: Callable[[EmbeddedServer | None, ProgressRelay], SparkSession]) -> None:
        self._make = make
        self._idle: list[tuple[Connection, Connection]] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def session(self, main: Connection, query_id: str) -> Iterator[Connection]:
        """A connection to the server of ``main``, whose commits carry ``query_id``."""
        writer = self._take(main)
        try:
            writer.session.conf.set(_COMMIT_PROPERTY, query_id)
            yield writer
        except BaseException:
            # What went wrong may be the session itself.
            _stop(writer, alive=main.alive)
            raise
        with self._lock:
            if main.alive and len(self._idle) < _MOST_IDLE:
                self._idle.append((main, writer))
                return
        _stop(writer, alive=main.alive)

    def close(self, *, alive: bool) -> None:
        """End the idle ones; ``alive`` says whether their server still is."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, writer in idle:
            _stop(writer, alive=alive)

    def _take(self, main: Connection) -> Connection:
        with self._lock:
            for number, (owner, writer) in enumerate(self._idle):
                if owner is main:
                    del self._idle[number]
                    return writer
        progress = ProgressRelay()
        return replace(main, session=self._make(main.server, progress), progress=progress)


def _stop(writer: Connection, *, alive: bool) -> None:
    if not alive:
        # Releasing a session on a dead server would retry for minutes.
        writer.session.release_session_on_close = False
    with contextlib.suppress(Exception):
        writer.session.stop()

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
from coordinator.engine.spark.sessions import drop_session

_MOST_IDLE = 4
_COMMIT_PROPERTY = "spark.sql.iceberg.snapshot-property.procession.query-id"


class WriterSessions:
    """Idle sessions of one server, handed out to one statement at a time; more are made when none is idle."""

    def __init__(self, make: Callable[[EmbeddedServer | None, ProgressRelay], SparkSession]) -> None:
        self._make = make
        self._idle: list[tuple[Connection, Connection]] = []
        self._used: list[Connection] = []
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
            self._given_back(writer)
            drop_session(writer.session, release=main.server_alive)
            raise
        self._given_back(writer)
        with self._lock:
            if main.alive and len(self._idle) < _MOST_IDLE:
                self._idle.append((main, writer))
                return
        drop_session(writer.session, release=main.server_alive)

    def close(self, *, release: bool) -> None:
        """End the idle ones; with ``release`` their server is told."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, writer in idle:
            drop_session(writer.session, release=release)

    def abandon(self) -> None:
        """Their server does not answer: whoever waits for it fails."""
        with self._lock:
            used, self._used = self._used, []
        for writer in used:
            drop_session(writer.session, release=False)
        self.close(release=False)

    def _given_back(self, writer: Connection) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._used.remove(writer)

    def _take(self, main: Connection) -> Connection:
        with self._lock:
            for number, (owner, writer) in enumerate(self._idle):
                if owner is main:
                    del self._idle[number]
                    self._used.append(writer)
                    return writer
        progress = ProgressRelay()
        made = replace(main, session=self._make(main.server, progress), progress=progress)
        with self._lock:
            self._used.append(made)
        return made

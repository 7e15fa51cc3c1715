"""Sessions for writes, and for statements with settings of their own, which share none.

Iceberg takes properties of a commit from the session's settings.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.failures import map_failure
from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.server import EmbeddedServer
from coordinator.engine.spark.sessions import drop_session

_MOST_IDLE = 4
_WRITE_ID = "spark.procession.write-id"
"""What an embedded server puts into the names of files (jvm/procession/spark); others take no notice."""
_COMMIT_PROPERTY = "spark.sql.iceberg.snapshot-property.procession.query-id"


class WriterSessions:
    """Idle sessions of one server, handed out to one statement at a time; more are made when none is idle."""

    def __init__(self, make: Callable[[EmbeddedServer | None, ProgressRelay], SparkSession]) -> None:
        self._make = make
        self._idle: list[tuple[Connection, Connection]] = []
        self._used: list[Connection] = []
        self._current: Connection | None = None
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def session(
        self, main: Connection, query_id: str, settings: Mapping[str, str], write_id: str = ""
    ) -> Iterator[Connection]:
        """A connection to the server of ``main``, whose commits carry ``query_id``; with the statement's settings.

        The names of the files that it writes hold ``write_id``. Raises ProcessionError where the server has none.
        """
        self._current = main
        with _mapped(main):
            writer = self._take(main)
        try:
            with _mapped(main):
                for name, value in {**settings, _COMMIT_PROPERTY: query_id, _WRITE_ID: write_id}.items():
                    writer.session.conf.set(name, value)
            yield writer
        except BaseException:
            # What went wrong may be the session itself.
            self._given_back(writer)
            drop_session(writer.session, release=main.server_alive)
            raise
        self._given_back(writer)
        with self._lock:
            if not settings and main.alive and self._current is main and len(self._idle) < _MOST_IDLE:
                self._idle.append((main, writer))
                return
        drop_session(writer.session, release=main.server_alive)

    def close(self, *, release: bool) -> None:
        """End the idle ones; with ``release`` their server is told."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._current = None
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


@contextlib.contextmanager
def _mapped(main: Connection) -> Iterator[None]:
    """The server may have ended since ``main`` was made."""
    try:
        yield
    except Exception as error:
        raise map_failure(error, server_alive=main.server_alive) from error

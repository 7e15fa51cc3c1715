"""Writes whose files are known by name: which server has them, and how they are ended for good.

That a statement failed here does not mean that Spark has ended it: a commit may be under way, and would land after its
files were removed. Our catalog in the JVM (``jvm/procession/spark``) refuses the commits of a write that was ended.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.server import EmbeddedServer
from coordinator.engine.spark.sessions import drop_session
from shared.errors import ErrorCode, ProcessionError

_LOG = logging.getLogger(__name__)
_ENDED, _COMMITS = "procession: ended", "procession: commits"
"""What the catalog answers."""
_NO_SUCH_PLACE = "TABLE_OR_VIEW_NOT_FOUND"
"""Another catalog stands there (spark.conf.*), which names files as Iceberg does."""

LEAVES_FILES = "The Spark of spark.remote has not our classes: what failed writes leave stays until remove_orphan_files"

_MOST_ENDED = 10_000
"""Of which it is remembered that they may not begin any more: far more than ever wait for Spark."""


@dataclass(frozen=True, slots=True)
class Classes:
    """Whether a server has our classes, and whether it has them because each session brings them (``sent``)."""

    there: bool = False
    sent: bool = False


class NamedWrites:
    """Thread-safe."""

    def __init__(self, make: Callable[[EmbeddedServer | None, ProgressRelay], SparkSession]) -> None:
        self._make = make
        self._servers: dict[str, EmbeddedServer | None] = {}
        self._ended: dict[str, None] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def writing(self, write_id: str | None, server: EmbeddedServer | None) -> Iterator[None]:
        """Around a write by ``server``, None for that of others, which is remembered when it fails.

        Raises ProcessionError for one that was ended already.
        """
        if write_id is None:
            yield
            return
        with self._lock:
            if write_id in self._ended:  # while it waited for Spark
                message = f"The write {write_id} was ended before it began, so that nothing is committed"
                raise ProcessionError(ErrorCode.ICEBERG_COMMIT_ERROR, message, retriable=True)
            self._servers[write_id] = server
        yield
        self._forget(write_id)

    def end(self, catalog: str, write_id: str) -> bool:
        """Whether the write commits nothing from now on: its server refuses, or is gone. Blocks."""
        with self._lock:
            known, server = write_id in self._servers, self._servers.get(write_id)
            if not known:  # it may only wait for Spark to start
                self._ended[write_id] = None
                if len(self._ended) > _MOST_ENDED:
                    del self._ended[next(iter(self._ended))]
        if not known or (server is not None and server.gone) or self.refused(server, catalog, write_id):
            self._forget(write_id)
            return True
        return False

    def _forget(self, write_id: str) -> None:
        with self._lock:
            self._servers.pop(write_id, None)

    def found_classes(
        self, catalogs: Sequence[str], try_out: Callable[[Classes], None], *, one_process: bool
    ) -> Classes:
        """How a server of others comes by our classes, told by one of ``catalogs``. Blocks.

        ``try_out`` lets the next sessions assume what it is given. Executors elsewhere do not find what sessions bring
        (``ClassNotFoundException``, tried with ``local-cluster``): only for a server that is ``one_process``.
        """
        for way in (Classes(there=True), *([Classes(there=True, sent=True)] if one_process else [])):
            try_out(way)
            if any(self.understood(name) for name in catalogs[:1]):
                if way.sent:
                    _LOG.info("The Spark of spark.remote has not our jar in its class path: each session brings it")
                return way
        if catalogs:
            _LOG.warning("%s: add procession-writes.jar to its class path (docs/operations.md)", LEAVES_FILES)
        return Classes()

    def understood(self, catalog: str) -> bool:
        """Whether a server of others has our catalog in its class path. Blocks."""
        return self.refused(None, catalog, str(uuid.uuid4()), otherwise=False)

    def refused(self, server: EmbeddedServer | None, catalog: str, write_id: str, *, otherwise: bool = True) -> bool:
        """Whether the server commits nothing of the write from now on; ``otherwise`` for one without our catalog."""
        session = None
        try:
            session = self._make(server, ProgressRelay())
            # Asking for the schema is enough for the catalog to be asked.
            session.sql(f"SELECT * FROM `{catalog}`.procession_ended_writes.`{write_id}`").schema  # noqa: B018, S608
        except Exception as error:
            text = str(error)
            if _ENDED in text:
                return True
            if _NO_SUCH_PLACE in text:
                return otherwise
            _LOG.info("Write %s cannot be ended yet: %s", write_id, "it commits" if _COMMITS in text else text)
        finally:
            if session is not None:
                drop_session(session, release=server is None or server.alive)
        return False

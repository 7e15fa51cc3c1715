"""SparkEngine: SQL and kernels on Spark Connect; starts, watches and restarts the embedded server."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession

from coordinator.dispatch.ports import Execution
from coordinator.engine.inputs import SparkInput
from coordinator.engine.measured import Operator
from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.failures import map_failure
from coordinator.engine.spark.functions import sql_frame
from coordinator.engine.spark.jars import JarsUnavailableError
from coordinator.engine.spark.java import JavaNotFoundError
from coordinator.engine.spark.kernel_package import zip_kernels
from coordinator.engine.spark.operator_metrics import measured_batches
from coordinator.engine.spark.progress import ProgressRelay, Report
from coordinator.engine.spark.server import EmbeddedServer, SparkStartError, start_server
from coordinator.engine.spark.settings import SESSION_CONF, SparkSettings
from coordinator.engine.spark.views import views_over
from coordinator.engine.spark.workers import SparkWorkers
from coordinator.engine.spark.writers import WriterSessions
from shared.errors import ErrorCode, ProcessionError

_LOG = logging.getLogger(__name__)
_WATCH_SECONDS = 1.0
_INTERRUPT_SECONDS = 60.0
_INTERRUPT_PAUSE_SECONDS = 0.1
_START_FAILURES = (SparkStartError, JavaNotFoundError, JarsUnavailableError)


class SparkEngine:
    """Thread-safe. ``start`` may return before Spark is up; the first statement waits for it."""

    def __init__(self, settings: SparkSettings, catalog_conf: Mapping[str, str]) -> None:
        self._settings = settings
        self._catalog_conf = dict(catalog_conf)
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None
        self._writers = WriterSessions(self._new_session)

    def start(self) -> None:
        """With ``warm_up``: start Spark in the background, and again whenever it dies. Returns at once."""
        if self._settings.warm_up:
            self._watcher = threading.Thread(target=self._watch, name="spark-watcher", daemon=True)
            self._watcher.start()

    def stop(self) -> None:
        """Stop the session, then the server that this engine started. Blocks until nothing of it is left."""
        self._stopping.set()
        with self._lock:
            self._drop()
        if self._watcher is not None:
            self._watcher.join(timeout=10)

    def run(
        self,
        sql: str,
        execution: Execution,
        inputs: Sequence[SparkInput] = (),
        operators: list[Operator] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of ``sql`` over ``inputs`` as they arrive; raises ProcessionError.

        ``operators``, when given, is filled with what Spark measured once all rows have arrived.
        """
        runner = _Runner(self, execution, execution.report_progress, operators)
        with views_over(inputs) as view:
            yield from runner.batches(lambda session: sql_frame(view(session), sql))

    def write(self, sql: str, execution: Execution, inputs: Sequence[SparkInput] = ()) -> Iterator[pa.RecordBatch]:
        """As ``run``, in a session that no other statement shares: what ``sql`` commits carries the query's id."""
        with self._writers.session(self.connect(), execution.query_id) as connection:
            runner = _Runner(_Fixed(connection), execution, execution.report_progress)
            with views_over(inputs) as view:
                yield from runner.batches(lambda session: sql_frame(view(session), sql))

    def workers(self, execution: Execution) -> SparkWorkers:
        """Where the kernels of one query run; their progress is the procedure's to report."""
        return SparkWorkers(_Runner(self, execution))

    @property
    def shares_disk(self) -> bool:
        """Only the embedded server is known to see this machine's files."""
        return self._settings.remote is None

    @property
    def alive(self) -> bool:
        """A connection was made and its server has not ended."""
        connection = self._connection
        return connection is not None and connection.alive

    @property
    def parallelism(self) -> int:
        """Tasks at once. A Spark of this machine tells without running: dry runs do not wait for its start."""
        return _local_cores(self._settings) or self.connect().parallelism

    def connect(self) -> Connection:
        """The live connection, made when there is none; raises ProcessionError when Spark cannot be had."""
        connection = self._connection
        if connection is not None and connection.alive:
            return connection
        with self._lock:
            if self._stopping.is_set():
                raise ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down")
            if self._connection is None or not self._connection.alive:
                self._drop()
                self._connection = self._open()
            return self._connection

    def _open(self) -> Connection:
        server = None
        try:
            if self._settings.remote is None:
                server = start_server(self._settings, self._catalog_conf, self._stopping.is_set)
            progress = ProgressRelay()
            session = self._new_session(server, progress)
            if server is None:
                session.addArtifacts(str(zip_kernels(self._settings.work_dir / "kernels")), pyfile=True)
            return Connection(session, server, _parallelism(session, self._settings), progress)
        except _START_FAILURES as error:
            _LOG.error("Spark did not start: %s", error)
            raise ProcessionError(ErrorCode.NO_NODES_AVAILABLE, f"Spark is not available: {error}") from error
        except Exception as error:
            if server is not None:
                server.stop()
            raise map_failure(error, server_alive=True) from error

    def _new_session(self, server: EmbeddedServer | None, progress: ProgressRelay) -> SparkSession:
        url = self._settings.remote if server is None else server.url
        assert url is not None, "a server is started when there is no remote one"
        session = _session(url, embedded=server is not None)
        for name, value in (*(self._catalog_conf.items() if server is None else ()), *SESSION_CONF.items()):
            session.conf.set(name, value)
        session.registerProgressHandler(progress)
        return session

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        self._writers.close(alive=connection.alive)
        if not connection.alive:
            # Releasing a session on a dead server would retry for minutes.
            connection.session.release_session_on_close = False
        with contextlib.suppress(Exception):
            connection.session.stop()
        if connection.server is not None:
            connection.server.stop()

    def _watch(self) -> None:
        while not self._stopping.is_set():
            connection = self._connection
            if connection is None or not connection.alive:
                if connection is not None:
                    _LOG.warning("The Spark server ended; starting it again")
                with contextlib.suppress(ProcessionError):
                    self._warm_up(self.connect())
            self._stopping.wait(_WATCH_SECONDS)

    def _warm_up(self, connection: Connection) -> None:
        """A first statement and a first Python task, so that no user waits for classes to load and workers to fork."""
        try:
            connection.session.sql("SELECT 1").toArrow()
            count = connection.parallelism
            connection.session.range(0, count, 1, count).mapInArrow(_identity(), "id long").toArrow()
        except Exception as error:
            if not self._stopping.is_set():
                _LOG.warning("Spark's warm-up failed: %s", map_failure(error, server_alive=connection.alive))


class _Connecting(Protocol):
    @property
    def parallelism(self) -> int: ...

    def connect(self) -> Connection: ...


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Stands for the engine where one session is given."""

    connection: Connection

    @property
    def parallelism(self) -> int:
        return self.connection.parallelism

    def connect(self) -> Connection:
        return self.connection


class _Runner:
    """One query's use of the engine: its frames carry the query's tag and end when the query does."""

    def __init__(
        self,
        engine: _Connecting,
        execution: Execution,
        report: Report | None = None,
        operators: list[Operator] | None = None,
    ) -> None:
        self._engine = engine
        self._execution = execution
        self._report = report
        self._operators = operators
        self._tag = f"procession-{execution.query_id}"
        self._registered: set[int] = set()
        self._streaming = threading.Event()

    @property
    def parallelism(self) -> int:
        return self._engine.parallelism

    def batches(self, frame: Callable[[SparkSession], DataFrame]) -> Iterator[pa.RecordBatch]:
        """The frame's batches as they arrive; raises ProcessionError."""
        connection = self._engine.connect()
        self._cancel_with_query(connection)
        self._execution.check_cancelled()
        self._streaming.set()
        try:
            yield from self._stream(connection, frame)
        except ProcessionError:
            raise
        except Exception as error:
            self._execution.check_cancelled()
            failure = map_failure(error, server_alive=connection.alive)
            if failure.code is ErrorCode.REMOTE_HOST_GONE:
                # The next statement makes a new session; an embedded server says itself whether it lives.
                connection.lost.set()
            raise failure from error
        finally:
            self._streaming.clear()

    def _stream(self, connection: Connection, frame: Callable[[SparkSession], DataFrame]) -> Iterator[pa.RecordBatch]:
        session = connection.session
        session.addTag(self._tag)
        try:
            with connection.progress.reporting(self._report):
                # A command runs here already; its rows come with the plan.
                data: Any = frame(session)
                plan = data._plan.to_proto(session.client)
                if self._operators is not None:
                    yield from measured_batches(session.client, plan, self._operators)
                    return
                for part in session.client.to_table_as_iterator(plan, {}):
                    if isinstance(part, pa.Table):
                        yield from part.to_batches()
        finally:
            with contextlib.suppress(Exception):
                session.removeTag(self._tag)

    def _cancel_with_query(self, connection: Connection) -> None:
        if id(connection) in self._registered:
            return
        self._registered.add(id(connection))
        self._execution.on_cancel(lambda: self._interrupt(connection))

    def _interrupt(self, connection: Connection) -> None:
        """Again until the stream ends: an operation that the server has not registered yet is not interrupted."""
        deadline = time.monotonic() + _INTERRUPT_SECONDS
        while self._streaming.is_set() and connection.alive and time.monotonic() < deadline:
            try:
                connection.session.interruptTag(self._tag)
            except Exception as error:
                _LOG.info("Nothing to interrupt: %s", map_failure(error, server_alive=connection.alive))
            time.sleep(_INTERRUPT_PAUSE_SECONDS)


def _session(url: str, *, embedded: bool) -> SparkSession:
    session = SparkSession.builder.remote(url).create()
    # A dead server on this machine does not come back under the same address: fail soon, then restart it.
    policy = DefaultPolicy(max_retries=3 if embedded else 8, initial_backoff=50, max_backoff=2000, jitter=100)
    session.client.set_retry_policies([policy])
    return session


def _local_cores(settings: SparkSettings) -> int | None:
    local = re.fullmatch(r"local\[(\d+|\*)\]", settings.master) if settings.remote is None else None
    if local is None:
        return None
    return (os.cpu_count() or 1) if local[1] == "*" else int(local[1])


def _parallelism(session: SparkSession, settings: SparkSettings) -> int:
    local = _local_cores(settings)
    if local is not None:
        return local
    value = session.conf.get("spark.default.parallelism", None)
    if value is not None:
        return int(value)
    cores = int(session.conf.get("spark.executor.cores", None) or 1)
    return max(1, cores * int(session.conf.get("spark.executor.instances", None) or 2))


def _identity() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return run

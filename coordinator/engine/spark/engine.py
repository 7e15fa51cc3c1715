"""SparkEngine: SQL and kernels on Spark Connect; starts, watches and restarts the embedded server."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql.connect.session import SparkSession

from coordinator.engine.execution import Execution
from coordinator.engine.inputs import SparkInput
from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.failures import map_failure
from coordinator.engine.spark.functions import sql_frame
from coordinator.engine.spark.jars import JarsUnavailableError
from coordinator.engine.spark.java import JavaNotFoundError
from coordinator.engine.spark.kernel_package import zip_kernels
from coordinator.engine.spark.named_writes import Classes, NamedWrites
from coordinator.engine.spark.operations import jobs_of
from coordinator.engine.spark.our_classes import OUR_JAR, of_iceberg, with_our_catalogs
from coordinator.engine.spark.passed_settings import SESSION_CONF, of_session
from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.runner import Connecting, Fixed, Runner
from coordinator.engine.spark.server import EmbeddedServer, SparkStartError, start_server
from coordinator.engine.spark.sessions import drop_session, open_session
from coordinator.engine.spark.settings import SparkSettings
from coordinator.engine.spark.slots import configured_parallelism, executor_slots, is_one_process, starts_together
from coordinator.engine.spark.views import views_over
from coordinator.engine.spark.watchdog import SESSION_GONE, SparkStatus, Watchdog, gave_up
from coordinator.engine.spark.workers import SparkWorkers
from coordinator.engine.spark.writers import WriterSessions
from coordinator.explain.operators import Operator
from coordinator.vocabulary.session_properties import session_value
from coordinator.vocabulary.traced_calls import traced
from shared.errors import ErrorCode, ProcessionError

_LOG = logging.getLogger(__name__)
_WATCH_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
"""Between two attempts to start a Spark that does not start."""
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
        self._status = SparkStatus()
        self._named = NamedWrites(partial(self._new_session, named=True, kernels=False))
        self._classes = Classes(there=settings.remote is None)
        self._kernels: Path | None = None
        self._leaving: list[EmbeddedServer] = []
        """Servers that end with the last statement of theirs."""

    def start(self) -> None:
        """Watch Spark in the background: it is started again when it dies or is of no use. Returns at once.

        With ``warm_up`` it is started now, otherwise by the first statement that needs it.
        """
        self._watcher = threading.Thread(target=self._watch, name="spark-watcher", daemon=True)
        self._watcher.start()

    def stop(self) -> None:
        """Stop the session, then the server that this engine started. Blocks until nothing of it is left."""
        self._stopping.set()
        with self._lock:
            self._drop(keep_server=False)
            for server in self._leaving:
                server.stop()
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
        with self._reader(execution) as engine, views_over(inputs) as view:
            runner = Runner(engine, execution, execution.report_progress, operators, self._jobs_of)
            yield from runner.batches(lambda session: sql_frame(view(session), sql))

    def write(
        self,
        sql: str,
        execution: Execution,
        inputs: Sequence[SparkInput] = (),
        write_id: str | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> Iterator[pa.RecordBatch]:
        """As ``run``, in a session that no other statement shares: what ``sql`` commits carries the query's id.

        The names of the files that it writes hold ``write_id``, which ``new_write_id`` has given.
        """
        main, settings = self.connect(), {**self._settings_of(execution), **settings}
        with (
            self._named.writing(write_id, main.server),
            self._writers.session(main, execution.query_id, settings, write_id or "") as connection,
        ):
            runner = Runner(Fixed(connection), execution, execution.report_progress, jobs_of=self._jobs_of)
            with views_over(inputs) as view:
                yield from runner.batches(lambda session: sql_frame(view(session), sql))

    def new_write_id(self) -> str | None:
        """What the files of one write are to be known by; None where Spark cannot be told how to name them.

        Raises ProcessionError when a Spark of others cannot be had.
        """
        if self._settings.remote is not None:
            self.connect()
        return str(uuid.uuid4()) if self._classes.there else None

    def end_write(self, catalog: str, write_id: str) -> bool:
        """Whether a write that failed commits nothing from now on; False: not known yet, ask again. Blocks."""
        return self._named.end(catalog, write_id)

    def end_earlier_write(self, catalog: str, write_id: str) -> bool:
        """The same of a write that an earlier process began: its own Spark has ended, one of others may go on.

        Raises ProcessionError when a Spark of others cannot be had.
        """
        if self._settings.remote is None:
            return True
        self.connect()
        # One without our classes cannot be the one, not restarted since, that named its files.
        return not self._classes.there or self._named.refused(None, catalog, write_id)

    def workers(self, execution: Execution) -> SparkWorkers:
        """Where the kernels of one query run; their progress is the procedure's to report."""
        elsewhere, twice = not self.shares_disk, self._settings.speculative
        return SparkWorkers(
            Runner(self, execution, jobs_of=self._jobs_of), self._slots_together, elsewhere=elsewhere, speculative=twice
        )

    @property
    def shares_disk(self) -> bool:
        """Only the executors of this machine are known to see its files."""
        return self._settings.remote is None and not self._settings.on_cluster

    @property
    def largest_page(self) -> int | None:
        """Bytes of a Parquet page that its memory allows for."""
        return self._settings.largest_page

    @property
    def alive(self) -> bool:
        """A connection was made and its server has not ended."""
        connection = self._connection
        return connection is not None and connection.alive

    @property
    def status(self) -> SparkStatus:
        """How Spark is, for people and metrics; never waits."""
        connection = self._connection
        if connection is None:
            return self._status
        return replace(self._status, state="up" if connection.alive else "down")

    @property
    def parallelism(self) -> int:
        """Tasks at once. A Spark of this machine tells without running: dry runs do not wait for its start.

        Executors of a cluster come and go: it is asked each time.
        """
        local = self._settings.local_cores
        if local is not None:
            return local
        connection = self.connect()
        return self.slots(connection) or connection.parallelism

    def slots(self, connection: Connection) -> int | None:
        """Tasks at once on the executors that are there now; None where Spark cannot be asked. Blocks."""
        catalogs = of_iceberg(self._catalog_conf)
        if self._named_by_us(connection) and catalogs:
            return executor_slots(connection.session, catalogs[0])
        return None

    def _jobs_of(self, connection: Connection, operations: Sequence[str]) -> tuple[int, ...]:
        """Spark's jobs; none where Spark cannot be asked. Blocks, for seconds at most."""
        catalogs = of_iceberg(self._catalog_conf)
        there = connection.server is not None or self._classes.there
        return jobs_of(connection.session, catalogs[0], operations) if there and catalogs else ()

    def _slots_together(self) -> int | None:
        if self.shares_disk:
            return None
        connection = self.connect()
        return self.slots(connection) if starts_together(connection.session) else None

    def _named_by_us(self, connection: Connection) -> bool:
        return self._classes.there if connection.server is None else self._settings.on_cluster

    def connect(self) -> Connection:
        """The live connection, made when there is none; raises ProcessionError when Spark cannot be had."""
        connection = self._connection
        if connection is not None and connection.alive:
            return connection
        with self._lock:
            if self._stopping.is_set():
                raise ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down")
            if self._connection is None or not self._connection.alive:
                with traced("spark.connect"):
                    self._connection = self._open(self._drop(keep_server=True))
            return self._connection

    def change_catalogs(self, settings: SparkSettings, catalog_conf: Mapping[str, str]) -> None:
        """Statements that begin from now on see these catalogs; others keep their session. Blocks.

        Catalogs are settings of a session. Where ``settings`` name jars that the server lacks, a new server takes its
        place, and the old one ends with its last statement.
        """
        with self._lock:
            known = {*self._settings.packages, *self._settings.jars}
            needs_jars = self._settings.remote is None and not known >= {*settings.packages, *settings.jars}
            self._settings, self._catalog_conf = settings, dict(catalog_conf)
            old = self._connection
            if old is None or not old.alive:
                return
            self._connection = None
            self._writers.close(release=True)
            weakref.finalize(old, _end, old.session, old.server, server_too=needs_jars)
            if needs_jars:
                self._leaving.extend(filter(None, [old.server]))
            else:
                try:
                    self._connection = self._open(old.server)
                except ProcessionError as error:
                    _LOG.error("Spark is started anew with the changed catalogs: %s", error)

    @contextlib.contextmanager
    def _reader(self, execution: Execution) -> Iterator[Connecting]:
        """What runs the statement's query: the session that all share, or one of its own with settings of its own."""
        settings = self._settings_of(execution)
        if not settings:
            yield self
            return
        main = self.connect()
        with self._writers.session(main, execution.query_id, settings) as connection:
            yield Fixed(connection)

    def _settings_of(self, execution: Execution) -> Mapping[str, str]:
        return of_session(session_value(execution.session, "spark_settings"), self._settings.session_settings)

    def _open(self, server: EmbeddedServer | None) -> Connection:
        """A session with ``server``, or with a new one when there is none."""
        try:
            if self._settings.remote is None and server is None:
                self._status = replace(self._status, state="starting")
                self._leaving = [each for each in self._leaving if not each.gone]
                server = start_server(
                    self._settings, self._catalog_conf, self._stopping.is_set, beside=bool(self._leaving)
                )
            progress = ProgressRelay()
            session = self._new_session(server, progress)
            if server is None:
                self._find_classes(session)
            connection = Connection(session, server, configured_parallelism(session, self._settings), progress)
        except _START_FAILURES as error:
            _LOG.error("Spark did not start: %s", error)
            self._status = replace(self._status, state="down", problem=str(error))
            raise ProcessionError(ErrorCode.NO_NODES_AVAILABLE, f"Spark is not available: {error}") from error
        except Exception as error:
            if server is not None:
                server.stop()
            failure = map_failure(error, server_alive=True)
            self._status = replace(self._status, state="down", problem=failure.message)
            raise failure from error
        return connection

    def _find_classes(self, session: SparkSession) -> None:
        def assume(classes: Classes) -> None:
            self._classes = classes

        catalogs = of_iceberg(self._catalog_conf)
        assume(self._named.found_classes(catalogs, assume, one_process=is_one_process(session)))
        self._status = replace(self._status, leaves_files=bool(catalogs) and not self._classes.there)

    def _new_session(
        self,
        server: EmbeddedServer | None,
        progress: ProgressRelay,
        *,
        named: bool | None = None,
        kernels: bool = True,
    ) -> SparkSession:
        """``named``: with our catalogs, on a server of others; None for as far as it is known to have them.

        ``kernels``: for tasks too, whose executors are sent the kernels where they are not of this machine.
        """
        url = self._settings.remote if server is None else server.url
        assert url is not None, "a server is started when there is no remote one"
        embedded = server is not None
        session = open_session(
            url,
            embedded=embedded,
            answer_seconds=self._settings.watchdog_timeout,
            trust_store=None if embedded else self._settings.trust_store,
        )
        try:
            if not embedded and self._classes.sent:
                session.addArtifacts(str(OUR_JAR))
            conf = self._remote_conf(session, named) if server is None else self._newer_catalogs(session, server)
            for name, value in {**conf, **SESSION_CONF}.items():
                session.conf.set(name, value)
            if kernels and (not embedded or self._settings.on_cluster):
                session.addArtifacts(str(self._zipped_kernels()), pyfile=True)
        except BaseException:
            drop_session(session, release=False)
            raise
        session.registerProgressHandler(progress)
        session.client._session_hooks.append(progress)
        return session

    def _zipped_kernels(self) -> Path:
        if self._kernels is None:
            self._kernels = zip_kernels(self._settings.work_dir / "kernels")
        return self._kernels

    def _remote_conf(self, session: SparkSession, named: bool | None) -> Mapping[str, str]:
        """What a server that others started is told: catalogs, and what is passed through and may change later."""
        passed = {name: value for name, value in self._settings.conf.items() if session.conf.isModifiable(name)}
        ours = self._classes.there if named is None else named
        catalogs = with_our_catalogs(self._catalog_conf) if ours else self._catalog_conf
        return {**catalogs, **passed}

    def _newer_catalogs(self, session: SparkSession, server: EmbeddedServer) -> Mapping[str, str]:
        """What became of the catalogs since an embedded server was started."""
        catalogs = with_our_catalogs(self._catalog_conf)
        for name in server.catalog_conf.keys() - catalogs.keys():
            session.conf.unset(name)
        return {name: value for name, value in catalogs.items() if server.catalog_conf.get(name) != value}

    def _drop(self, *, keep_server: bool) -> EmbeddedServer | None:
        """Forget the connection; nothing here waits for an answer. Its server, when it lives and is kept."""
        connection, self._connection = self._connection, None
        if connection is None:
            return None
        server = connection.server
        # Our own server is about to end, or knows nothing of the session any more; others keep theirs for a while.
        release = server is None and connection.alive
        self._writers.close(release=release)
        drop_session(connection.session, release=release)
        if server is None or (keep_server and server.alive):
            return server
        server.stop()
        if keep_server:
            self._status = replace(self._status, restarts=self._status.restarts + 1)
        return None

    def _watch(self) -> None:
        watchdog = Watchdog(self._settings.watchdog_interval, self._settings.watchdog_timeout)
        wanted, pause = self._settings.warm_up, _WATCH_SECONDS
        while not self._stopping.is_set():
            connection = self._connection
            if connection is not None:
                # Spark was in use: it is made again at once when it ends.
                wanted = True
                problem = watchdog.problem(connection) if connection.alive else None
                if problem is not None and connection is self._connection:
                    self._give_up(connection, problem)
            if wanted and (connection is None or not connection.alive):
                pause = _WATCH_SECONDS if self._restart(connection) else min(2 * pause, _LONGEST_PAUSE_SECONDS)
            self._stopping.wait(pause)

    def _give_up(self, connection: Connection, problem: str) -> None:
        """What runs on ``connection`` fails with a retriable error."""
        if problem == SESSION_GONE:
            connection.lost.set()
            return
        _LOG.error("Spark is given up: %s", problem)
        self._status = gave_up(self._status, problem)
        connection.lost.set()
        if connection.server is not None:
            connection.server.give_up()
        else:
            # Whoever waits for a stream of it would wait for ever.
            drop_session(connection.session, release=False)
            self._writers.abandon()

    def _restart(self, connection: Connection | None) -> bool:
        if connection is not None:
            _LOG.warning("The connection to Spark is lost; making it again")
        try:
            self._warm_up(self.connect())
        except ProcessionError:
            return False
        return True

    def _warm_up(self, connection: Connection) -> None:
        """A first statement and a first Python task, so that no user waits for classes to load and workers to fork."""
        try:
            connection.session.sql("SELECT 1").toArrow()
            count = connection.parallelism
            connection.session.range(0, count, 1, count).mapInArrow(_identity(), "id long").toArrow()
        except Exception as error:
            if not self._stopping.is_set():
                _LOG.warning("Spark's warm-up failed: %s", map_failure(error, server_alive=connection.server_alive))


def _end(session: SparkSession, server: EmbeddedServer | None, *, server_too: bool) -> None:
    """After the last statement of a connection that another one has replaced; returns at once."""
    drop_session(session, release=server is None or server.alive)
    if server is not None and server_too:
        threading.Thread(target=server.stop, name="spark-stop", daemon=True).start()


def _identity() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return run

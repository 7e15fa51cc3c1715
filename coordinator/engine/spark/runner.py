"""One query's use of a session: its frames carry the query's tag and end when the query does."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession

from coordinator.engine.execution import Execution
from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.failures import has_broken_class, is_useless, map_failure, session_gone, spark_gone
from coordinator.engine.spark.operator_metrics import measured_batches
from coordinator.engine.spark.progress import Report
from coordinator.explain.operators import Operator
from coordinator.values.complete_offsets import with_offsets
from coordinator.vocabulary.traced_calls import open_call
from shared.errors import ErrorCode, ProcessionError

_LOG = logging.getLogger(__name__)
_INTERRUPT_SECONDS = 60.0
_WORTH_ASKING_SECONDS = 1.0
"""To ask for its jobs takes some ten milliseconds."""
_INTERRUPT_PAUSE_SECONDS = 0.1


class Connecting(Protocol):
    @property
    def parallelism(self) -> int: ...

    def connect(self) -> Connection: ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Stands for the engine where one session is given."""

    connection: Connection

    @property
    def parallelism(self) -> int:
        return self.connection.parallelism

    def connect(self) -> Connection:
        return self.connection


class Runner:
    """One query's use of the engine: its frames carry the query's tag and end when the query does."""

    def __init__(
        self,
        engine: Connecting,
        execution: Execution,
        report: Report | None = None,
        operators: list[Operator] | None = None,
        jobs_of: Callable[[Connection, Sequence[str]], tuple[int, ...]] = lambda _connection, _operations: (),
    ) -> None:
        """``jobs_of`` asks Spark for the jobs of operations, where these took long enough for that to be nothing."""
        self._engine = engine
        self._execution = execution
        self._report = report
        self._operators, self._jobs_of = operators, jobs_of
        self._tag = f"procession-{execution.query_id}"
        self._registered: weakref.WeakSet[Connection] = weakref.WeakSet()
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
        call = open_call("spark.execute", tag=self._tag)
        problem: BaseException | None = None
        operations: list[str] = []
        begun = time.monotonic()
        try:
            yield from self._stream(connection, frame, operations)
            self._tell(connection, operations, time.monotonic() - begun)
        except ProcessionError as error:
            problem = error
            raise
        except Exception as error:
            problem = error
            self._execution.check_cancelled()
            given_up = connection.lost.is_set()
            failure = map_failure(error, server_alive=connection.server_alive)
            if failure.code is ErrorCode.REMOTE_TASK_ERROR:
                _LOG.info("Spark failed: %.10000s", error)
            if failure.code is ErrorCode.USER_CANCELED:
                # Nobody here asked for it: the server closed the session under the statement.
                failure = spark_gone("it ended the statement")
            if given_up and failure.code is ErrorCode.REMOTE_TASK_ERROR:
                # A session that was closed under the statement fails in many words.
                failure = spark_gone("it did not answer any more")
            if connection.server is not None and has_broken_class(error):
                failure = spark_gone("a class of it could not be loaded, and it is started again")
                connection.server.give_up()
            elif connection.server is not None and is_useless(error):
                connection.server.give_up()
            if session_gone(error) or (failure.code is ErrorCode.REMOTE_HOST_GONE and connection.server is None):
                # The next statement makes a new session; an embedded server says itself whether it lives.
                connection.lost.set()
            if connection.server_alive and not connection.lost.is_set():
                self._tell(connection, operations, time.monotonic() - begun)
            raise failure from error
        finally:
            self._streaming.clear()
            self._execution.ran_on_spark(operations, ())
            if call is not None:
                call.end(problem, operations=",".join(operations))

    def _tell(self, connection: Connection, operations: Sequence[str], seconds: float) -> None:
        """All rows have arrived, or none will any more."""
        if seconds >= _WORTH_ASKING_SECONDS and (jobs := self._jobs_of(connection, operations)):
            self._execution.ran_on_spark((), jobs)

    def _stream(
        self, connection: Connection, frame: Callable[[SparkSession], DataFrame], operations: list[str]
    ) -> Iterator[pa.RecordBatch]:
        session = connection.session
        session.addTag(self._tag)
        try:
            with connection.progress.reporting(self._report, operations):
                # A command runs here already; its rows come with the plan.
                data: Any = frame(session)
                plan = data._plan.to_proto(session.client)
                if self._operators is not None:
                    yield from map(with_offsets, measured_batches(session.client, plan, self._operators))
                    return
                for part in session.client.to_table_as_iterator(plan, {}):
                    if isinstance(part, pa.Table):
                        yield from map(with_offsets, part.to_batches())
        finally:
            with contextlib.suppress(Exception):
                session.removeTag(self._tag)

    def _cancel_with_query(self, connection: Connection) -> None:
        if connection in self._registered:
            return
        self._registered.add(connection)
        # Weak: a query is remembered for longer than its session may live.
        held = weakref.ref(connection)
        self._execution.on_cancel(lambda: self._interrupt(held()))

    def _interrupt(self, connection: Connection | None) -> None:
        """Again until the stream ends: an operation that the server has not registered yet is not interrupted."""
        if connection is None:
            return
        deadline = time.monotonic() + _INTERRUPT_SECONDS
        while self._streaming.is_set() and connection.server_alive and time.monotonic() < deadline:
            try:
                connection.session.interruptTag(self._tag)
            except Exception as error:
                _LOG.info("Nothing to interrupt: %s", map_failure(error, server_alive=connection.server_alive))
            time.sleep(_INTERRUPT_PAUSE_SECONDS)

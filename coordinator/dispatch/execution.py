"""Runs one planned statement on a thread: engine batches in, encoded chunks into the query's buffer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import structlog

from coordinator.dispatch.arrow_chunks import arrow_chunks
from coordinator.dispatch.arrow_types import client_schema
from coordinator.dispatch.explained import shown_rows
from coordinator.dispatch.failures import canceled, internal_error, killed
from coordinator.dispatch.pages import Chunk, encode_batch
from coordinator.dispatch.ports import StatementExecutor
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from coordinator.engine.execution import QueryProgress, SentRows
from coordinator.explain.operators import Operator
from coordinator.security.current_session import acting_for
from coordinator.vocabulary.planned_statement import FetchRows, PlannedStatement, ReturnRows, RunOnSpark, Work
from coordinator.vocabulary.trace_context import begin_tracing
from coordinator.vocabulary.traced_calls import collecting
from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import Type, parse_type
from shared.spi.session import Session

_FEW_ROWS = 100
_FEW_COLUMNS = 50
_MOST_OPERATORS = 2000
_MOST_OPERATIONS = 100
"""Of one statement on Spark; a rewrite has one for each file group."""
_SHORT_TEXT = 1000
_PLAIN = (bool, int, float)
_LOST = (ErrorCode.REMOTE_HOST_GONE, ErrorCode.REMOTE_TASK_ERROR)
_log = structlog.get_logger(__name__)


class QueryExecution:
    """What the executor sees of its query (the port ``Execution``)."""

    def __init__(self, query: Query) -> None:
        self._query = query

    @property
    def query_id(self) -> str:
        return self._query.id

    @property
    def session(self) -> Session:
        return self._query.session

    @property
    def sent_rows(self) -> SentRows | None:
        return self._query.sent_rows

    def report_progress(self, progress: QueryProgress) -> None:
        self._query.report(progress)

    def set_update_count(self, count: int) -> None:
        self._query.update_count = count

    def committed(self, snapshot_id: int) -> None:
        self._query.committed_snapshot = snapshot_id

    def ran_on(self, engine: str, why: str) -> None:
        self._query.ran_on = (engine, why)

    def ran_on_spark(self, operations: Sequence[str], jobs: Sequence[int]) -> None:
        query = self._query
        query.spark_operations = (*query.spark_operations, *operations)[:_MOST_OPERATIONS]
        query.spark_jobs = (*query.spark_jobs, *jobs)[:_MOST_OPERATIONS]

    def report_operators(self, operators: Sequence[Operator]) -> None:
        self._query.operators = tuple(operators[:_MOST_OPERATORS])

    def check_cancelled(self) -> None:
        if self._query.state.done:
            raise canceled() if self._query.error is None else self._query.error.apart()
        if self._query.ends_early:
            raise canceled()

    def kill(self, message: str) -> None:
        def end() -> None:
            self._query.fail(killed(message))

        self._query.call_on_loop(end)

    def on_cancel(self, callback: Callable[[], None]) -> None:
        self._query.on_cancel(callback)


def start_execution(
    query: Query,
    planned: PlannedStatement,
    executor: StatementExecutor,
    settings: DispatchSettings,
    *,
    started: Callable[[], None],
    first_rows: Callable[[], None],
    ended: Callable[[ProcessionError | None], None],
) -> None:
    """Run on a new thread, or at once where nothing is left to do but to encode a few rows.

    Called on the query's loop, where the three callbacks are called in this order, each at most once; ``started`` at
    once, so that what the engine reads of its query (``system.runtime``) never lags behind a busy loop.
    """

    def run() -> None:
        error: ProcessionError | None = None
        begin_tracing(query.id, query.session.traceparent)
        try:
            with acting_for(query.session), collecting(query.calls, "dispatch"):
                _deliver(query, planned, executor, settings, _once(lambda: query.call_on_loop(first_rows)))
        except ProcessionError as raised:
            error = raised
        except BaseException as raised:
            error = internal_error(raised, query_id=query.id)
        if query.ends_early:
            # The engine was stopped: what it says of that is nobody's error.
            error = None
        query.buffer.finish()
        query.call_on_loop(lambda: ended(error))

    started()
    if len(planned.columns) <= _FEW_COLUMNS and _is_small(planned.work):
        run()
        return
    threading.Thread(target=run, name=f"query-{query.id}", daemon=True).start()


def _is_small(work: Work) -> bool:
    """Whether the rows are known and so few that the loop encodes them in less time than a thread takes to start."""
    if not isinstance(work, ReturnRows) or len(work.rows) > _FEW_ROWS:
        return False
    return all(v is None or isinstance(v, _PLAIN) or _is_short(v) for row in work.rows for v in row)


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _SHORT_TEXT


def _once(action: Callable[[], None]) -> Callable[[], None]:
    called = False

    def call() -> None:
        nonlocal called
        if not called:
            called = True
            action()

    return call


def _deliver(
    query: Query,
    planned: PlannedStatement,
    executor: StatementExecutor,
    settings: DispatchSettings,
    first_rows: Callable[[], None],
) -> None:
    """Run; what only reads and has delivered nothing runs again when its engine was lost."""
    for _ in range(settings.max_run_again):
        try:
            return _deliver_batches(query, planned, executor, settings, first_rows)
        except ProcessionError as error:
            lost = error.code in _LOST and error.retriable and isinstance(planned.work, RunOnSpark | FetchRows)
            if not lost or query.output_bytes or query.state.done or query.ends_early:
                raise
            query.runs_again += 1
            _log.warning("statement runs again", query_id=query.id, reason=error.message)
    return _deliver_batches(query, planned, executor, settings, first_rows)


def _deliver_batches(
    query: Query,
    planned: PlannedStatement,
    executor: StatementExecutor,
    settings: DispatchSettings,
    first_rows: Callable[[], None],
) -> None:
    execution = QueryExecution(query)
    types = tuple(parse_type(column.type) for column in planned.columns)
    encode = _encoder(query, planned, types, settings)
    counts_rows = planned.update_type is not None and [t.base for t in types] == ["bigint"]
    batches = shown_rows(executor.execute(planned, execution), planned, query)
    try:
        for batch in batches:
            execution.check_cancelled()
            first_rows()
            if counts_rows and batch.num_rows and query.update_count is None:
                query.update_count = batch.column(0)[0].as_py()
            if not _buffer(query, encode(batch)):
                execution.check_cancelled()
                return
    finally:
        _close(batches)


def _encoder(
    query: Query, planned: PlannedStatement, types: tuple[Type, ...], settings: DispatchSettings
) -> Callable[[pa.RecordBatch], Iterator[Chunk]]:
    """What makes chunks of a batch, as the client wants them."""
    if query.result_format == "arrow":
        rows, size = settings.arrow_chunk_rows, settings.arrow_chunk_size
        return partial(
            arrow_chunks,
            types=types,
            schema=client_schema(planned.columns),
            max_rows=rows,
            max_size=size,
            compression=query.compression,
        )
    return partial(
        encode_batch,
        types=types,
        max_rows=settings.chunk_rows,
        max_size=settings.chunk_size,
        nested_as_text=settings.nested_data_serialization and query.session.protocol == "Presto",
        binary=query.result_format == "binary",
    )


def _buffer(query: Query, chunks: Iterator[Chunk]) -> bool:
    for chunk in chunks:
        if not query.buffer.put(chunk):
            return False
        query.output_rows += chunk.rows
        query.output_bytes += len(chunk.data)
    return True


def _close(batches: Iterator[pa.RecordBatch]) -> None:
    close = getattr(batches, "close", None)
    if close is not None:
        close()

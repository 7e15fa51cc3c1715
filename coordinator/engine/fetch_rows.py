"""The second pass of late materialization: rows are known by position, now their other columns are read.

After the first pass the real row list is known, so the decision is made here: too many rows run as one pass after all,
few are read by the coordinator. Of many, files with a large part of them are scanned again by Spark's executors, the
others are still the coordinator's. Per file and column, a look-up reads only pages that hold wanted rows, or whole
column chunks where all of them do.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from coordinator.connectors.registry import Catalogs
from coordinator.engine.execution import Execution, QueryProgress, SentRows
from coordinator.engine.inputs import SparkInput, spark_inputs
from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.row_lists import RowList, gather, row_list
from coordinator.engine.wide_rows import MOST_HELD, KeptRows, TooLargeError, keep_rows, piece_of, pieces
from coordinator.explain.operators import Operator
from coordinator.kernels import lookup
from coordinator.kernels.errors import KernelError
from coordinator.kernels.ranges import Traffic
from coordinator.kernels.tasks import LOOK_UP, LookUpTask
from coordinator.vocabulary.planned_statement import ComputeColumns, FetchRows, RunOnSpark
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import LookUpNode
from shared.spi.handles import column_id
from shared.spi.row_position import LookUpTemplate
from shared.spi.workers import WorkerRuntime

_LOG = logging.getLogger(__name__)
_COORDINATOR_ROWS = 20_000
"""Of more rows, files that hold many are read by Spark's executors, a task a group of files."""
_SCANNED_ROWS = 1_000
"""Of one file: as many are on most of its pages."""
_BATCH_ROWS = 8192


class SparkReads(Protocol):
    """What reading needs of Spark; ``shares_disk`` tells whether it sees the coordinator's files.

    ``largest_page`` is how many bytes of a page it can decode at once; None where others know.
    """

    @property
    def shares_disk(self) -> bool: ...

    @property
    def largest_page(self) -> int | None: ...

    def run(
        self,
        sql: str,
        execution: Execution,
        inputs: Sequence[SparkInput] = (),
        operators: list[Operator] | None = None,
    ) -> Iterator[pa.RecordBatch]: ...

    def workers(self, execution: Execution) -> WorkerRuntime: ...


class PositionsUnusableError(Exception):
    """A file that cannot be read by position: not Parquet, or encrypted."""


def fetch_rows(
    work: FetchRows,
    execution: Execution,
    spark: SparkReads,
    catalogs: Catalogs,
    operators: list[Operator] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of the query. Raises ProcessionError, retriable when a file of the snapshot is gone.

    ``operators``, when given, is filled with what was measured, once all rows have arrived.
    """
    watched = _Progress(execution, operators)
    first = _first_pass(work, watched, spark, catalogs)
    if first is None:
        _LOG.info("query %s: more than %s rows to fetch, so in one pass", execution.query_id, work.max_rows)
    else:
        try:
            yield from _second_pass(work, first, watched, spark, catalogs)
            return
        except PositionsUnusableError as error:
            _LOG.info("query %s: in one pass after all: %s", execution.query_id, error)
    watched.measured("InOnePassAfterAll", {})
    yield from _run(work.otherwise, watched, spark, catalogs)


def _run(work: RunOnSpark, execution: _Progress, spark: SparkReads, catalogs: Catalogs) -> Iterator[pa.RecordBatch]:
    with spark_inputs(work.inputs, catalogs, execution, shares_disk=spark.shares_disk) as inputs:
        if execution.operators is None:
            yield from spark.run(work.sql, execution, inputs)
        else:
            yield from spark.run(work.sql, execution, inputs, execution.operators)


def _first_pass(work: FetchRows, execution: _Progress, spark: SparkReads, catalogs: Catalogs) -> pa.Table | None:
    """The rows with their positions, None as soon as they are too many."""
    if work.likely is not None:
        rows = _rows(work.likely.work, work.max_rows, execution, spark, catalogs)
        if rows is not None and rows.num_rows >= work.likely.rows:
            return rows
        _LOG.info("query %s: the first rows are not where they were looked for", execution.query_id)
    return _rows(work.first, work.max_rows, execution, spark, catalogs)


def _rows(work: RunOnSpark, most: int, execution: _Progress, spark: SparkReads, catalogs: Catalogs) -> pa.Table | None:
    batches, count = [], 0
    with closing(_run(work, execution, spark, catalogs)) as stream:  # type: ignore[type-var]
        for batch in stream:
            count += batch.num_rows
            if count > most:
                return None
            batches.append(batch)
    return pa.Table.from_batches(batches) if count else pa.table({})


@dataclass(frozen=True, slots=True)
class _Found:
    """What one look-up gave: its rows, as a table or, where that would be large, on disk."""

    node: LookUpNode
    rows: RowList
    table: pa.Table | KeptRows


def _second_pass(
    work: FetchRows, first: pa.Table, execution: _Progress, spark: SparkReads, catalogs: Catalogs
) -> Iterator[pa.RecordBatch]:
    """The result's rows; all have been read before the first is given out."""
    if first.num_rows == 0:
        return
    columns = dict(zip(work.columns, first.columns, strict=True))
    found: list[_Found] = []
    traffic = Traffic()
    for node in work.look_ups:
        execution.check_cancelled()
        position = node.rowPosition
        rows = row_list(columns[position.rowSource.name], columns[position.refColumns[0].name])
        found.append(_Found(node, rows, _look_up(node, rows, execution, spark, catalogs, traffic)))
    execution.fetched(traffic, first.num_rows)
    kept = [one.table for one in found if isinstance(one.table, KeptRows)]
    for start, length in pieces(first.num_rows, kept):
        execution.check_cancelled()
        early = {name: column.slice(start, length) for name, column in columns.items()}
        yield from _piece(work, early, found, (start, length), execution, spark)


def _piece(
    work: FetchRows,
    early: Mapping[str, pa.ChunkedArray],
    found: Sequence[_Found],
    at: tuple[int, int],
    execution: _Progress,
    spark: SparkReads,
) -> Iterator[pa.RecordBatch]:
    """Some rows of the result, ``at`` a row for a number of rows, whose columns of the first pass are ``early``."""
    late: dict[str, list[tuple[RowList, pa.ChunkedArray]]] = {}
    for one in found:
        rows, table = piece_of(one.rows, one.table, *at)
        for variable in one.node.outputVariables:
            late.setdefault(variable.name, []).append((rows, table.column(_column_id(one.node, variable.key))))
    columns = dict(early)
    for name, parts in late.items():
        columns[name] = gather(parts, early.get(name))
    if work.computed is not None:
        columns |= _compute(work.computed, columns, at[1], execution, spark)
    result = pa.table([columns[name] for name in work.output], names=[str(i) for i in range(len(work.output))])
    yield from result.to_batches(max_chunksize=_BATCH_ROWS)


def _compute(
    work: ComputeColumns, columns: Mapping[str, pa.ChunkedArray], count: int, execution: Execution, spark: SparkReads
) -> dict[str, pa.ChunkedArray]:
    """Columns that are made of fetched ones, by the engine that would have made them in one pass."""
    given = {work.row: pa.array(range(count), pa.int64()), **{name: _for_spark(columns[name]) for name in work.columns}}
    batches = list(spark.run(work.sql, execution, [ArrowInput(work.name, pa.table(given))]))
    made = pa.Table.from_batches(batches)
    assert made.num_rows == count, "a projection gives a row for each row"
    made = made.take(pc.sort_indices(made.column(0)))
    return dict(zip(work.output, made.columns[1:], strict=True))


def _for_spark(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.binary()) if pa.types.is_fixed_size_binary(column.type) else column


def _column_id(node: LookUpNode, key: str) -> str:
    return str(column_id(node.assignments[key]))


def _look_up(
    node: LookUpNode, rows: RowList, execution: _Progress, spark: SparkReads, catalogs: Catalogs, traffic: Traffic
) -> pa.Table | KeptRows:
    """The distinct rows of ``rows`` as a table, in its order, columns named by field id."""
    template = catalogs.look_up(node, [source for source, _ in rows.files])
    if any(source not in template.paths for source, _ in rows.files):
        raise PositionsUnusableError("a file of the first pass is not known by its number")
    execution.files += len(rows.files)
    rows = replace(rows, files=[(template.paths[source], positions) for source, positions in rows.files])
    task = _task_of(template)
    try:
        if rows.count <= _COORDINATOR_ROWS:
            return _held_or_kept(task, rows, execution, traffic)
        found = lookup.portions(lookup.with_rows(task, rows.files), traffic)
        if sum(portion.size for portion in found) > MOST_HELD * 4:
            return keep_rows(task, rows, traffic, execution.check_cancelled)
        few = sum(len(positions) for _, positions in rows.files if len(positions) <= _SCANNED_ROWS)
        long = _SCANNED_ROWS if few <= _COORDINATOR_ROWS else 0
        execution.scanned += sum(len(positions) > long for _, positions in rows.files)
        return _by_file(task, rows, long, spark.workers(execution), traffic)
    except TooLargeError as error:
        if spark.largest_page is not None and error.page > spark.largest_page:
            raise _page_too_large(error.page, spark.largest_page) from error
        raise PositionsUnusableError(str(error)) from error
    except KernelError as error:
        raise _failure(error.name, error.message, template.snapshot_id) from error
    except ProcessionError as error:
        raise _failure(error.code.name, error.message, template.snapshot_id, error) from error


def _page_too_large(page: int, most: int) -> ProcessionError:
    """Spark would end of it, and every other statement there with it."""
    message = (
        f"Columns of the result are on Parquet pages of {_size(page)}, more than Spark decodes at once ({_size(most)}, "
        "spark.max-parquet-page-size): write the rows again with smaller pages, or give Spark more memory"
    )
    return ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)


def _size(count: int) -> str:
    return f"{count >> 20} MB" if count >> 20 else f"{count} bytes"


def _task_of(template: LookUpTemplate) -> LookUpTask:
    mapping = template.name_mapping
    return LookUpTask(
        fields=[dict(field) for field in template.fields],
        storage=template.storage,
        name_mapping=None if mapping is None else [dict(name) for name in mapping],
    )


def _held_or_kept(task: LookUpTask, rows: RowList, execution: _Progress, traffic: Traffic) -> pa.Table | KeptRows:
    try:
        return lookup.read_rows(lookup.with_rows(task, rows.files), traffic, MOST_HELD)
    except lookup.TooWideError:
        return keep_rows(task, rows, traffic, execution.check_cancelled)


def _here(task: LookUpTask, rows: RowList, traffic: Traffic) -> pa.Table:
    return lookup.read_rows(lookup.with_rows(task, rows.files), traffic)


def _by_file(task: LookUpTask, rows: RowList, long: int, workers: WorkerRuntime, traffic: Traffic) -> pa.Table:
    """Files with more than ``long`` wanted rows by executors, in one call; the others here."""
    runs = rows.runs(long)
    scanned = [run for many, run in runs if many]
    parts = iter(_on_executors(task, scanned, workers, traffic))
    return pa.concat_tables([next(parts) if many else _here(task, run, traffic) for many, run in runs])


def _on_executors(
    task: LookUpTask, runs: Sequence[RowList], workers: WorkerRuntime, traffic: Traffic
) -> list[pa.Table]:
    """A table a run; together they are as many tasks as there are slots, or one a run."""
    total = sum(run.count for run in runs)
    groups = [
        (at, files)
        for at, run in enumerate(runs)
        for files in run.split(max(1, round(workers.parallelism * run.count / total)))
    ]
    tasks = [lookup.with_rows(task, files, number) for number, (_, files) in enumerate(groups)]
    tables: dict[int, pa.Table] = {}
    for answer in LOOK_UP.run(workers, tasks, "fetch columns by position"):
        table = pa.ipc.open_stream(answer).read_all()
        notes = table.schema.metadata or {}
        traffic.add(int(notes[b"requests"]), int(notes[b"bytes"]))
        tables[int(notes[b"number"])] = table.replace_schema_metadata(None)
    return [
        pa.concat_tables([tables[number] for number, (owner, _) in enumerate(groups) if owner == at])
        for at in range(len(runs))
    ]


def _failure(name: str, message: str, snapshot: int | None, error: ProcessionError | None = None) -> Exception:
    if name == ErrorCode.NOT_SUPPORTED.name:
        return PositionsUnusableError(message)
    if name == ErrorCode.ICEBERG_MISSING_DATA.name:
        text = f"{message}; it belonged to snapshot {snapshot} when the query began, so running it again helps"
        return ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, text, retriable=True)
    return error or ProcessionError(ErrorCode[name], message)


class _Progress:
    """An Execution that remembers the first pass's totals, to which the second adds its own.

    ``files`` are those that look-ups read, ``scanned`` of them again by executors.
    """

    def __init__(self, execution: Execution, operators: list[Operator] | None) -> None:
        self._execution = execution
        self.operators = operators
        self.files = self.scanned = 0
        self._last = QueryProgress()
        self.query_id = execution.query_id
        self.session = execution.session
        self.sent_rows: SentRows | None = None  # a query reads none
        self.set_update_count = execution.set_update_count
        self.committed = execution.committed
        self.check_cancelled = execution.check_cancelled
        self.ran_on = execution.ran_on
        self.report_operators, self.ran_on_spark = execution.report_operators, execution.ran_on_spark
        self.on_cancel = execution.on_cancel
        self.kill = execution.kill

    def report_progress(self, progress: QueryProgress) -> None:
        self._last = progress
        self._execution.report_progress(progress)

    def measured(self, name: str, metrics: Mapping[str, int]) -> None:
        """What EXPLAIN ANALYZE tells beside Spark's operators."""
        if self.operators is not None:
            self.operators.append(Operator(name, 0, metrics))

    def fetched(self, traffic: Traffic, rows: int) -> None:
        """Count what the second pass read."""
        files = {"files": self.files, "files scanned again": self.scanned}
        self.measured("Fetch", {"rows": rows, **files, "requests": traffic.requests, "bytes": traffic.bytes})
        size = self._last.processed_bytes + traffic.bytes
        self.report_progress(replace(self._last, processed_bytes=size, phase="fetched columns by position"))
        figures = (self.query_id, traffic.bytes, traffic.requests, self.files, self.scanned)
        _LOG.info("query %s: fetched %s bytes in %s requests from %s files, %s of them scanned again", *figures)

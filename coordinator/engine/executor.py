"""Dispatch of a planned statement: each kind of work to the engine that does it, results as Arrow batches."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol, assert_never

import pyarrow as pa

from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.registered import find_procedure
from coordinator.engine.execution import Execution, QueryProgress
from coordinator.engine.fetch_rows import SparkReads, fetch_rows
from coordinator.engine.inputs import SparkInput, file_scans, local_inputs, spark_inputs
from coordinator.engine.jobs import JobLog
from coordinator.engine.local_inputs import LocalInput
from coordinator.engine.measured import explain_analyze, with_tables
from coordinator.engine.procedures import run_procedure
from coordinator.engine.row_steps import select_rows
from coordinator.engine.vended_keys import with_newer_keys
from coordinator.explain.operators import Operator
from coordinator.kernels.file_scan import FileScan
from coordinator.unparser import work_on_spark
from coordinator.values.arrow_types import rows_to_batch
from coordinator.vocabulary.planned_statement import (
    AnalyzeTable,
    CallProcedure,
    ChangeCatalog,
    ExplainAnalyze,
    ExplainNative,
    FetchRows,
    ManageCatalog,
    PlannedStatement,
    ReturnRows,
    RunLocally,
    RunOnSpark,
    SelectRows,
    WriteRows,
)
from shared.errors import ErrorCode, ProcessionError
from shared.spi.capabilities import asked_before
from shared.spi.grants import RoleChange
from shared.spi.jobs import Job
from shared.spi.procedure import ProcedureContext, ProcedureProgress
from shared.spi.table_writes import LeftToEngineError, WriteContext

_LOG = logging.getLogger(__name__)
_SPARK_MAY = frozenset(
    {
        ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT,
        ErrorCode.ICEBERG_CANNOT_OPEN_SPLIT,
        ErrorCode.GENERIC_INTERNAL_ERROR,
    }
)
"""What the embedded engine fails with where Spark may not: it has more memory, and perhaps other keys to the files."""


_MEASURED_ROWS = 250_000
"""From so many on a statement takes so long that measuring its operators, a third of a millisecond, is nothing."""


class LocalSql(Protocol):
    """DuckDB behind ``coordinator.engine.processes``, or ``coordinator.engine.local`` in this process."""

    def run(
        self,
        sql: str,
        execution: Execution,
        inputs: Sequence[LocalInput] = (),
        operators: list[Operator] | None = None,
    ) -> Iterator[pa.RecordBatch]: ...


class EmbeddedSql(Protocol):
    """The processes behind ``coordinator.engine.embedded``."""

    def run(
        self,
        sql: str,
        scans: Mapping[str, FileScan],
        execution: Execution,
        inputs: Sequence[LocalInput] = (),
        most_bytes: int | None = None,
        operators: list[Operator] | None = None,
    ) -> Iterator[pa.RecordBatch]: ...


class SparkSql(SparkReads, Protocol):
    """Spark behind ``coordinator.engine.spark``."""

    def write(
        self,
        sql: str,
        execution: Execution,
        inputs: Sequence[SparkInput] = (),
        write_id: str | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> Iterator[pa.RecordBatch]: ...

    def new_write_id(self) -> str | None: ...

    def end_write(self, catalog: str, write_id: str) -> bool: ...


class Executor:
    """Implements ``coordinator.dispatch.ports.StatementExecutor`` over the engines of this coordinator."""

    def __init__(
        self,
        catalogs: Catalogs,
        local: LocalSql,
        spark: SparkSql,
        explain_native: Callable[[ExplainNative], str],
        jobs: JobLog | None = None,
        embedded: EmbeddedSql | None = None,
        manage: Callable[[ManageCatalog], None] | None = None,
    ) -> None:
        self._catalogs = catalogs
        self._local = local
        self._spark = spark
        self._explain_native = explain_native
        self._jobs = jobs or JobLog()
        self._embedded = embedded
        self._manage = manage

    def execute(self, planned: PlannedStatement, execution: Execution) -> Iterator[pa.RecordBatch]:
        """The statement's result; blocks. Raises ProcessionError.

        It keeps the catalogs that it begins with, whatever becomes of them meanwhile.
        """
        pinned = copy.copy(self)
        pinned._catalogs = self._catalogs.pinned()
        yield from pinned._execute(planned, execution)

    def _execute(  # noqa: C901 - one case a kind of work
        self, planned: PlannedStatement, execution: Execution
    ) -> Iterator[pa.RecordBatch]:
        match planned.work:
            case ReturnRows(rows):
                yield rows_to_batch(planned.columns, rows)
            case RunLocally() as work:
                yield from self._locally(work, execution)
            case SelectRows(relation, steps):
                source = asked_before(self._catalogs.capabilities(relation.catalog).rows)
                yield from select_rows(source.read(relation), steps, execution)
            case RunOnSpark() as work:
                yield from self._on_spark(work, execution)
            case FetchRows() as work:
                yield from fetch_rows(work, execution, self._spark, self._catalogs)
            case ExplainNative() as work:
                yield rows_to_batch(planned.columns, [[self._explain_native(work)]])
            case ExplainAnalyze() as explained:
                run = partial(self._measured, planned, explained, execution)
                text, operators = explain_analyze(explained, run)
                execution.report_operators(operators)
                yield rows_to_batch(planned.columns, [[text]])
            case CallProcedure() as work:
                yield rows_to_batch(planned.columns, self._call(work, execution))
            case ChangeCatalog() as work:
                self._change(work, execution)
                yield rows_to_batch(planned.columns, [[True]])
            case ManageCatalog() as work:
                if self._manage is None:
                    raise ProcessionError(ErrorCode.NOT_SUPPORTED, "catalog.management is static")
                self._manage(work)
                yield rows_to_batch(planned.columns, [[True]])
            case AnalyzeTable() as work:
                yield rows_to_batch(planned.columns, [[self._analyze(work, execution)]])
            case WriteRows() as work:
                yield rows_to_batch(planned.columns, [[self._write(work, execution)]])
            case _:
                assert_never(planned.work)

    def _locally(
        self, work: RunLocally, execution: Execution, operators: list[Operator] | None = None
    ) -> Iterator[pa.RecordBatch]:
        delivered = False
        try:
            for batch in self._run_locally(work, execution, operators):
                delivered = delivered or batch.num_rows > 0
                yield batch
            return
        except ProcessionError as error:
            if work.otherwise is None or delivered or error.code not in _SPARK_MAY:
                raise
            if (spark := work_on_spark(work.otherwise)) is None:
                raise
            execution.check_cancelled()
            _LOG.info("%s: the embedded engine gave up, Spark runs it: %s", execution.query_id, error)
            execution.ran_on("spark", f"the embedded engine gave up: {error.message}")
        yield from self._on_spark(spark, execution, operators)

    def _run_locally(
        self, work: RunLocally, execution: Execution, operators: list[Operator] | None
    ) -> Iterator[pa.RecordBatch]:
        scans = {} if self._embedded is None else file_scans(work.inputs, self._catalogs)
        if scans:
            yield from with_newer_keys(lambda: self._on_embedded(work, scans, execution, operators), scans.values())
            return
        with local_inputs(work.inputs, self._catalogs, execution) as opened:
            yield from self._local.run(work.sql, execution, opened, operators)

    def _on_embedded(
        self,
        work: RunLocally,
        scans: Mapping[str, FileScan],
        execution: Execution,
        operators: list[Operator] | None,
    ) -> Iterator[pa.RecordBatch]:
        """Databases are done with when this returns, however slowly its rows are read."""
        assert self._embedded is not None
        others = [made for made in work.inputs if made.name not in scans]
        large = sum(scan.rows for scan in scans.values()) >= _MEASURED_ROWS
        measured = list[Operator]() if operators is None and large else operators
        with local_inputs(others, self._catalogs, execution) as opened:
            rows = self._embedded.run(work.sql, scans, execution, opened, work.most_sent_bytes, measured)
        if measured is not None:
            measured[:] = with_tables(measured, work.inputs, scans)
            if operators is None:
                execution.report_operators(measured)
        return rows

    def _on_spark(
        self, work: RunOnSpark, execution: Execution, operators: list[Operator] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Spark tells what its operators did with the rows, asked or not."""
        found: list[Operator] = []
        with spark_inputs(work.inputs, self._catalogs, execution, shares_disk=self._spark.shares_disk) as opened:
            yield from self._spark.run(work.sql, execution, opened, found)
        if operators is None:
            execution.report_operators(found)
        else:
            operators.extend(found)

    def _measured(
        self, planned: PlannedStatement, explained: ExplainAnalyze, execution: Execution, operators: list[Operator]
    ) -> Iterator[pa.RecordBatch]:
        match explained.work:
            case RunOnSpark() as work:
                yield from self._on_spark(work, execution, operators)
            case RunLocally() as work:
                yield from self._locally(work, execution, operators)
            case FetchRows() as fetched:
                yield from fetch_rows(fetched, execution, self._spark, self._catalogs, operators)
            case work:
                yield from self.execute(replace(planned, work=work, columns=explained.columns), execution)

    def _call(self, work: CallProcedure, execution: Execution) -> Any:
        execution.report_progress(QueryProgress(phase=f"calling {work.procedure}"))
        procedure = find_procedure(self._catalogs, work.catalog, work.procedure)
        context = self._context(work.catalog, execution)
        if is_logged(work):
            with self._jobs.running(job_of(work, execution), execution.kill) as progress:

                def report(seen: ProcedureProgress) -> None:
                    progress(seen)
                    context.report(seen)

                result = run_procedure(procedure, work, replace(context, report=report))
        else:
            result = run_procedure(procedure, work, context)
        if result.update_count is not None:
            execution.set_update_count(result.update_count)
        if work.target is not None or is_logged(work):
            schema, table = work.arguments.get("schema"), work.arguments.get("table_name")
            if isinstance(table, str):
                self._note_commit(work.catalog, str(schema), table, execution)
        return result.rows

    def _note_commit(self, catalog: str, schema: str, table: str, execution: Execution) -> None:
        """For those who are told of the statement; that it succeeded does not hang on it."""
        tables = self._catalogs.capabilities(catalog).committed
        try:
            found = None if tables is None else tables.committed_snapshot(schema, table, execution.query_id)
        except Exception as error:  # it has landed: told as failed, it would be sent again
            _LOG.warning("%s: the snapshot that it committed is not known: %s", execution.query_id, error)
            return
        if found is not None:
            execution.committed(found)

    def _context(self, catalog: str, execution: Execution) -> ProcedureContext:
        return ProcedureContext(
            session=execution.session,
            catalog=catalog,
            workers=self._spark.workers(execution),
            now=datetime.now(UTC),
            report=lambda progress: execution.report_progress(_query_progress(progress)),
            check_cancelled=execution.check_cancelled,
            jobs=self._jobs,
        )

    def _analyze(self, work: AnalyzeTable, execution: Execution) -> int:
        analyzer = asked_before(self._catalogs.capabilities(work.catalog).analyze)
        context = self._context(work.catalog, execution)
        analyzed = analyzer.analyze(work.schema, work.table, work.properties, context)
        execution.set_update_count(analyzed)
        return analyzed

    def _change(self, work: ChangeCatalog, execution: Execution) -> None:
        does = self._catalogs.capabilities(work.catalog)
        if isinstance(work.change, RoleChange):
            asked_before(does.grants).change(work.change)
        else:
            asked_before(does.changes).change(work.change, self._context(work.catalog, execution))

    def _rows_of_write(self, work: WriteRows, execution: Execution) -> Iterator[pa.RecordBatch]:
        assert work.rows is not None
        query, columns = work.rows
        execution.ran_on("coordinator", "its rows are few" if work.write.after else "Spark cannot write them")
        try:
            yield from self._execute(PlannedStatement("SELECT", columns, query), execution)
        except ProcessionError as error:
            if not work.write.after or error.code not in _SPARK_MAY:
                raise
            raise LeftToEngineError(error.code, error.message) from error

    def _write(self, work: WriteRows, execution: Execution) -> int:
        write = work.write
        begun = False

        def rows() -> Iterator[pa.RecordBatch]:
            nonlocal begun
            begun = True
            return self._rows_of_write(work, execution)

        opening = spark_inputs(work.inputs, self._catalogs, execution, shares_disk=self._spark.shares_disk)
        with ExitStack() as stack:
            # Where a source cannot be read nothing is begun; where Spark may have nothing to do, none is opened.
            inputs = stack.enter_context(opening) if work.rows is None else None

            def run(
                sql: str, write_id: str | None = None, settings: Mapping[str, str] = MappingProxyType({})
            ) -> list[Mapping[str, object]]:
                nonlocal inputs
                if work.rows is not None:
                    much = "more than the coordinator writes by itself"
                    execution.ran_on("spark", much if begun else "the table is for Spark to write")
                if inputs is None:
                    inputs = stack.enter_context(opening)
                batches = self._spark.write(sql, execution, inputs, write_id, settings)
                return [row for batch in batches for row in batch.to_pylist()]

            writer = asked_before(self._catalogs.capabilities(write.catalog).writes)
            context = self._context(write.catalog, execution)
            end = partial(self._spark.end_write, write.catalog)
            may = None if work.rows is None else rows
            written = writer.write(write, WriteContext(context, run, self._spark.new_write_id, end, may))
        execution.set_update_count(written)
        self._note_commit(write.catalog, write.schema, write.table, execution)
        return written


def is_logged(work: CallProcedure) -> bool:
    """Whether a call is a job: those that only look at something are none."""
    return not work.procedure.startswith(("show_", "help", "kill_", "explain_", "maintain", "pause", "resume"))


def job_of(work: CallProcedure, execution: Execution) -> Job:
    """A job that begins to run now."""
    table = None
    if {"schema", "table_name"} <= work.arguments.keys():
        table = f"{work.catalog}.{work.arguments['schema']}.{work.arguments['table_name']}"
    user = execution.session.user
    return Job(execution.query_id, work.procedure, table, user, "RUNNING", datetime.now(UTC))


def _query_progress(progress: ProcedureProgress) -> QueryProgress:
    return QueryProgress(
        completed_splits=progress.completed,
        total_splits=progress.total,
        # How many of them really run is not told; no more than there are cores can.
        running_splits=min(progress.total - progress.completed, os.cpu_count() or 1),
        phase=progress.phase,
    )

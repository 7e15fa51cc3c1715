"""``CALL catalog.system.rewrite_data_files(schema, table_name, strategy, sorted_by, options, filter)``"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError, mapped
from coordinator.connectors.iceberg.rewrite import dry_run
from coordinator.connectors.iceberg.rewrite.commit import commit_rewrite
from coordinator.connectors.iceberg.rewrite.copying import Way, choose_ways
from coordinator.connectors.iceberg.rewrite.delegated import (
    Delegated,
    delegate,
    reason_before_planning,
    result,
    run,
)
from coordinator.connectors.iceberg.rewrite.journal import Journal, JournalEntry
from coordinator.connectors.iceberg.rewrite.options import NO_LIMIT, RewriteOptions, Rewriter, parse_options
from coordinator.connectors.iceberg.rewrite.ordering import Ordering, row_order
from coordinator.connectors.iceberg.rewrite.output_specs import with_output_spec
from coordinator.connectors.iceberg.rewrite.packing import write_packed
from coordinator.connectors.iceberg.rewrite.partial_progress import Row, run_steps
from coordinator.connectors.iceberg.rewrite.range_sorting import write_sorted
from coordinator.connectors.iceberg.rewrite.recovery import landed_snapshot, sweep
from coordinator.connectors.iceberg.rewrite.rewrite import (
    NotOurs,
    Rewrite,
    journal_begin,
    look,
    new_data_files,
    plan_rewrite,
    reason_of_work,
)
from coordinator.connectors.iceberg.rewrite.sorted_by import SortedBy, parse_sorted_by
from coordinator.connectors.iceberg.rewrite.tasks import TaskFactory
from coordinator.connectors.iceberg.rewrite.writing import write_files
from coordinator.kernels.tasks import Fragment
from shared.errors import ErrorCode
from shared.spi.procedure import (
    Argument,
    ArgumentError,
    Arguments,
    OutputColumn,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
    TableTarget,
)

logger = logging.getLogger(__name__)
_WORKERS_GONE_SECONDS = 10.0

DECLARATION = ProcedureDeclaration(
    name="rewrite_data_files",
    kind=ProcedureKind.TABLE_DATA_REWRITE,
    summary="Rewrite small, large or partly deleted data files into files of the target size.",
    arguments=(
        Argument("schema", "varchar", "Schema of the table.", required=True),
        Argument("table_name", "varchar", "Name of the table.", required=True),
        Argument(
            "strategy",
            "varchar",
            "How rows are laid out: binpack keeps their order, sort sorts them.",
            default="binpack",
            choices=("binpack", "sort"),
        ),
        Argument(
            "sorted_by",
            "array(varchar)",
            "For sort: col [ASC|DESC] [NULLS FIRST|LAST] each, or zorder(a, b) or hilbert(a, b). Default: the table's.",
            default=None,
        ),
        Argument("options", "map(varchar,varchar)", "Iceberg's rewrite options by name.", default=None),
        Argument("filter", "varchar", "Only files that may hold rows for which this is true.", default="TRUE"),
        Argument("dry_run", "boolean", "Show what would be rewritten and why, and change nothing.", default=False),
    ),
    output=(
        OutputColumn("rewritten_data_files_count", "integer", "Data files that were replaced."),
        OutputColumn("added_data_files_count", "integer", "Data files that replace them."),
        OutputColumn("rewritten_bytes_count", "bigint", "Bytes of the replaced data files."),
        OutputColumn("failed_data_files_count", "integer", "0; files of failed groups when partial progress is on."),
        OutputColumn("removed_delete_files_count", "integer", "Delete files that are no longer needed."),
        OutputColumn("rewritten_rows_count", "bigint", "Rows of the new files."),
    ),
    example="CALL iceberg.system.rewrite_data_files(schema => 'sales', table_name => 'orders', "
    "options => map(array['min-input-files'], array['2']), filter => 'region = ''EU''')",
    notes="Options: target-file-size-bytes, min-file-size-bytes, max-file-size-bytes, min-input-files, rewrite-all, "
    "max-file-group-size-bytes, max-file-group-input-files, max-files-to-rewrite, max-concurrent-file-group-rewrites, "
    "delete-file-threshold, delete-ratio-threshold, rewrite-job-order, remove-dangling-deletes, "
    "output-spec-id, partial-progress.enabled, partial-progress.max-commits, "
    "partial-progress.max-failed-commits; with sort also "
    "compression-factor and shuffle-partitions-per-file, with zorder also var-length-contribution and "
    "max-output-size; copy-row-groups=false always decodes. Iceberg's own procedure does the rewrite through Spark, "
    "with the same columns, for columns of types that our kernels do not write (variant), and "
    "Avro and ORC files. Sorting by columns must keep the table's own sort order. "
    "A call with nothing to do makes no snapshot. By position, a third text that is no strategy is taken as in Presto: "
    "(schema, table_name, filter, sorted_by, options).",
    presto_order=("filter", "sorted_by", "options"),
    dry_run_output=dry_run.COLUMNS,
)


@dataclass(slots=True)
class Call:
    """One call between begin and its end; nothing is to do when there is neither a rewrite nor a delegated call."""

    rewrite: Rewrite | None
    delegated: Delegated | None = None
    shown: Sequence[Sequence[Any]] | None = None
    steps: Sequence[Rewrite] = ()
    writing: bool = False
    outcome_unknown: bool = False
    committed: bool = False


class RewriteDataFiles:
    """Packing and sorting on the executors, one atomic REPLACE, journaled from before the first file to the end."""

    declaration = DECLARATION

    def __init__(self, catalog: TableCatalog, journal: Journal) -> None:
        self._catalog = catalog
        self._journal = journal

    def validate(self, arguments: Arguments) -> None:
        """Refuse wrong strategies, sort columns and options before the statement queues."""
        parse_options(arguments.get("options"), rewriter=_rewriter(arguments, _sorted_by(arguments)))

    def begin(self, context: ProcedureContext, target: TableTarget, arguments: Arguments) -> Call:
        """Plan over the pinned snapshot and journal the intent, or see that Spark's part it is; raises ProcessionError.

        What Iceberg's own procedure does leaves no journal entry: nothing of ours may delete its files.
        """
        sorted_by = _sorted_by(arguments)
        rewriter = _rewriter(arguments, sorted_by)
        name = f"{target.schema}.{target.table}"
        with mapped(name):
            table = self._catalog.open(target.schema, target.table)
            options = with_output_spec(parse_options(arguments.get("options"), table.properties, rewriter), table)
            planned: list[Rewrite] | NotOurs | None
            if table.current_snapshot() is None:
                return Call(None, shown=[] if arguments.get("dry_run") else None)
            reason, ordering = reason_before_planning(table), None
            if reason is None and rewriter != "BIN-PACK":
                found = row_order(table, sorted_by, options)
                reason, ordering = (found, None) if isinstance(found, str) else (None, found)
            if arguments.get("dry_run"):
                return Call(None, shown=self._shown(table, target, options, reason, ordering, context))
            if reason is not None:
                planned = NotOurs(reason)
            else:
                planned = plan_rewrite(self._catalog, table, target, options, context.workers, ordering)
            match planned:
                case NotOurs(reason):
                    catalog = self._catalog.settings.catalog
                    return Call(None, delegate(table, catalog, target, arguments, options, sorted_by, reason))
                case [rewrite] if not options.partial_progress:
                    self._begin(context, rewrite)
                    return Call(rewrite)
                case list():
                    return Call(None, steps=planned)
                case None:
                    return Call(None)
        raise AssertionError("every plan is one of these")

    def _begin(self, context: ProcedureContext, rewrite: Rewrite) -> None:
        journal_begin(rewrite, self._journal, self._catalog.settings.catalog, context.session.query_id)

    def _shown(
        self,
        table: Table,
        target: TableTarget,
        options: RewriteOptions,
        reason: str | None,
        ordering: Ordering | None,
        context: ProcedureContext,
    ) -> list[Any]:
        """The rows of a dry run."""
        looked = look(table, target, options)
        if looked is None:
            return []
        groups = looked.survey.groups
        reason = reason or (reason_of_work(table, groups) if groups else None)
        if reason is not None and options.max_files < NO_LIMIT:
            reason += "; it may choose other files where there are more than max-files-to-rewrite"
        if reason is not None:
            methods = [("iceberg", Way(copies=False, reason=reason))] * len(groups)
        elif ordering is not None:
            methods = [("sort", Way(copies=False, reason="strategy sort"))] * len(groups)
        else:
            factory = TaskFactory.of(table, self._catalog.settings.storage)
            ways = choose_ways(table, groups, options, factory, context.workers)
            methods = [("copy" if way.copies else "rewrite", way) for way in ways]
        return dry_run.dry_run_rows(table, looked.survey, methods, context.workers.parallelism)

    def write(self, context: ProcedureContext, handle: Call) -> Sequence[Any]:
        """Run the kernels, or Iceberg's procedure, which commits on its own; raises ProcessionError."""
        if handle.delegated is not None:
            return [run(handle.delegated, context)]
        if handle.steps:
            return [self._in_steps(context, handle)]
        return [] if handle.rewrite is None else self._write(context, handle, handle.rewrite)

    def _write(self, context: ProcedureContext, handle: Call, rewrite: Rewrite) -> list[Fragment]:
        handle.writing = True
        fragments = write_files(rewrite, context, write_packed if rewrite.ordering is None else write_sorted)
        handle.writing = False
        return fragments

    def _in_steps(self, context: ProcedureContext, handle: Call) -> Row:
        """Partial progress: each commit stands when it is made, and one that fails costs its own groups alone."""

        def step(rewrite: Rewrite) -> Row:
            handle.rewrite, handle.committed = rewrite, False
            self._begin(context, rewrite)
            return self._commit(context, handle, rewrite, self._write(context, handle, rewrite))

        def undo() -> None:
            self.abort(context, handle)
            handle.rewrite, handle.writing = None, False

        return run_steps(handle.steps, step, undo, context.check_cancelled)

    def finish(self, context: ProcedureContext, handle: Call, fragments: Sequence[Any]) -> ProcedureResult:
        """Commit one REPLACE snapshot; raises ProcessionError."""
        if handle.shown is not None:
            return ProcedureResult(rows=handle.shown)
        if handle.delegated is not None:
            return result(handle.delegated, fragments[0], self._catalog)
        if handle.steps:
            row = fragments[0]
            return ProcedureResult(rows=[row], update_count=row[-1])
        if handle.rewrite is None:
            return ProcedureResult(rows=[(0, 0, 0, 0, 0, 0)], update_count=0)
        row = self._commit(context, handle, handle.rewrite, fragments)
        return ProcedureResult(rows=[row], update_count=row[-1])

    def _commit(self, context: ProcedureContext, handle: Call, rewrite: Rewrite, fragments: Sequence[Fragment]) -> Row:
        added = new_data_files(rewrite, fragments)
        self._journal.committing(rewrite.call_id, [file.file_path for file in added])
        try:
            landed = commit_rewrite(self._catalog, rewrite, added, context.session.query_id)
        except CommitOutcomeUnknownError:
            handle.outcome_unknown = True
            raise
        handle.committed = True
        self._tidy(rewrite, attempts=landed.attempts)
        self._journal.close(rewrite.call_id, "COMMITTED")
        replaced = rewrite.replaced
        rows = sum(file.record_count for file in added)
        size = sum(file.size for file in replaced)
        return [len(replaced), len(added), size, 0, landed.removed_delete_files, rows]

    def abort(self, context: ProcedureContext, handle: Call) -> None:  # noqa: ARG002
        """Remove what the call wrote; when that fails or the outcome is unknown, the next start's recovery does it."""
        rewrite = handle.rewrite
        if rewrite is None or rewrite.entry is None or handle.outcome_unknown or handle.committed:
            return
        if not handle.writing:
            self._undo(rewrite, rewrite.entry)
            return
        # A worker whose task was killed may go on for a moment and write after the sweep: the journal entry stays
        # open until a second one, which the next start's recovery makes if this process does not live to.
        self._undo(rewrite, rewrite.entry, close=False)
        again = threading.Timer(_WORKERS_GONE_SECONDS, self._undo, (rewrite, rewrite.entry))
        again.daemon = True
        again.start()

    def _undo(self, rewrite: Rewrite, entry: JournalEntry, *, close: bool = True) -> None:
        try:
            with mapped(rewrite.target.table):
                table = self._catalog.load(rewrite.target.schema, rewrite.target.table)
                sweep(rewrite.table.io, entry, table, None)
                if close:
                    self._journal.close(rewrite.call_id, "ABORTED")
        except Exception:
            logger.warning("Files of call %s remain until the next start", rewrite.call_id, exc_info=True)

    def _tidy(self, rewrite: Rewrite, *, attempts: int) -> None:
        """After a commit that lost races, remove what its lost attempts wrote."""
        if attempts <= 1 or rewrite.entry is None:
            return
        try:
            table = self._catalog.open(rewrite.target.schema, rewrite.target.table)
            landed = landed_snapshot(table, rewrite.call_id)
            if landed is not None:
                sweep(table.io, rewrite.entry, table, landed)
        except Exception:
            logger.warning("Files of lost attempts of call %s remain", rewrite.call_id, exc_info=True)


def _sorted_by(arguments: Arguments) -> SortedBy | None:
    """The checked pair of strategy and sort columns; None for binpack and for the table's own order."""
    strategy = arguments.get("strategy") or "binpack"
    entries = arguments.get("sorted_by")
    if strategy.lower() not in ("binpack", "sort"):
        message = f"Invalid rewrite strategy: {strategy}. Valid values are 'sort' or 'binpack'."
        raise ArgumentError("strategy", message, ErrorCode.NOT_SUPPORTED)
    if strategy.lower() == "binpack" and entries:
        message = "Cannot use binpack strategy with sorted_by option. Use sort strategy when specifying sort order."
        raise ArgumentError("sorted_by", message, ErrorCode.NOT_SUPPORTED)
    return parse_sorted_by(entries) if entries else None


def _rewriter(arguments: Arguments, sorted_by: SortedBy | None) -> Rewriter:
    if (arguments.get("strategy") or "binpack").lower() == "binpack":
        return "BIN-PACK"
    return "Z-ORDER" if sorted_by is not None and sorted_by.curve is not None else "SORT"

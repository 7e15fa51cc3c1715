"""``CALL catalog.system.rewrite_data_files(schema, table_name, strategy, sorted_by, options, filter)``"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.commit import commit_rewrite
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError, mapped
from coordinator.connectors.iceberg.journal import Journal, JournalEntry
from coordinator.connectors.iceberg.options import parse_options
from coordinator.connectors.iceberg.recovery import landed_snapshot, sweep
from coordinator.connectors.iceberg.rewrite import (
    Rewrite,
    journal_begin,
    new_data_files,
    plan_rewrite,
    write_files,
)
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    Argument,
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
        Argument("strategy", "varchar", "How rows are laid out; only binpack yet.", default="binpack"),
        Argument("sorted_by", "array(varchar)", "Sort columns; needs strategy sort, not supported yet.", default=None),
        Argument("options", "map(varchar,varchar)", "Iceberg's rewrite options by name.", default=None),
        Argument("filter", "varchar", "Only files that may hold rows for which this is true.", default="TRUE"),
    ),
    output=(
        OutputColumn("rewritten_data_files_count", "integer", "Data files that were replaced."),
        OutputColumn("added_data_files_count", "integer", "Data files that replace them."),
        OutputColumn("rewritten_bytes_count", "bigint", "Bytes of the replaced data files."),
        OutputColumn("failed_data_files_count", "integer", "Always 0: a call succeeds as a whole or fails."),
        OutputColumn("removed_delete_files_count", "integer", "Delete files that are no longer needed."),
        OutputColumn("rewritten_rows_count", "bigint", "Rows of the new files."),
    ),
    example="CALL iceberg.system.rewrite_data_files(schema => 'sales', table_name => 'orders', "
    "options => map(array['min-input-files'], array['2']), filter => 'region = ''EU''')",
    notes="Options: target-file-size-bytes, min-file-size-bytes, max-file-size-bytes, min-input-files, rewrite-all, "
    "max-file-group-size-bytes, max-file-group-input-files, max-files-to-rewrite, max-concurrent-file-group-rewrites, "
    "delete-file-threshold, delete-ratio-threshold, rewrite-job-order, remove-dangling-deletes. "
    "A call with nothing to do makes no snapshot.",
)


@dataclass(slots=True)
class Call:
    """One call between begin and its end; ``rewrite`` is None when there is nothing to do."""

    rewrite: Rewrite | None
    writing: bool = False
    outcome_unknown: bool = False
    committed: bool = False


class RewriteDataFiles:
    """Bin-packing on the executors, one atomic REPLACE, journaled from before the first file to after the last."""

    declaration = DECLARATION

    def __init__(self, catalog: TableCatalog, journal: Journal) -> None:
        self._catalog = catalog
        self._journal = journal

    def validate(self, arguments: Arguments) -> None:
        """Refuse wrong strategies and options before the statement queues."""
        strategy = arguments.get("strategy") or "binpack"
        sorted_by = arguments.get("sorted_by")
        if strategy.lower() not in ("binpack", "sort"):
            raise ProcessionError(
                ErrorCode.NOT_SUPPORTED, f"Invalid rewrite strategy: {strategy}. Valid values are 'sort' or 'binpack'."
            )
        if strategy.lower() == "binpack" and sorted_by:
            raise ProcessionError(
                ErrorCode.NOT_SUPPORTED,
                "Cannot use binpack strategy with sorted_by option. Use sort strategy when specifying sort order.",
            )
        if strategy.lower() == "sort":
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, "Rewrite strategy sort is not supported yet")
        if parse_options(arguments.get("options")).output_spec_id is not None:
            raise ProcessionError(
                ErrorCode.NOT_SUPPORTED, "output-spec-id is not supported yet: files keep their partition spec"
            )

    def begin(self, context: ProcedureContext, target: TableTarget, arguments: Arguments) -> Call:
        """Plan over the pinned snapshot and journal the intent; raises ProcessionError."""
        self.validate(arguments)
        with mapped(f"{target.schema}.{target.table}"):
            properties = self._catalog.open(target.schema, target.table).properties
            options = parse_options(arguments.get("options"), properties)
            rewrite = plan_rewrite(self._catalog, target, options, context.workers.parallelism)
            if rewrite is not None:
                journal_begin(rewrite, self._journal, self._catalog.settings.catalog, context.session.query_id)
        return Call(rewrite)

    def write(self, context: ProcedureContext, handle: Call) -> Sequence[bytes]:
        """Run the kernels; raises ProcessionError."""
        if handle.rewrite is None:
            return []
        handle.writing = True
        fragments = write_files(handle.rewrite, context)
        handle.writing = False
        return fragments

    def finish(self, context: ProcedureContext, handle: Call, fragments: Sequence[bytes]) -> ProcedureResult:
        """Commit one REPLACE snapshot; raises ProcessionError."""
        rewrite = handle.rewrite
        if rewrite is None:
            return ProcedureResult(rows=[(0, 0, 0, 0, 0, 0)], update_count=0)
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
        row = (len(replaced), len(added), size, 0, landed.removed_delete_files, rows)
        return ProcedureResult(rows=[row], update_count=rows)

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

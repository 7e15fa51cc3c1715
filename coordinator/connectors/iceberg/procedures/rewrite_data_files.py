"""``CALL catalog.system.rewrite_data_files(schema, table_name, strategy, sorted_by, options, filter)``"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, assert_never

from pyiceberg.table.refs import MAIN_BRANCH

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.rewrite.asked.arguments import RewriteArguments
from coordinator.connectors.iceberg.rewrite.asked.branches import at_branch
from coordinator.connectors.iceberg.rewrite.asked.ordering import row_order
from coordinator.connectors.iceberg.rewrite.asked.output_specs import with_output_spec
from coordinator.connectors.iceberg.rewrite.cases import Call, DryRun, Steps
from coordinator.connectors.iceberg.rewrite.committing.journal import Journal
from coordinator.connectors.iceberg.rewrite.committing.one_rewrite import finish_rewrite, undo_rewrite, write_rewrite
from coordinator.connectors.iceberg.rewrite.committing.partial_progress import Row, run_steps
from coordinator.connectors.iceberg.rewrite.delegated import (
    Delegated,
    delegate,
    reason_before_planning,
    result,
    run,
)
from coordinator.connectors.iceberg.rewrite.planning import dry_run
from coordinator.connectors.iceberg.rewrite.planning.rewrite import (
    NothingToDo,
    Rewrite,
    RewriteRequest,
    Unsupported,
    plan_rewrite,
)
from coordinator.kernels.tasks import Fragment
from shared.spi.procedure import (
    Arguments,
    OutputColumn,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
    TableTarget,
)
from shared.spi.procedure_arguments import Declared, declared_arguments, record_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteDataFilesArguments(TableArguments):
    """What the call says."""

    strategy: Annotated[
        str,
        Declared(
            "varchar", "How rows are laid out: binpack keeps their order, sort sorts them.", choices=("binpack", "sort")
        ),
    ] = "binpack"
    sorted_by: Annotated[
        tuple[str, ...] | None,
        Declared(
            "array(varchar)",
            "For sort: col [ASC|DESC] [NULLS FIRST|LAST] each, or zorder(a, b) or hilbert(a, b). Default: the table's.",
        ),
    ] = None
    options: Annotated[
        Mapping[str, str] | None, Declared("map(varchar,varchar)", "Iceberg's rewrite options by name.")
    ] = None
    filter: Annotated[str, Declared("varchar", "Only files that may hold rows for which this is true.")] = "TRUE"
    branch: Annotated[str | None, Declared("varchar", "The branch whose files are rewritten; default: main.")] = None
    dry_run: Annotated[bool, Declared("boolean", "Show what would be rewritten and why, and change nothing.")] = False


DECLARATION = ProcedureDeclaration(
    name="rewrite_data_files",
    kind=ProcedureKind.TABLE_DATA_REWRITE,
    summary="Rewrite small, large or partly deleted data files into files of the target size.",
    arguments=declared_arguments(RewriteDataFilesArguments),
    output=(
        OutputColumn("rewritten_data_files_count", "integer", "Data files that were replaced."),
        OutputColumn("added_data_files_count", "integer", "Data files that replace them."),
        OutputColumn("rewritten_bytes_count", "bigint", "Bytes of the replaced data files."),
        OutputColumn(
            "failed_data_files_count",
            "integer",
            "Files that were not replaced: others removed them meanwhile, or their group failed.",
        ),
        OutputColumn("removed_delete_files_count", "integer", "Delete files that are no longer needed."),
        OutputColumn("rewritten_rows_count", "bigint", "Rows of the new files."),
    ),
    example="CALL iceberg.system.rewrite_data_files(schema => 'sales', table_name => 'orders', "
    "options => map(array['min-input-files'], array['2']), filter => 'region = ''EU''')",
    notes="Options: target-file-size-bytes, min-file-size-bytes, max-file-size-bytes, min-input-files, rewrite-all, "
    "max-file-group-size-bytes, max-file-group-input-files, max-files-to-rewrite, max-concurrent-file-group-rewrites, "
    "delete-file-threshold, delete-ratio-threshold, rewrite-job-order, remove-dangling-deletes, "
    "output-spec-id, partial-progress.enabled, partial-progress.max-commits and "
    "partial-progress.max-failed-commits. Strategy sort also takes compression-factor, shuffle-partitions-per-file, "
    "min-overlap-depth and rewrite-stale-sort-order (docs/rewrite.md, little by little), zorder and hilbert also "
    "var-length-contribution and max-output-size. copy-row-groups=false decodes every row, "
    "where row groups would otherwise be copied as they are.\n\n"
    "Iceberg's own procedure does the rewrite through Spark, with the same result columns, for Avro and ORC files, for "
    "columns of type unknown inside other types, and for the other cases that docs/rewrite.md lists. Tables with "
    "columns of type geometry, geography or nanoseconds are rewritten by our kernels alone: Spark does not load them. "
    "Sorting by columns must keep the table's own sort order. A call with nothing to do makes no "
    "snapshot. By position, a third text that is no strategy is taken as in Presto: (schema, table_name, filter, "
    "sorted_by, options).",
    presto_order=("filter", "sorted_by", "options"),
    dry_run_output=dry_run.COLUMNS,
)


def _asked(arguments: Arguments) -> RewriteArguments:
    given = record_of(RewriteDataFilesArguments, arguments)
    return RewriteArguments.of(
        given.strategy, given.sorted_by, given.options, dry_run=given.dry_run, branch=given.branch
    )


class RewriteDataFiles:
    """Packing and sorting on the executors, one atomic REPLACE, journaled from before the first file to the end."""

    declaration = DECLARATION

    def __init__(self, catalog: TableCatalog, journal: Journal) -> None:
        self._catalog = catalog
        self._journal = journal

    def validate(self, arguments: Arguments) -> None:
        """Refuse wrong strategies, sort columns and options before the statement queues."""
        _asked(arguments).parsed_options()

    def begin(self, context: ProcedureContext, target: TableTarget, arguments: Arguments) -> Call:
        """Plan over the pinned snapshot and journal the intent, or see that Spark's part it is; raises ProcessionError.

        What Iceberg's own procedure does leaves no journal entry: nothing of ours may delete its files.
        """
        asked = _asked(arguments)
        with mapped(f"{target.schema}.{target.table}"):
            table = self._catalog.open(target.schema, target.table)
            options = with_output_spec(asked.parsed_options(table.properties), table)
            target = at_branch(table, target, asked.branch)
            if asked.branch is None and table.current_snapshot() is None:
                return DryRun(()) if asked.dry_run else NothingToDo()
            reason, ordering = reason_before_planning(table), None
            if reason is None and asked.strategy == "sort":
                found = row_order(table, asked.sorted_by, options)
                reason, ordering = (found, None) if isinstance(found, str) else (None, found)
            query_id, branch = context.session.query_id, asked.branch or MAIN_BRANCH
            request = RewriteRequest(self._catalog, table, target, options, ordering, query_id, branch)
            if asked.dry_run:
                return DryRun(dry_run.dry_run_rows(request, reason, context.workers))
            return self._planned(request, asked, reason, context)
        raise AssertionError("a request is planned or refused")

    def _planned(
        self, request: RewriteRequest, asked: RewriteArguments, reason: str | None, context: ProcedureContext
    ) -> Call:
        planned = Unsupported(reason) if reason else plan_rewrite(request, self._journal, context.workers)
        match planned:
            case NothingToDo():
                return planned
            case Unsupported(reason):
                name = self._catalog.settings.catalog
                delegated = delegate(request.table, name, request.target, asked, request.options, reason)
                return delegated or NothingToDo()
            case (rewrite,) if not request.options.partial_progress:
                rewrite.call.begin()
                return rewrite
            case _:
                return Steps(planned)

    def write(self, context: ProcedureContext, handle: Call) -> object:
        """Run the kernels, or Iceberg's procedure, which commits on its own; raises ProcessionError."""
        match handle:
            case NothingToDo() | DryRun():
                return None
            case Delegated():
                return run(handle, context)
            case Steps():
                return self._in_steps(context, handle)
            case Rewrite():
                return write_rewrite(handle, context)
            case _:
                assert_never(handle)

    def _in_steps(self, context: ProcedureContext, steps: Steps) -> Row:
        """Partial progress: each commit stands when it is made, and one that fails costs its own groups alone."""

        def step(rewrite: Rewrite) -> Row:
            rewrite.call.begin()
            return self._finished(context, rewrite, write_rewrite(rewrite, context))

        return run_steps(steps.rewrites, step, partial(undo_rewrite, self._catalog), context.check_cancelled)

    def finish(self, context: ProcedureContext, handle: Call, written: Any) -> ProcedureResult:
        """Commit one REPLACE snapshot; raises ProcessionError."""
        match handle:
            case NothingToDo():
                return _result([0] * len(DECLARATION.output))
            case DryRun(rows):
                return ProcedureResult(rows=rows)
            case Delegated():
                return result(handle, written, self._catalog)
            case Steps():
                return _result(written)
            case Rewrite():
                return _result(self._finished(context, handle, written))
            case _:
                assert_never(handle)

    def _finished(self, context: ProcedureContext, rewrite: Rewrite, fragments: list[Fragment]) -> Row:
        return finish_rewrite(self._catalog, rewrite, fragments, context)

    def abort(self, context: ProcedureContext, handle: Call) -> None:  # noqa: ARG002
        """Remove what the call wrote; when that fails or the outcome is unknown, the next start's recovery does it."""
        match handle:
            case Rewrite():
                undo_rewrite(self._catalog, handle)
            case Steps(rewrites):
                for rewrite in rewrites:
                    undo_rewrite(self._catalog, rewrite)
            case NothingToDo() | DryRun() | Delegated():
                pass
            case _:
                assert_never(handle)


def _result(row: Row) -> ProcedureResult:
    return ProcedureResult(rows=[row], update_count=row[-1])

"""One rewrite from its first task to its commit, or to its undoing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError, NotCommittedError, mapped
from coordinator.connectors.iceberg.rewrite.committing.carried_deletes import DeleteCarrier, moved_rows
from coordinator.connectors.iceberg.rewrite.committing.commit import commit_rewrite
from coordinator.connectors.iceberg.rewrite.committing.journaled_call import Stage
from coordinator.connectors.iceberg.rewrite.committing.landed import landed_snapshot
from coordinator.connectors.iceberg.rewrite.committing.partial_progress import Row
from coordinator.connectors.iceberg.rewrite.committing.recovery import sweep
from coordinator.connectors.iceberg.rewrite.committing.unknown_outcomes import settle_later
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite, new_data_files
from coordinator.connectors.iceberg.rewrite.writing.packing import write_packed
from coordinator.connectors.iceberg.rewrite.writing.sorting import write_sorted
from coordinator.connectors.iceberg.rewrite.writing.waves import write_files
from coordinator.kernels.tasks import Fragment
from shared.spi.procedure import ProcedureContext

logger = logging.getLogger(__name__)
_WORKERS_GONE_SECONDS = 10.0


def write_rewrite(rewrite: Rewrite, context: ProcedureContext) -> list[Fragment]:
    """Run the kernels; raises ProcessionError."""
    rewrite.call.stage = Stage.WRITING
    fragments = write_files(rewrite, context, write_packed if rewrite.ordering is None else write_sorted)
    rewrite.call.stage = Stage.WRITTEN
    rewrite.call.attempts_lost = context.workers.attempts_lost
    return fragments


def finish_rewrite(
    catalog: TableCatalog, rewrite: Rewrite, fragments: Sequence[Fragment], context: ProcedureContext
) -> Row:
    """Commit one REPLACE snapshot, and the result row; raises ProcessionError."""
    added = new_data_files(rewrite, fragments)
    journal = rewrite.call.journal
    journal.committing(rewrite.call_id, [file.file_path for file in added])
    try:
        carrier = DeleteCarrier(rewrite, moved_rows(rewrite, fragments, added), context.workers)
        landed = commit_rewrite(catalog, rewrite, added, carrier.carry, context.session.query_id)
    except CommitOutcomeUnknownError:
        rewrite.call.stage = Stage.UNKNOWN
        settle_later(catalog, journal, rewrite.call_id)
        raise
    rewrite.call.stage = Stage.COMMITTED
    if landed.attempts > 1 or rewrite.call.attempts_lost or len(landed.added) < len(added):
        _remove_lost_attempts(catalog, rewrite)
    if rewrite.call.attempts_lost:
        # An executor that is taken for lost may write on for a moment: the journal entry stays open as in undo_rewrite.
        _later(_remove_late_files, catalog, rewrite)
    else:
        journal.close(rewrite.call_id, "COMMITTED")
    replaced = [file for file in rewrite.replaced if file.key not in landed.kept]
    kept = len(rewrite.replaced) - len(replaced)
    rows = sum(file.record_count for file in landed.added)
    size = sum(file.size for file in replaced)
    return [len(replaced), len(landed.added), size, kept, landed.removed_delete_files, rows]


def undo_rewrite(catalog: TableCatalog, rewrite: Rewrite) -> None:
    """Remove what a rewrite that is not committed wrote; what cannot be removed now is for the next start's recovery.

    When the outcome is unknown its files may be the table's, and stay.
    """
    match rewrite.call.stage:
        case Stage.BEGUN | Stage.WRITTEN:
            rewrite.call.stage = Stage.UNDONE
            _sweep(catalog, rewrite)
        case Stage.WRITING:
            rewrite.call.stage = Stage.UNDONE
            # A worker whose task was killed may go on for a moment and write after the sweep: the journal entry stays
            # open until a second one, which the next start's recovery makes if this process does not live to.
            _sweep(catalog, rewrite, close=False)
            _later(_sweep, catalog, rewrite)
        case Stage.PLANNED | Stage.COMMITTED | Stage.UNKNOWN | Stage.UNDONE:
            pass


def _later(step: Callable[[TableCatalog, Rewrite], None], catalog: TableCatalog, rewrite: Rewrite) -> None:
    catalog.background.later(_WORKERS_GONE_SECONDS, "late-rewrite", partial(step, catalog, rewrite))


def _remove_late_files(catalog: TableCatalog, rewrite: Rewrite) -> None:
    _remove_lost_attempts(catalog, rewrite, close=True)


def _sweep(catalog: TableCatalog, rewrite: Rewrite, *, close: bool = True) -> None:
    try:
        match rewrite.call.journal.settled_by_another(rewrite.call_id):
            case "COMMITTED":
                return
            case "BEGUN" | "COMMITTING":  # by the one that took it over, until it is settled
                _later(_sweep, catalog, rewrite)
                return
            case _:
                pass
        with mapped(rewrite.target.table):
            table = catalog.load(rewrite.target.schema, rewrite.target.table)
            sweep(rewrite.table.io, rewrite.call.entry, table, None)
            if close:
                rewrite.call.journal.close(rewrite.call_id, "ABORTED")
    except NotCommittedError:
        _later(_sweep, catalog, rewrite)
    except Exception:
        logger.warning("Files of call %s remain until the next start", rewrite.call_id, exc_info=True)


def _remove_lost_attempts(catalog: TableCatalog, rewrite: Rewrite, *, close: bool = False) -> None:
    """After a commit that lost races, or whose tasks ran again, remove what lost attempts wrote."""
    try:
        table = catalog.open(rewrite.target.schema, rewrite.target.table)
        landed = landed_snapshot(table, rewrite.call_id)
        if landed is not None:
            sweep(table.io, rewrite.call.entry, table, landed)
        if close:
            rewrite.call.journal.close(rewrite.call_id, "COMMITTED")
    except Exception:
        logger.warning("Files of lost attempts of call %s remain", rewrite.call_id, exc_info=True)

"""The refresh of a materialized view: rows go to its storage table, then the view says that these are its rows.

Who reads the view reads the snapshot of the storage table that the view names, so that the second step is the one that
counts: before it readers see the old rows, after it the new ones. A refresh that ends between the two leaves a snapshot
that nobody reads, and the next one replaces it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.view.metadata import ViewMetadata as IcebergView

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.materialized.changes import current_id, same_rows, snapshots_since
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.own import own_snapshots
from coordinator.connectors.iceberg.snapshots.references import main_at
from coordinator.connectors.iceberg.tables.writing import write_rows
from coordinator.connectors.iceberg.views.catalog_views import view_of, view_store
from coordinator.connectors.iceberg.views.store import ViewStore
from shared.errors import ErrorCode, ProcessionError
from shared.spi.connector import ViewMetadata
from shared.spi.materialized_views import Materialization, Refresh
from shared.spi.table_writes import TableWrite, WriteContext

logger = logging.getLogger(__name__)
_ATTEMPTS = 5
"""At telling what a view's rows are, beside others who change its settings."""


def refresh(catalog: TableCatalog, write: TableWrite, wanted: Refresh, context: WriteContext) -> int:
    """Rows written. Raises ProcessionError; then readers see what they saw before."""
    with mapped(f"{wanted.view.schema}.{wanted.view.name}"):
        store = view_store(catalog)
        was = None if store is None else store.load(wanted.view.schema, wanted.view.name)
        if store is None or was is None:
            raise _changed(wanted.view, "was dropped")
        before = current_id(catalog.open(write.schema, write.table))
        _check_unchanged(catalog, was, wanted)
    try:
        rows = write_rows(catalog, write, context)
    except ProcessionError as error:
        if catalog.load(write.schema, write.table) is None:
            raise _changed(wanted.view, "was dropped or replaced") from error
        raise
    with mapped(f"{wanted.view.schema}.{wanted.view.name}"):
        table = catalog.load(write.schema, write.table)
        if table is None:
            raise _changed(wanted.view, "was dropped or replaced")
        _publish(catalog, store, was, wanted, table, before, context)
    return rows


def _check_unchanged(catalog: TableCatalog, was: IcebergView, wanted: Refresh) -> None:
    """What is added to rows must find those that were there when it was planned; what replaces them need not."""
    now = view_of(catalog, wanted.view.schema, wanted.view.name, was)
    if not _is_same_view(now, wanted):
        raise _changed(wanted.view, "was replaced")
    planned, found = _kept(wanted.view), _kept(now)
    if wanted.how == "whole":
        return
    table = catalog.open(found.storage_schema, found.storage_table)
    if found.refreshed != planned.refreshed or found.refreshed is None or not same_rows(table, found.refreshed):
        raise _changed(wanted.view, "was refreshed")


def _is_same_view(now: ViewMetadata, wanted: Refresh) -> bool:
    def meant(view: ViewMetadata) -> tuple[object, ...]:
        kept = view.materialized
        place = None if kept is None else (kept.storage_schema, kept.storage_table)
        return view.definition, view.owner, view.security, place

    return meant(now) == meant(wanted.view)


def _publish(
    catalog: TableCatalog,
    store: ViewStore,
    was: IcebergView,
    wanted: Refresh,
    table: Table,
    before: int,
    context: WriteContext,
) -> None:
    """``before``: the snapshot of the storage table when the write began, whose rows a write without rows leaves."""
    own = own_snapshots(table, context.query_id)
    newest = own[-1].snapshot_id if own else before
    if not own and (not same_rows(table, before) or (wanted.how == "whole" and _has_rows(table))):
        raise _changed(wanted.view, "was refreshed")
    if wanted.how == "whole":
        if not same_rows(table, newest):
            # Another refresh has replaced the rows since, and tells the view itself.
            logger.info("Query %s: a later refresh of %s counts", context.query_id, wanted.view.name)
            return
    elif own and not _follows(table, own, _kept(wanted.view)):
        _take_back(catalog, table, own)
        raise _changed(wanted.view, "was refreshed")
    _tell(catalog, store, was, wanted, newest)


def _tell(catalog: TableCatalog, store: ViewStore, was: IcebergView, wanted: Refresh, newest: int) -> None:
    """Write into the view what its rows are now; settings that somebody changes meanwhile stay as they are then."""
    for left in reversed(range(_ATTEMPTS)):
        now = view_of(catalog, wanted.view.schema, wanted.view.name, was)
        refreshed = replace(
            _kept(now),
            base_tables=wanted.base_tables,
            refreshed=newest,
            meaning=wanted.meaning,
            read_ms=wanted.read_ms,
        )
        try:
            store.set_properties(replace(now, materialized=refreshed), was)
        except CommitFailedException:
            if not left:
                raise
            was = _found_again(catalog, store, wanted, _kept(now).refreshed)
        else:
            return


def _found_again(catalog: TableCatalog, store: ViewStore, wanted: Refresh, refreshed: int | None) -> IcebergView:
    """The view as it is now. Raises ProcessionError where it is another one, or has other rows."""
    found = store.load(wanted.view.schema, wanted.view.name)
    if found is None:
        raise _changed(wanted.view, "was dropped")
    now = view_of(catalog, wanted.view.schema, wanted.view.name, found)
    if not _is_same_view(now, wanted):
        raise _changed(wanted.view, "was replaced")
    if _kept(now).refreshed != refreshed:
        raise _changed(wanted.view, "was refreshed")
    return found


def _has_rows(table: Table) -> bool:
    snapshot = table.current_snapshot()
    summary = {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties
    return summary.get("total-records", "0") != "0"


def _follows(table: Table, own: Sequence[Snapshot], kept: Materialization) -> bool:
    """Whether nothing but compactions lies between the rows that were there and those that were added."""
    if kept.refreshed is None:
        return False
    between = snapshots_since(table, kept.refreshed)
    if between is None or own[-1] not in between:
        return False
    before = between[between.index(own[-1]) + 1 :]
    return all(s in own or (s.summary is not None and s.summary.operation is Operation.REPLACE) for s in before)


def _take_back(catalog: TableCatalog, table: Table, own: Sequence[Snapshot]) -> None:
    """No view reads these rows; programs that read the storage table itself need not either."""
    parent = own[0].parent_snapshot_id
    if parent is None or current_id(table) != own[-1].snapshot_id:
        return

    def stage(newest: Table) -> Change[None]:
        if current_id(newest) != own[-1].snapshot_id:
            return Change(None)
        update, unmoved = main_at(newest, parent)
        return Change(None, (update,), (unmoved,))

    with suppress(ProcessionError):
        commit_change(catalog, table.name()[-2], table.name()[-1], stage)


def _changed(view: ViewMetadata, how: str) -> ProcessionError:
    message = f"Materialized view {view.schema}.{view.name} {how} while it was refreshed; send the statement again"
    return ProcessionError(ErrorCode.TRANSACTION_CONFLICT, message, retriable=True)


def _kept(view: ViewMetadata) -> Materialization:
    assert view.materialized is not None, "asked for a materialized view alone"
    return view.materialized

"""Materialized views of one Iceberg catalog: made and dropped with their storage tables, and what is told of them."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.materialized.changes import changes_since, current_id, same_rows
from coordinator.connectors.iceberg.materialized.stored import STORAGE_PREFIX, is_storage_name
from coordinator.connectors.iceberg.tables.creation import check_folders, check_location, create, new_table
from coordinator.connectors.iceberg.tables.dropping import drop_table
from coordinator.connectors.iceberg.tables.table_properties import DECLARED, STORAGE_OF
from coordinator.connectors.iceberg.views.catalog_views import change_view, load_view, view_names, view_store
from coordinator.connectors.iceberg.views.store import ViewStore
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import (
    MaterializedChange,
    MaterializedViewChange,
    MaterializedViewCreation,
    MaterializedViewRemoval,
    PlainChange,
    PropertyDeclaration,
    SchemaRemoval,
    TableCreation,
    TableRemoval,
    ViewCreation,
    ViewRemoval,
)
from shared.spi.connector import ViewMetadata
from shared.spi.materialized_views import NO_SNAPSHOT, BaseChanges, BaseTable, Materialization

logger = logging.getLogger(__name__)
PROPERTIES: tuple[PropertyDeclaration, ...] = (
    PropertyDeclaration("storage_schema", "varchar", "Schema of the storage table; the view's own by default"),
    PropertyDeclaration("storage_table", "varchar", "Name of the storage table", f"{STORAGE_PREFIX}<view>"),
    PropertyDeclaration(
        "stale_read_behavior", "varchar", "What a read does when the rows are not up to date: USE_VIEW_QUERY or FAIL"
    ),
    PropertyDeclaration("staleness_window", "varchar", "For how long rows that are not up to date may be read", "0s"),
    PropertyDeclaration("refresh_type", "varchar", "INCREMENTAL where that is exact, or FULL", "INCREMENTAL"),
    PropertyDeclaration("automatic_refresh", "boolean", "Whether the maintenance service refreshes the view", "false"),
    *DECLARED,
)
OWN = frozenset(declared.name for declared in PROPERTIES) - {declared.name for declared in DECLARED}


def change_materialized(catalog: TableCatalog, change: MaterializedChange) -> None:
    """Carry out one change. Raises ProcessionError; nothing is left of one that failed."""
    match change:
        case MaterializedViewCreation():
            _create(catalog, change)
        case MaterializedViewRemoval():
            drop_materialized(catalog, change)
        case MaterializedViewChange(view=view):
            _set(catalog, view)


def _create(catalog: TableCatalog, change: MaterializedViewCreation) -> None:
    """The storage table first, so that no view is without one."""
    view = change.view
    old = load_view(catalog, view.schema, view.name) if change.replace else None
    storage = change.storage
    used = _is_used(catalog, storage)
    if not used:
        _remove_forgotten(catalog, storage, view)
    elif is_storage_name(storage.table) or _holds_rows(old, storage):  # until it is replaced, or of one renamed since
        storage = replace(storage, table=f"{storage.table}_{uuid.uuid4().hex[:8]}")
    new = new_table(storage)
    own = {STORAGE_OF: f"{view.schema}.{view.name}"}
    create(catalog, new, storage.schema, storage.table, storage.table, own)
    kept = replace(_kept(view), storage_schema=storage.schema, storage_table=storage.table)
    try:
        change_view(catalog, ViewCreation(replace(view, materialized=kept), change.replace))
    except BaseException:
        drop_table(catalog, TableRemoval(storage.schema, storage.table, if_exists=True))
        raise
    if old is not None and old.materialized is not None:
        _drop_storage(catalog, old)


def _is_used(catalog: TableCatalog, storage: TableCreation) -> bool:
    """Whether a view has its rows in a table of that name; one that cannot be read may have."""
    if catalog.load(storage.schema, storage.table) is None:
        return False
    for schema in catalog.schemas():
        for name in view_names(catalog, schema):
            try:
                view = load_view(catalog, schema, name)
            except ProcessionError as error:
                logger.warning("View %s.%s cannot be read, so that %s stays: %s", schema, name, storage.table, error)
                return True
            if _holds_rows(view, storage):
                return True
    return False


def _holds_rows(view: ViewMetadata | None, storage: TableCreation) -> bool:
    kept = None if view is None else view.materialized
    return kept is not None and (kept.storage_schema, kept.storage_table) == (storage.schema, storage.table)


def _remove_forgotten(catalog: TableCatalog, storage: TableCreation, view: ViewMetadata) -> None:
    """A storage table of a view that is not there: whoever made it died before the view was."""
    found = catalog.load(storage.schema, storage.table)
    of = None if found is None else found.properties.get(STORAGE_OF)
    if of is not None and of == f"{view.schema}.{view.name}" and load_view(catalog, view.schema, view.name) is None:
        logger.warning("Storage table %s.%s belongs to no view: it goes", storage.schema, storage.table)
        drop_table(catalog, TableRemoval(storage.schema, storage.table, if_exists=True))


@contextmanager
def with_their_storage(catalog: TableCatalog, change: PlainChange) -> Iterator[None]:
    """Around a change: of a schema that goes with all that is in it, storage tables in other schemas go too."""
    views: list[ViewMetadata] = []
    if isinstance(change, SchemaRemoval) and change.cascade:
        found = (load_view(catalog, change.schema, name) for name in view_names(catalog, change.schema))
        views = [view for view in found if view is not None and view.materialized is not None]
    yield
    for view in views:
        _drop_storage(catalog, view)


def drop_materialized(catalog: TableCatalog, change: MaterializedViewRemoval) -> None:
    """The view first: from then on nobody reads the storage table."""
    view = load_view(catalog, change.schema, change.view)
    change_view(catalog, ViewRemoval(change.schema, change.view, change.if_exists))
    if view is not None and view.materialized is not None:
        _drop_storage(catalog, view)


def _drop_storage(catalog: TableCatalog, view: ViewMetadata) -> None:
    """Only what is known to be the view's: properties are anybody's word."""
    kept = _kept(view)
    table = catalog.load(kept.storage_schema, kept.storage_table)
    if table is None:
        return
    if not kept.storage_table.startswith(STORAGE_PREFIX) and STORAGE_OF not in table.properties:
        logger.warning("%s.%s stays: it is not known as a storage table", kept.storage_schema, kept.storage_table)
        return
    drop_table(catalog, TableRemoval(kept.storage_schema, kept.storage_table, if_exists=True))


def _set(catalog: TableCatalog, view: ViewMetadata) -> None:
    """Settings alone: what refreshes wrote meanwhile stays."""
    wanted = _kept(view)
    with mapped(f"{view.schema}.{view.name}"):
        store = _store(catalog)
        was = store.load(view.schema, view.name)
        now = load_view(catalog, view.schema, view.name)
        if was is None or now is None or now.materialized is None:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Materialized view '{view.schema}.{view.name}' not found")
        kept = replace(
            now.materialized,
            stale_reads=wanted.stale_reads,
            staleness_window=wanted.staleness_window,
            refresh_type=wanted.refresh_type,
            automatic_refresh=wanted.automatic_refresh,
        )
        store.set_properties(replace(now, materialized=kept), was)


def _store(catalog: TableCatalog) -> ViewStore:
    store = view_store(catalog)
    if store is None:
        message = "This connector does not support creating materialized views"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return store


def check_creation(catalog: TableCatalog, change: MaterializedViewCreation) -> None:
    """What can be refused from the statement alone. Raises ProcessionError."""
    _store(catalog)
    check_location(change.storage.properties.get("location"))
    check_folders(catalog, new_table(change.storage), change.storage.schema, change.storage.table)


def is_storage(table: Table) -> bool:
    """Whether a table holds the rows of a materialized view."""
    return STORAGE_OF in table.properties or is_storage_name(str(table.name()[-1]))


def stored_snapshot(catalog: TableCatalog, view: ViewMetadata) -> int | None:
    """The snapshot of the storage table to read: the newest with the rows of the last refresh; None: they are gone."""
    kept = _kept(view)
    table = catalog.load(kept.storage_schema, kept.storage_table)
    if table is None or kept.refreshed is None:
        return None
    if same_rows(table, kept.refreshed):
        return current_id(table)
    if kept.refreshed == NO_SNAPSHOT:
        return None
    return None if table.snapshot_by_id(kept.refreshed) is None else kept.refreshed


def can_continue(catalog: TableCatalog, view: ViewMetadata) -> bool:
    """Whether nothing but compactions came to the storage table since the last refresh."""
    kept = _kept(view)
    table = catalog.load(kept.storage_schema, kept.storage_table)
    return table is not None and kept.refreshed is not None and same_rows(table, kept.refreshed)


def base_changes(catalog: TableCatalog, base: BaseTable) -> BaseChanges:
    """Of one table that a view's query reads."""
    table = catalog.load(base.schema, base.table)
    if table is None:
        return BaseChanges(True, why=f"table {base.schema}.{base.table} does not exist")
    return changes_since(table, base.snapshot_id)


def _kept(view: ViewMetadata) -> Materialization:
    assert view.materialized is not None, "asked for a materialized view alone"
    return view.materialized

"""The views of one Iceberg catalog as Presto sees them, and their changes. Raises ProcessionError only."""

from __future__ import annotations

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    NoSuchNamespaceError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from pyiceberg.view.metadata import ViewMetadata as IcebergView

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.views.representations import read_view
from coordinator.connectors.iceberg.views.rest_store import RestViews, has_views
from coordinator.connectors.iceberg.views.sql_store import SqlViews
from coordinator.connectors.iceberg.views.store import ViewStore
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import OwnerChange, ViewChange, ViewCreation, ViewRemoval, ViewRename
from shared.spi.connector import ViewMetadata


def view_store(catalog: TableCatalog) -> ViewStore | None:
    """None for catalogs without views: Hive, Glue, old SQL catalogs (schema version V0), REST servers that say so."""
    client = catalog.client()
    match client:
        case SqlCatalog():
            return SqlViews(client) if client._schema_version == "v1" else None
        case RestCatalog():
            return RestViews(client) if has_views(client) else None
        case _:
            return None


def view_names(catalog: TableCatalog, schema: str) -> list[str]:
    """Sorted; empty where there are none."""
    with mapped(f"{catalog.settings.catalog}.{schema}"):
        store = view_store(catalog)
        return [] if store is None else store.names(schema)


def load_view(catalog: TableCatalog, schema: str, name: str) -> ViewMetadata | None:
    """One view; names of other engines' views compare without case."""
    with mapped(f"{schema}.{name}"):
        store = view_store(catalog)
        if store is None:
            return None
        found = store.load(schema, name)
        if found is None:
            other = next((n for n in store.names(schema) if n != name and n.lower() == name.lower()), None)
            found = None if other is None else store.load(schema, other)
        return None if found is None else view_of(catalog, schema, name, found)


def view_of(catalog: TableCatalog, schema: str, name: str, found: IcebergView) -> ViewMetadata:
    """The view that metadata tell of. Raises ProcessionError for what cannot be read."""
    version = next(v for v in found.versions if v.version_id == found.current_version_id)
    columns = next(s for s in found.schemas if s.schema_id == version.schema_id)
    return read_view(catalog.settings.catalog, schema, name, version, columns, found.properties)


def change_view(catalog: TableCatalog, change: ViewChange | OwnerChange) -> None:
    """Carry out one change."""
    store = view_store(catalog)
    if store is None:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, "This connector does not support creating views")
    name = _name(change)
    with mapped(name):
        try:
            _apply(store, change)
        except ViewAlreadyExistsError as error:
            raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"View already exists: {name}") from error
        except TableAlreadyExistsError as error:
            raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"Table already exists: {name}") from error
        except NoSuchViewError as error:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"View '{name}' not found") from error
        except NoSuchNamespaceError as error:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Schema {name.rpartition('.')[0]} not found") from error


def _name(change: ViewChange | OwnerChange) -> str:
    match change:
        case ViewCreation(view=view):
            return f"{view.schema}.{view.name}"
        case ViewRename(new_schema=schema, new_view=name) | ViewRemoval(schema=schema, view=name):
            return f"{schema}.{name}"
        case OwnerChange(schema=schema, name=name):
            return f"{schema}.{name}"


def _apply(store: ViewStore, change: ViewChange | OwnerChange) -> None:
    match change:
        case ViewCreation(view=view, replace=again):
            if again and store.load(view.schema, view.name) is not None:
                store.replace(view)
            else:
                store.create(view)
        case OwnerChange(view=view):
            if view is not None:
                store.replace(view)
        case ViewRemoval(schema=schema, view=name, if_exists=if_exists):
            try:
                store.drop(schema, name)
            except NoSuchViewError:
                if not if_exists:
                    raise
        case ViewRename(schema=schema, view=name, new_schema=new_schema, new_view=new_name):
            store.rename(schema, name, new_schema, new_name)

"""CREATE and DROP SCHEMA."""

from __future__ import annotations

from pyiceberg.exceptions import NamespaceAlreadyExistsError, NamespaceNotEmptyError, NoSuchNamespaceError

from coordinator.connectors.iceberg import locations
from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped, nul_in_name
from coordinator.connectors.iceberg.maintenance.shared_folders import refuse_held
from coordinator.connectors.iceberg.tables.dropping import drop_table
from coordinator.connectors.iceberg.views.catalog_views import change_view, view_names
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import SchemaCreation, SchemaRemoval, SchemaRename, TableRemoval, ViewRemoval


def change_schema(catalog: TableCatalog, change: SchemaCreation | SchemaRemoval | SchemaRename) -> None:
    """Carry out one of them. Raises ProcessionError."""
    name = f"{catalog.settings.catalog}.{change.schema}"
    namespace = tuple(change.schema.split("."))
    with mapped(name):
        match change:
            case SchemaCreation():
                check_schema(catalog, change)
                try:
                    catalog.client().create_namespace(namespace, {k: str(v) for k, v in change.properties.items()})
                except NamespaceAlreadyExistsError as error:
                    if not change.if_not_exists:
                        message = f"Schema '{name}' already exists"
                        raise ProcessionError(ErrorCode.ALREADY_EXISTS, message) from error
            case SchemaRemoval():
                _drop_schema(catalog, change, namespace)
            case SchemaRename():
                raise renaming_refused()


def renaming_refused() -> ProcessionError:
    """Iceberg's catalogs have no such operation."""
    return ProcessionError(ErrorCode.NOT_SUPPORTED, "This connector does not support renaming schemas")


def check_schema(catalog: TableCatalog, change: SchemaCreation) -> None:
    """Refuse a name or a location that cannot be. Raises ProcessionError."""
    if "\0" in change.schema:
        raise nul_in_name(change.schema)
    location = change.properties.get("location")
    if location is not None:
        locations.check_location(catalog.settings, str(location))
        refuse_held(catalog, str(location), lambda: None, "")


def _drop_schema(catalog: TableCatalog, change: SchemaRemoval, namespace: tuple[str, ...]) -> None:
    if change.cascade:
        _refuse_others(catalog, change.schema)
        for table in catalog.tables(change.schema):
            drop_table(catalog, TableRemoval(change.schema, table, if_exists=True))
        for view in view_names(catalog, change.schema):
            change_view(catalog, ViewRemoval(change.schema, view, if_exists=True))
    elif view_names(catalog, change.schema):  # PyIceberg counts tables only
        raise ProcessionError(ErrorCode.SCHEMA_NOT_EMPTY, f"Schema not empty: {change.schema}")
    try:
        catalog.client().drop_namespace(namespace)
    except NamespaceNotEmptyError as error:
        raise ProcessionError(ErrorCode.SCHEMA_NOT_EMPTY, f"Schema not empty: {change.schema}") from error
    except NoSuchNamespaceError as error:
        if not change.if_exists:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Schema {change.schema} not found") from error


def _refuse_others(catalog: TableCatalog, schema: str) -> None:
    """What Iceberg does not know is not dropped, and nothing else goes before that is told."""
    others = catalog.other_tables(schema) if catalog.schema_exists(schema) else []
    if others:
        names = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
        message = f"Schema not empty: {schema} has tables or views that are not Iceberg tables: {names}"
        raise ProcessionError(ErrorCode.SCHEMA_NOT_EMPTY, message)

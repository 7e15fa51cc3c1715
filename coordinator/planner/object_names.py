"""Names in statements that define or write: catalog, schema and object, and the connector that has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from coordinator.connectors.registry import Catalogs
from coordinator.sql.ddl_statements import CommentOn
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.catalog_changes import EditableCatalog
from shared.spi.connector import Connector, TableMetadata
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A table or view."""

    catalog: str
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.schema}.{self.name}"


def object_name(parts: tuple[str, ...], location: ErrorLocation, session: Session) -> ObjectName:
    """A name with the session's catalog and schema put in; raises SYNTAX_ERROR when there are none, or more parts."""
    if len(parts) > 3:
        message = f"Too many dots in table name: {'.'.join(parts)}"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    catalog = parts[-3] if len(parts) > 2 else session.catalog
    schema = parts[-2] if len(parts) > 1 else session.schema
    if catalog is None:
        raise _not_set("Catalog", location)
    if schema is None:
        raise _not_set("Schema", location)
    return ObjectName(catalog.lower(), schema.lower(), parts[-1].lower())


def schema_name(parts: tuple[str, ...], location: ErrorLocation, session: Session) -> tuple[str, str]:
    """Catalog and schema; raises SYNTAX_ERROR when the catalog is missing or the name has too many parts."""
    if len(parts) > 2:
        message = f"Too many parts in schema name: {'.'.join(parts)}"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    catalog = parts[0] if len(parts) == 2 else session.catalog
    if catalog is None:
        raise _not_set("Catalog", location)
    return catalog.lower(), parts[-1].lower()


def commented(statement: CommentOn) -> tuple[tuple[str, ...], str | None]:
    """The table or view that COMMENT ON names, and the column. Raises SYNTAX_ERROR for a column without a table."""
    parts = statement.name
    if statement.kind != "COLUMN":
        return parts, None
    if len(parts) == 1:
        message = f"Column name '{parts[-1]}' has no table"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    return parts[:-1], parts[-1]


def _not_set(what: str, location: ErrorLocation) -> ProcessionError:
    message = f"{what} must be specified when session {what.lower()} is not set"
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)


def connector_of(catalog: str, location: ErrorLocation, catalogs: Catalogs) -> Connector:
    """Raises SYNTAX_ERROR, located, when there is no such catalog."""
    if catalog not in catalogs.names():
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Catalog {catalog} does not exist", location=location)
    return catalogs.connector(catalog)


def editable(connector: Connector, what: str) -> EditableCatalog:
    """The connector as one that can be changed; raises NOT_SUPPORTED in Presto's words: ``what`` is a plural."""
    if not hasattr(connector, "change"):
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"This connector does not support {what}")
    return cast(EditableCatalog, connector)


def writable(connector: Connector, what: str) -> object:
    """The connector as one that takes rows."""
    if not hasattr(connector, "write"):
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"This connector does not support {what}")
    return connector


def existing_table(
    name: ObjectName, location: ErrorLocation, catalogs: Catalogs, of_views: str | None = None
) -> TableMetadata:
    """The table; raises SYNTAX_ERROR ``Table 'x' does not exist``, located. ``of_views`` refuses views instead."""
    connector_of(name.catalog, location, catalogs)
    table = catalogs.table(name.catalog, name.schema, name.name)
    if table is None:
        if of_views is not None:
            refuse_view(name, location, catalogs, of_views)
        raise missing_table(name, location)
    return table


def written_name(name: ObjectName, table: TableMetadata) -> str:
    """What a write names: the table, or the part of it that the statement names, such as a branch."""
    return name.name if name.name.startswith(f"{table.name.lower()}.") else table.name


def refuse_reference(name: ObjectName, table: TableMetadata) -> None:
    """Raises NOT_SUPPORTED for a statement that changes a table and names a branch or tag of it."""
    if written_name(name, table) != table.name:
        message = f"{name} is a branch or tag of table {table.name}: only its rows can be changed"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def refuse_view(name: ObjectName, location: ErrorLocation, catalogs: Catalogs, doing: str) -> None:
    """Raises NOT_SUPPORTED ``<doing> views is not supported`` when a view has the name."""
    if catalogs.view(name.catalog, name.schema, name.name) is not None:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"{doing} views is not supported", location=location)


def missing_table(name: ObjectName, location: ErrorLocation) -> ProcessionError:
    """Presto's words for a table that is not there."""
    return ProcessionError(ErrorCode.SYNTAX_ERROR, f"Table '{name}' does not exist", location=location)

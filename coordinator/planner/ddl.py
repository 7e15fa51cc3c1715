"""DDL to changes of a catalog: names, types and properties are checked here, before the statement queues.

Source of texts: Presto's ``CreateTableTask``, ``DropTableTask`` and their siblings; recorded statements.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.connectors.registry import Catalogs
from coordinator.expressions.types import read_type, type_text
from coordinator.planner.guard import current_guard
from coordinator.planner.object_names import (
    ObjectName,
    connector_of,
    editable,
    existing_table,
    missing_table,
    object_name,
    schema_name,
)
from coordinator.planner.properties import evaluate_properties
from coordinator.sql import ddl_statements as sql
from coordinator.vocabulary.planned_statement import ChangeCatalog, Column, PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.accesses import DropTable, DropView, TableName
from shared.spi.capabilities import capabilities_of
from shared.spi.catalog_changes import (
    CatalogChange,
    EditableCatalog,
    NewColumn,
    SchemaCreation,
    SchemaRemoval,
    SchemaRename,
    TableCreation,
    TableRemoval,
    TableRename,
    TableTruncation,
)
from shared.spi.connector import Connector, TableMetadata
from shared.spi.grants import RoleChange
from shared.spi.session import Session

RESULT = (Column("result", "boolean"),)


def change_statement(
    catalog: str, change: CatalogChange | RoleChange, update_type: str, altered: TableMetadata | None = None
) -> PlannedStatement:
    """A statement that makes one change and answers ``true``; ``altered`` is the table as it was."""
    columns = () if altered is None else tuple((each.name, each.type) for each in altered.columns if not each.hidden)
    return PlannedStatement("DATA_DEFINITION", RESULT, ChangeCatalog(catalog, change, columns), update_type=update_type)


def nothing_to_do(update_type: str) -> PlannedStatement:
    """What IF [NOT] EXISTS makes of a statement."""
    return PlannedStatement("DATA_DEFINITION", RESULT, ReturnRows(((True,),)), update_type=update_type)


def plan_create_schema(statement: sql.CreateSchema, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when the schema exists already or a property is wrong."""
    catalog, schema = schema_name(statement.name, statement.location, session)
    connector = connector_of(catalog, statement.location, catalogs)
    if connector.schema_exists(schema):
        if statement.if_not_exists:
            return nothing_to_do("CREATE SCHEMA")
        raise _exists(f"Schema '{catalog}.{schema}' already exists", statement.location)
    catalog_editor = editable(connector, "creating schemas")
    given = evaluate_properties(statement.properties, catalog_editor.schema_properties(), "schema", catalog, session)
    return change_statement(catalog, SchemaCreation(schema, given, statement.if_not_exists), "CREATE SCHEMA")


def plan_drop_schema(statement: sql.DropSchema, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when there is no such schema, or when it has tables and CASCADE is not said."""
    catalog, schema = schema_name(statement.name, statement.location, session)
    connector = connector_of(catalog, statement.location, catalogs)
    if not connector.schema_exists(schema):
        if statement.if_exists:
            return nothing_to_do("DROP SCHEMA")
        message = f"Schema '{catalog}.{schema}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    editable(connector, "dropping schemas")
    if statement.cascade:
        _permit_cascade(connector, catalog, schema, session)
    if not statement.cascade and (connector.tables(schema) or _view_names(connector, schema)):
        raise ProcessionError(ErrorCode.SCHEMA_NOT_EMPTY, f"Schema not empty: {schema}")
    return change_statement(catalog, SchemaRemoval(schema, statement.cascade, statement.if_exists), "DROP SCHEMA")


def _permit_cascade(connector: Connector, catalog: str, schema: str, session: Session) -> None:
    """Whoever drops a schema with all that is in it drops each of them. Raises AccessDeniedError."""
    guard = current_guard(session)
    guard.ask(*(DropTable(TableName(catalog, schema, name.lower())) for name in connector.tables(schema)))
    guard.ask(*(DropView(TableName(catalog, schema, name.lower())) for name in _view_names(connector, schema)))


def _view_names(connector: Connector, schema: str) -> Sequence[str]:
    """All of them, whoever asks."""
    views = capabilities_of(connector).views
    return () if views is None else views.view_names(schema)


def plan_rename_schema(statement: sql.RenameSchema, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Iceberg catalogs have no such step; the connector says so."""
    catalog, schema = schema_name(statement.name, statement.location, session)
    connector = connector_of(catalog, statement.location, catalogs)
    if not connector.schema_exists(schema):
        message = f"Schema '{catalog}.{schema}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    if connector.schema_exists(statement.new_name):
        raise _exists(f"Target schema '{catalog}.{statement.new_name}' already exists", statement.location)
    change = SchemaRename(schema, statement.new_name)
    editable(connector, "renaming schemas").validate(change)
    return change_statement(catalog, change, "RENAME SCHEMA")


def plan_create_table(statement: sql.CreateTable, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError: the table exists, the schema does not, a column or property is wrong."""
    name = object_name(statement.name, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    if connector.table(name.schema, name.name) is not None:
        if statement.if_not_exists:
            return nothing_to_do("CREATE TABLE")
        raise _exists(f"Table '{name}' already exists", statement.location)
    refuse_name_of_view(name, statement.location, catalogs)
    editor = editable(connector, "creating tables")
    require_schema(name.catalog, name.schema, catalogs)
    columns, inherited = _columns(statement, editor, name.catalog, session, catalogs)
    given = evaluate_properties(statement.properties, editor.table_properties(), "table", name.catalog, session)
    change = TableCreation(
        name.schema, name.name, columns, {**inherited, **given}, statement.comment, statement.if_not_exists
    )
    editor.validate(change)
    return change_statement(name.catalog, change, "CREATE TABLE")


def refuse_name_of_view(name: ObjectName, location: ErrorLocation, catalogs: Catalogs) -> None:
    """Raises ProcessionError when a view has the name that a new table is to have."""
    if catalogs.view(name.catalog, name.schema, name.name) is not None:
        raise _exists(f"View '{name}' already exists", location)


def require_schema(catalog: str, schema: str, catalogs: Catalogs) -> None:
    """Raises ProcessionError when the schema does not exist."""
    if not catalogs.connector(catalog).schema_exists(schema):
        raise ProcessionError(ErrorCode.NOT_FOUND, f"Schema {schema} not found")


def _columns(
    statement: sql.CreateTable,
    editor: EditableCatalog,
    catalog: str,
    session: Session,
    catalogs: Catalogs,
) -> tuple[tuple[NewColumn, ...], dict[str, object]]:
    """The columns in their order, those of LIKE among them, and the properties that LIKE hands on."""
    found: dict[str, NewColumn] = {}
    inherited: dict[str, object] = {}
    inheriting = False
    for element in statement.elements:
        if isinstance(element, sql.LikeClause):
            if element.including_properties and inheriting:
                message = "Only one LIKE clause can specify INCLUDING PROPERTIES"
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
            made, properties = _like(element, catalog, session, catalogs)
            inherited |= properties
            inheriting |= element.including_properties
        else:
            made = [new_column(element, editor, catalog, session)]
        for column in made:
            if column.name in found:
                message = f"Column name '{column.name}' specified more than once"
                raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=element.location)
            found[column.name] = column
    return tuple(found.values()), inherited


def _like(
    clause: sql.LikeClause, catalog: str, session: Session, catalogs: Catalogs
) -> tuple[list[NewColumn], dict[str, object]]:
    name = object_name(clause.table, clause.location, session)
    if name.catalog != catalog:
        message = "LIKE table across catalogs is not supported"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=clause.location)
    definition = editable(catalogs.connector(catalog), "LIKE").definition(name.schema, name.name)
    if definition is None:
        message = f"LIKE table '{name}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=clause.location)
    kept = {k: v for k, v in definition.properties.items() if k != "location"}
    return list(definition.columns), kept if clause.including_properties else {}


def new_column(definition: sql.ColumnDefinition, editor: EditableCatalog, catalog: str, session: Session) -> NewColumn:
    """A column with its type read and its properties evaluated; raises ProcessionError, located."""
    try:
        type_ = type_text(read_type(definition.type))
    except ValueError as error:
        message = f"Unknown type '{definition.type}' for column '{definition.name}'"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=definition.location) from error
    given = evaluate_properties(definition.properties, editor.column_properties(), "column", catalog, session)
    return NewColumn(definition.name, type_, definition.nullable, definition.comment, given)


def plan_drop_table(statement: sql.DropTable, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name = object_name(statement.name, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    if connector.table(name.schema, name.name) is None:
        if statement.if_exists:
            return nothing_to_do("DROP TABLE")
        raise missing_table(name, statement.location)
    editable(connector, "dropping tables")
    return change_statement(name.catalog, TableRemoval(name.schema, name.name, statement.if_exists), "DROP TABLE")


def plan_truncate(statement: sql.TruncateTable, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name = object_name(statement.name, statement.location, session)
    existing_table(name, statement.location, catalogs)
    editable(catalogs.connector(name.catalog), "truncating tables")
    return change_statement(name.catalog, TableTruncation(name.schema, name.name), "TRUNCATE TABLE")


def plan_rename_table(statement: sql.RenameTable, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """The new name without a schema stays in the table's own."""
    name = object_name(statement.name, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    if connector.table(name.schema, name.name) is None:
        if statement.if_exists:
            return nothing_to_do("RENAME TABLE")
        raise missing_table(name, statement.location)
    parts = statement.new_name
    whole = (*(name.catalog, name.schema)[: 3 - len(parts)], *parts)
    target = object_name(whole, statement.location, session)
    if target.catalog != name.catalog:
        message = "Table rename across catalogs is not supported"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    if not connector.schema_exists(target.schema):
        message = f"Target schema '{target.catalog}.{target.schema}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    if connector.table(target.schema, target.name) is not None:
        raise _exists(f"Target table '{target}' already exists", statement.location)
    if catalogs.view(target.catalog, target.schema, target.name) is not None:
        raise _exists(f"Target table '{target}' is an existing view", statement.location)
    change = TableRename(name.schema, name.name, target.schema, target.name)
    editable(connector, "renaming tables").validate(change)
    return change_statement(name.catalog, change, "RENAME TABLE")


def _exists(message: str, location: ErrorLocation) -> ProcessionError:
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)

"""ALTER TABLE, COMMENT ON and ``ALTER TABLE … EXECUTE``. Texts: Presto's ``AddColumnTask`` and its siblings."""

from __future__ import annotations

from dataclasses import replace

from coordinator.connectors.registry import Catalogs
from coordinator.expressions.types import read_type, type_text
from coordinator.planner.ddl import change_statement, new_column, nothing_to_do
from coordinator.planner.object_names import (
    ObjectName,
    connector_of,
    editable,
    missing_table,
    object_name,
    refuse_reference,
)
from coordinator.planner.properties import evaluate_properties
from coordinator.sql import ddl_statements as sql
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.catalog_changes import (
    CatalogChange,
    ColumnAddition,
    ColumnChange,
    ColumnRemoval,
    ColumnRename,
    CommentChange,
    TablePropertiesChange,
    ViewCreation,
)
from shared.spi.connector import TableMetadata, ViewMetadata
from shared.spi.session import Session


def _table(
    parts: tuple[str, ...], location: ErrorLocation, session: Session, catalogs: Catalogs, *, optional: bool = False
) -> tuple[ObjectName, TableMetadata | None]:
    """The table; None where it is missing and IF EXISTS was said."""
    name = object_name(parts, location, session)
    table = connector_of(name.catalog, location, catalogs).table(name.schema, name.name)
    if table is None and not optional:
        raise missing_table(name, location)
    if table is not None:
        refuse_reference(name, table)
    return name, table


def _planned(
    name: ObjectName, change: CatalogChange, update_type: str, catalogs: Catalogs, what: str
) -> PlannedStatement:
    editable(catalogs.connector(name.catalog), what).validate(change)
    return change_statement(name.catalog, change, update_type)


def _missing_column(column: str, location: ErrorLocation) -> ProcessionError:
    return ProcessionError(ErrorCode.SYNTAX_ERROR, f"Column '{column}' does not exist", location=location)


def plan_add_column(statement: sql.AddColumn, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name, table = _table(statement.table, statement.location, session, catalogs, optional=statement.if_table_exists)
    if table is None:
        return nothing_to_do("ADD COLUMN")
    if table.column(statement.column.name) is not None:
        if statement.if_not_exists:
            return nothing_to_do("ADD COLUMN")
        message = f"Column '{statement.column.name}' already exists"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    editor = editable(catalogs.connector(name.catalog), "adding columns")
    column = new_column(statement.column, editor, name.catalog, session)
    change = ColumnAddition(table.schema, table.name, column)
    return _planned(name, change, "ADD COLUMN", catalogs, "adding columns")


def plan_drop_column(statement: sql.DropColumn, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name, table = _table(statement.table, statement.location, session, catalogs, optional=statement.if_table_exists)
    if table is None:
        return nothing_to_do("DROP COLUMN")
    if table.column(statement.column) is None:
        if statement.if_exists:
            return nothing_to_do("DROP COLUMN")
        raise _missing_column(statement.column, statement.location)
    if len([c for c in table.columns if not c.hidden]) == 1:
        message = "Cannot drop the only column in a table"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    change = ColumnRemoval(table.schema, table.name, statement.column)
    return _planned(name, change, "DROP COLUMN", catalogs, "dropping columns")


def plan_rename_column(statement: sql.RenameColumn, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name, table = _table(statement.table, statement.location, session, catalogs, optional=statement.if_table_exists)
    if table is None:
        return nothing_to_do("RENAME COLUMN")
    if table.column(statement.column) is None:
        if statement.if_exists:
            return nothing_to_do("RENAME COLUMN")
        raise _missing_column(statement.column, statement.location)
    if table.column(statement.new_name) is not None:
        message = f"Column '{statement.new_name}' already exists"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    change = ColumnRename(table.schema, table.name, statement.column, statement.new_name)
    return _planned(name, change, "RENAME COLUMN", catalogs, "renaming columns")


def plan_alter_column(statement: sql.AlterColumn, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Types may widen (integer to bigint, real to double, a larger decimal); NOT NULL may be dropped."""
    name, table = _table(statement.table, statement.location, session, catalogs, optional=statement.if_table_exists)
    if table is None:
        return nothing_to_do("ALTER COLUMN")
    if table.column(statement.column) is None:
        raise _missing_column(statement.column, statement.location)
    kind = None
    if statement.type is not None:
        try:
            kind = type_text(read_type(statement.type))
        except ValueError as error:
            message = f"Unknown type '{statement.type}' for column '{statement.column}'"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location) from error
    change = ColumnChange(table.schema, table.name, statement.column, kind, statement.nullable)
    return _planned(name, change, "ALTER COLUMN", catalogs, "altering columns")


def plan_set_properties(statement: sql.SetTableProperties, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name, table = _table(statement.table, statement.location, session, catalogs, optional=statement.if_table_exists)
    if table is None:
        return nothing_to_do("SET PROPERTIES")
    editor = editable(catalogs.connector(name.catalog), "setting table properties")
    given = evaluate_properties(statement.properties, editor.table_properties(), "table", name.catalog, session)
    change = TablePropertiesChange(table.schema, table.name, given)
    return _planned(name, change, "SET PROPERTIES", catalogs, "setting table properties")


def plan_comment(statement: sql.CommentOn, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """COMMENT ON is Trino's; dbt sends it to persist its documentation."""
    parts = statement.name
    column = parts[-1] if statement.kind == "COLUMN" else None
    if column is not None and len(parts) == 1:
        message = f"Column name '{column}' has no table"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    of = parts if column is None else parts[:-1]
    named = object_name(of, statement.location, session)
    connector_of(named.catalog, statement.location, catalogs)
    view = catalogs.view(named.catalog, named.schema, named.name)
    if view is not None:
        return _comment_on_view(statement, view, column, catalogs)
    name, table = _table(of, statement.location, session, catalogs)
    assert table is not None
    if column is not None and table.column(column) is None:
        raise _missing_column(column, statement.location)
    change = CommentChange(table.schema, table.name, column, statement.comment)
    return _planned(name, change, "COMMENT", catalogs, "setting comments")


def _comment_on_view(
    statement: sql.CommentOn, view: ViewMetadata, column: str | None, catalogs: Catalogs
) -> PlannedStatement:
    """A new version of the view that differs in the comment alone."""
    if column is None:
        changed = replace(view, comment=statement.comment)
    elif column in {c.name for c in view.columns}:
        columns = (replace(c, comment=statement.comment) if c.name == column else c for c in view.columns)
        changed = replace(view, columns=tuple(columns))
    else:
        raise _missing_column(column, statement.location)
    if not view.definition:
        message = f"Views of dialect '{view.dialect}' cannot be changed here"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=statement.location)
    name = ObjectName(view.catalog, view.schema, view.name)
    return _planned(name, ViewCreation(changed, replace=True), "COMMENT", catalogs, "setting comments")

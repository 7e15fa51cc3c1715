"""ALTER TABLE, COMMENT ON and ``ALTER TABLE … EXECUTE``. Texts: Presto's ``AddColumnTask`` and its siblings."""

from __future__ import annotations

from dataclasses import replace

from coordinator.connectors.registry import Catalogs
from coordinator.expressions.types import read_type, type_text
from coordinator.planner.ddl import change_statement, new_column, nothing_to_do
from coordinator.planner.object_names import (
    ObjectName,
    commented,
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
    name: ObjectName,
    change: CatalogChange,
    update_type: str,
    catalogs: Catalogs,
    what: str,
    table: TableMetadata | None = None,
) -> PlannedStatement:
    editable(catalogs.connector(name.catalog), what).validate(change)
    return change_statement(name.catalog, change, update_type, table)


def _missing_column(column: str, location: ErrorLocation) -> ProcessionError:
    return ProcessionError(ErrorCode.SYNTAX_ERROR, f"Column '{column}' does not exist", location=location)


def _written_column(table: TableMetadata, column: str, location: ErrorLocation, doing: str) -> bool:
    """Whether there is a column of that name. Raises NOT_SUPPORTED for one that the table itself makes."""
    found = table.column(column)
    if (found is not None and found.hidden) or column in {c.name.lower() for c in table.hidden_columns}:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Cannot {doing} hidden column", location=location)
    return found is not None


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
    return _planned(name, change, "ADD COLUMN", catalogs, "adding columns", table)


def plan_drop_column(statement: sql.DropColumn, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name, table = _table(statement.table, statement.location, session, catalogs, optional=statement.if_table_exists)
    if table is None:
        return nothing_to_do("DROP COLUMN")
    if not _written_column(table, statement.column, statement.location, "drop"):
        if statement.if_exists:
            return nothing_to_do("DROP COLUMN")
        raise _missing_column(statement.column, statement.location)
    if len([c for c in table.columns if not c.hidden]) == 1:
        message = "Cannot drop the only column in a table"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    change = ColumnRemoval(table.schema, table.name, statement.column)
    return _planned(name, change, "DROP COLUMN", catalogs, "dropping columns", table)


def plan_rename_column(statement: sql.RenameColumn, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name, table = _table(statement.table, statement.location, session, catalogs, optional=statement.if_table_exists)
    if table is None:
        return nothing_to_do("RENAME COLUMN")
    if not _written_column(table, statement.column, statement.location, "rename"):
        if statement.if_exists:
            return nothing_to_do("RENAME COLUMN")
        raise _missing_column(statement.column, statement.location)
    if table.column(statement.new_name) is not None:
        message = f"Column '{statement.new_name}' already exists"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    change = ColumnRename(table.schema, table.name, statement.column, statement.new_name)
    return _planned(name, change, "RENAME COLUMN", catalogs, "renaming columns", table)


def plan_alter_column(statement: sql.AlterColumn, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Types may widen (integer to bigint, real to double, a larger decimal); NOT NULL may be dropped."""
    name, table = _table(statement.table, statement.location, session, catalogs, optional=statement.if_table_exists)
    if table is None:
        return nothing_to_do("ALTER COLUMN")
    if not _written_column(table, statement.column, statement.location, "alter"):
        raise _missing_column(statement.column, statement.location)
    type_ = None
    if statement.type is not None:
        try:
            type_ = type_text(read_type(statement.type))
        except ValueError as error:
            message = f"Unknown type '{statement.type}' for column '{statement.column}'"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location) from error
    change = ColumnChange(table.schema, table.name, statement.column, type_, statement.nullable)
    return _planned(name, change, "ALTER COLUMN", catalogs, "altering columns", table)


def plan_set_properties(statement: sql.SetTableProperties, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name, table = _table(statement.table, statement.location, session, catalogs, optional=statement.if_table_exists)
    if table is None:
        return nothing_to_do("SET PROPERTIES")
    editor = editable(catalogs.connector(name.catalog), "setting table properties")
    declared = editor.table_properties()
    given = evaluate_properties(statement.properties, declared, "table", name.catalog, session, of_new=False)
    change = TablePropertiesChange(table.schema, table.name, given)
    return _planned(name, change, "SET PROPERTIES", catalogs, "setting table properties", table)


def plan_comment(statement: sql.CommentOn, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """COMMENT ON is Trino's; dbt sends it to persist its documentation."""
    of, column = commented(statement)
    named = object_name(of, statement.location, session)
    connector_of(named.catalog, statement.location, catalogs)
    view = catalogs.view(named.catalog, named.schema, named.name)
    if view is not None and statement.kind != "TABLE":
        return _comment_on_view(statement, view, column, catalogs)
    if view is not None or statement.kind == "VIEW":
        raise _not_of_its_kind(statement, named, catalogs)
    name, table = _table(of, statement.location, session, catalogs)
    assert table is not None
    if column is not None and not _written_column(table, column, statement.location, "comment on"):
        raise _missing_column(column, statement.location)
    change = CommentChange(table.schema, table.name, column, statement.comment)
    return _planned(name, change, "COMMENT", catalogs, "setting comments", table)


def _not_of_its_kind(statement: sql.CommentOn, name: ObjectName, catalogs: Catalogs) -> ProcessionError:
    """A table where a view is named, or a view where a table is: what may be done to one is not asked of the other."""
    wanted, other = ("Table", "view") if statement.kind == "TABLE" else ("View", "table")
    message = f"{wanted} '{name}' does not exist"
    if other == "view" or catalogs.table(name.catalog, name.schema, name.name) is not None:
        message += f", but a {other} with that name exists. Did you mean COMMENT ON {other.upper()} {name}?"
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)


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

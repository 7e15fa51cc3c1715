"""ALTER TABLE, SCHEMA and VIEW."""

from __future__ import annotations

from coordinator.sql.call_argument import CallArgument
from coordinator.sql.ddl_statements import (
    AddColumn,
    AlterColumn,
    DropColumn,
    ExecuteTableProcedure,
    Name,
    PropertyAssignment,
    RenameColumn,
    RenameSchema,
    RenameTable,
    RenameView,
    SetTableProperties,
)
from coordinator.sql.parse_call import read_argument
from coordinator.sql.parse_parts import (
    column_definition,
    column_type,
    expression_tokens,
    if_exists,
    if_not_exists,
    object_name,
    properties,
    property_assignment,
)
from coordinator.sql.statements import OtherStatement, Statement
from coordinator.sql.tokens import Cursor
from shared.errors import ErrorLocation


def parse_alter(cursor: Cursor) -> Statement:
    """An ALTER from its keyword on."""
    location = cursor.location
    cursor.expect("ALTER")
    match cursor.expect("FUNCTION", "SCHEMA", "TABLE", "VIEW"):
        case "SCHEMA":
            name = object_name(cursor)
            cursor.expect("RENAME")
            cursor.expect("TO")
            return RenameSchema(name, cursor.identifier(), location)
        case "VIEW":
            exists = if_exists(cursor)
            name = object_name(cursor)
            cursor.expect("RENAME")
            cursor.expect("TO")
            return RenameView(name, object_name(cursor), exists, location)
        case "TABLE":
            exists = if_exists(cursor)
            name = object_name(cursor)
            cursor.settle()
            return _alter_table(cursor, name, exists, location)
        case kind:
            cursor.position = len(cursor.tokens)
            return OtherStatement(f"ALTER {kind}", location)


def _alter_table(cursor: Cursor, table: Name, exists: bool, location: ErrorLocation) -> Statement:
    match cursor.expect("ADD", "ALTER", "DROP", "EXECUTE", "RENAME", "SET"):
        case "ADD":
            if cursor.keyword() == "CONSTRAINT":
                cursor.position = len(cursor.tokens)
                return OtherStatement("ALTER TABLE ADD CONSTRAINT", location)
            cursor.expect("COLUMN")
            missing = if_not_exists(cursor)
            return AddColumn(table, column_definition(cursor), exists, missing, location)
        case "DROP":
            if cursor.expect("BRANCH", "COLUMN", "CONSTRAINT", "TAG") != "COLUMN":
                kind = cursor.keyword(-1)
                cursor.position = len(cursor.tokens)
                return OtherStatement(f"ALTER TABLE DROP {kind}", location)
            present = if_exists(cursor)
            return DropColumn(table, cursor.identifier(), exists, present, location)
        case "RENAME":
            return _rename(cursor, table, exists, location)
        case "SET":
            cursor.expect("PROPERTIES")
            return SetTableProperties(table, _set_properties(cursor), exists, location)
        case "ALTER":
            return _alter_column(cursor, table, exists, location)
        case _:
            return _execute(cursor, table, location)


def _set_properties(cursor: Cursor) -> tuple[PropertyAssignment, ...]:
    """Presto's list in parentheses, or Trino's without."""
    if cursor.keyword() == "(":
        return properties(cursor)
    found = [property_assignment(cursor)]
    while cursor.accept(","):
        found.append(property_assignment(cursor))
    return tuple(found)


def _rename(cursor: Cursor, table: Name, exists: bool, location: ErrorLocation) -> Statement:
    if cursor.expect("COLUMN", "TO") == "TO":
        return RenameTable(table, object_name(cursor), exists, location)
    present = if_exists(cursor)
    column = cursor.identifier()
    cursor.expect("TO")
    return RenameColumn(table, column, cursor.identifier(), exists, present, location)


def _alter_column(cursor: Cursor, table: Name, exists: bool, location: ErrorLocation) -> AlterColumn:
    cursor.expect("COLUMN")
    column = cursor.identifier()
    if cursor.expect("DROP", "SET") == "DROP":
        cursor.expect("NOT")
        cursor.expect("NULL")
        return AlterColumn(table, column, None, True, exists, location)
    if cursor.accept("NOT", "NULL"):
        return AlterColumn(table, column, None, False, exists, location)
    cursor.expect("DATA")
    cursor.expect("TYPE")
    return AlterColumn(table, column, column_type(cursor), None, exists, location)


def _execute(cursor: Cursor, table: Name, location: ErrorLocation) -> ExecuteTableProcedure:
    procedure = cursor.identifier()
    arguments: list[CallArgument] = []
    if cursor.accept("(") and not cursor.accept(")"):
        arguments.append(read_argument(cursor))
        while cursor.expect(",", ")") == ",":
            arguments.append(read_argument(cursor))
    where = expression_tokens(cursor) if cursor.accept("WHERE") else ()
    return ExecuteTableProcedure(table, procedure, tuple(arguments), where, location)

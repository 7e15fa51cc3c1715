"""ALTER TABLE, SCHEMA and VIEW."""

from __future__ import annotations

from coordinator.sql.call_argument import CallArgument
from coordinator.sql.cursor import Cursor
from coordinator.sql.ddl_statements import (
    AddColumn,
    AlterCatalog,
    AlterColumn,
    DropColumn,
    ExecuteTableProcedure,
    Name,
    RenameColumn,
    RenameSchema,
    RenameTable,
    RenameView,
    SetAuthorization,
    SetTableProperties,
)
from coordinator.sql.parse_call import read_argument
from coordinator.sql.parse_materialized_views import parse_alter_materialized_view
from coordinator.sql.parse_parts import (
    column_definition,
    column_type,
    if_exists,
    if_not_exists,
    listed_properties,
    object_name,
)
from coordinator.sql.parse_roles import parse_principal
from coordinator.sql.statements import OtherStatement, Statement
from shared.errors import ErrorLocation
from shared.spi.grants import Principal


def parse_alter(cursor: Cursor) -> Statement:
    """An ALTER from its keyword on."""
    location = cursor.location
    cursor.expect("ALTER")
    if cursor.accept("CATALOG"):
        catalog = cursor.name()
        cursor.expect("SET")
        cursor.expect("PROPERTIES")
        return AlterCatalog(catalog, listed_properties(cursor), location)
    match cursor.expect("FUNCTION", "MATERIALIZED", "SCHEMA", "TABLE", "VIEW"):
        case "SCHEMA":
            name = object_name(cursor)
            if cursor.expect("RENAME", "SET") == "SET":
                return SetAuthorization("SCHEMA", name, _new_owner(cursor), location)
            cursor.expect("TO")
            return RenameSchema(name, cursor.name(), location)
        case "VIEW":
            exists = if_exists(cursor)
            name = object_name(cursor)
            if cursor.expect("RENAME", *(() if exists else ("SET",))) == "SET":
                return SetAuthorization("VIEW", name, _new_owner(cursor), location)
            cursor.expect("TO")
            return RenameView(name, object_name(cursor), exists, location)
        case "MATERIALIZED":
            return parse_alter_materialized_view(cursor, location)
        case "TABLE":
            exists = if_exists(cursor)
            name = object_name(cursor)
            return _alter_table(cursor, name, exists, location)
        case kind:
            cursor.skip_to_end()
            return OtherStatement(f"ALTER {kind}", location)


def _alter_table(cursor: Cursor, table: Name, exists: bool, location: ErrorLocation) -> Statement:
    match cursor.expect("ADD", "ALTER", "DROP", "EXECUTE", "RENAME", "SET"):
        case "ADD":
            if cursor.word == "CONSTRAINT":
                cursor.skip_to_end()
                return OtherStatement("ALTER TABLE ADD CONSTRAINT", location)
            cursor.expect("COLUMN")
            missing = if_not_exists(cursor)
            return AddColumn(table, column_definition(cursor), exists, missing, location)
        case "DROP":
            if cursor.expect("BRANCH", "COLUMN", "CONSTRAINT", "TAG") != "COLUMN":
                kind = cursor.ahead(-1)
                cursor.skip_to_end()
                return OtherStatement(f"ALTER TABLE DROP {kind}", location)
            present = if_exists(cursor)
            return DropColumn(table, cursor.name(), exists, present, location)
        case "RENAME":
            return _rename(cursor, table, exists, location)
        case "SET":
            if not exists and cursor.word == "AUTHORIZATION":
                return SetAuthorization("TABLE", table, _new_owner(cursor), location)
            cursor.expect("PROPERTIES", *(() if exists else ("AUTHORIZATION",)))
            return SetTableProperties(table, listed_properties(cursor), exists, location)
        case "ALTER":
            return _alter_column(cursor, table, exists, location)
        case _:
            return _execute(cursor, table, location)


def _new_owner(cursor: Cursor) -> Principal:
    cursor.expect("AUTHORIZATION")
    return parse_principal(cursor)


def _rename(cursor: Cursor, table: Name, exists: bool, location: ErrorLocation) -> Statement:
    if cursor.expect("COLUMN", "TO") == "TO":
        return RenameTable(table, object_name(cursor), exists, location)
    present = if_exists(cursor)
    column = cursor.name()
    cursor.expect("TO")
    return RenameColumn(table, column, cursor.name(), exists, present, location)


def _alter_column(cursor: Cursor, table: Name, exists: bool, location: ErrorLocation) -> AlterColumn:
    cursor.expect("COLUMN")
    column = cursor.name()
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
    procedure = cursor.name()
    arguments: list[CallArgument] = []
    if cursor.accept("(") and not cursor.accept(")"):
        arguments.append(read_argument(cursor))
        while cursor.expect(",", ")") == ",":
            arguments.append(read_argument(cursor))
    if not cursor.accept("WHERE"):
        return ExecuteTableProcedure(table, procedure, tuple(arguments), None, "", location)
    begin = cursor.location
    where, text = cursor.expression_with_text()
    return ExecuteTableProcedure(table, procedure, tuple(arguments), where, text, location, begin)

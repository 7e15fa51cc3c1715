"""SHOW CREATE TABLE and SCHEMA: the statement that would make what is there, as Presto's SqlFormatter lays it out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from coordinator.connectors.registry import Catalogs
from coordinator.planner.object_names import (
    connector_of,
    editable,
    missing_table,
    object_name,
    schema_name,
)
from coordinator.sql.ddl_statements import ShowCreateSchema
from coordinator.sql.reserved_words import RESERVED
from coordinator.sql.statements import ShowCreateTable
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import NewColumn, TableDefinition
from shared.spi.session import Session

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def one_text(column: str, text: str) -> PlannedStatement:
    """A statement whose result is one text."""
    return PlannedStatement("DESCRIBE", (Column(column, f"varchar({len(text)})"),), ReturnRows(((text,),)))


def show_create_table(statement: ShowCreateTable, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when there is no such table."""
    name = object_name(statement.table, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    table = connector.table(name.schema, name.name)
    if table is None:
        if catalogs.view(name.catalog, name.schema, name.name) is not None:
            message = f"Relation '{name}' is a view, not a table"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
        raise missing_table(name, statement.location)
    if hasattr(connector, "definition"):
        definition = editable(connector, "SHOW CREATE TABLE").definition(name.schema, name.name)
    else:
        shown = (c for c in table.columns if not c.hidden)
        columns = tuple(NewColumn(c.name, c.type, c.nullable, c.comment) for c in shown)
        definition = TableDefinition(columns, {}, table.comment)
    if definition is None:
        raise missing_table(name, statement.location)
    return one_text("Create Table", create_table_text((name.catalog, name.schema, name.name), definition))


def create_table_text(name: tuple[str, ...], definition: TableDefinition) -> str:
    """``CREATE TABLE …`` that makes the table again."""
    columns = ",\n".join(f"   {_column(column)}" for column in definition.columns)
    comment = "" if definition.comment is None else f"\nCOMMENT {string(definition.comment)}"
    return f"CREATE TABLE {qualified(name)} (\n{columns}\n){comment}{with_properties(definition.properties)}"


def _column(column: NewColumn) -> str:
    null = "" if column.nullable else " NOT NULL"
    comment = "" if column.comment is None else f" COMMENT {string(column.comment)}"
    escaped = column.name.replace('"', '""')
    return f'"{escaped}" {column.type}{null}{comment}'


def show_create_schema(statement: ShowCreateSchema, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when there is no such schema."""
    catalog, schema = schema_name(statement.name, statement.location, session)
    connector = connector_of(catalog, statement.location, catalogs)
    properties = None
    if hasattr(connector, "schema_definition"):
        properties = editable(connector, "SHOW CREATE SCHEMA").schema_definition(schema)
    elif connector.schema_exists(schema):
        properties = {}
    if properties is None:
        message = f"Schema '{catalog}.{schema}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    return one_text("Create Schema", f"CREATE SCHEMA {qualified((catalog, schema))}{with_properties(properties)}")


def with_properties(properties: Mapping[str, object]) -> str:
    if not properties:
        return ""
    lines = ",\n".join(f"   {identifier(name)} = {_value(value)}" for name, value in sorted(properties.items()))
    return f"\nWITH (\n{lines}\n)"


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case list() | tuple():
            return f"ARRAY[{','.join(_value(v) for v in value)}]"
        case _:
            return string(str(value))


def string(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name, in quotes where it needs them."""
    if _PLAIN.fullmatch(name) and name.upper() not in RESERVED:
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def qualified(name: tuple[str, ...]) -> str:
    """A dotted name."""
    return ".".join(identifier(part) for part in name)

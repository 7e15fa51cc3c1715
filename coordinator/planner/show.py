"""SHOW and DESCRIBE: rows that the catalogs, the session and the registries answer at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from coordinator.analyzer.registry import registry, shown
from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.column_sizes import precision_scale_length
from coordinator.expressions.types import type_text
from coordinator.sql.statements import (
    Like,
    ShowCatalogs,
    ShowColumns,
    ShowFunctions,
    ShowSchemas,
    ShowSession,
    ShowTables,
)
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, ReturnRows
from coordinator.vocabulary.session_properties import PropertiesByName, default_in, value_in
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.connector import ColumnMetadata, Connector
from shared.spi.session import Session
from shared.spi.session_function import SessionFunction

_COLUMN_COLUMNS = (
    Column("Column", "varchar"),
    Column("Type", "varchar"),
    Column("Extra", "varchar"),
    Column("Comment", "varchar"),
    Column("Precision", "bigint"),
    Column("Scale", "bigint"),
    Column("Length", "bigint"),
)


def rows_statement(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> PlannedStatement:
    """A statement whose rows are known."""
    return PlannedStatement("DESCRIBE", tuple(columns), ReturnRows(tuple(tuple(row) for row in rows)))


def show_catalogs(statement: ShowCatalogs, catalogs: Catalogs) -> PlannedStatement:
    names = catalogs.names()
    # Presto answers with literal rows, whose type is as wide as the longest.
    return _names("Catalog", names, statement.like, f"varchar({max(map(len, names))})")


def show_schemas(statement: ShowSchemas, session: Session, catalogs: Catalogs) -> PlannedStatement:
    connector = _connector(statement.catalog, statement.location, session, catalogs)
    return _names("Schema", catalogs.schemas(connector.catalog), statement.like)


def show_tables(statement: ShowTables, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when the schema does not exist."""
    catalog = statement.schema[0] if len(statement.schema) == 2 else None
    connector = _connector(catalog, statement.location, session, catalogs)
    schema = statement.schema[-1] if statement.schema else session.schema
    if schema is None:
        message = "Schema must be specified when session schema is not set"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    if not catalogs.schema_exists(connector.catalog, schema):
        message = f"Schema '{schema}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    return _names(
        "Table",
        {*catalogs.tables(connector.catalog, schema), *catalogs.views(connector.catalog, schema)},
        statement.like,
    )


def show_columns(statement: ShowColumns, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError in the words that PyHive looks for: ``Table 'a.b.c' does not exist``."""
    catalog, schema, name = _table_parts(statement, session)
    connector = _connector(catalog, statement.location, session, catalogs)
    if not catalogs.schema_exists(connector.catalog, schema):
        message = f"Schema '{schema}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    found = catalogs.table(connector.catalog, schema, name) or catalogs.view(connector.catalog, schema, name)
    if found is None:
        message = f"Table '{connector.catalog}.{schema}.{name}' does not exist"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    return rows_statement(_COLUMN_COLUMNS, (_column_row(column) for column in catalogs.shown_columns(found)))


def _table_parts(statement: ShowColumns, session: Session) -> tuple[str | None, str, str]:
    match statement.table:
        case (catalog, schema, name):
            return catalog, schema, name
        case (schema, name):
            return None, schema, name
        case (name,):
            if session.schema is None:
                message = "Schema must be specified when session schema is not set"
                raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
            return None, session.schema, name
        case parts:
            message = f"Too many dots in table name: {'.'.join(parts)}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)


def _column_row(column: ColumnMetadata) -> tuple[object, ...]:
    extra = "partition key" if column.is_partition_key else ""
    return (column.name, column.type, extra, column.comment or "", *precision_scale_length(column.type))


def show_session(statement: ShowSession, session: Session, properties: PropertiesByName) -> PlannedStatement:
    columns = [Column(name, "varchar") for name in ("Name", "Value", "Default", "Type", "Description")]
    wanted = _matcher(statement.like)
    rows = [
        (p.name, value_in(session, p), default_in(session, p), p.type, p.description)
        for p in sorted(properties.values(), key=lambda p: p.name)
        if not p.hidden and wanted(p.name)
    ]
    return rows_statement(columns, rows)


_FUNCTION_COLUMNS = (
    *(Column(name, "varchar") for name in ("Function", "Return Type", "Argument Types", "Function Type")),
    Column("Deterministic", "boolean"),
    Column("Description", "varchar"),
    Column("Variable Arity", "boolean"),
    Column("Built In", "boolean"),
    Column("Temporary", "boolean"),
    Column("Language", "varchar"),
    Column("External", "boolean"),
)


def show_functions(statement: ShowFunctions, session: Session) -> PlannedStatement:
    """Every signature of the registry and the session's own functions, by name."""
    wanted = _matcher(statement.like)
    rows = [
        (
            s.name,
            type_text(s.result),
            ", ".join(map(type_text, s.arguments)),
            s.kind.lower(),
            s.deterministic,
            "",
            s.variadic,
            True,
            False,
            "",
            False,
        )
        for name, signatures in sorted(registry().items())
        if wanted(name)
        for s in signatures
        if shown(s)
    ]
    rows += [_of_session(function) for function in session.functions if wanted(function.name)]
    return rows_statement(_FUNCTION_COLUMNS, sorted(rows, key=lambda row: str(row[0])))


def _of_session(f: SessionFunction) -> tuple[str, str, str, str, bool, str, bool, bool, bool, str, bool]:
    arguments = ", ".join(parameter.type for parameter in f.parameters)
    return (f.name, f.result, arguments, "scalar", f.deterministic, f.comment, False, False, True, "SQL", False)


def _connector(catalog: str | None, location: ErrorLocation, session: Session, catalogs: Catalogs) -> Connector:
    name = catalog or session.catalog
    if name is None:
        message = "Catalog must be specified when session catalog is not set"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    if name not in catalogs.names():
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Catalog '{name}' does not exist", location=location)
    return catalogs.connector(name)


def _names(column: str, names: Iterable[str], like: Like | None, type_: str = "varchar") -> PlannedStatement:
    wanted = _matcher(like)
    return rows_statement((Column(column, type_),), ((name,) for name in sorted(names) if wanted(name)))


def _matcher(like: Like | None) -> Any:
    if like is None:
        return lambda _name: True
    return re.compile(like_pattern(like), re.DOTALL).fullmatch


def like_pattern(like: Like) -> str:
    """The regular expression of a LIKE pattern; raises INVALID_FUNCTION_ARGUMENT for a wrong escape, as Presto does."""
    if like.escape is not None and len(like.escape) != 1:
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, "Escape string must be a single character")
    parts: list[str] = []
    characters = iter(like.pattern)
    for character in characters:
        if character == like.escape:
            escaped = next(characters, "")
            if escaped not in {"%", "_", like.escape}:
                message = "Escape character must be followed by '%', '_' or the escape character itself"
                raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message)
            parts.append(re.escape(escaped))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return "".join(parts)

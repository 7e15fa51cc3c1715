"""SHOW in the forms that clients send, and DESCRIBE."""

from __future__ import annotations

from coordinator.sql.ddl_statements import ShowCreateSchema, ShowCreateView, ShowStats
from coordinator.sql.old_grammar.queries import check_query
from coordinator.sql.parse_parts import object_name, run_of_tokens
from coordinator.sql.statements import (
    DescribeInput,
    DescribeOutput,
    Like,
    OtherStatement,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowFunctions,
    ShowSchemas,
    ShowSession,
    ShowTables,
    Statement,
)
from coordinator.sql.tokens import Cursor
from shared.errors import ErrorCode, ErrorLocation, ProcessionError

_SHOWN = (
    "CATALOGS", "COLUMNS", "CREATE", "CURRENT", "FUNCTIONS", "GRANTS", "ROLE", "ROLES", "SCHEMAS", "SESSION", "STATS",
    "TABLES",
)  # fmt: skip


_CREATED = ("FUNCTION", "SCHEMA", "TABLE", "VIEW")


def parse_show(cursor: Cursor) -> Statement:
    """A SHOW from its keyword on."""
    location = cursor.location
    cursor.expect("SHOW")
    match cursor.expect(*_SHOWN):
        case "CATALOGS":
            return ShowCatalogs(_like(cursor))
        case "SCHEMAS":
            catalog = cursor.identifier() if _from(cursor) else None
            return ShowSchemas(catalog, _like(cursor), location)
        case "TABLES":
            schema = cursor.qualified_name() if _from(cursor) else ()
            if len(schema) > 2:
                message = f"Too many parts in schema name: {'.'.join(schema)}"
                raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
            return ShowTables(schema, _like(cursor), location)
        case "COLUMNS":
            cursor.expect("FROM", "IN")
            return ShowColumns(cursor.qualified_name(), location)
        case "FUNCTIONS":
            return ShowFunctions(_like(cursor))
        case "SESSION":
            return ShowSession(_like(cursor))
        case "CREATE":
            return _show_create(cursor, location)
        case "STATS":
            return _show_stats(cursor, location)
        case kind:
            second = f" {cursor.keyword()}" if kind == "CURRENT" else ""
            cursor.position = len(cursor.tokens)
            return OtherStatement(f"SHOW {kind}{second}", location)


def _show_create(cursor: Cursor, location: ErrorLocation) -> Statement:
    if cursor.keyword() not in _CREATED:
        raise cursor.mismatch(*(f"'{word}'" for word in _SHOWN))
    match cursor.expect(*_CREATED):
        case "TABLE":
            return ShowCreateTable(cursor.qualified_name(), location)
        case "VIEW":
            return ShowCreateView(object_name(cursor), location)
        case "SCHEMA":
            return ShowCreateSchema(object_name(cursor), location)
        case kind:
            cursor.position = len(cursor.tokens)
            return OtherStatement(f"SHOW CREATE {kind}", location)


def _show_stats(cursor: Cursor, location: ErrorLocation) -> ShowStats:
    if cursor.keyword() != "FOR":
        raise cursor.mismatch(*(f"'{word}'" for word in _SHOWN))
    cursor.expect("FOR")
    if not cursor.accept("("):
        return ShowStats(object_name(cursor), (), location)
    tokens = run_of_tokens(cursor)
    check_query(cursor.text, tokens)
    cursor.expect(")")
    return ShowStats((), tokens, location)


def parse_describe(cursor: Cursor) -> Statement:
    """``DESCRIBE t``, ``DESCRIBE INPUT name``, ``DESCRIBE OUTPUT name``."""
    location = cursor.location
    cursor.expect("DESC", "DESCRIBE")
    if (
        cursor.keyword() in {"INPUT", "OUTPUT"}
        and cursor.position + 1 < len(cursor.tokens)
        and cursor.keyword(1) != "."
    ):
        input_wanted = cursor.expect("INPUT", "OUTPUT") == "INPUT"
        name = cursor.identifier()
        return DescribeInput(name, location) if input_wanted else DescribeOutput(name, location)
    return ShowColumns(cursor.qualified_name(), location)


def _from(cursor: Cursor) -> bool:
    return cursor.accept("FROM") or cursor.accept("IN")


def _like(cursor: Cursor) -> Like | None:
    if not cursor.accept("LIKE"):
        return None
    pattern = cursor.string()
    return Like(pattern, cursor.string() if cursor.accept("ESCAPE") else None)

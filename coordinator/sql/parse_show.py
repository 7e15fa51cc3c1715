"""SHOW in the forms that clients send, and DESCRIBE."""

from __future__ import annotations

from coordinator.sql.cursor import Cursor
from coordinator.sql.ddl_statements import ShowCreateSchema, ShowCreateView, ShowStats
from coordinator.sql.parse_materialized_views import parse_show_create_materialized_view
from coordinator.sql.parse_parts import object_name
from coordinator.sql.parse_roles import parse_show_grants, parse_show_role_grants, parse_show_roles
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
from shared.errors import ErrorCode, ErrorLocation, ProcessionError

_SHOWN = (
    "CATALOGS", "COLUMNS", "CREATE", "CURRENT", "FUNCTIONS", "GRANTS", "ROLE", "ROLES", "SCHEMAS", "SESSION", "STATS",
    "TABLES",
)  # fmt: skip


_CREATED = ("FUNCTION", "MATERIALIZED", "SCHEMA", "TABLE", "VIEW")


def parse_show(cursor: Cursor) -> Statement:  # noqa: C901 - one case a kind
    """A SHOW from its keyword on."""
    location = cursor.location
    cursor.expect("SHOW")
    match cursor.expect(*_SHOWN):
        case "CATALOGS":
            return ShowCatalogs(_like(cursor))
        case "SCHEMAS":
            catalog = cursor.name() if _from(cursor) else None
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
        case "CURRENT":
            cursor.expect("ROLES")
            return parse_show_roles(cursor, location, current=True)
        case "ROLES":
            return parse_show_roles(cursor, location, current=False)
        case "ROLE":
            return parse_show_role_grants(cursor, location)
        case _:
            return parse_show_grants(cursor, location)


def _show_create(cursor: Cursor, location: ErrorLocation) -> Statement:
    if cursor.word not in _CREATED:
        raise cursor.refuse(*(f"'{word}'" for word in _SHOWN))
    match cursor.expect(*_CREATED):
        case "TABLE":
            return ShowCreateTable(cursor.qualified_name(), location)
        case "VIEW":
            return ShowCreateView(object_name(cursor), location)
        case "MATERIALIZED":
            return parse_show_create_materialized_view(cursor, location)
        case "SCHEMA":
            return ShowCreateSchema(object_name(cursor), location)
        case kind:
            cursor.skip_to_end()
            return OtherStatement(f"SHOW CREATE {kind}", location)


def _show_stats(cursor: Cursor, location: ErrorLocation) -> ShowStats:
    if cursor.word != "FOR":
        raise cursor.refuse(*(f"'{word}'" for word in _SHOWN))
    cursor.expect("FOR")
    if not cursor.accept("("):
        return ShowStats(object_name(cursor), None, location)
    query = cursor.read_query()
    cursor.expect(")")
    return ShowStats((), query, location)


def parse_describe(cursor: Cursor) -> Statement:
    """``DESCRIBE t``, ``DESCRIBE INPUT name``, ``DESCRIBE OUTPUT name``."""
    location = cursor.location
    cursor.expect("DESC", "DESCRIBE")
    if cursor.word in {"INPUT", "OUTPUT"} and cursor.kind_ahead(1) != "end" and cursor.ahead(1) != ".":
        input_wanted = cursor.expect("INPUT", "OUTPUT") == "INPUT"
        name = cursor.name()
        return DescribeInput(name, location) if input_wanted else DescribeOutput(name, location)
    return ShowColumns(cursor.qualified_name(), location)


def _from(cursor: Cursor) -> bool:
    return cursor.accept("FROM") or cursor.accept("IN")


def _like(cursor: Cursor) -> Like | None:
    if not cursor.accept("LIKE"):
        return None
    pattern = cursor.text_of_string()
    return Like(pattern, cursor.text_of_string() if cursor.accept("ESCAPE") else None)

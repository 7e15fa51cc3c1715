"""CREATE, DROP and TRUNCATE of schemas, tables and views, COMMENT ON and ANALYZE."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

from coordinator.sql.cursor import Cursor
from coordinator.sql.ddl_statements import (
    Analyze,
    ColumnDefinition,
    CommentOn,
    CreateCatalog,
    CreateSchema,
    CreateTable,
    CreateTableAs,
    CreateView,
    DropCatalog,
    DropSchema,
    DropTable,
    DropView,
    LikeClause,
    TruncateTable,
)
from coordinator.sql.grammar.queries import END
from coordinator.sql.parse_functions import parse_create_function, parse_drop_function
from coordinator.sql.parse_materialized_views import parse_create_materialized_view, parse_drop_materialized_view
from coordinator.sql.parse_parts import (
    column_definition,
    if_exists,
    if_not_exists,
    object_name,
    optional_comment,
    optional_properties,
)
from coordinator.sql.parse_roles import parse_create_role, parse_drop_role
from coordinator.sql.statements import OtherStatement, Statement
from coordinator.sql.tree.queries import Query
from shared.errors import ErrorCode, ErrorLocation, ProcessionError

_QUERY = {"SELECT", "WITH", "VALUES", "TABLE", "("}
_CREATED = ("FUNCTION", "MATERIALIZED", "OR", "ROLE", "SCHEMA", "TABLE", "TEMPORARY", "TYPE", "VIEW")
_DROPPED = ("FUNCTION", "MATERIALIZED", "ROLE", "SCHEMA", "TABLE", "TEMPORARY", "VIEW")


def parse_create(cursor: Cursor) -> Statement:
    """A CREATE from its keyword on."""
    location = cursor.location
    cursor.expect("CREATE")
    if cursor.accept("CATALOG"):
        return _create_catalog(cursor, location)
    match cursor.expect(*_CREATED):
        case "SCHEMA":
            missing = if_not_exists(cursor)
            return CreateSchema(object_name(cursor), missing, optional_properties(cursor), location)
        case "TABLE":
            return _table(cursor, location)
        case "VIEW":
            return _view(cursor, location, or_replace=False)
        case "OR":
            cursor.expect("REPLACE")
            return _replacing(cursor, location)
        case "MATERIALIZED":
            return parse_create_materialized_view(cursor, location, or_replace=False)
        case "ROLE":
            return parse_create_role(cursor, location)
        case "TEMPORARY":
            return parse_create_function(cursor, location, or_replace=False)
        case kind:
            return _other(cursor, f"CREATE {kind}", location)


def _replacing(cursor: Cursor, location: ErrorLocation) -> Statement:
    match cursor.expect("FUNCTION", "MATERIALIZED", "TABLE", "TEMPORARY", "VIEW"):
        case "TEMPORARY":
            return parse_create_function(cursor, location, or_replace=True)
        case "VIEW":
            return _view(cursor, location, or_replace=True)
        case "MATERIALIZED":
            return parse_create_materialized_view(cursor, location, or_replace=True)
        case "TABLE":
            return _replaced_table(cursor, location)
        case kind:
            return _other(cursor, f"CREATE OR REPLACE {kind}", location)


def _create_catalog(cursor: Cursor, location: ErrorLocation) -> CreateCatalog:
    """Trino's; Presto has none, so that errors for other words after CREATE stay as Presto's are."""
    missing = if_not_exists(cursor)
    name = cursor.name()
    cursor.expect("USING")
    connector = cursor.name()
    _refuse_clauses(cursor, "CREATE", "COMMENT", "AUTHORIZATION")
    return CreateCatalog(name, connector, missing, optional_properties(cursor), location)


def _drop_catalog(cursor: Cursor, exists: bool, location: ErrorLocation) -> DropCatalog:
    name = cursor.name()
    _refuse_clauses(cursor, "DROP", "CASCADE")
    cursor.accept("RESTRICT")
    return DropCatalog(name, exists, location)


def _refuse_clauses(cursor: Cursor, verb: str, *words: str) -> None:
    if cursor.word in words:
        message = f"{verb} CATALOG with {cursor.word} is not supported"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=cursor.location)


def _other(cursor: Cursor, kind: str, location: ErrorLocation) -> OtherStatement:
    cursor.skip_to_end()
    return OtherStatement(kind, location)


def _table(cursor: Cursor, location: ErrorLocation) -> Statement:
    missing = if_not_exists(cursor)
    name = object_name(cursor)
    columns: tuple[str, ...] = ()
    if cursor.word == "(":
        if not _aliases_follow(cursor):
            return _table_of_columns(cursor, name, missing, location)
        columns = _aliases(cursor)
    comment = optional_comment(cursor)
    given = optional_properties(cursor)
    cursor.expect("AS")
    query = _query_before_with_data(cursor)
    with_data = True
    if cursor.accept("WITH"):
        with_data = not cursor.accept("NO")
        cursor.expect("DATA")
    return CreateTableAs(name, columns, query, missing, with_data, comment, given, location)


def _replaced_table(cursor: Cursor, location: ErrorLocation) -> Statement:
    """Trino's; Presto has none. A table of columns alone is not replaced."""
    made = _table(cursor, location)
    if not isinstance(made, CreateTableAs):
        return OtherStatement("CREATE OR REPLACE TABLE", location)
    if made.if_not_exists:
        message = "'CREATE OR REPLACE' and 'IF NOT EXISTS' clauses can not be used together"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    return replace(made, or_replace=True)


def _query_before_with_data(cursor: Cursor) -> Query:
    if cursor.word not in _QUERY:
        raise cursor.refuse("<query>")
    query = cursor.read_query()
    if not cursor.at_end and cursor.word != "WITH":
        raise cursor.mismatch(END)
    return query


def _aliases_follow(cursor: Cursor) -> bool:
    """Whether the parenthesis holds nothing but names: ``(a, b) AS SELECT …``."""
    ahead = 2 if cursor.is_identifier(1) else 0
    while cursor.ahead(ahead) == ",":
        ahead += 2
    return cursor.ahead(ahead) == ")" and cursor.ahead(1) != "LIKE"


def _aliases(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    names = [cursor.name()]
    while cursor.expect(",", ")") == ",":
        names.append(cursor.name())
    return tuple(names)


def _table_of_columns(cursor: Cursor, name: tuple[str, ...], missing: bool, location: ErrorLocation) -> CreateTable:
    cursor.expect("(")
    if not cursor.is_identifier() and cursor.word != "LIKE":
        raise cursor.refuse(*(f"'{word}'" for word in _CREATED))  # ANTLR names what could follow CREATE
    elements = [_element(cursor)]
    while cursor.expect(",", ")") == ",":
        elements.append(_element(cursor))
    comment = optional_comment(cursor)
    return CreateTable(name, tuple(elements), missing, comment, optional_properties(cursor), location)


def _element(cursor: Cursor) -> ColumnDefinition | LikeClause:
    if cursor.word != "LIKE":
        return column_definition(cursor)
    location = cursor.location
    cursor.expect("LIKE")
    table = object_name(cursor)
    including = False
    if cursor.word in {"INCLUDING", "EXCLUDING"}:
        including = cursor.expect("INCLUDING", "EXCLUDING") == "INCLUDING"
        cursor.expect("PROPERTIES")
    return LikeClause(table, including, location)


def _view(cursor: Cursor, location: ErrorLocation, *, or_replace: bool) -> CreateView:
    name = object_name(cursor)
    security: Literal["DEFINER", "INVOKER"] | None = None
    if cursor.accept("SECURITY"):
        security = cast(Literal["DEFINER", "INVOKER"], cursor.expect("DEFINER", "INVOKER"))
    cursor.expect("AS")
    text = cursor.text_to_end()
    return CreateView(name, or_replace, security, text, cursor.query_to_end(), location)


def parse_drop(cursor: Cursor) -> Statement:
    """A DROP from its keyword on."""
    location = cursor.location
    cursor.expect("DROP")
    if cursor.accept("CATALOG"):
        return _drop_catalog(cursor, if_exists(cursor), location)
    match cursor.expect(*_DROPPED):
        case "SCHEMA":
            exists = if_exists(cursor)
            name = object_name(cursor)
            cascade = cursor.accept("CASCADE")
            if not cascade:
                cursor.accept("RESTRICT")
            return DropSchema(name, exists, cascade, location)
        case "TABLE":
            exists = if_exists(cursor)
            return DropTable(object_name(cursor), exists, location)
        case "VIEW":
            exists = if_exists(cursor)
            return DropView(object_name(cursor), exists, location)
        case "ROLE":
            return parse_drop_role(cursor, location)
        case "MATERIALIZED":
            return parse_drop_materialized_view(cursor, location)
        case "TEMPORARY":
            return parse_drop_function(cursor, location)
        case kind:
            return _other(cursor, f"DROP {kind}", location)


def parse_truncate(cursor: Cursor) -> TruncateTable:
    """``TRUNCATE TABLE name``."""
    location = cursor.location
    cursor.expect("TRUNCATE")
    cursor.expect("TABLE")
    return TruncateTable(object_name(cursor), location)


def parse_comment(cursor: Cursor) -> CommentOn:
    """``COMMENT ON TABLE|VIEW|COLUMN name IS 'text' | NULL``."""
    location = cursor.location
    cursor.expect("COMMENT")
    cursor.expect("ON")
    kind = cast(Literal["TABLE", "VIEW", "COLUMN"], cursor.expect("COLUMN", "TABLE", "VIEW"))
    name = cursor.qualified_name()
    cursor.expect("IS")
    text = None if cursor.accept("NULL") else cursor.text_of_string()
    return CommentOn(kind, name, text, location)


def parse_analyze(cursor: Cursor) -> Analyze:
    """``ANALYZE name [WITH (…)]``."""
    location = cursor.location
    cursor.expect("ANALYZE")
    return Analyze(object_name(cursor), optional_properties(cursor), location)

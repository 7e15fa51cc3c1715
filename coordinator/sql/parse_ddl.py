"""CREATE, DROP and TRUNCATE of schemas, tables and views, COMMENT ON and ANALYZE."""

from __future__ import annotations

from typing import Literal, cast

from sqlglot.tokens import Token

from coordinator.sql.ddl_statements import (
    Analyze,
    ColumnDefinition,
    CommentOn,
    CreateSchema,
    CreateTable,
    CreateTableAs,
    CreateView,
    DropSchema,
    DropTable,
    DropView,
    LikeClause,
    TruncateTable,
)
from coordinator.sql.old_grammar.queries import check_query
from coordinator.sql.parse_parts import (
    column_definition,
    if_exists,
    if_not_exists,
    object_name,
    optional_comment,
    optional_properties,
    query_to_end,
)
from coordinator.sql.statements import OtherStatement, Statement
from coordinator.sql.tokens import Cursor
from shared.errors import ErrorLocation

_QUERY = {"SELECT", "WITH", "VALUES", "TABLE", "("}
_CREATED = ("FUNCTION", "MATERIALIZED", "OR", "ROLE", "SCHEMA", "TABLE", "TEMPORARY", "TYPE", "VIEW")
_DROPPED = ("FUNCTION", "MATERIALIZED", "ROLE", "SCHEMA", "TABLE", "TEMPORARY", "VIEW")


def parse_create(cursor: Cursor) -> Statement:
    """A CREATE from its keyword on."""
    location = cursor.location
    cursor.expect("CREATE")
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
            if cursor.expect("FUNCTION", "TABLE", "VIEW") == "VIEW":
                return _view(cursor, location, or_replace=True)
            return _other(cursor, f"CREATE OR REPLACE {_previous(cursor)}", location)
        case kind:
            kinds = {"MATERIALIZED": "CREATE MATERIALIZED VIEW", "TEMPORARY": "CREATE FUNCTION"}
            return _other(cursor, kinds.get(kind, f"CREATE {kind}"), location)


def _previous(cursor: Cursor) -> str:
    return cursor.keyword(-1)


def _other(cursor: Cursor, kind: str, location: ErrorLocation) -> OtherStatement:
    cursor.position = len(cursor.tokens)
    return OtherStatement(kind, location)


def _table(cursor: Cursor, location: ErrorLocation) -> Statement:
    missing = if_not_exists(cursor)
    name = object_name(cursor)
    columns: tuple[str, ...] = ()
    if cursor.keyword() == "(":
        if not _aliases_follow(cursor):
            return _table_of_columns(cursor, name, missing, location)
        columns = _aliases(cursor)
    comment = optional_comment(cursor)
    given = optional_properties(cursor)
    cursor.expect("AS")
    tokens = _query_before_with_data(cursor)
    with_data = True
    if cursor.accept("WITH"):
        with_data = not cursor.accept("NO")
        cursor.expect("DATA")
    return CreateTableAs(name, columns, tokens, missing, with_data, comment, given, location)


def _query_before_with_data(cursor: Cursor) -> tuple[Token, ...]:
    """The query, without a WITH [NO] DATA at its end; one in parentheses may be all that comes before it."""
    if cursor.current is None or cursor.keyword() not in _QUERY:
        raise cursor.mismatch("<query>")
    words = [t.text.upper() for t in cursor.tokens[-3:]]
    clause = 3 if words == ["WITH", "NO", "DATA"] else 2 if words[-2:] == ["WITH", "DATA"] else 0
    end = len(cursor.tokens) - clause
    tokens = tuple(cursor.tokens[cursor.position : end])
    check_query(cursor.text, tokens)
    cursor.position = end
    return tokens


def _aliases_follow(cursor: Cursor) -> bool:
    """Whether the parenthesis holds nothing but names: ``(a, b) AS SELECT …``."""
    ahead = 2
    while cursor.keyword(ahead) == ",":
        ahead += 2
    return cursor.keyword(ahead) == ")" and cursor.keyword(1) != "LIKE"


def _aliases(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    names = [cursor.identifier()]
    while cursor.expect(",", ")") == ",":
        names.append(cursor.identifier())
    return tuple(names)


def _table_of_columns(cursor: Cursor, name: tuple[str, ...], missing: bool, location: ErrorLocation) -> CreateTable:
    cursor.expect("(")
    elements = [_element(cursor)]
    while cursor.expect(",", ")") == ",":
        elements.append(_element(cursor))
    comment = optional_comment(cursor)
    return CreateTable(name, tuple(elements), missing, comment, optional_properties(cursor), location)


def _element(cursor: Cursor) -> ColumnDefinition | LikeClause:
    if cursor.keyword() != "LIKE":
        return column_definition(cursor)
    location = cursor.location
    cursor.expect("LIKE")
    table = object_name(cursor)
    including = False
    if cursor.keyword() in {"INCLUDING", "EXCLUDING"}:
        including = cursor.expect("INCLUDING", "EXCLUDING") == "INCLUDING"
        cursor.expect("PROPERTIES")
    return LikeClause(table, including, location)


def _view(cursor: Cursor, location: ErrorLocation, *, or_replace: bool) -> CreateView:
    name = object_name(cursor)
    security: Literal["DEFINER", "INVOKER"] | None = None
    if cursor.accept("SECURITY"):
        security = cast(Literal["DEFINER", "INVOKER"], cursor.expect("DEFINER", "INVOKER"))
    cursor.expect("AS")
    token = cursor.current
    query = "" if token is None else cursor.text[token.start :].strip()
    return CreateView(name, or_replace, security, query, query_to_end(cursor), location)


def parse_drop(cursor: Cursor) -> Statement:
    """A DROP from its keyword on."""
    location = cursor.location
    cursor.expect("DROP")
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
        case kind:
            kinds = {"MATERIALIZED": "DROP MATERIALIZED VIEW", "TEMPORARY": "DROP FUNCTION"}
            return _other(cursor, kinds.get(kind, f"DROP {kind}"), location)


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
    text = None if cursor.accept("NULL") else cursor.string()
    return CommentOn(kind, name, text, location)


def parse_analyze(cursor: Cursor) -> Analyze:
    """``ANALYZE name [WITH (…)]``."""
    location = cursor.location
    cursor.expect("ANALYZE")
    return Analyze(object_name(cursor), optional_properties(cursor), location)

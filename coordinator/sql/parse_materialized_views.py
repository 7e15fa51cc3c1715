"""CREATE, REFRESH, DROP, ALTER and SHOW CREATE of materialized views: Presto's clauses, and Trino's beside them."""

from __future__ import annotations

from typing import Literal, cast

from coordinator.sql.cursor import Cursor
from coordinator.sql.ddl_statements import (
    CreateMaterializedView,
    DropMaterializedView,
    RefreshMaterializedView,
    RenameMaterializedView,
    SetAuthorization,
    SetMaterializedViewProperties,
    ShowCreateMaterializedView,
)
from coordinator.sql.parse_parts import (
    if_exists,
    if_not_exists,
    listed_properties,
    object_name,
    optional_comment,
    optional_properties,
)
from coordinator.sql.parse_roles import parse_principal
from coordinator.sql.statements import Statement
from coordinator.sql.tree.expressions import Expression
from shared.errors import ErrorLocation


def parse_create_materialized_view(
    cursor: Cursor, location: ErrorLocation, *, or_replace: bool
) -> CreateMaterializedView:
    """From VIEW on."""
    cursor.expect("VIEW")
    missing = if_not_exists(cursor)
    name = object_name(cursor)
    grace: Expression | None = None
    when_stale: Literal["INLINE", "FAIL"] | None = None
    if cursor.accept("GRACE", "PERIOD"):
        grace = cursor.read_expression()
    if cursor.accept("WHEN", "STALE"):
        when_stale = cast(Literal["INLINE", "FAIL"], cursor.expect("FAIL", "INLINE"))
    comment = optional_comment(cursor)
    security: Literal["DEFINER", "INVOKER"] | None = None
    if cursor.accept("SECURITY"):
        security = cast(Literal["DEFINER", "INVOKER"], cursor.expect("DEFINER", "INVOKER"))
    given = optional_properties(cursor)
    cursor.expect("AS")
    start = cursor.location
    text = cursor.text_to_end()
    return CreateMaterializedView(
        name,
        or_replace,
        missing,
        security,
        comment,
        grace,
        when_stale,
        given,
        text,
        cursor.query_to_end(),
        location,
        start,
    )


def parse_refresh(cursor: Cursor) -> RefreshMaterializedView:
    """``REFRESH MATERIALIZED VIEW name [WHERE …]``."""
    location = cursor.location
    cursor.expect("REFRESH")
    cursor.expect("MATERIALIZED")
    cursor.expect("VIEW")
    name = object_name(cursor)
    filtered = cursor.accept("WHERE")
    if filtered:
        cursor.read_expression()
    return RefreshMaterializedView(name, filtered, location)


def parse_drop_materialized_view(cursor: Cursor, location: ErrorLocation) -> DropMaterializedView:
    """From VIEW on."""
    cursor.expect("VIEW")
    exists = if_exists(cursor)
    return DropMaterializedView(object_name(cursor), exists, location)


def parse_alter_materialized_view(cursor: Cursor, location: ErrorLocation) -> Statement:
    """From VIEW on: RENAME TO, SET PROPERTIES, SET AUTHORIZATION."""
    cursor.expect("VIEW")
    exists = if_exists(cursor)
    name = object_name(cursor)
    if cursor.expect("RENAME", "SET") == "RENAME":
        cursor.expect("TO")
        return RenameMaterializedView(name, object_name(cursor), exists, location)
    if cursor.expect("AUTHORIZATION", "PROPERTIES") == "AUTHORIZATION":
        return SetAuthorization("VIEW", name, parse_principal(cursor), location)
    return SetMaterializedViewProperties(name, listed_properties(cursor), exists, location)


def parse_show_create_materialized_view(cursor: Cursor, location: ErrorLocation) -> ShowCreateMaterializedView:
    """From VIEW on."""
    cursor.expect("VIEW")
    return ShowCreateMaterializedView(object_name(cursor), location)

"""Statements of materialized views: Presto's and Trino's clauses, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.sql.ddl_statements import (
    CreateMaterializedView,
    DropMaterializedView,
    RefreshMaterializedView,
    RenameMaterializedView,
    SetAuthorization,
    SetMaterializedViewProperties,
    ShowCreateMaterializedView,
)
from coordinator.sql.parse_statement import parse_statement
from shared.errors import ErrorLocation, ProcessionError

HERE = ErrorLocation(1, 1)


def created(text: str) -> CreateMaterializedView:
    made = parse_statement(text)
    assert isinstance(made, CreateMaterializedView)
    return made


def test_every_clause() -> None:
    made = created(
        "CREATE OR REPLACE MATERIALIZED VIEW A.b GRACE PERIOD INTERVAL '1' HOUR WHEN STALE FAIL COMMENT 'x' "
        "SECURITY INVOKER WITH (refresh_type = 'FULL', partitioning = ARRAY['c'])\nAS  SELECT 1 c "
    )
    assert (made.name, made.or_replace, made.if_not_exists) == (("a", "b"), True, False)
    assert (made.when_stale, made.comment, made.security) == ("FAIL", "x", "INVOKER")
    assert made.grace_period is not None
    assert [each.name for each in made.properties] == ["refresh_type", "partitioning"]
    assert (made.query, made.query_tree_start) == ("SELECT 1 c", ErrorLocation(2, 5))


def test_the_shortest() -> None:
    made = created("create materialized view if not exists v as table t")
    assert (made.name, made.if_not_exists, made.query, made.security) == (("v",), True, "table t", None)
    assert (made.grace_period, made.when_stale, made.properties, made.comment) == (None, None, (), None)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("REFRESH MATERIALIZED VIEW a.b.c", RefreshMaterializedView(("a", "b", "c"), False, HERE)),
        ("REFRESH MATERIALIZED VIEW v WHERE ds = 'x'", RefreshMaterializedView(("v",), True, HERE)),
        ("DROP MATERIALIZED VIEW v", DropMaterializedView(("v",), False, HERE)),
        ("DROP MATERIALIZED VIEW IF EXISTS s.v", DropMaterializedView(("s", "v"), True, HERE)),
        ("ALTER MATERIALIZED VIEW v RENAME TO w", RenameMaterializedView(("v",), ("w",), False, HERE)),
        ("SHOW CREATE MATERIALIZED VIEW v", ShowCreateMaterializedView(("v",), HERE)),
    ],
)
def test_others(text: str, statement: object) -> None:
    assert parse_statement(text) == statement


@pytest.mark.parametrize("given", ["(staleness_window = '1h', refresh_type = 'FULL')", "staleness_window = '1h'"])
def test_properties_with_and_without_parentheses(given: str) -> None:
    made: Any = parse_statement(f"ALTER MATERIALIZED VIEW IF EXISTS v SET PROPERTIES {given}")
    assert isinstance(made, SetMaterializedViewProperties)
    assert made.if_exists
    assert made.properties[0].name == "staleness_window"
    assert isinstance(parse_statement("ALTER MATERIALIZED VIEW v SET AUTHORIZATION bob"), SetAuthorization)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE MATERIALIZED VIEW",
        "CREATE MATERIALIZED v AS SELECT 1",
        "CREATE MATERIALIZED VIEW v",
        "CREATE MATERIALIZED VIEW v AS",
        "CREATE MATERIALIZED VIEW v (a) AS SELECT 1",
        "CREATE MATERIALIZED VIEW v AS SELECT 1;",
        "CREATE MATERIALIZED VIEW v WHEN STALE MAYBE AS SELECT 1",
        "CREATE MATERIALIZED VIEW a.b.c.d AS SELECT 1",
        "CREATE MATERIALIZED VIEW v WITH (x = 1, x = 2) AS SELECT 1",
        "REFRESH VIEW v",
        "REFRESH MATERIALIZED VIEW v WHERE",
        "REFRESH MATERIALIZED VIEW v extra",
        "DROP MATERIALIZED v",
        "ALTER MATERIALIZED VIEW v SET",
        "ALTER MATERIALIZED VIEW v EXECUTE optimize",
        "SHOW CREATE MATERIALIZED v",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ProcessionError) as refused:
        parse_statement(text)
    assert refused.value.code.name == "SYNTAX_ERROR"
    assert refused.value.location is not None

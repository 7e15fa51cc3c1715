"""ALTER TABLE and COMMENT ON: what a connector would be asked for, or Presto's (of COMMENT Trino's) error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.spi.catalog_changes import (
    ColumnAddition,
    ColumnChange,
    ColumnRemoval,
    ColumnRename,
    CommentChange,
    NewColumn,
    TablePropertiesChange,
    ViewCreation,
)
from shared.spi.connector import ViewColumn
from tests.planner.editable_catalogs import CHEAP, changed

NOTHING = ((True,),)
ORDERS = ("db", "orders")
NO_COLUMN = "SYNTAX_ERROR: line 1:1: Column 'nope' does not exist"
NO_TABLE = "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("ADD COLUMN x integer", ColumnAddition(*ORDERS, NewColumn("x", "integer"))),
        ("ADD COLUMN x integer NOT NULL", ColumnAddition(*ORDERS, NewColumn("x", "integer", False))),
        (
            "ADD COLUMN \"X y\" row(a bigint) COMMENT 'c' WITH (partitioning = 'bucket(4)')",
            ColumnAddition(*ORDERS, NewColumn("x y", "row(a bigint)", True, "c", {"partitioning": "bucket(4)"})),
        ),
        ("ADD COLUMN IF NOT EXISTS STATUS integer", NOTHING),
        ('DROP COLUMN "Day"', ColumnRemoval(*ORDERS, "day")),
        ("DROP COLUMN IF EXISTS nope", NOTHING),
        ('RENAME COLUMN day TO "Order Day"', ColumnRename(*ORDERS, "day", "order day")),
        ("RENAME COLUMN IF EXISTS nope TO x", NOTHING),
        ("ALTER COLUMN orderkey SET DATA TYPE DOUBLE", ColumnChange(*ORDERS, "orderkey", "double")),
        ("ALTER COLUMN orderkey DROP NOT NULL", ColumnChange(*ORDERS, "orderkey", nullable=True)),
        ("SET PROPERTIES (format = 'ORC', share = 1)", TablePropertiesChange(*ORDERS, {"format": "ORC", "share": 1.0})),
        (
            "SET PROPERTIES format = DEFAULT, share = 1",
            TablePropertiesChange(*ORDERS, {"format": None, "share": 1.0}),
        ),
    ],
)
def test_what_is_asked_of_a_connector(text: str, change: object) -> None:
    assert changed(f"ALTER TABLE orders {text}") == change
    assert changed(f"ALTER TABLE IF EXISTS none {text}") == NOTHING
    assert changed(f"ALTER TABLE none {text}") == NO_TABLE
    if change != NOTHING:
        assert str(changed(f"ALTER TABLE lake.db.orders {text}")).startswith("NOT_SUPPORTED: This connector does not ")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("ADD COLUMN status integer", "SYNTAX_ERROR: line 1:1: Column 'status' already exists"),
        ('ADD COLUMN "$path" integer', "SYNTAX_ERROR: line 1:1: Column '$path' already exists"),
        ("ADD COLUMN x nope", "SYNTAX_ERROR: line 1:31: Unknown type 'nope' for column 'x'"),
        ("ADD COLUMN refused integer", "NOT_SUPPORTED: ColumnAddition is refused"),
        ("DROP COLUMN nope", NO_COLUMN),
        ('DROP COLUMN "$path"', "NOT_SUPPORTED: line 1:1: Cannot drop hidden column"),
        ("RENAME COLUMN nope TO x", NO_COLUMN),
        ("RENAME COLUMN day TO Status", "SYNTAX_ERROR: line 1:1: Column 'status' already exists"),
        ("RENAME COLUMN day TO DAY", "SYNTAX_ERROR: line 1:1: Column 'day' already exists"),
        ('RENAME COLUMN "$path" TO x', "NOT_SUPPORTED: line 1:1: Cannot rename hidden column"),
        ("ALTER COLUMN nope SET DATA TYPE double", NO_COLUMN),
        ("ALTER COLUMN day SET DATA TYPE nope", "SYNTAX_ERROR: line 1:1: Unknown type 'nope' for column 'day'"),
        ('ALTER COLUMN "$path" DROP NOT NULL', "NOT_SUPPORTED: line 1:1: Cannot alter hidden column"),
        (
            "SET PROPERTIES (nope = 1)",
            "INVALID_TABLE_PROPERTY: Catalog 'iceberg' does not support table property 'nope'",
        ),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    assert changed(f"ALTER TABLE orders {text}") == error


def test_the_only_column_stays() -> None:
    """Hidden ones do not count."""
    error = "SYNTAX_ERROR: line 1:1: Cannot drop the only column in a table"
    assert changed("ALTER TABLE single DROP COLUMN orderkey") == error


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("TABLE orders IS 'it''s'", CommentChange(*ORDERS, None, "it's")),
        ("TABLE orders IS NULL", CommentChange(*ORDERS, None, None)),
        ("COLUMN orders.day IS 'd'", CommentChange(*ORDERS, "day", "d")),
        ("COLUMN iceberg.db.odd.\"SELECT\" IS 'd'", CommentChange("db", "odd", "select", "d")),
        ("VIEW cheap IS 'v'", ViewCreation(replace(CHEAP, comment="v"), replace=True)),
        (
            "COLUMN db.cheap.orderkey IS 'v'",
            ViewCreation(replace(CHEAP, columns=(ViewColumn("orderkey", "bigint", "v"),)), replace=True),
        ),
    ],
)
def test_comments(text: str, change: object) -> None:
    assert changed(f"COMMENT ON {text}") == change


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("TABLE none IS 'x'", NO_TABLE),
        ("VIEW none IS 'x'", "SYNTAX_ERROR: line 1:1: View 'iceberg.db.none' does not exist"),
        (
            "TABLE cheap IS 'x'",
            "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.cheap' does not exist, but a view with that name exists. "
            "Did you mean COMMENT ON VIEW iceberg.db.cheap?",
        ),
        (
            "VIEW orders IS 'x'",
            "SYNTAX_ERROR: line 1:1: View 'iceberg.db.orders' does not exist, but a table with that name exists. "
            "Did you mean COMMENT ON TABLE iceberg.db.orders?",
        ),
        ("COLUMN orders.nope IS 'x'", NO_COLUMN),
        ("COLUMN cheap.nope IS 'x'", NO_COLUMN),
        ("COLUMN day IS 'x'", "SYNTAX_ERROR: line 1:1: Column name 'day' has no table"),
        ("COLUMN a.b.c.d.e IS 'x'", "SYNTAX_ERROR: line 1:1: Too many dots in table name: a.b.c.d"),
        ("COLUMN orders.\"$path\" IS 'x'", "NOT_SUPPORTED: line 1:1: Cannot comment on hidden column"),
        ("VIEW foreign IS 'x'", "NOT_SUPPORTED: line 1:1: Views of dialect 'spark' cannot be changed here"),
        ("TABLE lake.db.orders IS 'x'", "NOT_SUPPORTED: This connector does not support setting comments"),
    ],
)
def test_comments_that_are_refused(text: str, error: str) -> None:
    assert changed(f"COMMENT ON {text}") == error

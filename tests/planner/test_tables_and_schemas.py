"""CREATE, DROP, TRUNCATE and RENAME of schemas and tables: what a connector would be asked for, or Presto's error."""

from __future__ import annotations

import pytest

from shared.spi.catalog_changes import (
    NewColumn,
    SchemaCreation,
    SchemaRemoval,
    SchemaRename,
    TableCreation,
    TableRemoval,
    TableRename,
    TableTruncation,
)
from tests.planner.editable_catalogs import changed

NOTHING = ((True,),)
"""Rows of a statement that IF [NOT] EXISTS left without effect."""
A = NewColumn("a", "bigint")
OF_ORDERS = (
    NewColumn("orderkey", "bigint"),
    NewColumn("status", "varchar"),
    NewColumn("price", "decimal(12,2)"),
    NewColumn("day", "date"),
    NewColumn("comment", "varchar(79)"),
)
OF_ODD = (NewColumn("select", "bigint"), NewColumn('a "b"', "varchar", False, "it's"))
ORC = {"format": "ORC", "partitioning": ["status", "x'y"], "format_version": 2, "share": 0.5}


def _table(*columns: NewColumn, **properties: object) -> TableCreation:
    return TableCreation("db", "t", columns, properties)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("CREATE SCHEMA new", SchemaCreation("new", {})),
        ('CREATE SCHEMA Iceberg."New"', SchemaCreation("new", {})),
        ("CREATE SCHEMA new WITH (location = 's3://b/' || 'n')", SchemaCreation("new", {"location": "s3://b/n"})),
        ("CREATE SCHEMA IF NOT EXISTS new", SchemaCreation("new", {}, True)),
        ("CREATE SCHEMA IF NOT EXISTS DB", NOTHING),
        ("DROP SCHEMA empty", SchemaRemoval("empty", False)),
        ("DROP SCHEMA db CASCADE", SchemaRemoval("db", True)),
        ("DROP SCHEMA IF EXISTS empty RESTRICT", SchemaRemoval("empty", False, True)),
        ("DROP SCHEMA IF EXISTS none", NOTHING),
        ("ALTER SCHEMA db RENAME TO Other", SchemaRename("db", "other")),
        (
            "CREATE TABLE t (a bigint, b varchar(5) NOT NULL COMMENT 'it''s', \"C d\" row(x integer, \"y z\" double))",
            _table(
                A,
                NewColumn("b", "varchar(5)", False, "it's"),
                NewColumn("c d", 'row(x integer,"y z" double)'),
            ),
        ),
        (
            "CREATE TABLE t (c char(3), z timestamp with time zone, m map(varchar, array(date)))",
            _table(
                NewColumn("c", "char(3)"),
                NewColumn("z", "timestamp with time zone"),
                NewColumn("m", "map(varchar,array(date))"),
            ),
        ),
        ("CREATE TABLE IF NOT EXISTS orders (a bigint)", NOTHING),
        (
            "CREATE TABLE IF NOT EXISTS empty.orders (a bigint) COMMENT 'c' WITH (format_version = 1 + 1)",
            TableCreation("empty", "orders", (A,), {"format_version": 2}, "c", True),
        ),
        ("CREATE TABLE t (a bigint) WITH (partitioning = ARRAY['a', 'b'])", _table(A, partitioning=("a", "b"))),
        ("CREATE TABLE t (a bigint) WITH (partitioning = 'a')", _table(A, partitioning=("a",))),
        ("CREATE TABLE t (a bigint) WITH (share = 1)", _table(A, share=1.0)),
        (
            "CREATE TABLE t (a bigint WITH (partitioning = 'day'))",
            _table(NewColumn("a", "bigint", properties={"partitioning": "day"})),
        ),
        ("CREATE TABLE t (LIKE orders)", _table(*OF_ORDERS)),
        ("CREATE TABLE t (a bigint, LIKE orders EXCLUDING PROPERTIES)", _table(A, *OF_ORDERS)),
        (
            "CREATE TABLE t (LIKE orders INCLUDING PROPERTIES, LIKE odd, a bigint)",
            _table(*OF_ORDERS, *OF_ODD, A, **ORC),
        ),
        ("CREATE TABLE t (LIKE odd INCLUDING PROPERTIES)", _table(*OF_ODD)),
        (
            "CREATE TABLE t (LIKE orders INCLUDING PROPERTIES) WITH (format = 'AVRO')",
            _table(*OF_ORDERS, **(ORC | {"format": "AVRO"})),
        ),
        ("DROP TABLE orders", TableRemoval("db", "orders")),
        ("DROP TABLE IF EXISTS iceberg.DB.Orders", TableRemoval("db", "orders", True)),
        ("DROP TABLE IF EXISTS none", NOTHING),
        ("DROP TABLE IF EXISTS none.orders", NOTHING),
        ("TRUNCATE TABLE orders", TableTruncation("db", "orders")),
        ("ALTER TABLE orders RENAME TO sales", TableRename("db", "orders", "db", "sales")),
        ('ALTER TABLE orders RENAME TO empty."A b"', TableRename("db", "orders", "empty", "a b")),
        ("ALTER TABLE orders RENAME TO iceberg.empty.sales", TableRename("db", "orders", "empty", "sales")),
        ("ALTER TABLE IF EXISTS none RENAME TO sales", NOTHING),
    ],
)
def test_what_is_asked_of_a_connector(text: str, change: object) -> None:
    assert changed(text) == change


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CREATE SCHEMA db", "SYNTAX_ERROR: line 1:1: Schema 'iceberg.db' already exists"),
        ("CREATE SCHEMA nowhere.s", "SYNTAX_ERROR: line 1:1: Catalog nowhere does not exist"),
        ("CREATE SCHEMA a.b.c", "SYNTAX_ERROR: line 1:1: Too many parts in schema name: a.b.c"),
        ("CREATE SCHEMA lake.s", "NOT_SUPPORTED: This connector does not support creating schemas"),
        (
            "CREATE SCHEMA new WITH (location = NULL)",
            "INVALID_SCHEMA_PROPERTY: Invalid null value for schema property 'location'",
        ),
        (
            "CREATE SCHEMA new WITH (format = 'ORC')",
            "INVALID_SCHEMA_PROPERTY: Catalog 'iceberg' does not support schema property 'format'",
        ),
        ("DROP SCHEMA db", "SCHEMA_NOT_EMPTY: Schema not empty: db"),
        ("DROP SCHEMA none", "SYNTAX_ERROR: line 1:1: Schema 'iceberg.none' does not exist"),
        ("DROP SCHEMA lake.db", "NOT_SUPPORTED: This connector does not support dropping schemas"),
        ("ALTER SCHEMA db RENAME TO empty", "SYNTAX_ERROR: line 1:1: Target schema 'iceberg.empty' already exists"),
        ("ALTER SCHEMA none RENAME TO x", "SYNTAX_ERROR: line 1:1: Schema 'iceberg.none' does not exist"),
        ("ALTER SCHEMA db RENAME TO refused", "NOT_SUPPORTED: SchemaRename is refused"),
        ("CREATE TABLE orders (a bigint)", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.orders' already exists"),
        ("CREATE TABLE cheap (a bigint)", "SYNTAX_ERROR: line 1:1: View 'iceberg.db.cheap' already exists"),
        ("CREATE TABLE none.t (a bigint)", "NOT_FOUND: Schema none not found"),
        ("CREATE TABLE a.b.c.t (a bigint)", "SYNTAX_ERROR: line 1:14: Too many dots in table name: a.b.c.t"),
        ("CREATE TABLE t (a bigint, A date)", "SYNTAX_ERROR: line 1:27: Column name 'a' specified more than once"),
        (
            "CREATE TABLE t (day date, LIKE orders)",
            "SYNTAX_ERROR: line 1:27: Column name 'day' specified more than once",
        ),
        ("CREATE TABLE t (a nope)", "SYNTAX_ERROR: line 1:17: Unknown type 'nope' for column 'a'"),
        (
            "CREATE TABLE t (a bigint) WITH (format_version = 'two')",
            "INVALID_TABLE_PROPERTY: Invalid value for table property 'format_version': "
            "Cannot convert ['two'] to integer",
        ),
        (
            "CREATE TABLE t (a bigint) WITH (format = NULL)",
            "INVALID_TABLE_PROPERTY: Invalid null value for table property 'format'",
        ),
        (
            "CREATE TABLE t (a bigint WITH (format = 'x'))",
            "INVALID_COLUMN_PROPERTY: Catalog 'iceberg' does not support column property 'format'",
        ),
        *(
            (
                f"CREATE TABLE t (LIKE {one} INCLUDING PROPERTIES, LIKE {other} INCLUDING PROPERTIES)",
                "NOT_SUPPORTED: Only one LIKE clause can specify INCLUDING PROPERTIES",
            )
            for one, other in (("orders", "odd"), ("odd", "orders"))
        ),
        ("CREATE TABLE t (LIKE none)", "SYNTAX_ERROR: line 1:17: LIKE table 'iceberg.db.none' does not exist"),
        (
            "CREATE TABLE t (LIKE lake.db.orders)",
            "SYNTAX_ERROR: line 1:17: LIKE table across catalogs is not supported",
        ),
        ("CREATE TABLE lake.db.t (a bigint)", "NOT_SUPPORTED: This connector does not support creating tables"),
        ("CREATE TABLE refused (a bigint)", "NOT_SUPPORTED: TableCreation is refused"),
        ("DROP TABLE none", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"),
        ("DROP TABLE cheap", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.cheap' does not exist"),
        ("DROP TABLE IF EXISTS nowhere.db.t", "SYNTAX_ERROR: line 1:1: Catalog nowhere does not exist"),
        ("DROP TABLE lake.db.orders", "NOT_SUPPORTED: This connector does not support dropping tables"),
        ("TRUNCATE TABLE none", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"),
        ("TRUNCATE TABLE lake.db.orders", "NOT_SUPPORTED: This connector does not support truncating tables"),
        ("ALTER TABLE none RENAME TO x", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"),
        (
            "ALTER TABLE orders RENAME TO lake.db.x",
            "SYNTAX_ERROR: line 1:1: Table rename across catalogs is not supported",
        ),
        ("ALTER TABLE orders RENAME TO none.x", "SYNTAX_ERROR: line 1:1: Target schema 'iceberg.none' does not exist"),
        ("ALTER TABLE orders RENAME TO odd", "SYNTAX_ERROR: line 1:1: Target table 'iceberg.db.odd' already exists"),
        (
            "ALTER TABLE orders RENAME TO cheap",
            "SYNTAX_ERROR: line 1:1: Target table 'iceberg.db.cheap' is an existing view",
        ),
        ("ALTER TABLE orders RENAME TO refused", "NOT_SUPPORTED: TableRename is refused"),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    assert changed(text) == error

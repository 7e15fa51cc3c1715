"""Statements about views, SHOW CREATE, SHOW STATS and ANALYZE over tables that are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator.vocabulary.planned_statement import AnalyzeTable, ReturnRows
from shared.spi.catalog_changes import ViewCreation, ViewRemoval, ViewRename
from shared.spi.connector import ViewColumn
from tests.planner.editable_catalogs import CHEAP, changed, planned

NOTHING = ((True,),)
OWN = replace(CHEAP, name="v", owner="test")
STATUS = ("status", 12.0, 2.0, 0.25, None, None, None, None)
DAY = ("day", *(None,) * 7)
ROWS = (*(None,) * 4, 4.0, *(None,) * 3)
COLUMNS = "Only SELECT of columns of one table is supported in SHOW STATS"
NAMES = "Only table columns names are supported in SHOW STATS SELECT clause"


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (
            'CREATE VIEW v AS SELECT orderkey k, price + 1 "P x" FROM orders',
            ViewCreation(
                replace(
                    OWN,
                    definition='SELECT orderkey k, price + 1 "P x" FROM orders',
                    columns=(ViewColumn("k", "bigint"), ViewColumn("p x", "decimal(13,2)")),
                ),
                replace=False,
            ),
        ),
        (
            "CREATE OR REPLACE VIEW asked SECURITY INVOKER AS\n  SELECT * FROM cheap",
            ViewCreation(
                replace(OWN, name="asked", security="INVOKER", definition="SELECT * FROM cheap"), replace=True
            ),
        ),
        ("DROP VIEW cheap", ViewRemoval("db", "cheap")),
        ("DROP VIEW IF EXISTS Foreign", ViewRemoval("db", "foreign", True)),
        ("DROP VIEW IF EXISTS orders", NOTHING),
        ("ALTER VIEW cheap RENAME TO dear", ViewRename("db", "cheap", "db", "dear")),
        ("ALTER VIEW cheap RENAME TO iceberg.empty.dear", ViewRename("db", "cheap", "empty", "dear")),
        ("ALTER VIEW IF EXISTS none RENAME TO orders", NOTHING),
    ],
)
def test_what_is_asked_of_a_connector(text: str, change: object) -> None:
    assert changed(text) == change


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CREATE VIEW v AS SELECT 1 x, 2 X", "SYNTAX_ERROR: line 1:1: Column name 'x' specified more than once"),
        ("CREATE VIEW v AS SELECT 1 x, 2", "SYNTAX_ERROR: line 1:1: Column name not specified at position 2"),
        ("CREATE VIEW v AS SELECT NULL x", "SYNTAX_ERROR: line 1:1: Column type is unknown: x"),
        ("CREATE VIEW cheap AS SELECT 1 x", "ALREADY_EXISTS: View already exists: db.cheap"),
        ("CREATE OR REPLACE VIEW orders AS SELECT 1 x", "ALREADY_EXISTS: Table already exists: db.orders"),
        (
            "CREATE OR REPLACE VIEW cheap AS SELECT orderkey FROM cheap",
            "SYNTAX_ERROR: line 1:54: Statement would create a recursive view",
        ),
        ("CREATE VIEW none.v AS SELECT 1 x", "NOT_FOUND: Schema none not found"),
        ("CREATE VIEW lake.db.v AS SELECT 1 x", "NOT_SUPPORTED: This connector does not support creating views"),
        ("CREATE VIEW v AS SELECT nope FROM orders", "SYNTAX_ERROR: line 1:25: Column 'nope' cannot be resolved"),
        (
            "CREATE VIEW v AS SELECT * FROM foreign",
            "NOT_SUPPORTED: line 1:32: Cannot read view 'iceberg.db.foreign': its dialect is 'spark'",
        ),
        ("CREATE VIEW refused AS SELECT 1 x", "NOT_SUPPORTED: ViewCreation is refused"),
        ("DROP VIEW orders", "SYNTAX_ERROR: line 1:1: View 'iceberg.db.orders' does not exist"),
        ("ALTER VIEW none RENAME TO x", "SYNTAX_ERROR: line 1:1: View 'iceberg.db.none' does not exist"),
        ("ALTER VIEW cheap RENAME TO asked", "SYNTAX_ERROR: line 1:1: Target view 'iceberg.db.asked' already exists"),
        (
            "ALTER VIEW cheap RENAME TO orders",
            "SYNTAX_ERROR: line 1:1: Target view 'iceberg.db.orders' is an existing table",
        ),
        ("ALTER VIEW cheap RENAME TO none.x", "SYNTAX_ERROR: line 1:1: Target schema 'iceberg.none' does not exist"),
        (
            "ALTER VIEW cheap RENAME TO lake.db.x",
            "SYNTAX_ERROR: line 1:1: View rename across catalogs is not supported",
        ),
        ("SHOW CREATE VIEW none", "SYNTAX_ERROR: line 1:1: View 'iceberg.db.none' does not exist"),
        ("SHOW CREATE VIEW orders", "SYNTAX_ERROR: line 1:1: Relation 'iceberg.db.orders' is a table, not a view"),
        (
            "SHOW CREATE VIEW foreign",
            "NOT_SUPPORTED: line 1:1: Cannot show view 'iceberg.db.foreign': its dialect is 'spark'",
        ),
        ("SHOW CREATE TABLE none", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"),
        ("SHOW CREATE TABLE cheap", "SYNTAX_ERROR: line 1:1: Relation 'iceberg.db.cheap' is a view, not a table"),
        (
            "SHOW CREATE TABLE x.iceberg.db.orders",
            "SYNTAX_ERROR: line 1:1: Too many dots in table name: x.iceberg.db.orders",
        ),
        ("SHOW CREATE SCHEMA none", "SYNTAX_ERROR: line 1:1: Schema 'iceberg.none' does not exist"),
        ("SHOW STATS FOR none", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"),
        ("SHOW STATS FOR (SELECT nope FROM orders)", "SYNTAX_ERROR: line 1:24: Column 'nope' cannot be resolved"),
        ("SHOW STATS FOR (SELECT o.day FROM orders)", "SYNTAX_ERROR: line 1:24: 'o.day' cannot be resolved"),
        ('SHOW STATS FOR (SELECT "$path" FROM orders)', "SYNTAX_ERROR: line 1:24: Column '$path' cannot be resolved"),
        ("SHOW STATS FOR (SELECT day + 1 FROM orders)", f"SYNTAX_ERROR: line 1:1: {NAMES}"),
        ("SHOW STATS FOR (SELECT day d FROM orders)", f"SYNTAX_ERROR: line 1:1: {NAMES}"),
        ("SHOW STATS FOR (SELECT day FROM orders LIMIT 1)", f"SYNTAX_ERROR: line 1:1: {COLUMNS}"),
        ("SHOW STATS FOR (SELECT DISTINCT day FROM orders)", f"SYNTAX_ERROR: line 1:1: {COLUMNS}"),
        ("SHOW STATS FOR (SELECT day FROM orders, odd)", f"SYNTAX_ERROR: line 1:1: {COLUMNS}"),
        ("SHOW STATS FOR (SELECT 1 x)", f"SYNTAX_ERROR: line 1:1: {COLUMNS}"),
        ("SHOW STATS FOR (VALUES 1)", f"SYNTAX_ERROR: line 1:1: {COLUMNS}"),
        (
            "SHOW STATS FOR (SELECT day FROM orders WHERE price > 1)",
            "SYNTAX_ERROR: line 1:1: Only predicates that can be pushed down are supported in the SHOW STATS WHERE "
            "clause",
        ),
        ("ANALYZE none", "SYNTAX_ERROR: line 1:1: Table 'iceberg.db.none' does not exist"),
        ("ANALYZE cheap", "NOT_SUPPORTED: line 1:1: Analyzing views is not supported"),
        ("ANALYZE lake.db.orders", "NOT_SUPPORTED: This connector does not support analyze"),
        (
            "ANALYZE orders WITH (nope = 1)",
            "INVALID_ANALYZE_PROPERTY: Catalog 'iceberg' does not support analyze property 'nope'",
        ),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    assert planned(text) == error


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "TABLE orders",
            """CREATE TABLE iceberg.db.orders (
   "orderkey" bigint,
   "status" varchar,
   "price" decimal(12,2),
   "day" date,
   "comment" varchar(79)
)
WITH (
   format = 'ORC',
   format_version = 2,
   location = 's3://b/it''s',
   partitioning = ARRAY['status','x''y'],
   share = 0.5
)""",
        ),
        (
            "TABLE odd",
            """CREATE TABLE iceberg.db.odd (
   "select" bigint,
   "a ""b""\" varchar NOT NULL COMMENT 'it''s'
)""",
        ),
        ("TABLE lake.DB.orders", None),
        ("SCHEMA db", "CREATE SCHEMA iceberg.db\nWITH (\n   location = 's3://b/db'\n)"),
        ("SCHEMA empty", "CREATE SCHEMA iceberg.empty"),
        ("SCHEMA lake.db", "CREATE SCHEMA lake.db"),
        (
            "VIEW trinos",
            "CREATE VIEW iceberg.db.trinos SECURITY DEFINER AS\nSELECT orderkey FROM orders WHERE price < 10",
        ),
        (
            "VIEW asked",
            "CREATE VIEW iceberg.db.asked SECURITY INVOKER AS\nSELECT orderkey FROM orders WHERE price < 10",
        ),
    ],
)
def test_show_create(text: str, shown: str | None) -> None:
    """The text is one that makes the same again: it is planned, here for another name, and a view's query too."""
    ((made,),) = changed(f"SHOW CREATE {text}")  # type: ignore[misc]
    if shown is not None:
        assert made == shown
    again = made.replace(".orders", ".again").replace(".odd", ".again").replace("SCHEMA iceberg.", "SCHEMA iceberg.x")
    if not made.startswith("CREATE VIEW") and "lake" not in made:
        assert not isinstance(planned(again), str), planned(again)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("(SELECT status FROM orders)", (STATUS, ROWS)),
        ('(SELECT "DAY", db.orders.Status, day FROM orders)', (STATUS, DAY, ROWS)),
        ("single", (("orderkey", *(None,) * 7), (None,) * 8)),
    ],
)
def test_show_stats(text: str, rows: object) -> None:
    """The table's own order of columns; where nothing is known, only the rows are told, which are not known either."""
    assert changed(f"SHOW STATS FOR {text}") == rows


def test_statistics_of_all_columns() -> None:
    whole = changed("SHOW STATS FOR orders")
    assert whole == changed("SHOW STATS FOR (SELECT * FROM orders)")
    assert isinstance(whole, tuple)
    assert [row[0] for row in whole] == ["orderkey", "status", "price", "day", "comment", None]
    assert whole[0] == ("orderkey", None, 4.0, 0.0, None, "1", "9", None)


def test_analyze() -> None:
    found = planned("ANALYZE orders WITH (columns = ARRAY['day'])")
    assert not isinstance(found, str)
    assert found.work == AnalyzeTable("iceberg", "db", "orders", {"columns": ("day",)})
    assert not isinstance(found.work, ReturnRows)
    assert found.columns[0].name == "rows"

"""Lineage of columns against what a person reads from the statements; the tables are tpch's and an empty lake's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.statement_facts import StatementFacts, restored
from shared.spi.event_listener import QueryOutput, SourceColumn
from shared.spi.session import Session
from tests import tpch_tables

Facts = Callable[[str], StatementFacts]
FIELDS = [("k", LongType()), ("name", StringType()), ("total", DoubleType())]
ALL_WAYS = {
    "D=": ("DIRECT", "IDENTITY"),
    "D~": ("DIRECT", "TRANSFORMATION"),
    "D+": ("DIRECT", "AGGREGATION"),
    "F": ("INDIRECT", "FILTER"),
    "J": ("INDIRECT", "JOIN"),
    "G": ("INDIRECT", "GROUP_BY"),
    "S": ("INDIRECT", "SORT"),
    "W": ("INDIRECT", "WINDOW"),
    "C": ("INDIRECT", "CONDITIONAL"),
}
WAYS = {way: short for short, way in ALL_WAYS.items()}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    home = tmp_path_factory.mktemp("lineage")
    (home / "iceberg").mkdir()
    (home / "catalog").mkdir()
    lake = SqlCatalog(
        "iceberg", uri=f"sqlite:///{home}/iceberg/catalog.db", warehouse=f"file://{home}/iceberg/warehouse"
    )
    lake.create_namespace("db")
    schema = Schema(*(NestedField(number, name, kind) for number, (name, kind) in enumerate(FIELDS, 1)))
    lake.create_table("db.target", schema=schema)
    (home / "catalog" / "iceberg.properties").write_text("connector.name=iceberg\n")
    (home / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file())
    catalogs = Catalogs([replace(config, data_dir=home) for config in read_catalogs(Path(home / "catalog"))])
    session = Session(user="ann", query_id="q", catalog="tpch", schema="tiny")

    def of(text: str) -> StatementFacts:
        found = plan_statement(text, session, catalogs, PlanCheckers(), facts=True).facts
        assert found is not None
        return found

    return of


def short(columns: tuple[SourceColumn, ...]) -> set[str]:
    return {f"{WAYS[column.type, column.subtype]} {column.table}.{column.column}" for column in columns}


def lineage(output: QueryOutput | None) -> dict[str, set[str]]:
    assert output is not None
    found = {column.column_name: short(column.source_columns) for column in output.columns}
    return found | {"*": short(output.influenced_by)}


CASES = {
    "SELECT custkey, name, acctbal FROM customer": {
        "k": {"D= customer.custkey"},
        "name": {"D= customer.name"},
        "total": {"D= customer.acctbal"},
        "*": set(),
    },
    "SELECT custkey + 1, upper(name) || phone, NULL FROM customer WHERE nationkey = 3": {
        "k": {"D~ customer.custkey"},
        "name": {"D~ customer.name", "D~ customer.phone"},
        "total": set(),
        "*": {"F customer.nationkey"},
    },
    "SELECT o.custkey, max(c.name), sum(o.totalprice) FROM orders o JOIN customer c ON o.custkey = c.custkey "
    "GROUP BY o.custkey HAVING count(*) > 2": {
        "k": {"D= orders.custkey"},
        "name": {"D+ customer.name"},
        "total": {"D+ orders.totalprice"},
        "*": {"J orders.custkey", "J customer.custkey", "G orders.custkey"},
    },
    "SELECT orderkey, CASE WHEN orderstatus = 'F' THEN clerk ELSE comment END, "
    "sum(totalprice) OVER (PARTITION BY custkey ORDER BY orderdate) FROM orders": {
        "k": {"D= orders.orderkey"},
        "name": {"C orders.orderstatus", "D~ orders.clerk", "D~ orders.comment"},
        "total": {"D~ orders.totalprice", "W orders.custkey", "W orders.orderdate"},
        "*": set(),
    },
    "SELECT nationkey, name, 0e0 FROM nation UNION ALL SELECT regionkey, comment, 1e0 FROM region": {
        "k": {"D= nation.nationkey", "D= region.regionkey"},
        "name": {"D= nation.name", "D= region.comment"},
        "total": set(),
        "*": set(),
    },
    "WITH n AS (SELECT nationkey k, name FROM nation) SELECT k, name, 1e0 FROM n "
    "WHERE k IN (SELECT nationkey FROM customer WHERE acctbal > 0) ORDER BY name LIMIT 3": {
        "k": {"D= nation.nationkey"},
        "name": {"D= nation.name"},
        "total": set(),
        "*": {"F customer.acctbal", "F nation.nationkey", "F customer.nationkey", "S nation.name"},
    },
    "SELECT 1, 'x', 2e0": {"k": set(), "name": set(), "total": set(), "*": set()},
    "SELECT x, y, 1e0 FROM (SELECT custkey, split(name, ' ') parts FROM customer) "
    "CROSS JOIN UNNEST(ARRAY[custkey], parts) AS t (x, y)": {
        "k": {"D~ customer.custkey"},
        "name": {"D~ customer.name"},
        "total": set(),
        "*": set(),
    },
}


@pytest.mark.parametrize("query", CASES)
def test_lineage_of_inserted_columns(facts: Facts, query: str) -> None:
    found = facts(f"INSERT INTO iceberg.db.target {query}").io
    assert lineage(found.output) == CASES[query]


def test_lineage_of_a_new_table(facts: Facts) -> None:
    found = facts("CREATE TABLE iceberg.db.made AS SELECT name AS n, name AS m FROM nation").io.output
    assert found is not None
    assert (found.operation, found.created, str(found.table)) == ("CREATE TABLE AS", True, "made")
    assert lineage(found) == {"n": {"D= nation.name"}, "m": {"D= nation.name"}, "*": set()}


def test_lineage_of_a_table_that_is_replaced(facts: Facts) -> None:
    found = facts("CREATE OR REPLACE TABLE iceberg.db.target AS SELECT name AS n FROM nation").io.output
    assert found is not None
    assert (found.operation, found.created, found.lifecycle) == ("CREATE OR REPLACE TABLE AS", False, "OVERWRITE")
    assert found.location is not None
    assert lineage(found) == {"n": {"D= nation.name"}, "*": set()}


def test_lineage_of_changed_rows(facts: Facts) -> None:
    target = "iceberg.db.target"
    update = facts(f"UPDATE {target} SET name = upper(name), total = 1 WHERE k > 3").io
    assert lineage(update.output) == {"name": {"D~ target.name"}, "total": set(), "*": {"F target.k"}}
    delete = facts(f"DELETE FROM {target} WHERE k IN (SELECT nationkey FROM nation)").io
    assert lineage(delete.output)["*"] == {"F target.k", "F nation.nationkey"}
    merge = facts(
        f"MERGE INTO {target} t USING nation n ON t.k = n.nationkey "
        "WHEN MATCHED THEN UPDATE SET name = n.name WHEN NOT MATCHED THEN INSERT VALUES (n.nationkey, n.comment, 0e0)"
    ).io
    assert merge.output is not None
    found = lineage(merge.output)
    assert (found["k"], found["name"]) == ({"D= nation.nationkey"}, {"D= nation.name", "D= nation.comment"})


def test_tables_and_columns_that_are_read(facts: Facts) -> None:
    found = facts("SELECT n.name FROM nation n JOIN region r ON n.regionkey = r.regionkey").io
    read = {table.table: [column.name for column in table.columns] for table in found.inputs}
    assert read == {"nation": ["name", "regionkey"], "region": ["regionkey"]}
    assert found.output is None


def test_calls_read_and_write_their_table(facts: Facts) -> None:
    found = facts("CALL iceberg.system.rewrite_data_files('db', 'target')").io
    assert found.output is not None
    assert (found.output.operation, found.output.table) == ("CALL rewrite_data_files", "target")
    assert [table.table for table in found.inputs] == ["target"]
    folders = {found.output.location, found.inputs[0].location}
    assert [str(folder).endswith("/warehouse/db/target") for folder in folders] == [True]
    assert facts("CALL iceberg.system.show_refs('db', 'target')").io.output is None


def test_plans_are_told_and_those_of_explain_are_not(facts: Facts) -> None:
    told = facts("SELECT name FROM nation").plan
    assert (restored(told.text) or "").startswith("- Output[PlanNodeId")
    assert '"name":"TableScan"' in (restored(told.json) or "")
    assert restored(facts("EXPLAIN SELECT name FROM nation").plan.text) is None


def test_a_statement_runs_of_which_nothing_can_be_told(
    facts: Facts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> StatementFacts:
        raise ValueError("a defect")

    monkeypatch.setattr("coordinator.planning.plan_statement.statement_facts", broken)
    with pytest.raises(AssertionError):
        facts("SELECT 1")  # planned, and nothing told
    assert "nothing can be told of q" in caplog.text


def test_a_plan_deeper_than_the_stack(facts: Facts) -> None:
    many = " UNION ALL ".join(["SELECT nationkey FROM nation"] * 60)
    found = facts(f"INSERT INTO iceberg.db.target (k) SELECT * FROM ({many})").io
    assert lineage(found.output)["k"] == {"D= nation.nationkey"}


DEFINITIONS: dict[str, tuple[str, str, str | None, list[str]]] = {
    "CREATE TABLE iceberg.db.made (a integer, b varchar)": ("CREATE TABLE", "CREATE", None, ["a integer", "b varchar"]),
    "CREATE TABLE iceberg.db.made (LIKE iceberg.db.target)": (
        "CREATE TABLE", "CREATE", None, ["k bigint", "name varchar", "total double"],
    ),
    "CREATE TABLE iceberg.db.made AS SELECT 1 AS a": ("CREATE TABLE AS", "CREATE", None, ["a integer"]),
    "CREATE VIEW iceberg.db.seen AS SELECT custkey AS c, name FROM customer": (
        "CREATE VIEW", "CREATE", None, ["c bigint", "name varchar(25)"],
    ),
    "CREATE OR REPLACE VIEW iceberg.db.seen AS SELECT 1 AS a": ("CREATE VIEW", "CREATE", None, ["a integer"]),
    "ALTER TABLE iceberg.db.target ADD COLUMN z date": (
        "ALTER TABLE", "ALTER", None, ["k bigint", "name varchar", "total double", "z date"],
    ),
    "ALTER TABLE iceberg.db.target DROP COLUMN total": ("ALTER TABLE", "ALTER", None, ["k bigint", "name varchar"]),
    "ALTER TABLE iceberg.db.target RENAME COLUMN total TO sum": (
        "ALTER TABLE", "ALTER", None, ["k bigint", "name varchar", "sum double"],
    ),
    "COMMENT ON TABLE iceberg.db.target IS 'x'": (
        "ALTER TABLE", "ALTER", None, ["k bigint", "name varchar", "total double"],
    ),
    "ALTER TABLE iceberg.db.target RENAME TO iceberg.db.target2": ("RENAME TABLE", "RENAME", "db.target", []),
    "TRUNCATE TABLE iceberg.db.target": ("TRUNCATE TABLE", "TRUNCATE", None, []),
    "DROP TABLE iceberg.db.target": ("DROP TABLE", "DROP", None, []),
}  # fmt: skip


@pytest.mark.parametrize("text", DEFINITIONS)
def test_definitions(facts: Facts, text: str) -> None:
    output = facts(text).io.output
    assert output is not None
    columns = [f"{column.column_name} {column.column_type}" for column in output.columns]
    assert (output.operation, output.lifecycle, output.previous_name, columns) == DEFINITIONS[text]
    named = {"made", "seen"} if output.created else {"target", "target2"}
    assert (output.catalog_name, output.schema, output.table in named) == ("iceberg", "db", True)


VIEWS = {
    "CREATE VIEW iceberg.db.seen AS SELECT custkey AS c, upper(name) AS n FROM customer WHERE acctbal > 0": {
        "c": {"D= customer.custkey"},
        "n": {"D~ customer.name"},
        "*": {"F customer.acctbal"},
    },
    "CREATE MATERIALIZED VIEW iceberg.db.seen AS SELECT name, sum(total) AS s FROM iceberg.db.target GROUP BY name": {
        "name": {"D= target.name"},
        "s": {"D+ target.total"},
        "*": {"G target.name"},
    },
}


@pytest.mark.parametrize("text", VIEWS)
def test_columns_of_views_are_made_of_those_of_tables(facts: Facts, text: str) -> None:
    assert lineage(facts(text).io.output) == VIEWS[text]


def test_a_view_reads_the_tables_of_its_query(facts: Facts) -> None:
    (read,) = facts("CREATE VIEW iceberg.db.seen AS SELECT custkey AS c FROM customer WHERE acctbal > 0").io.inputs
    assert (read.catalog_name, read.schema, read.table) == ("tpch", "tiny", "customer")
    assert {column.name for column in read.columns} == {"custkey", "acctbal"}


@pytest.mark.parametrize(
    "text",
    [
        "CREATE SCHEMA iceberg.other",
        "DROP TABLE IF EXISTS iceberg.db.nothing",
        "CREATE TABLE IF NOT EXISTS iceberg.db.target (a integer)",
    ],
)
def test_what_changes_no_table_defines_none(facts: Facts, text: str) -> None:
    assert facts(text).io.output is None


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO iceberg.db.target (k) SELECT k FROM iceberg.db.target",
        "UPDATE iceberg.db.target SET name = 'x' WHERE k = 1",
        "DELETE FROM iceberg.db.target WHERE k IN (SELECT k FROM iceberg.db.target)",
        "MERGE INTO iceberg.db.target t USING iceberg.db.target n ON t.k = n.k WHEN MATCHED THEN UPDATE SET k = n.k",
    ],
)
def test_tables_of_a_lake_have_their_folders(facts: Facts, text: str) -> None:
    io = facts(text).io
    assert io.output is not None
    locations = {io.output.location, *(each.location for each in io.inputs)}
    assert len(locations) == 1
    assert str(locations.pop()).endswith("/iceberg/warehouse/db/target")


def test_tables_without_folders_have_none(facts: Facts) -> None:
    assert facts("SELECT name FROM nation").io.inputs[0].location is None

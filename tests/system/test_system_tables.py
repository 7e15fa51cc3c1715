"""``information_schema`` and the catalog ``system`` over HTTP; what real clients ask is in test_metadata_clients."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from tests.e2e.service import Service


def rows(service: Service, sql: str, catalog: str = "tpch", schema: str = "tiny") -> list[list[Any]]:
    return service.execute(sql, catalog=catalog, schema=schema)


def test_every_system_table_can_be_read_and_counted(service: Service) -> None:
    tables = rows(service, "SELECT table_schem, table_name FROM system.jdbc.tables WHERE table_cat = 'system'")
    assert len(tables) == 8 + 13 + 7 + 4 + 5 + 5
    for schema, name in tables:
        read = rows(service, f"SELECT * FROM system.{schema}.{name}")
        if schema not in ("runtime", "history"):  # which the reading itself makes longer
            assert rows(service, f"SELECT count(*) FROM system.{schema}.{name}") == [[len(read)]]


@pytest.mark.parametrize("table", ["columns", "tables", "views", "schemata", "table_privileges", "roles"])
def test_information_schema_is_in_every_catalog(service: Service, table: str) -> None:
    for catalog in ("tpch", "iceberg", "system"):
        found = rows(service, f"SELECT * FROM {catalog}.information_schema.{table}")
        assert all(row[0] == catalog for row in found)
        assert rows(service, f"SELECT count(*) FROM {catalog}.information_schema.{table}") == [[len(found)]]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("table_schema = 'tiny'", 8),
        ("table_schema IN ('tiny', 'sf1', 'nope')", 16),
        ("table_schema LIKE 'sf1%'", 40),
        ("table_schema LIKE 'ti%' AND table_name LIKE '%s'", 1),
        ("table_schema = 'tiny' AND table_name > 'orders'", 4),
        ("table_schema = 'tiny' AND table_name <> 'orders'", 7),
        ("table_schema BETWEEN 'sf1' AND 'sf10'", 8),
        ("table_schema LIKE 't\\_ny' ESCAPE '\\'", 0),
        ("table_schema LIKE 't_ny' ESCAPE '\\'", 8),
        ("table_schema = 'tiny' AND table_name IS NULL", 0),
        ("table_schema = 'tiny' OR table_name = 'orders'", 16),
        ("lower(table_schema) = 'tiny'", 8),
        ("table_schema = 'tiny' AND table_catalog = 'other'", 0),
        ("table_schema = 'tiny' AND table_type = 'BASE TABLE'", 8),
        ("table_schema = 'tiny' AND table_type = 'VIEW'", 0),
        ("NOT (table_schema = 'tiny')", 72),
        ("table_schema = upper('tiny')", 0),
    ],
)
def test_predicates_that_reach_the_listing_change_no_answer(service: Service, condition: str, expected: int) -> None:
    """With the optimizer's rule and without it."""
    sql = f"SELECT table_schema, table_name FROM information_schema.tables WHERE {condition}"
    cursor = service.cursor(
        catalog="tpch", schema="tiny", session_properties={"optimizer_rule_push_predicate_into_system_table": "false"}
    )
    cursor.execute(sql)
    without = sorted(cursor.fetchall())
    assert sorted(rows(service, sql)) == without
    assert len(without) == expected


def test_joins_and_aggregates_over_system_tables(service: Service) -> None:
    sql = """SELECT t.table_name, count(*) FROM information_schema.tables t
        JOIN information_schema.columns c ON t.table_schema = c.table_schema AND t.table_name = c.table_name
        WHERE t.table_schema = 'tiny' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 2"""
    assert rows(service, sql) == [["lineitem", 16], ["orders", 9]]


def test_runtime_tables_show_the_query_that_reads_them(service: Service) -> None:
    text = "SELECT query_id, state, query, user, resource_group_id FROM system.runtime.queries WHERE state = 'RUNNING'"
    ((query_id, state, user),) = [(row[0], row[1], row[3]) for row in rows(service, text) if row[2] == text]
    assert (state, user) == ("RUNNING", "tester")
    (node,) = rows(service, "SELECT http_uri, coordinator, state FROM system.runtime.nodes")
    assert node == [service.url, True, "active"]
    done = rows(service, f"SELECT state FROM system.runtime.tasks WHERE query_id = '{query_id}'")
    assert done == [["FINISHED"]]


def test_names_resolve_like_any_other(service: Service) -> None:
    assert ["information_schema"] in rows(service, "SHOW SCHEMAS FROM system")
    assert len(rows(service, "SHOW TABLES FROM system.jdbc")) == 13
    assert rows(service, "DESCRIBE system.runtime.nodes")[0][:2] == ["node_id", "varchar"]
    assert len(rows(service, "SHOW COLUMNS FROM information_schema.columns")) == 13
    cursor = service.cursor(catalog="system", schema="jdbc")
    cursor.execute("SELECT count(*) FROM table_types")
    assert cursor.fetchall() == [[2]]
    for wrong, message in (
        ("SELECT * FROM system.nope.x", "Schema nope does not exist"),
        ("SELECT * FROM system.jdbc.nope", "Table system.jdbc.nope does not exist"),
        ("SELECT * FROM information_schema.nope", "Table tpch.information_schema.nope does not exist"),
    ):
        with pytest.raises(Exception, match=message):
            rows(service, wrong)


def test_explain_analyze_as_json(service: Service) -> None:
    """As recorded: by fragment, each plan a tree; what was measured stands at the root of the output fragment."""
    ((text,),) = rows(service, "EXPLAIN ANALYZE (FORMAT JSON) SELECT count(*) FROM nation")
    plan = json.loads(text)
    root = plan["0"]["plan"]
    assert {"id", "name", "identifier", "details", "children", "remoteSources", "estimates", "stats"} == root.keys()
    assert root["stats"]["planNodeOutputPositions"] == 1
    assert plan["0"]["stats"]["engine"] == "coordinator"
    assert [operator["name"] for operator in plan["0"]["operators"]] == ["RESULT_COLLECTOR"]


def test_changelog(service: Service) -> None:
    """What changed since the first snapshot, its rows as rows."""
    parts = [pa.table({"id": [1, 2], "Name": ["a", "b"]}), pa.table({"id": [3], "Name": ["c"]})]
    service.create("changed", parts).delete("id = 3")
    sql = 'SELECT operation, ordinal, rowdata.id, rowdata."Name" FROM "changed$changelog" ORDER BY ordinal'
    assert rows(service, sql, "iceberg", "db") == [["INSERT", 0, 3, "c"], ["DELETE", 1, 3, "c"]]
    ids = rows(service, 'SELECT snapshot_id FROM "changed$snapshots" ORDER BY committed_at', "iceberg", "db")
    sql = f'SELECT operation, count(*) FROM "changed@{ids[1][0]}$changelog@{ids[2][0]}" GROUP BY 1'
    assert rows(service, sql, "iceberg", "db") == [["DELETE", 1]]
    service.lake().drop_table("db.changed")

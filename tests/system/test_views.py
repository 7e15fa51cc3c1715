"""Views over the protocol, without Spark: made, read, listed, renamed, replaced, refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.service import Service

Run = Callable[[str], Any]
PATHS = "SELECT a, b FROM (VALUES (1, varchar 'x'), (2, 'y')) t (a, b)"


@pytest.fixture
def run(client: httpx.Client) -> Iterator[Run]:
    """Executes in ``iceberg.views``, a schema of the test's own; rows, or the name and text of the error."""

    def execute(sql: str) -> Any:
        headers = {"X-Presto-User": "alice", "X-Presto-Catalog": "iceberg", "X-Presto-Schema": "views"}
        page = client.post("/v1/statement", content=sql, headers=headers).json()
        rows: list[Any] = []
        while "nextUri" in page:
            page = client.get(page["nextUri"]).json()
            rows += page.get("data", [])
        error = page.get("error")
        return rows if error is None else (error["errorName"], error["message"])

    assert execute("CREATE SCHEMA iceberg.views") == [[True]]
    yield execute
    assert execute("DROP SCHEMA iceberg.views CASCADE") == [[True]]


def test_a_view_is_its_query_wherever_it_is_named(run: Run) -> None:
    assert run(f"CREATE VIEW v AS {PATHS}") == [[True]]
    assert run("SELECT * FROM v ORDER BY a DESC") == [[2, "y"], [1, "x"]]
    assert run("SELECT v.a + w.a, iceberg.views.v.b FROM v JOIN iceberg.views.v w ON v.a = w.a WHERE w.b = 'x'") == [
        [2, "x"]
    ]
    assert run("SELECT b FROM v AS r (a, b) WHERE EXISTS (SELECT 1 FROM v WHERE v.a = r.a + 1)") == [["x"]]
    # A name of WITH comes before a view, and is not seen inside of one.
    assert run("WITH v AS (SELECT 7 a) SELECT * FROM v") == [[7]]
    assert run("CREATE VIEW w AS SELECT a * 10 AS a FROM v") == [[True]]
    assert run("WITH v AS (SELECT 7 a) SELECT * FROM w ORDER BY 1") == [[10], [20]]
    assert "Values" in run("EXPLAIN SELECT * FROM w")[0][0]


def test_names_in_a_view_are_those_of_the_session_that_made_it(run: Run, client: httpx.Client) -> None:
    run(f"CREATE VIEW v AS {PATHS}")
    run("CREATE VIEW w AS SELECT a FROM v")
    elsewhere = {"X-Presto-User": "bob", "X-Presto-Catalog": "tpch", "X-Presto-Schema": "tiny"}
    page = client.post("/v1/statement", content="SELECT sum(a) FROM iceberg.views.w", headers=elsewhere).json()
    rows: list[Any] = []
    while "nextUri" in page:
        page = client.get(page["nextUri"]).json()
        rows += page.get("data", [])
    assert rows == [[3]], page.get("error")


def test_views_are_listed_beside_tables(run: Run) -> None:
    run(f"CREATE VIEW v AS {PATHS}")
    run("CREATE TABLE t (a bigint)")
    assert run("SHOW TABLES") == [["t"], ["v"]]
    assert run("DESCRIBE v") == [
        ["a", "integer", "", "", 10, None, None],
        ["b", "varchar", "", "", None, None, None],
    ]
    assert run("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'views'") == [
        ["t", "BASE TABLE"],
        ["v", "VIEW"],
    ]
    assert run("SELECT * FROM information_schema.views WHERE table_schema = 'views'") == [
        ["iceberg", "views", "v", "alice", PATHS]
    ]
    wanted = "table_cat = 'iceberg' AND table_schem = 'views'"
    assert run(f"SELECT table_name, table_type FROM system.jdbc.tables WHERE {wanted} AND table_type = 'VIEW'") == [
        ["v", "VIEW"]
    ]
    assert run(f"SELECT column_name, type_name FROM system.jdbc.columns WHERE {wanted} AND table_name = 'v'") == [
        ["a", "integer"],
        ["b", "varchar"],
    ]


def test_show_create_view(run: Run) -> None:
    run(f"CREATE VIEW v SECURITY INVOKER AS {PATHS}")
    assert run("SHOW CREATE VIEW v") == [[f"CREATE VIEW iceberg.views.v SECURITY INVOKER AS\n{PATHS}"]]
    run("CREATE TABLE t (a bigint)")
    place = "line 1:1: "
    assert run("SHOW CREATE VIEW t") == ("SYNTAX_ERROR", f"{place}Relation 'iceberg.views.t' is a table, not a view")
    assert run("SHOW CREATE TABLE v") == ("SYNTAX_ERROR", f"{place}Relation 'iceberg.views.v' is a view, not a table")
    assert run("SHOW CREATE VIEW x") == ("SYNTAX_ERROR", f"{place}View 'iceberg.views.x' does not exist")


def test_replaced_and_renamed(run: Run) -> None:
    run(f"CREATE VIEW v AS {PATHS}")
    assert run("CREATE VIEW v AS SELECT 1 x") == ("ALREADY_EXISTS", "View already exists: views.v")
    assert run("CREATE OR REPLACE VIEW v AS SELECT decimal '3.5' x") == [[True]]
    assert run("SELECT * FROM v") == [["3.5"]]
    assert run("ALTER VIEW v RENAME TO w") == [[True]]
    assert run("SELECT * FROM w") == [["3.5"]]
    assert run("SELECT * FROM v") == ("SYNTAX_ERROR", "Table iceberg.views.v does not exist")
    assert run("DROP VIEW v") == ("SYNTAX_ERROR", "line 1:1: View 'iceberg.views.v' does not exist")
    assert run("DROP VIEW IF EXISTS v") == [[True]]
    assert run("DROP VIEW w") == [[True]]
    assert run("SHOW TABLES") == []


def test_a_view_promises_its_columns(run: Run) -> None:
    run(f"CREATE VIEW v AS {PATHS}")
    run("CREATE VIEW w AS SELECT * FROM v")
    run("CREATE OR REPLACE VIEW v AS SELECT smallint '3' a, varchar 'z' b")
    # What coerces is cast to what was promised.
    assert run("SELECT typeof(a), a FROM w") == [["integer", 3]]
    for changed in ("SELECT 1 a", "SELECT 'x' a, varchar 'y' b", "SELECT 1 a, varchar 'x' c"):
        run(f"CREATE OR REPLACE VIEW v AS {changed}")
        assert run("SELECT * FROM w") == (
            "SYNTAX_ERROR",
            "line 1:15: View 'iceberg.views.w' is stale; it must be re-created",
        )
    run("DROP VIEW v")
    assert run("SELECT 1 FROM w") == (
        "SYNTAX_ERROR",
        "line 1:15: Failed analyzing stored view 'iceberg.views.w': Table iceberg.views.v does not exist",
    )


def test_comments(run: Run) -> None:
    run(f"CREATE VIEW v AS {PATHS}")
    assert run("COMMENT ON VIEW v IS 'two letters'") == [[True]]
    assert run("COMMENT ON COLUMN v.b IS 'a letter'") == [[True]]
    assert run("DESCRIBE v") == [
        ["a", "integer", "", "", 10, None, None],
        ["b", "varchar", "", "a letter", None, None, None],
    ]
    comments = "SELECT comment FROM system.metadata.table_comments WHERE catalog_name = 'iceberg' AND table_name = 'v'"
    assert run(comments) == [["two letters"]]
    assert run("COMMENT ON VIEW v IS NULL") == [[True]]
    assert run(comments) == [[None]]
    assert run("SELECT count(*) FROM v") == [[2]]
    assert run("COMMENT ON COLUMN v.nope IS 'x'") == ("SYNTAX_ERROR", "line 1:1: Column 'nope' does not exist")


def test_recursion_is_refused(run: Run) -> None:
    run("CREATE VIEW r AS SELECT 1 x")
    run("CREATE VIEW s AS SELECT * FROM r")
    text = "line 1:43: Statement would create a recursive view"
    assert run("CREATE OR REPLACE VIEW r AS SELECT * FROM r") == ("SYNTAX_ERROR", text)
    name, message = run("CREATE OR REPLACE VIEW r AS SELECT * FROM s")
    assert (name, message.endswith("Statement would create a recursive view")) == ("SYNTAX_ERROR", True)
    # A ring that names alone make: r reads what s is called now.
    run("CREATE VIEW q AS SELECT * FROM s")
    run("ALTER VIEW r RENAME TO old")
    run("ALTER VIEW q RENAME TO r")
    name, message = run("SELECT * FROM r")
    assert (name, message.endswith("View is recursive")) == ("SYNTAX_ERROR", True)


def test_what_cannot_be_a_view(run: Run) -> None:
    assert run("CREATE VIEW v AS SELECT 1") == ("SYNTAX_ERROR", "line 1:1: Column name not specified at position 1")
    assert run("CREATE VIEW v AS SELECT 1 a, 2 A") == (
        "SYNTAX_ERROR",
        "line 1:1: Column name 'a' specified more than once",
    )
    assert run("CREATE VIEW v AS SELECT NULL a") == ("SYNTAX_ERROR", "line 1:1: Column type is unknown: a")
    assert run("CREATE VIEW v AS SELECT a FROM nope") == ("SYNTAX_ERROR", "Table iceberg.views.nope does not exist")
    assert run("CREATE VIEW v AS SELECT 1 a,\n b FROM (VALUES 1) t (a)") == (
        "SYNTAX_ERROR",
        "line 2:2: Column 'b' cannot be resolved",
    )
    assert run("CREATE VIEW tpch.tiny.v AS SELECT 1 a") == (
        "NOT_SUPPORTED",
        "This connector does not support creating views",
    )
    assert run("CREATE VIEW iceberg.nope.v AS SELECT 1 a")[0] == "NOT_FOUND"
    assert run("CREATE MATERIALIZED VIEW tpch.tiny.v AS SELECT 1 a")[0] == "NOT_SUPPORTED"
    assert run("SHOW TABLES") == []


def test_tables_and_views_share_their_names(run: Run) -> None:
    run(f"CREATE VIEW v AS {PATHS}")
    run("CREATE TABLE t (a bigint)")
    assert run("CREATE VIEW t AS SELECT 1 a") == ("ALREADY_EXISTS", "Table already exists: views.t")
    assert run("CREATE TABLE v (a bigint)") == ("SYNTAX_ERROR", "line 1:1: View 'iceberg.views.v' already exists")
    assert run("ALTER VIEW v RENAME TO t") == (
        "SYNTAX_ERROR",
        "line 1:1: Target view 'iceberg.views.t' is an existing table",
    )
    assert run("DROP TABLE v") == ("SYNTAX_ERROR", "line 1:1: Table 'iceberg.views.v' does not exist")
    for statement in ("INSERT INTO v VALUES (1, 'x')", "DELETE FROM v", "UPDATE v SET a = 1"):
        assert run(statement)[0] == "NOT_SUPPORTED"
    assert run("DROP SCHEMA iceberg.views") == ("SCHEMA_NOT_EMPTY", "Schema not empty: views")


def test_the_metadata_is_icebergs(run: Run, service: Service) -> None:
    """Source: the Iceberg view specification; what Presto and Trino read of it."""
    warehouse = service.data_dir / "iceberg" / "warehouse" / "views"
    run(f"CREATE VIEW v AS {PATHS}")
    run("CREATE OR REPLACE VIEW v AS SELECT bigint '1' k")
    (newest,) = warehouse.glob("v-*/metadata/00001-*.metadata.json")
    said = json.loads(newest.read_text())
    assert (said["format-version"], said["current-version-id"]) == (1, 2)
    assert [entry["version-id"] for entry in said["version-log"]] == [1, 2]
    first, second = said["versions"]
    assert (first["default-catalog"], first["default-namespace"]) == ("iceberg", ["views"])
    assert {s["schema-id"]: [f["type"] for f in s["fields"]] for s in said["schemas"]} == {
        first["schema-id"]: ["int", "string"],
        second["schema-id"]: ["long"],
    }
    texts = {r["dialect"]: r["sql"] for r in second["representations"]}
    assert texts["trino"] == "SELECT bigint '1' k"
    assert texts["spark"] == "SELECT CAST('1' AS BIGINT) AS k"
    presto = json.loads(texts["presto"])
    assert presto["columns"] == [{"name": "k", "type": "bigint"}]
    assert (presto["originalSql"], presto["owner"], presto["runAsInvoker"]) == ("SELECT bigint '1' k", "alice", False)
    run("DROP VIEW v")
    assert [file for file in Path(warehouse).rglob("*") if file.is_file()] == []

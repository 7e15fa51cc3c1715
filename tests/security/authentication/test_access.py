"""Rules of a file on the whole service: catalogs, queries, session properties, the node."""

from __future__ import annotations

from typing import Any

import pytest
import trino

from tests.security.authentication.secured import PASSWORD, RULES, Secured, basic, trino_cursor, until

DENIED = "Access Denied: Cannot access catalog "


def run(secured: Secured, user: str, sql: str, **options: Any) -> list[list[Any]]:
    if user == "carol":
        auth: Any = trino.auth.JWTAuthentication(secured.token())
    else:
        auth = trino.auth.BasicAuthentication(user, PASSWORD)
    cursor = trino_cursor(secured, user, auth, **options)
    cursor.execute(sql)
    rows: list[list[Any]] = cursor.fetchall()
    return rows


def failure(secured: Secured, user: str, sql: str, **options: Any) -> tuple[str, str]:
    with pytest.raises(trino.exceptions.TrinoQueryError) as error:
        run(secured, user, sql, **options)
    return error.value.error_name, error.value.message


@pytest.fixture(scope="module")
def table(secured: Secured) -> str:
    run(secured, "alice", "CREATE SCHEMA iceberg.empty")
    run(secured, "alice", "CREATE SCHEMA iceberg.kept")
    run(secured, "alice", "CREATE TABLE iceberg.kept.t (id bigint)")
    return "iceberg.kept.t"


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO {t} VALUES 1",
        "DELETE FROM {t}",
        "DELETE FROM {t} WHERE id = 1",
        "UPDATE {t} SET id = 1",
        "MERGE INTO {t} a USING (VALUES 1) b (x) ON a.id = b.x WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE {t}",
        "DROP TABLE {t}",
        "ALTER TABLE {t} ADD COLUMN x bigint",
        "ALTER TABLE {t} SET PROPERTIES (format = 'ORC')",
        "ANALYZE {t}",
        "CREATE TABLE iceberg.kept.u (id bigint)",
        "CREATE TABLE iceberg.kept.u AS SELECT 1 x",
        "CREATE VIEW iceberg.kept.v AS SELECT 1 x",
        "CREATE SCHEMA iceberg.other",
        "DROP SCHEMA iceberg.empty",
        "EXPLAIN ANALYZE INSERT INTO {t} VALUES 1",
        "EXPLAIN INSERT INTO {t} VALUES 1",
        "CALL iceberg.system.rewrite_data_files('kept', 't')",
        "CALL iceberg.system.remove_orphan_files('kept', 't')",
        "CALL iceberg.system.expire_snapshots('kept', 't')",
    ],
)
def test_a_catalog_that_is_only_read_is_not_changed(secured: Secured, table: str, sql: str) -> None:
    name, message = failure(secured, "bob", sql.format(t=table))
    assert (name, message[:22]) == ("PERMISSION_DENIED", "Access Denied: Cannot ")
    assert "iceberg" in message


def test_it_is_read(secured: Secured, table: str) -> None:
    assert run(secured, "bob", "SHOW TABLES FROM iceberg.kept") == [["t"]]
    assert run(secured, "bob", f"DESCRIBE {table}")[0][:2] == ["id", "bigint"]
    rows = run(secured, "bob", "SELECT table_name FROM iceberg.information_schema.tables WHERE table_schema = 'kept'")
    assert rows == [["t"]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM {c}.tiny.nation",
        "SELECT 1 FROM iceberg.information_schema.tables WHERE EXISTS (SELECT 1 FROM {c}.tiny.nation)",
        "EXPLAIN SELECT * FROM {c}.tiny.nation",
        "EXPLAIN (TYPE VALIDATE) SELECT * FROM {c}.tiny.nation",
        "SHOW SCHEMAS FROM {c}",
        "SHOW TABLES FROM {c}.tiny",
        "SHOW COLUMNS FROM {c}.tiny.nation",
        "SHOW CREATE TABLE {c}.tiny.nation",
        "SHOW STATS FOR {c}.tiny.nation",
        "SELECT * FROM {c}.information_schema.tables",
        "SELECT * FROM {c}.tiny.nowhere",
        "USE {c}.tiny",
        "CREATE TABLE iceberg.kept.copy AS SELECT * FROM {c}.tiny.nation",
        "CALL {c}.system.x()",
    ],
)
def test_what_is_hidden_looks_as_if_it_were_not_there(secured: Secured, table: str, sql: str) -> None:
    hidden = failure(secured, "carol", sql.format(c="tpch"))
    nowhere = failure(secured, "carol", sql.format(c="gone"))
    assert (hidden[0], hidden[1].replace("tpch", "gone")) == nowhere
    assert "nation" not in hidden[1]


def test_prepared_statements_and_defaults_are_no_way_around(secured: Secured) -> None:
    assert failure(secured, "carol", "SELECT * FROM nation", catalog="tpch", schema="tiny")[1] == DENIED + "tpch"
    assert failure(secured, "carol", "SELECT * FROM tiny.nation", catalog="tpch")[0] == "PERMISSION_DENIED"
    headers = {"Authorization": f"Bearer {secured.token()}", "X-Presto-User": "carol"}
    for path in ("/v1/validate", "/v1/precheck"):
        answer = secured.get(path, method="POST", content="SELECT * FROM tpch.tiny.nation", headers=headers)
        assert answer.status_code == (200 if path == "/v1/validate" else 403)
        assert "tpch" not in answer.text.replace(DENIED + "tpch", "")


def test_lists_leave_out_what_is_hidden(secured: Secured, table: str) -> None:
    def catalogs(user: str) -> set[str]:
        lists = (
            "SHOW CATALOGS",
            "SELECT catalog_name FROM system.metadata.catalogs",
            "SELECT DISTINCT table_cat FROM system.jdbc.tables WHERE table_schem <> 'x'",
            "SELECT DISTINCT table_catalog FROM system.jdbc.schemas",
        )
        return {row[0] for sql in lists for row in run(secured, user, sql)}

    assert catalogs("carol") == {"iceberg", "system"}
    assert catalogs("bob") == {"iceberg", "system", "tpch"}
    assert run(secured, "carol", "SELECT * FROM system.jdbc.tables WHERE table_cat = 'tpch'") == []
    listed = "system.metadata.catalogs"
    joined = f"SELECT a.catalog_name FROM {listed} a JOIN {listed} b ON a.catalog_name = b.catalog_name"
    assert {row[0] for row in run(secured, "carol", joined)} == {"iceberg", "system"}
    assert run(secured, "bob", "SELECT count(*) FROM tpch.tiny.nation") == [[25]]


def test_queries_of_others_in_system_tables(secured: Secured) -> None:
    run(secured, "carol", "SELECT 'only for carol'")
    run(secured, "bob", "SELECT 'only for bob'")
    plain = 'SELECT "user" FROM system.runtime.queries'
    joined = 'SELECT a."user" FROM system.runtime.queries a JOIN system.runtime.tasks b ON a.query_id = b.query_id'
    for sql in (plain, joined):
        assert {row[0] for row in run(secured, "bob", sql)} == {"bob"}
        assert {row[0] for row in run(secured, "alice", sql)} >= {"alice", "bob", "carol"}
    mine = {row[0] for row in run(secured, "bob", "SELECT query_id FROM system.runtime.tasks")}
    everybodys = {row[0] for row in run(secured, "alice", "SELECT query_id FROM system.runtime.tasks")}
    assert mine
    assert mine < everybodys


def test_the_node_and_properties(secured: Secured) -> None:
    assert secured.get("/metrics", headers=basic("alice", PASSWORD)).status_code == 200
    assert secured.get("/metrics", headers=basic("bob", PASSWORD)).status_code == 403
    options = {"session_properties": {"query_priority": "100"}}
    assert run(secured, "alice", "SELECT 1", **options) == [[1]]
    problem = "Access Denied: Cannot set system session property query_priority"
    assert failure(secured, "bob", "SELECT 1", **options) == ("PERMISSION_DENIED", problem)
    stop = secured.get("/v1/info/state", method="PUT", content='"SHUTTING_DOWN"', headers=basic("bob", PASSWORD))
    assert (stop.status_code, stop.text) == (403, "Access Denied: Cannot write system information")


def test_rules_are_read_again_and_wrong_ones_are_not_taken(secured: Secured) -> None:
    file = secured.service.etc / "rules.json"

    def priority() -> bool:
        try:
            run(secured, "bob", "SELECT 1", session_properties={"query_priority": "100"})
        except trino.exceptions.TrinoQueryError:
            return False
        return True

    try:
        file.write_text(RULES.replace('"user": "bob", "property": "query_priority"', '"user": "nobody"'))
        until(priority)
        file.write_text("{")
        assert priority()
    finally:
        file.write_text(RULES)
    until(lambda: not priority())

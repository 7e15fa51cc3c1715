"""Rules of tables on the whole service: every path that plans asks, and kept plans serve one user under one file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import prestodb
import pytest

from tests import tpch_tables
from tests.e2e.service import Service, start_service, write_etc
from tests.security.authentication.secured import until

pytestmark = pytest.mark.slow

DENIED = "Access Denied: Cannot select from columns [nationkey, name, regionkey, comment] in table or view "
USERS = ("alice", "bob")
QUERIES = "SELECT query_id, query FROM system.runtime.queries"
ALL = ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP", "GRANT_SELECT"]


def rules(region: int = 1) -> str:
    nation = {"catalog": "tpch", "schema": "tiny", "table": "nation", "privileges": ["SELECT"]}
    return json.dumps(
        {
            "tables": [
                {"user": "alice", "privileges": ALL},
                {"user": "bob", **nation, "filter": f"regionkey = {region}"},
                {"user": "bob", "catalog": "tpch", "schema": "sf1", "table": "region", "privileges": ["SELECT"]},
            ],
            "procedures": [{"user": "alice", "privileges": ["EXECUTE"]}],
            "schemas": [{"user": "alice", "owner": True}],
        }
    )


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("ruled")
    etc = write_etc(home / "etc", spark=False)
    (etc / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file())
    (etc / "rules.json").write_text(rules())
    (etc / "access-control.properties").write_text(
        "access-control.name=file\nsecurity.config-file=rules.json\nsecurity.refresh-period=50ms\n"
    )
    (etc / "session-property-config.properties").write_text(
        "session-property-config.configuration-manager=file\nsession-property-manager.config-file=session.json\n"
    )
    given = {"user": "bob", "overrideSessionProperties": True, "sessionProperties": {"query_priority": "7"}}
    (etc / "session.json").write_text(json.dumps([given]))
    running = start_service(etc, home / "data", home / "log")
    rows(running, "alice", "CREATE SCHEMA iceberg.db")
    rows(running, "alice", "CREATE TABLE iceberg.db.t (id bigint)")
    yield running
    assert running.stop() == 0, (home / "log").read_text()
    assert "Traceback" not in (home / "log").read_text()


def rows(service: Service, user: str, sql: str, **properties: str) -> list[list[Any]]:
    host, port = service.url.removeprefix("http://").split(":")
    names = {"user": user, "catalog": "tpch", "schema": "tiny"}
    connection = prestodb.dbapi.connect(host=host, port=int(port), session_properties=properties, **names)
    cursor = connection.cursor()
    cursor.execute(sql)
    found: list[list[Any]] = cursor.fetchall()
    return found


def refused(service: Service, user: str, sql: str) -> str:
    try:
        rows(service, user, sql)
    except prestodb.exceptions.PrestoUserError as error:
        assert (error.error_code, error.error_name) == (4, "PERMISSION_DENIED")
        return str(error.message)
    return ""


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("SELECT * FROM nation", ""),
        ("EXPLAIN SELECT * FROM nation", ""),
        ("SELECT * FROM sf1.nation", DENIED + "tpch.sf1.nation"),
        ("EXPLAIN SELECT * FROM sf1.nation", DENIED + "tpch.sf1.nation"),
        ("EXPLAIN (TYPE VALIDATE) SELECT * FROM sf1.nation", DENIED + "tpch.sf1.nation"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM sf1.nation'", DENIED + "tpch.sf1.nation"),
        ("CALL iceberg.system.show_snapshots('db', 't')", "iceberg.system.show_snapshots"),
        ("CALL iceberg.system.rewrite_data_files('db', 't')", "iceberg.system.rewrite_data_files"),
        ("DROP TABLE iceberg.db.t", "Cannot drop table iceberg.db.t"),
        ("CREATE TABLE iceberg.db.u (x bigint)", "Cannot create table iceberg.db.u"),
        ("SHOW COLUMNS FROM iceberg.db.t", "Cannot show columns of table iceberg.db.t"),
        ("SHOW CREATE TABLE nation", "Cannot show create table for tpch.tiny.nation"),
    ],
)
def test_bob(service: Service, sql: str, problem: str) -> None:
    found = refused(service, "bob", sql)
    assert found.endswith(problem)
    assert bool(found) == bool(problem)


def test_checks_without_running_ask_too(service: Service) -> None:
    headers = {"X-Presto-User": "bob", "X-Presto-Catalog": "tpch", "X-Presto-Schema": "tiny"}
    for path, code in (("/v1/validate", 200), ("/v1/precheck", 403)):
        answer = httpx.post(service.url + path, content="SELECT * FROM sf1.nation", headers=headers, timeout=60)
        assert answer.status_code == code
        assert "PERMISSION_DENIED" in answer.text or code == 403
        answer = httpx.post(service.url + path, content="SELECT * FROM nation", headers=headers, timeout=60)
        assert (answer.status_code, "PERMISSION_DENIED" in answer.text) == (200, False)


def test_a_line_of_the_log_for_each_refusal(service: Service) -> None:
    sql = "SELECT * FROM sf1.nation -- audited"
    assert refused(service, "bob", sql)
    log = (service.etc.parent / "log").read_text()
    line = [line for line in log.splitlines() if "access denied" in line][-1]
    for part in ("bob", "SelectFromColumns", "tpch.sf1.nation", "tables: no rule"):
        assert part in line
    [query_id] = [row[0] for row in rows(service, "alice", QUERIES) if row[1] == sql]
    assert query_id in line


def test_properties_that_a_client_cannot_change(service: Service) -> None:
    shown = {user: rows(service, user, "SHOW SESSION LIKE 'query_priority'", query_priority="3") for user in USERS}
    assert {user: found[0][1] for user, found in shown.items()} == {"alice": "3", "bob": "7"}


def test_two_users_one_text(service: Service) -> None:
    count = "SELECT count(*) FROM nation"
    listed = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'tiny'"
    for users in (("alice", "bob"), ("bob", "alice"), ("alice", "bob")):
        found = {user: (rows(service, user, count), rows(service, user, listed)) for user in users}
        assert found == {"alice": ([[25]], [[8]]), "bob": ([[5]], [[1]])}


def test_rules_that_change(service: Service) -> None:
    """Also for plans that are kept, and not for files that are wrong."""
    file: Path = service.etc / "rules.json"
    listed = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'tiny'"
    assert (rows(service, "bob", listed), rows(service, "bob", "SELECT min(regionkey) FROM nation")) == ([[1]], [[1]])
    try:
        file.write_text(rules(2).replace('"sf1"', '"tiny"'))
        until(lambda: rows(service, "bob", listed) == [[2]])
        until(lambda: rows(service, "bob", "SELECT min(regionkey) FROM nation") == [[2]])
        file.write_text('{"tables": [{}]}')
        assert (rows(service, "bob", listed), rows(service, "alice", listed)) == ([[2]], [[8]])
        assert refused(service, "bob", "SELECT * FROM sf1.nation") == DENIED + "tpch.sf1.nation"
    finally:
        file.write_text(rules())
    until(lambda: rows(service, "bob", listed) == [[1]])

"""``iceberg.security`` of a catalog file: Presto's and Trino's rules of one catalog, behind those of the system."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from coordinator.connectors.iceberg.properties import read_settings
from coordinator.security.access_control.load import load_access_policy
from coordinator.security.refreshed_file import RefreshedFiles
from coordinator.telemetry.collectors import RuleFileCollector
from shared.properties import ConfigurationError, Property
from shared.spi.access_control import AccessDeniedError, Identity
from shared.spi.grants import GrantStore
from tests.security.access.conftest import Ruled

# The example of Presto's documentation of file-based authorization.
PRESTO = {
    "schemas": [{"user": "admin", "schema": ".*", "owner": True}, {"user": "guest", "owner": False}, {"owner": True}],
    "tables": [
        {"user": "admin", "privileges": ["SELECT", "INSERT", "DELETE", "OWNERSHIP"]},
        {"user": "banned", "privileges": []},
        {"table": ".*", "privileges": ["SELECT"]},
    ],
    "sessionProperties": [{"user": "admin", "allow": True}, {"property": "commit_.*", "allow": True}],
}


class Files:
    """The catalogs ``lab``, with what ``said`` says of its security, and ``tpch``."""

    def __init__(self, etc: Path, said: Mapping[str, str]) -> None:
        file = etc / "lab.properties"
        self._lab = {name: Property(name, value, file, line) for line, (name, value) in enumerate(said.items(), 2)}

    def properties(self) -> Mapping[str, Mapping[str, Property]]:
        return {"lab": self._lab, "tpch": {}}

    def grants(self, catalog: str) -> GrantStore:
        raise AssertionError(catalog)


def secured(ruled: Ruled, etc: Path, rules: Any = None, **said: str) -> RefreshedFiles:
    given = {key.replace("_", "-").replace("iceberg-", "iceberg.", 1): value for key, value in said.items()}
    if rules is not None:
        (etc / "lab.json").write_text(json.dumps(rules))
        given = {"iceberg.security": "file", "security.config-file": "lab.json", "security.refresh-period": "1us"}
    files = RefreshedFiles()
    ruled.catalogs.access = load_access_policy(etc, Files(etc, given), authenticated=False, files=files)
    return files


def test_prestos_rules(ruled: Ruled, tmp_path: Path) -> None:
    secured(ruled, tmp_path, PRESTO)
    assert ruled.rows("bob", "SELECT count(*) FROM people") == [(4,)]
    refusals = {
        ("bob", "DELETE FROM people"): "Cannot delete from table lab.db.people",
        ("bob", "DROP TABLE people"): "Cannot drop table lab.db.people",
        ("bob", "CREATE TABLE made (x bigint)"): "",
        ("bob", "CREATE VIEW made AS SELECT 1 x"): "",
        ("guest", "CREATE TABLE made (x bigint)"): "Cannot create table lab.db.made",
        ("guest", "CREATE VIEW made AS SELECT 1 x"): "Cannot create view lab.db.made",
        ("banned", "SELECT 1 FROM people"): "Cannot select from table lab.db.people",
        ("banned", 'SELECT * FROM "people$snapshots"'): "Cannot select from",
        ("banned", "SELECT 1 FROM tpch.tiny.nation"): "",
        ("guest", "DROP SCHEMA hidden"): "Cannot drop schema lab.hidden",
        ("admin", "DROP TABLE people"): "",
        ("admin", "CALL lab.system.rewrite_manifests('db', 'people')"): "Cannot execute procedure",
        ("bob", "SET SESSION lab.target_file_size_bytes = 1"): "Cannot set catalog session property lab.target_",
    }
    for (user, text), expected in refusals.items():
        assert ruled.refused(user, text).startswith(f"Access Denied: {expected}" if expected else ""), (user, text)
        assert bool(ruled.refused(user, text)) == bool(expected), (user, text)
    assert ruled.rows("banned", "SHOW TABLES FROM lab.db") == []


def test_schemas_that_no_rule_owns_stay_as_they_are(ruled: Ruled, tmp_path: Path) -> None:
    secured(ruled, tmp_path, {"tables": [{"privileges": ["SELECT"]}]})
    for text in ("CREATE SCHEMA made", "DROP SCHEMA hidden", "ALTER SCHEMA hidden RENAME TO made"):
        assert "schema" in ruled.refused("admin", text), text
    assert ruled.refused("admin", "CREATE TABLE made (x bigint)") == "Access Denied: Cannot create table lab.db.made"


def test_trinos_rules(ruled: Ruled, tmp_path: Path) -> None:
    procedure = {"schema": "system", "procedure": "rewrite_manifests", "privileges": ["EXECUTE"]}
    columns = [{"name": "salary", "allow": False}, {"name": "name", "mask": "'x'"}]
    rules = {
        "tables": [{"user": "admin", "privileges": ["INSERT", "DELETE"]},
                   {"privileges": ["SELECT"], "filter": "id < 3", "columns": columns}],
        "procedures": [procedure],
        "session_properties": [{"property": "a", "allow": True}],
        "authorization": [{"original_user": "a", "new_user": "b"}],
        "functions": [{"privileges": ["EXECUTE"]}],
    }  # fmt: skip
    secured(ruled, tmp_path, rules)
    assert ruled.rows("bob", "SELECT max(id), max(name) FROM people") == [(2, "x")]
    assert "Cannot select from columns [salary]" in ruled.refused("bob", "SELECT salary FROM people")
    assert ruled.refused("admin", "CALL lab.system.rewrite_manifests('db', 'people')") == ""


def test_the_system_is_asked_first(ruled: Ruled, tmp_path: Path) -> None:
    (tmp_path / "access-control.properties").write_text("access-control.name=file\nsecurity.config-file=s.json\n")
    system = {"tables": [{"privileges": ["SELECT", "INSERT"], "filter": "id > 1"}]}
    (tmp_path / "s.json").write_text(json.dumps(system))
    secured(ruled, tmp_path, {"tables": [{"privileges": ["SELECT", "OWNERSHIP"], "filter": "id < 3"}]})
    assert ruled.rows("bob", "SELECT id FROM people") == [(2,)]
    assert "Cannot insert" in ruled.refused("bob", "INSERT INTO people SELECT * FROM others")
    assert "Cannot drop" in ruled.refused("bob", "DROP TABLE people")


@pytest.mark.parametrize("written", ["read-only", "READ_ONLY"])
def test_read_only(ruled: Ruled, tmp_path: Path, written: str) -> None:
    secured(ruled, tmp_path, iceberg_security=written)
    assert ruled.rows("bob", "SELECT count(*) FROM people") == [(4,)]
    for text in ("DELETE FROM people", "DROP TABLE people", "CALL lab.system.rewrite_manifests('db', 'people')"):
        assert ruled.refused("bob", text).startswith("Access Denied: "), text


@pytest.mark.parametrize("written", ["allow-all", "ALLOW_ALL", "system"])
def test_nothing_more(ruled: Ruled, tmp_path: Path, written: str) -> None:
    secured(ruled, tmp_path, iceberg_security=written)
    assert not ruled.catalogs.access.hides_objects
    assert ruled.refused("bob", "DROP TABLE people") == ""


def test_wrong_rules_are_told_and_do_not_count(ruled: Ruled, tmp_path: Path) -> None:
    files = secured(ruled, tmp_path, {"tables": [{"user": "bob", "privileges": ["SELECT"]}]})
    registry = CollectorRegistry()
    registry.register(RuleFileCollector(files.wrong))
    assert 'procession_rule_file_wrong{file="lab.json"} 0.0' in generate_latest(registry).decode()
    control = ruled.catalogs.access.control
    version = control.rules_version
    (tmp_path / "lab.json").write_text('{"tables": [{"priv')
    with capture_logs() as lines:
        assert ruled.rows("bob", "SELECT count(*) FROM people") == [(4,)]
    assert "Cannot select" in ruled.refused("eve", "SELECT 1 FROM people")
    assert [line["event"] for line in lines] == ["the file as it was counts on"]
    assert control.rules_version == version
    assert 'procession_rule_file_wrong{file="lab.json"} 1.0' in generate_latest(registry).decode()
    (tmp_path / "lab.json").write_text('{"tables": []}')
    os.utime(tmp_path / "lab.json", (1, 1))
    assert "Cannot select" in ruled.refused("bob", "SELECT 1 FROM people")
    assert control.rules_version != version
    assert 'procession_rule_file_wrong{file="lab.json"} 0.0' in generate_latest(registry).decode()


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ({"catalogs": []}, "unknown field `catalogs`"),
        ({"tables": [{"catalog": "lab", "privileges": []}]}, "unknown field `catalog` - at `$.tables[0]`"),
        ({"tables": [{"privilege": []}]}, "unknown field `privilege`"),
        ({"sessionProperties": [], "session_properties": []}, "one of the two"),
        ({"tables": [{"role": "x", "privileges": []}]}, "the catalog keeps none"),
        ({"authorization": [{"original_user": "a"}]}, "needs new_user or new_role"),
        ([], "Expected `object`"),
    ],
)
def test_wrong_files(ruled: Ruled, tmp_path: Path, rules: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError) as failure:
        secured(ruled, tmp_path, rules)
    assert problem in str(failure.value)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"iceberg.security": "ranger"}, "lab.properties:2: invalid value 'ranger' for 'iceberg.security'"),
        ({"iceberg.security": "file"}, "lab.properties:2: property 'security.config-file' is missing"),
        ({"iceberg.security": "file", "security.config-file": "none.json"}, "no such file"),
        ({"security.config-file": "lab.json"}, "is not 'file'"),
        (
            {"iceberg.security": "file", "security.config-file": "lab.json", "security.refresh-period": "0s"},
            "Invalid duration value '0s' for property 'security.refresh-period'",
        ),
    ],
)
def test_wrong_properties(tmp_path: Path, said: Mapping[str, str], problem: str) -> None:
    (tmp_path / "lab.json").write_text("{}")
    with pytest.raises(ConfigurationError) as failure:
        load_access_policy(tmp_path, Files(tmp_path, said), authenticated=False)
    assert problem in str(failure.value)


def test_the_catalog_knows_the_properties(tmp_path: Path) -> None:
    said = {"iceberg.security": "file", "security.config-file": "x", "security.refresh-period": "1s"}
    assert read_settings("lab", Files(tmp_path, said).properties()["lab"], tmp_path).catalog == "lab"


def test_session_properties_of_requests(ruled: Ruled, tmp_path: Path) -> None:
    secured(ruled, tmp_path, PRESTO)
    control = ruled.catalogs.access.control
    control.check_can_set_catalog_session_property(Identity("bob"), "lab", "commit_retries")
    with pytest.raises(AccessDeniedError):
        control.check_can_set_catalog_session_property(Identity("bob"), "lab", "other")

"""Several access controls at once, and what stays of refusals."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from coordinator.security.access_control.audit import audit
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.access_control.combined import Combined
from coordinator.security.access_control.file_rules import FileRules
from coordinator.security.access_control.load import load_access_control, load_access_policy
from coordinator.security.access_control.rules import read_rules
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError
from shared.spi.access_control import AccessDeniedError, Identity
from shared.spi.accesses import DropTable, TableName
from tests.security.access.conftest import Ruled

TINY = {"catalog": "tpch", "schema": "tiny"}


def rules(tmp_path: Path, name: str, text: str) -> FileRules:
    file = tmp_path / name
    file.write_text(text)
    read = read_rules(file)
    return FileRules(lambda: read)


@pytest.mark.slow
def test_all_must_allow(ruled: Ruled, tmp_path: Path) -> None:
    nation = '{"tables": [{"table": "nation", "privileges": ["SELECT"], "filter": "regionkey = 1"}]}'
    others = '{"tables": [{"table": "nation|people", "privileges": ["SELECT"], "filter": "true",'
    others += ' "columns": [{"name": "name", "mask": "\'x\'"}]}]}'
    ruled.control(Combined([rules(tmp_path, "a", nation), rules(tmp_path, "b", others), AllowAll()]))
    assert ruled.rows("bob", "SELECT count(*), max(name) FROM nation", **TINY) == [(5, "x")]
    assert ruled.refused("bob", "SELECT id FROM people").startswith("Access Denied: Cannot select from columns [id]")
    assert ruled.rows("bob", "SHOW TABLES FROM tpch.tiny") == [("nation",)]


def test_one_mask_a_column(ruled: Ruled, tmp_path: Path) -> None:
    text = '{"tables": [{"privileges": ["SELECT"], "columns": [{"name": "name", "mask": "name"}]}]}'
    ruled.control(Combined([rules(tmp_path, "a", text), rules(tmp_path, "b", text)]))
    assert ruled.refused("bob", "SELECT 1 FROM nation", **TINY) == "Multiple masks defined for tpch.tiny.nation.name"


def test_files_that_config_properties_names(ruled: Ruled, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"tables": []}')
    (tmp_path / "a.properties").write_text("access-control.name=file\nsecurity.config-file=rules.json\n")
    (tmp_path / "b.properties").write_text("access-control.name=read-only\n")
    (tmp_path / "access-control.properties").write_text("access-control.name=allow-all\n")
    config = tmp_path / "config.properties"
    config.write_text("access-control.config-files=a.properties,b.properties\n")
    made = load_access_control(tmp_path, authenticated=False)
    assert type(made) is Combined
    assert made.rules_version is not None
    bob, table = Identity("bob"), TableName("c", "s", "t")
    with pytest.raises(AccessDeniedError, match="Cannot drop table"):
        made.check_access(bob, DropTable(table))
    assert load_access_policy(tmp_path, ruled.catalogs, authenticated=False).hides_objects
    config.write_text("access-control.config-files=a.properties\n")
    assert type(load_access_control(tmp_path, authenticated=False)) is FileRules
    config.write_text("access-control.config-files=missing.properties\n")
    with pytest.raises(ConfigurationError, match="no such file"):
        load_access_control(tmp_path, authenticated=False)


def test_who_what_and_why(tmp_path: Path) -> None:
    control = rules(tmp_path, "a", '{"tables": [{"privileges": ["SELECT"]}]}')
    with pytest.raises(AccessDeniedError) as failure:
        control.check_access(Identity("bob"), DropTable(TableName("c", "s", "t")))
    error = pickle.loads(pickle.dumps(failure.value))  # as it comes from a planner process
    with capture_logs() as lines:
        audit(error, Identity("bob", "bob@lake"), "q1")
        audit(ProcessionError(ErrorCode.NOT_FOUND, "x"), Identity("bob"))
    [line] = lines
    assert {key: line[key] for key in ("user", "principal", "access", "object", "rule", "query_id", "problem")} == {
        "user": "bob",
        "principal": "bob@lake",
        "access": "DropTable",
        "object": "c.s.t",
        "rule": "tables[0]",
        "query_id": "q1",
        "problem": "Cannot drop table c.s.t",
    }

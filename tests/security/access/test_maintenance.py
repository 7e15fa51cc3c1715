"""What users learn of the maintenance service, and who may tell it what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from coordinator.maintenance.inspection import Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.policies import Policy
from coordinator.maintenance.service import MaintenanceService
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.statements import OwnStatements
from coordinator.maintenance.store import MaintenanceStore
from coordinator.maintenance.view import ServiceView
from shared.errors import ProcessionError
from tests.security.access.conftest import Ruled

EXECUTE = [{"privileges": ["EXECUTE"]}]
SELECT = {"privileges": ["SELECT"]}
SEEN = "SELECT table_name FROM system.maintenance.{} ORDER BY 1"

_OFF = {"system.snapshot-expiry": {"enable": False}}
POLICIES = tuple(
    Policy.model_validate({"name": name, "tables": tables, **_OFF})
    for name, tables in (("all", "lab"), ("of_people", "lab.db.people"), ("of_others", "lab.db.o*"), ("gone", "lab.x"))
)


@pytest.fixture
def kept(ruled: Ruled, tmp_path: Path) -> Iterator[Ruled]:
    """Both tables of ``lab.db`` were looked at, and there is a job of each."""
    settings = MaintenanceSettings.model_validate({"maintenance.enabled": True})
    lake, store = Lake(ruled.catalogs, ("lab",)), MaintenanceStore(tmp_path / "m.db")
    looker = Inspector(settings, lambda: (), lake, store)
    statements = cast(OwnStatements, None)  # nothing runs here
    service = MaintenanceService(settings, lake, looker, statements, store)
    ruled.catalogs.maintenance = ServiceView(settings, lambda: POLICIES, ruled.catalogs, lake, looker, store, service)
    for key in lake.tables()[0]:
        looker.look(key)
    yield ruled
    ruled.catalogs.maintenance = None
    store.close()


@pytest.mark.parametrize("table", ["tables", "decisions"])
def test_a_table_that_is_not_seen_whole_is_not_told_of(kept: Ruled, table: str) -> None:
    """Reasons name values of partitions, and numbers count rows behind filters."""
    sql = SEEN.format(table)
    everything = {**SELECT, "user": "alice"}
    bob = {"user": "bob", **SELECT, "catalog": "lab"}
    for rule in (
        {**bob, "table": "people", "filter": "id > 1"},
        {**bob, "table": "people", "columns": [{"name": "salary", "mask": "NULL"}]},
        {**bob, "table": "people", "columns": [{"name": "salary", "allow": False}]},
        {"user": "bob", "catalog": "lab", "table": "people", "privileges": []},
    ):
        others = {**bob, "table": "others"}
        system = {**SELECT, "catalog": "system"}
        kept.rules(tables=[rule, others, everything, system], procedures=EXECUTE)
        assert kept.rows("alice", sql) == [("others",), ("people",)]
        assert kept.rows("bob", sql) == [("others",)], rule
        asked = kept.rows("bob", "CALL lab.system.maintain(dry_run => true)")
        assert {row[3] for row in asked} == {"others"}
        with pytest.raises(ProcessionError, match=r"Table not found: lab\.db\.people"):
            kept.rows("bob", "CALL lab.system.explain_maintenance(schema => 'db', table_name => 'people')")


@pytest.mark.parametrize("call", ["maintain()", "pause()", "resume()"])
def test_only_who_may_end_its_statements_may_tell_it_what_to_do(kept: Ruled, call: str) -> None:
    rules = [{"user": "ops", "allow": ["view", "kill"]}, {"allow": ["execute"]}]
    kept.rules(tables=[SELECT], procedures=EXECUTE, queries=rules)
    with pytest.raises(ProcessionError, match="Access Denied: Cannot kill query"):
        kept.rows("bob", f"CALL lab.system.{call}")


def test_a_pause_of_who_may(kept: Ruled) -> None:
    kept.rules(tables=[SELECT], procedures=EXECUTE, queries=[{"user": "ops", "allow": ["execute", "view", "kill"]}])
    assert kept.rows("ops", "CALL lab.system.pause(schema => 'db', reason => 'x')") == [("lab.db",)]
    assert kept.rows("ops", "CALL lab.system.resume(schema => 'DB')") == [("lab.db",)]


def test_procedures_need_their_right_to_execute(kept: Ruled) -> None:
    kept.rules(tables=[SELECT], procedures=[{"user": "ops", "privileges": ["EXECUTE"]}])
    for call in ("maintain(dry_run => true)", "pause()", "resume()", "explain_maintenance('lab', 'db', 'people')"):
        assert "Access Denied: Cannot execute procedure" in kept.refused("bob", f"CALL lab.system.{call}")


def test_policies_of_tables_that_are_not_seen_are_not_told(kept: Ruled) -> None:
    """They name them, and their filters name columns and values."""
    hidden = {"user": "bob", "table": "people", "privileges": []}
    queries = [{"user": "ops", "allow": ["execute", "view", "kill"]}, {"allow": ["execute"]}]
    kept.rules(tables=[hidden, SELECT], procedures=EXECUTE, queries=queries)
    sql = "SELECT DISTINCT policy FROM system.maintenance.policies WHERE policy <> 'default' ORDER BY 1"
    assert kept.rows("bob", sql) == [("all",), ("of_others",)]
    assert kept.rows("alice", sql) == [("all",), ("of_others",), ("of_people",)]
    assert kept.rows("ops", sql) == [("all",), ("gone",), ("of_others",), ("of_people",)]

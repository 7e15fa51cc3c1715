"""etc/resource-groups.properties on a whole service: groups, and a changed file while statements wait."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyiceberg.types import StringType

from tests.e2e.service import Service, start_service, write_etc

pytestmark = pytest.mark.slow


def groups(limit: int) -> str:
    root = {"name": "g", "softMemoryLimit": "50%", "hardConcurrencyLimit": limit, "maxQueued": 9}
    return json.dumps({"rootGroups": [root], "selectors": [{"group": "g"}]})


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[tuple[Service, Path]]:
    """A service whose only group lets nothing run, and the file that says so."""
    etc = write_etc(tmp_path / "etc", spark=False)
    file = etc / "groups.json"
    file.write_text(groups(0))
    (etc / "resource-groups.properties").write_text(
        "resource-groups.configuration-manager=file\n"
        "resource-groups.config-file=etc/groups.json\n"
        "resource-groups.refresh-interval=50ms\n"
    )
    service = start_service(etc, tmp_path / "data", tmp_path / "log")
    yield service, file
    assert service.stop() == 0, (tmp_path / "log").read_text()


def test_a_changed_file_counts_and_a_wrong_one_does_not(closed: tuple[Service, Path], tmp_path: Path) -> None:
    service, file = closed
    page = httpx.post(
        f"{service.url}/v1/statement", content="SELECT 1", headers={"X-Presto-User": "ann"}, timeout=60
    ).json()
    while page["stats"]["state"] in ("WAITING_FOR_PREREQUISITES",):
        page = _next(page)
    assert page["stats"]["state"] == "QUEUED"
    assert service.get("/v1/resourceGroupState/g")["softMemoryLimit"] == "512MB"

    file.write_text(groups(1)[:-1])
    _wait(lambda: "resource groups stay as they are" in (tmp_path / "log").read_text())
    assert service.get("/v1/resourceGroupState/g")["numQueuedQueries"] == 1

    file.write_text(groups(1))
    while "nextUri" in page:
        page = _next(page)
        assert page["stats"]["state"] != "FAILED"
    assert service.get("/v1/resourceGroupState/g")["hardConcurrencyLimit"] == 1
    refused = httpx.post(
        f"{service.url}/v1/validate", content="SELECT nope", headers={"X-Presto-User": "ann"}, timeout=60
    )
    assert (refused.status_code, refused.json()["verdict"]) == (200, "refused")


def _wait(condition: object) -> None:
    assert callable(condition)
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_a_plan_that_waited_is_made_again_only_if_its_tables_changed(closed: tuple[Service, Path]) -> None:
    """Three statements are planned and checked, then wait; meanwhile one table changes, one goes, one stays."""
    service, file = closed
    rows = pa.table({"a": pa.array([1], pa.int64())})
    changing = service.create("changing", [rows])
    service.create("dropped", [rows])
    service.create("same", [rows])
    pages = [
        _queued(service, "DESCRIBE iceberg.db.changing"),
        _queued(service, "EXPLAIN SELECT a FROM iceberg.db.dropped"),
        _queued(service, "EXPLAIN SELECT a FROM iceberg.db.same"),
    ]
    refused = _poll(service, "SELECT nope FROM iceberg.db.same", until=("FAILED",))
    assert "nope" in refused["error"]["message"], "a bad statement fails although nothing may run"
    planned = _planned(service)
    with changing.update_schema() as update:
        update.add_column("b", StringType())
    service.lake().drop_table("db.dropped")

    file.write_text(groups(9))
    changed, dropped, same = (_finish(page) for page in pages)
    assert [row[0] for row in changed["data"]] == ["a", "b"]
    assert dropped["error"]["message"] == "Table iceberg.db.dropped does not exist"
    assert "TableScan" in same["data"][0][0]
    assert _planned(service) == planned + 1, "one was planned again, one was refused, one went on as it was"


def _next(page: dict[str, Any]) -> dict[str, Any]:
    """What is known now: a statement that waits would hold its answer back for a second."""
    uri = httpx.URL(page["nextUri"]).copy_merge_params({"maxWait": "20ms"})
    found: dict[str, Any] = httpx.get(uri, timeout=60).json()
    return found


def _planned(service: Service) -> int:
    metrics = httpx.get(service.url + "/metrics", timeout=60).text
    (count,) = re.findall(r'procession_planner_statements_total\{outcome="planned"\} (\d+)', metrics)
    return int(count)


def _queued(service: Service, sql: str) -> dict[str, Any]:
    return _poll(service, sql, until=("QUEUED",))


def _poll(service: Service, sql: str, until: tuple[str, ...]) -> dict[str, Any]:
    page = httpx.post(f"{service.url}/v1/statement", content=sql, headers={"X-Presto-User": "ann"}, timeout=60).json()
    while page["stats"]["state"] not in until:
        page = _next(page)
    return page


def _finish(page: dict[str, Any]) -> dict[str, Any]:
    """The page with the result or the error."""
    found = page
    while "nextUri" in page:
        page = _next(page)
        found = page if "data" in page or "error" in page else found
    return found


def test_principals_that_a_proxy_names_choose_the_group(tmp_path: Path) -> None:
    limits = {"softMemoryLimit": "50%", "hardConcurrencyLimit": 5, "maxQueued": 9}
    team = {"name": "${team}", **limits}
    document = {
        "rootGroups": [{"name": "teams", **limits, "subGroups": [team]}, {"name": "others", **limits}],
        "selectors": [{"principal": "[^@]+@(?<team>[a-z]+)", "group": "teams.${team}"}, {"group": "others"}],
    }
    etc = write_etc(tmp_path / "etc", spark=False)
    (etc / "groups.json").write_text(json.dumps(document))
    (etc / "resource-groups.properties").write_text("resource-groups.config-file=etc/groups.json\n")
    with (etc / "config.properties").open("a") as config:
        config.write("http-server.authentication.principal-header=X-Forwarded-User\n")
    service = start_service(etc, tmp_path / "data", tmp_path / "log")
    try:
        ann = {"X-Presto-User": "ann"}
        others = {"X-Principal": "ann@lake"}
        chosen = [_group(service, ann | more) for more in ({}, {"X-Forwarded-User": "ann@lake"}, others)]
        assert chosen == [["others"], ["teams", "lake"], ["others"]]
        of_etl = ann | {"X-Forwarded-User": "ann@etl"}
        done = _finish(httpx.post(f"{service.url}/v1/statement", content="SELECT 1", headers=of_etl, timeout=60).json())
        info = service.get(f"/v1/query/{done['id']}")
        assert (info["session"]["principal"], info["resourceGroupId"]) == ("ann@etl", ["teams", "etl"])
    finally:
        assert service.stop() == 0, (tmp_path / "log").read_text()


def _group(service: Service, headers: dict[str, str]) -> list[str]:
    verdict = httpx.post(f"{service.url}/v1/validate", content="SELECT 1", headers=headers, timeout=60).json()
    found: list[str] = verdict["resourceGroupId"]
    return found


def test_every_procedure_that_executors_run_is_queued_as_distributed(tmp_path: Path) -> None:
    """With its plan, which is checked, and by its name where statements are planned behind the queue.

    Its group lets nothing run: no Spark has to start to see where statements wait.
    """
    limits = {"softMemoryLimit": "50%", "hardConcurrencyLimit": 5, "maxQueued": 9}
    document = {
        "rootGroups": [{"name": "maintenance", **limits, "hardConcurrencyLimit": 0}, {"name": "others", **limits}],
        "selectors": [{"queryType": "CALL_DISTRIBUTED_PROCEDURE", "group": "maintenance"}, {"group": "others"}],
    }
    etc = write_etc(tmp_path / "etc", spark=False)
    (etc / "groups.json").write_text(json.dumps(document))
    (etc / "resource-groups.properties").write_text("resource-groups.config-file=etc/groups.json\n")
    service = start_service(etc, tmp_path / "data", tmp_path / "log")
    try:
        service.create("kept", [pa.table({"a": pa.array([1], pa.int64())})])
        for name in ("auto_maintain", "convert_equality_deletes", "rewrite_position_delete_files", "copy_to_table"):
            more = ", new_table => 'db.copy'" if name == "copy_to_table" else ""
            call = f"CALL iceberg.system.{name}(table => 'db.kept'{more})"
            verdict = httpx.post(
                f"{service.url}/v1/validate", content=call, headers={"X-Presto-User": "ann"}, timeout=60
            ).json()
            assert verdict["resourceGroupId"] == ["maintenance"], verdict
            assert verdict["nativeVerdict"] == "accepted", name
            assert _waits_in(service, call, eager=False) == ["maintenance"]
        gone = "CALL iceberg.system.auto_maintain(table => 'db.gone')"
        assert _waits_in(service, gone, eager=True) == ["maintenance"]
        assert _waits_in(service, "CALL iceberg.system.show_snapshots(table => 'db.kept')", eager=False) == ["others"]
        (plan,) = _finish(_poll(service, f"EXPLAIN {call}", until=("RUNNING", "FINISHED")))["data"]
        assert "CallDistributedProcedure" in plan[0]
    finally:
        assert service.stop() == 0, (tmp_path / "log").read_text()


def _waits_in(service: Service, sql: str, *, eager: bool) -> list[str]:
    """The group of a statement that waits, or has ended."""
    headers = {"X-Presto-User": "ann", "X-Presto-Session": f"eager_plan_validation_enabled={str(eager).lower()}"}
    page = httpx.post(f"{service.url}/v1/statement", content=sql, headers=headers, timeout=60).json()
    while page["stats"]["state"] not in ("QUEUED", "FINISHED", "FAILED"):
        page = _next(page)
    found: list[str] = service.get(f"/v1/query/{page['id']}")["resourceGroupId"]
    if "nextUri" in page:
        httpx.delete(page["nextUri"], timeout=60)
    return found

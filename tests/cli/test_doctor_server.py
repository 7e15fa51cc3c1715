"""``procession doctor --server`` names what is wrong with a service that runs."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from coordinator.cli.client import NOBODY, Login
from coordinator.cli.doctor_server import _engines, examine_server, judge
from coordinator.cli.main import app
from coordinator.engine.spark.named_writes import LEAVES_FILES
from shared.errors import ErrorCode, ProcessionError
from tests.protocol.conftest import Server, running_server

WELL = {
    "procession_planner_processes": [({"kind": "alive"}, 2.0), ({"kind": "size"}, 2.0)],
    "procession_native_check_breaker": [({"state": "open"}, 0.0), ({"state": "closed"}, 1.0)],
    "procession_events_total": [({"listener": "history", "outcome": "delivered"}, 9.0)],
    "presto_QueryManager_QueuedQueries": [({}, 0.0)],
    "presto_QueryManager_InternalFailures_FifteenMinute_Count": [({}, 0.0)],
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that takes a second on a busy machine is a finding, and none of these tests is about it."""
    monkeypatch.setattr("coordinator.cli.doctor_server._SLOW", 60.0)


def problems(server: str, login: Login = NOBODY) -> dict[str, str]:
    return {f.name: f.detail for f in examine_server(server, "ann", login) if f.fix is not None}


def test_a_service_that_is_well_has_no_problem(server: Server) -> None:
    names = [finding.name for finding in examine_server(server.url, "ann", Login())]
    assert {"server", "clock", "state", "events", "queue", "failures", "statement"} <= set(names)
    assert problems(server.url.removeprefix("http://")) == {}
    ran = CliRunner().invoke(app, ["doctor", "--server", server.url])
    assert (ran.exit_code, ran.output.splitlines()[-1]) == (0, "nothing is missing"), ran.output


def test_failures_and_a_drain_are_told(server: Server) -> None:
    server.pages("PLAN defect")
    assert "1 internal ones" in problems(server.url)["failures"]
    server.dispatcher.refusal = ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down")
    try:
        assert "shutting down" in problems(server.url)["statement"]
    finally:
        server.dispatcher.refusal = None


@pytest.mark.parametrize("leaves", [True, False])
def test_a_spark_of_others_without_our_classes_is_a_problem(leaves: bool) -> None:
    spark = {"state": "UP", "restarts": 0, "givenUp": 0, "problem": "", "failedWritesLeaveFiles": leaves}
    answer = httpx.MockTransport(lambda _request: httpx.Response(200, json={"spark": spark}))
    with httpx.Client(transport=answer) as client:
        found = [finding for finding in _engines(client, "http://there") if finding.fix is not None]
    assert [finding.detail for finding in found] == [LEAVES_FILES] * leaves
    assert all("procession-writes.jar" in str(finding.fix) for finding in found)


def test_nobody_there_and_somebody_else(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    assert list(problems(f"http://127.0.0.1:{free}")) == ["server"]
    assert list(problems("http://[")) == ["server"]
    assert "not https" in problems("http://127.0.0.1:1", Login(password="x"))["server"]
    assert "no certificates" in problems("https://127.0.0.1:1", Login(truststore=tmp_path / "none"))["server"]


def test_what_the_metrics_say() -> None:
    assert [finding.name for finding in judge(WELL) if finding.fix is not None] == []
    ill = WELL | {
        "procession_planner_processes": [({"kind": "alive"}, 1.0), ({"kind": "size"}, 2.0)],
        "procession_native_check_breaker": [({"state": "open"}, 1.0)],
        "procession_rule_file_wrong": [({"file": "rules.json"}, 1.0)],
        "procession_events_total": [({"listener": "lineage", "outcome": "dropped"}, 7.0)],
        "presto_QueryManager_QueuedQueries": [({}, 500.0)],
    }
    found = {finding.name: finding.detail for finding in judge(ill) if finding.fix is not None}
    assert found == {
        "planners": "1 of 2 alive",
        "sidecar": "does not answer",
        "rules": "wrong: rules.json",
        "events": "7 dropped for lineage",
        "queue": "500 statements wait",
    }

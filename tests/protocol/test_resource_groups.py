"""Resource groups over HTTP: who is let in, who waits, what is told of the groups."""

from __future__ import annotations

import json

import pytest

from coordinator.dispatch.settings import DispatchSettings
from coordinator.resource_groups.specification_file import parse_specification

SETTINGS = DispatchSettings(sweep_interval=0.05)


def leaf(name: str, **changes: object) -> dict[str, object]:
    return {"name": name, "softMemoryLimit": "100%", "hardConcurrencyLimit": 1, "maxQueued": 1} | changes


SPEC = parse_specification(
    json.dumps(
        {
            "rootGroups": [
                leaf("global", hardConcurrencyLimit=9, maxQueued=9, schedulingPolicy="weighted_fair", subGroups=[
                    leaf("bi", perQueryLimits={"executionTimeLimit": "10s", "cpuTimeLimit": "30s"}),
                    leaf("users", hardConcurrencyLimit=9, maxQueued=9, subGroups=[leaf("${USER}")]),
                ]),
            ],
            "selectors": [
                {"source": "bi-.*", "group": "global.bi"},
                {"user": "[a-z.]+", "group": "global.users.${USER}"},
            ],
        }
    ).encode()
)  # fmt: skip


def of(user: str, source: str = "cli") -> dict[str, str]:
    return {"X-Presto-User": user, "X-Presto-Source": source}


@pytest.fixture
def grouped(start_server):
    with start_server(settings=SETTINGS, group=SPEC) as server:
        yield server


def test_each_user_has_a_group_of_their_own(grouped):
    first = grouped.until(grouped.post("SELECT slow", of("ann")), "RUNNING").json()
    queued = grouped.until(grouped.post("SELECT 1", of("ann")), "QUEUED").json()
    other = grouped.until(grouped.post("SELECT slow", of("bob")), "RUNNING").json()
    refused = grouped.pages("SELECT 1", of("ann"))[-1].json()["error"]
    assert (refused["errorName"], refused["message"]) == (
        "QUERY_QUEUE_FULL", 'Too many queued queries for "global.users.ann"',
    )  # fmt: skip

    users = grouped.client.get("/v1/resourceGroupState/global/users").json()
    assert {
        tuple(g["id"]): (g["numRunningQueries"], g["numQueuedQueries"], g["state"]) for g in users["subGroups"]
    } == {
        ("global", "users", "ann"): (1, 1, "FULL"),
        ("global", "users", "bob"): (1, 0, "CAN_QUEUE"),
    }
    assert {q["queryId"] for q in users["runningQueries"]} == {first["id"], other["id"]}
    assert users["runningQueries"][0]["resourceGroupId"] == ["global", "users", "ann"]
    root = grouped.client.get("/v1/resourceGroupState/global?includeQueryInfo=false&summarizeSubgroups=false").json()
    assert "runningQueries" not in root
    assert (root["numRunningQueries"], root["numQueuedQueries"], root["schedulingPolicy"]) == (2, 1, "WEIGHTED_FAIR")
    assert [len(g["subGroups"]) for g in root["subGroups"]] == [2]
    static = grouped.client.get("/v1/resourceGroupState/global.users?includeStaticSubgroupsOnly=true").json()
    assert static["subGroups"] == []
    assert [g["id"] for g in grouped.client.get("/v1/resourceGroupState").json()] == [["global"]]

    grouped.client.delete(first["nextUri"])
    grouped.until(grouped.client.get(queued["nextUri"]), "FINISHED")
    grouped.client.delete(other["nextUri"])


def test_names_with_dots_and_unknown_groups(grouped):
    running = grouped.until(grouped.post("SELECT slow", of("a.b")), "RUNNING").json()
    assert grouped.client.get("/v1/resourceGroupState/global/users/a.b").json()["id"] == ["global", "users", "a.b"]
    assert grouped.client.get("/v1/resourceGroupState/global/nobody").status_code == 404
    grouped.client.delete(running["nextUri"])
    grouped.wait_for(lambda: grouped.client.get("/v1/resourceGroupState/global/users/a.b").status_code == 404)


def test_no_selector_matches(grouped):
    error = grouped.pages("SELECT 1", of("NOBODY"))[-1].json()["error"]
    assert (error["errorName"], error["errorCode"], error["errorType"]) == (
        "MISSING_RESOURCE_GROUP_SELECTOR", 131088, "INTERNAL_ERROR",
    )  # fmt: skip
    assert error["message"] == "Query did not match any selection rule"


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (9, None),
        (11, "Query exceeded the maximum execution time limit of 10.00s defined at the RESOURCE_GROUP level"),
    ],
)  # fmt: skip
def test_limits_of_each_query(grouped, seconds, message):
    running = grouped.until(grouped.post("SELECT slow", of("ann", "bi-tool")), "RUNNING").json()
    query = grouped.dispatcher.registry.get(running["id"])
    grouped.clock.advance(seconds)
    grouped.sweep(query)
    error = None if query.error is None else (query.error.code.name, query.error.message)
    assert error == (message and ("EXCEEDED_TIME_LIMIT", message))
    grouped.client.delete(running["nextUri"])


def test_cpu_limit_counts_the_time_of_tasks(grouped):
    headers = of("ann") | {"X-Presto-Session": "query_max_cpu_time=30s"}
    running = grouped.until(grouped.post("SELECT slow", headers), "RUNNING").json()
    query = grouped.dispatcher.registry.get(running["id"])
    grouped.wait_for(lambda: query.progress.running_splits == 2)
    grouped.clock.advance(14)
    grouped.sweep(query)
    assert not query.state.done
    assert 27 < query.cpu_seconds < 30
    grouped.clock.advance(2)
    grouped.sweep(query)
    assert query.error.code.name == "EXCEEDED_CPU_LIMIT"
    assert query.error.message == "Exceeded CPU limit of 30.00s defined at the QUERY level"
    ended = query.cpu_seconds
    grouped.clock.advance(100)
    assert query.cpu_seconds == ended


@pytest.mark.slow
def test_higher_priority_goes_first(start_server):
    spec = parse_specification(
        json.dumps(
            {"rootGroups": [leaf("g", maxQueued=9, schedulingPolicy="query_priority")], "selectors": [{"group": "g"}]}
        ).encode()
    )
    with start_server(settings=SETTINGS, group=spec) as server:
        running = server.until(server.post("SELECT slow"), "RUNNING").json()
        ids = []
        for priority in ("1", "7", "3"):
            headers = {"X-Presto-User": "ann", "X-Presto-Session": f"query_priority={priority}"}
            ids.append(server.until(server.post("SELECT slow", headers), "QUEUED").json())
        server.client.delete(running["nextUri"])
        seventh = server.until(server.client.get(ids[1]["nextUri"]), "RUNNING").json()
        states = {q["queryId"]: q["state"] for q in server.client.get("/v1/query").json()}
        assert [states[page["id"]] for page in ids] == ["QUEUED", "RUNNING", "QUEUED"]
        for page in (ids[0], ids[2], seventh):
            server.client.delete(page["nextUri"])

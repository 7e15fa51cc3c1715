"""The endpoints around statements: shapes as a real coordinator's, drain and shutdown, pages for people."""

from __future__ import annotations

import json

import pytest


def test_info(server):
    info = server.client.get("/v1/info").json()
    assert info.pop("uptime")[-1] in "smh"
    assert info == {
        "nodeVersion": {"version": "0.1.0"},
        "environment": "test",
        "coordinator": True,
        "starting": False,
    }
    assert server.client.get("/v1/info/coordinator").status_code == 200
    assert server.client.get("/v1/info/state").json() == "ACTIVE"
    assert server.client.get("/v1/info/stats").json()["nodeState"] == "ACTIVE"


def test_status(server):
    status = server.client.get("/v1/status")
    assert status.json()["nodeId"] == "test-node"
    assert status.json()["heapUsed"] > 1 << 20
    head = server.client.head("/v1/status")
    assert (head.status_code, head.content) == (200, b"")


def put_state(server, state):
    return server.client.put("/v1/info/state", content=state, headers={"Content-Type": "application/json"})


def test_drain_and_back(start_server):
    with start_server() as server:
        assert put_state(server, '"INACTIVE"').status_code == 200
        assert server.client.get("/v1/info/coordinator").status_code == 404
        error = server.pages("SELECT 1")[-1].json()["error"]
        assert (error["errorName"], error["retriable"]) == ("SERVER_SHUTTING_DOWN", True)
        assert put_state(server, '"ACTIVE"').status_code == 200
        assert server.pages("SELECT 1")[-1].json()["data"] == [[1]]
        for body in ("SHUTTING_DOWN", '"NOPE"', "", "3"):
            assert put_state(server, body).status_code == 400


@pytest.mark.slow
def test_shutdown_waits_for_running_statements_and_unread_rows(start_server):
    with start_server() as server:
        running = server.until(server.post("SELECT slow"), "RUNNING")
        unread = server.client.get(server.post("SELECT many").json()["nextUri"])
        assert put_state(server, '"SHUTTING_DOWN"').status_code == 200
        assert put_state(server, '"SHUTTING_DOWN"').status_code == 200
        refused = put_state(server, '"ACTIVE"')
        assert (refused.status_code, refused.text) == (400, "Cluster is shutting down")
        assert server.pages("SELECT 1")[-1].json()["error"]["message"] == "Server is shutting down"
        server.client.delete(running.json()["nextUri"])
        assert not server.stopped.wait(0.2)
        while "nextUri" in unread.json():
            unread = server.client.get(unread.json()["nextUri"])
        assert server.stopped.wait(60)


def test_query_list_and_detail(server):
    good = server.pages("SELECT 1", {"X-Presto-User": "ann", "X-Presto-Source": "s"})[-1].json()["id"]
    bad = server.pages("SELEC")[-1].json()["id"]
    listed = server.client.get("/v1/query?limit=2").json()
    assert [query["queryId"] for query in listed] == [bad, good]
    assert listed[0]["errorCode"] == {"code": 1, "name": "SYNTAX_ERROR", "type": "USER_ERROR", "retriable": False}
    assert listed[1]["session"]["user"] == "ann"
    assert listed[1]["resourceGroupId"] == ["global"]
    assert listed[1]["self"] == f"{server.url}/v1/query/{good}"
    failed = server.client.get("/v1/query?state=failed").json()
    assert {query["state"] for query in failed} == {"FAILED"}
    assert server.client.get("/v1/query?state=NOPE").status_code == 400
    assert server.client.get("/v1/query?limit=0").status_code == 400
    detail = server.client.get(f"/v1/query/{good}").json()
    assert detail["fieldNames"] == ["_col0"]
    assert detail["queryStats"]["outputPositions"] == 1
    assert server.client.get("/v1/query/nope").status_code == 410


def test_cluster_and_group_while_running(server):
    running = server.until(server.post("SELECT slow"), "RUNNING").json()
    assert server.client.get("/v1/cluster").json()["runningQueries"] == 1
    group = server.client.get("/v1/resourceGroupState/global").json()
    assert [query["queryId"] for query in group["runningQueries"]] == [running["id"]]
    assert [query["queryId"] for query in server.client.get("/v1/queryState").json()] == [running["id"]]
    assert server.client.get("/v1/resourceGroupState/nope").status_code == 404
    server.client.delete(running["nextUri"])


def test_info_uri_leads_to_a_page(server):
    last = server.pages("SELECT <script>")[-1].json()
    page = server.client.get(last["infoUri"])
    assert page.headers["content-type"].startswith("text/html")
    assert "SYNTAX_ERROR" in page.text
    assert "<script>" not in page.text
    assert "SELECT &lt;script&gt;" in page.text
    as_json = server.client.get(last["infoUri"], headers={"Accept": "application/json"}).json()
    assert as_json["state"] == "FAILED"
    assert server.client.get("/ui/query.html?nope").status_code == 404
    assert last["id"] in server.client.get("/ui/").text
    assert server.client.get("/", follow_redirects=False).headers["location"] == "/ui/"


def test_metrics(server):
    server.pages("SELECT 1")
    server.pages("SELEC")
    text = server.client.get("/metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines['procession_queries_ended_total{error="FINISHED"}']) >= 1
    assert float(lines['procession_queries_ended_total{error="SYNTAX_ERROR"}']) >= 1
    assert lines['procession_resource_group_queries{group="global",kind="running"}'] == "0.0"
    assert 'procession_verb_seconds_total{verb="optimize"}' in lines


@pytest.mark.parametrize("path", ["/v1/nope", "/v1/query/a/b/c"])
def test_unknown_paths(server, path):
    assert server.client.get(path).status_code == 404
    assert "detail" in json.loads(server.client.get(path).text)

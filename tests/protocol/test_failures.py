"""Every way in which a statement can fail is an answer that a client can read."""

from __future__ import annotations

import pytest

from coordinator.dispatch.settings import DispatchSettings
from coordinator.resource_groups.specification import global_group

USER = {"X-Presto-User": "t"}


def error_of(server, sql):
    last = server.pages(sql)[-1].json()
    assert last["stats"]["state"] == "FAILED"
    assert "nextUri" not in last
    assert "data" not in last
    return last["error"]


def test_located_error(server):
    error = error_of(server, "SELEC 1")
    assert error == {
        "message": "line 1:1: mismatched input 'SELEC'",
        "errorCode": 1,
        "errorName": "SYNTAX_ERROR",
        "errorType": "USER_ERROR",
        "retriable": False,
        "errorLocation": {"lineNumber": 1, "columnNumber": 1},
        "failureInfo": {
            "type": "com.facebook.presto.sql.parser.ParsingException",
            "message": "line 1:1: mismatched input 'SELEC'",
            "suppressed": [],
            "stack": [],
            "errorLocation": {"lineNumber": 1, "columnNumber": 1},
        },
    }


def test_failure_after_rows_were_produced(server):
    error = error_of(server, "SELECT 1/0")
    assert (error["errorCode"], error["message"]) == (8, "/ by zero")
    assert "errorLocation" not in error


def test_checker_veto_comes_before_the_queue(server):
    last = server.pages("SELECT vetoed")[-1].json()
    assert last["error"]["message"] == "Error from native plan checker: no"
    info = server.client.get(f"/v1/query/{last['id']}").json()
    assert "queue" not in info["timeline"]
    assert "resourceGroupId" not in info


@pytest.mark.parametrize("sql", ["SELECT defect", "PLAN defect"])
def test_a_defect_is_a_failed_query_without_internals(server, sql):
    responses = server.pages(sql)
    error = responses[-1].json()["error"]
    assert (error["errorName"], error["errorCode"]) == ("GENERIC_INTERNAL_ERROR", 65536)
    assert error["message"].startswith("Internal error KeyError (error id ")
    for response in responses:
        assert "internals" not in response.text
        assert "Traceback" not in response.text
    assert server.client.get(f"/v1/query/{responses[-1].json()['id']}").json()["state"] == "FAILED"


def test_a_defect_in_a_route_is_a_text_500(server, monkeypatch):
    from coordinator.server import queries

    def broken(*_):
        raise RuntimeError("route internals")

    monkeypatch.setattr(queries, "basic_query_info", broken)
    server.pages("SELECT 1")
    response = server.client.get("/v1/query")
    assert response.status_code == 500
    assert response.headers["content-type"].startswith("text/plain")
    assert response.text.startswith("Internal error RuntimeError (error id ")


def test_a_text_over_the_limit_is_a_registered_failed_query(server):
    last = server.pages("SELECT '" + "x" * 2_000_000 + "'")[-1].json()
    assert last["error"]["errorName"] == "QUERY_TEXT_TOO_LARGE"
    assert last["error"]["message"] == "Query text length (2000009) exceeds the maximum length (1000000)"
    info = server.client.get(f"/v1/query/{last['id']}").json()
    assert len(info["query"]) == 10_000


def test_the_limit_counts_characters_not_bytes(start_server):
    with start_server(settings=DispatchSettings(max_query_length=10)) as server:
        assert server.pages("☃" * 10)[-1].json()["error"]["errorName"] == "SYNTAX_ERROR"
        assert server.pages("☃" * 11)[-1].json()["error"]["errorName"] == "QUERY_TEXT_TOO_LARGE"
        assert server.pages("☃" * 500)[-1].json()["error"]["errorName"] == "QUERY_TEXT_TOO_LARGE"


@pytest.mark.parametrize("body", [b"   ", b"\xff\xfe", b"\x00", b"-- only a comment"])
def test_odd_bodies_are_failed_queries(server, body):
    assert error_of(server, body)["errorName"] == "SYNTAX_ERROR"


def test_a_flag_that_is_none_is_a_bad_request(server):
    assert server.post("SELECT 1", binaryResults="maybe").status_code == 400


def test_queue_full(start_server):
    with start_server(group=global_group(hard_concurrency_limit=1, max_queued=1)) as server:
        running = server.until(server.post("SELECT slow"), "RUNNING")
        queued = server.until(server.post("SELECT 1"), "QUEUED")
        assert queued.json()["stats"]["queued"] is True
        error = error_of(server, "SELECT 1")
        assert (error["errorName"], error["message"]) == ("QUERY_QUEUE_FULL", 'Too many queued queries for "global"')
        assert server.client.get("/v1/resourceGroupState/global").json()["state"] == "FULL"
        server.client.delete(running.json()["nextUri"])
        assert server.until(queued, "FINISHED").json()["data"] == [[1]]

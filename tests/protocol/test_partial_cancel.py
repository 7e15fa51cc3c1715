"""``partialCancelUri``: the rest of the rows is left out, and the query ends well."""

from __future__ import annotations

import pytest

from coordinator.vocabulary.planned_statement import CallProcedure, RunLocally


def running(server, sql="SELECT endless"):
    return server.until(server.post(sql), "RUNNING")


def test_the_rows_so_far_are_the_result_and_a_warning_says_so(server):
    pages = [running(server)]
    uri = pages[0].json()["partialCancelUri"]
    for _ in range(2):
        assert server.client.delete(uri).status_code == 204
    while "nextUri" in pages[-1].json():
        pages.append(server.client.get(pages[-1].json()["nextUri"]))
    last = pages[-1].json()
    assert last["stats"]["state"] == "FINISHED"
    assert "error" not in last
    assert [row for page in pages for row in page.json().get("data", ())] == [[1], [2]]
    assert [warning["warningCode"] for warning in last["warnings"]] == [{"code": 6, "name": "PARTIAL_RESULT_WARNING"}]
    assert "partialCancelUri" not in last
    assert server.client.delete(uri).status_code == 204
    assert server.dispatcher.registry.get(last["id"]).error is None


def test_it_takes_the_secret_of_the_address(server):
    page = running(server).json()
    uri = page["partialCancelUri"]
    for wrong in (uri[:-1], uri.split("?")[0], uri.replace(page["id"], "20260101_000000_00000_nnnnn")):
        assert server.client.delete(wrong).status_code == 404
    assert server.client.get(uri).status_code == 404
    assert not server.dispatcher.registry.get(page["id"]).ends_early
    server.client.delete(page["nextUri"])


@pytest.mark.parametrize("work", [CallProcedure("c", "expire_snapshots", "COORDINATOR", {}), None])
def test_what_does_more_than_read_is_never_ended_early(server, work):
    page = running(server).json()
    query = server.dispatcher.registry.get(page["id"])
    planned = query.planned
    assert isinstance(planned.work, RunLocally)
    query.planned = None if work is None else type(planned)(planned.query_type, planned.columns, work)
    try:
        assert not query.end_early()
        again = server.client.get(page["nextUri"] + "&maxWait=10ms").json()
        assert "partialCancelUri" not in again
    finally:
        query.planned = planned
        server.client.delete(page["nextUri"])

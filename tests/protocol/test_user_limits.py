"""Limits of each user beside the global ones: nobody takes all the places, or the whole line."""

from __future__ import annotations

from coordinator.resource_groups.specification import global_group

OTHER = {"X-Presto-User": "other"}


def test_one_user_leaves_room_for_others(start_server):
    with start_server(group=global_group(4, 4, running_of_user=1, queued_of_user=1)) as server:
        running = server.until(server.post("SELECT slow"), "RUNNING")
        waiting = server.until(server.post("SELECT slow"), "QUEUED")
        refused = server.pages("SELECT 1")[-1].json()
        assert refused["error"]["errorName"] == "QUERY_QUEUE_FULL"
        theirs = server.pages("SELECT 1", OTHER)
        assert [page.json()["stats"]["state"] for page in theirs][-1] == "FINISHED"
        query = server.dispatcher.registry.get(theirs[0].json()["id"])
        assert query.resource_group == ("global", "other")
        for page in (running, waiting):
            server.client.delete(page.json()["nextUri"])


def test_the_global_limits_count_too(start_server):
    with start_server(group=global_group(1, 1, running_of_user=5)) as server:
        running = server.until(server.post("SELECT slow"), "RUNNING")
        waiting = server.until(server.post("SELECT slow", OTHER), "QUEUED")
        error = server.pages("SELECT 1", {"X-Presto-User": "third"})[-1].json()["error"]
        assert error["errorName"] == "QUERY_QUEUE_FULL"
        for page in (waiting, running):
            server.client.delete(page.json()["nextUri"])


def test_without_such_limits_there_is_one_group(server):
    query = server.dispatcher.registry.get(server.pages("SELECT 1")[0].json()["id"])
    assert query.resource_group == ("global",)

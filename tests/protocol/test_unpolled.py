"""Statements that nobody asks for are kept for minutes: a user may have some of them, by count and by size."""

from __future__ import annotations

from coordinator.dispatch.settings import DispatchSettings


def _error(server, answer):
    return server.client.get(answer.json()["nextUri"]).json().get("error", {}).get("errorName")


def test_a_user_may_have_so_many(start_server):
    with start_server(settings=DispatchSettings(max_unpolled=2)) as server:
        first, second, third = (server.post("SELECT 1") for _ in range(3))
        assert _error(server, third) == "QUERY_QUEUE_FULL"
        somebody = server.post("SELECT 1", headers={"X-Presto-User": "somebody-else"})
        server.until(somebody, "FINISHED")
        server.until(first, "FINISHED")
        server.client.delete(second.json()["nextUri"])
        for _ in range(5):  # both places are free again
            server.until(server.post("SELECT 1"), "FINISHED")


def test_a_user_may_have_so_much(start_server):
    long = f"SELECT 1 -- {'x' * 400_000}"
    with start_server(settings=DispatchSettings(max_unpolled_size=1 << 20)) as server:
        kept = [server.post(long) for _ in range(2)]
        assert _error(server, server.post(long)) == "QUERY_QUEUE_FULL"
        for answer in kept:
            server.client.delete(answer.json()["nextUri"])
        assert _error(server, server.post(long)) != "QUERY_QUEUE_FULL"

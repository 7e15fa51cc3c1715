"""Cancel at each state, abandonment, expiry, back-pressure, concurrency."""

from __future__ import annotations

import resource
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from coordinator.dispatch.settings import DispatchSettings
from coordinator.resource_groups.specification import global_group

pytestmark = pytest.mark.slow

ONE_SLOT = global_group(hard_concurrency_limit=1, max_queued=10)


def cancelled(server, response):
    """DELETE where the client stands, then what it reads there."""
    uri = response.json()["nextUri"]
    assert server.client.delete(uri).status_code == 204
    assert server.client.delete(uri).status_code == 204
    return server.client.get(uri).json()["error"]


def test_cancel_before_the_first_poll(server):
    post = server.post("SELECT 1")
    error = cancelled(server, post)
    assert (error["errorName"], error["message"]) == ("USER_CANCELED", "Query was canceled")
    assert "timeline" in server.client.get(f"/v1/query/{post.json()['id']}").json()


def test_cancel_while_planning(server):
    post = server.post("PLAN slowly")
    poll = server.client.get(post.json()["nextUri"] + "&maxWait=10ms")
    assert poll.json()["stats"]["waitingForPrerequisites"] is True
    assert cancelled(server, poll)["errorName"] == "USER_CANCELED"


def test_cancel_while_queued_and_running(start_server):
    with start_server(group=ONE_SLOT) as server:
        running = server.until(server.post("SELECT slow"), "RUNNING")
        stats = running.json()["stats"]
        assert (stats["completedSplits"], stats["totalSplits"], stats["processedRows"]) == (3, 12, 7)
        assert (stats["progressPercentage"], stats["queuedSplits"], stats["runningSplits"]) == (25.0, 7, 2)
        queued = server.until(server.post("SELECT 1"), "QUEUED")
        assert cancelled(server, queued)["errorName"] == "USER_CANCELED"
        assert server.client.get("/v1/resourceGroupState/global").json()["numQueuedQueries"] == 0
        assert cancelled(server, running)["errorName"] == "USER_CANCELED"
        assert server.pages("SELECT 1")[-1].json()["data"] == [[1]]


def test_cancel_releases_a_blocked_engine(server, number_answer):
    first = server.client.get(server.post("SELECT huge").json()["nextUri"])
    assert cancelled(server, first)["errorName"] == "USER_CANCELED"
    query_id = first.json()["id"]
    server.wait_for(lambda: not [t for t in threading.enumerate() if t.name == f"query-{query_id}"])
    assert server.dispatcher.registry.get(query_id).buffer.size == 0


def test_cancel_after_the_end_frees_unread_rows(start_server):
    with start_server(settings=DispatchSettings(sweep_interval=0.05)) as server:
        first = server.client.get(server.post("SELECT many").json()["nextUri"])
        query = server.dispatcher.registry.get(first.json()["id"])
        server.wait_for(lambda: query.state.value == "FINISHED")
        assert server.client.delete(first.json()["nextUri"]).status_code == 204
        assert query.buffer.size == 0
        assert query.state.value == "FINISHED"
        assert server.client.get(first.json()["nextUri"]).status_code == 410


@pytest.mark.parametrize("how", ["killed", "preempted"])
def test_kill(server, how):
    running = server.until(server.post("SELECT slow"), "RUNNING").json()
    uri = f"/v1/query/{running['id']}/{how}"
    assert server.client.put(uri, content="too long").status_code == 200
    error = server.client.get(running["nextUri"]).json()["error"]
    assert error["errorName"] == f"ADMINISTRATIVELY_{how.upper()}"
    assert error["message"] == f"Query {how}. Message: too long"
    assert server.client.put(uri, content="again").status_code == 409
    assert server.client.put(f"/v1/query/nope/{how}").status_code == 410


def test_delete_query(server):
    running = server.until(server.post("SELECT slow"), "RUNNING").json()
    assert server.client.delete(f"/v1/query/{running['id']}").status_code == 204
    assert server.client.get(running["nextUri"]).json()["error"]["errorName"] == "USER_CANCELED"
    assert server.client.delete("/v1/query/nope").status_code == 410


@pytest.mark.parametrize("polled", [False, True])
def test_a_query_that_nobody_polls_is_abandoned(start_server, polled):
    with start_server() as server:
        response = server.post("SELECT slow")
        if polled:
            response = server.until(response, "RUNNING")
        query = server.dispatcher.registry.get(response.json()["id"])
        server.clock.advance(290)
        server.sweep(query)
        assert not query.state.done
        server.clock.advance(11)
        server.wait_for(lambda: query.state.done)
        error = server.client.get(response.json()["nextUri"]).json()["error"]
        assert error["errorName"] == "ABANDONED_QUERY"
        assert error["message"].startswith(f"Query {query.id} has not been accessed since ")


def test_rows_that_nobody_fetches_are_dropped_not_lost_silently(start_server):
    with start_server(settings=DispatchSettings(sweep_interval=0.05)) as server:
        first = server.client.get(server.post("SELECT many").json()["nextUri"])
        query = server.dispatcher.registry.get(first.json()["id"])
        server.wait_for(lambda: query.state.value == "FINISHED")
        server.clock.advance(301)
        server.wait_for(lambda: query.buffer.size == 0)
        assert server.client.get(first.json()["nextUri"]).status_code == 410


def test_ended_queries_expire_beyond_the_history(start_server):
    with start_server(settings=DispatchSettings(max_history=2, min_expire_age=60, sweep_interval=0.02)) as server:
        ids = [server.pages("SELECT 1")[-1].json()["id"] for _ in range(5)]
        server.clock.advance(50)
        server.sweep(server.dispatcher.registry.get(ids[0]))
        assert len(server.dispatcher.registry) == 5
        old, new = (server.dispatcher.registry.get(ids[at]) for at in (0, -1))
        # What only a recent one needs is free.
        assert (old.planned.subplan, old.planned.facts, old.planned.verb_seconds, old.buffer.drained) == (
            *(None, None, {}),
            True,
        )
        assert new.planned.verb_seconds
        assert server.client.get(f"/v1/query/{ids[0]}").json()["state"] == "FINISHED"
        server.clock.advance(11)
        server.wait_for(lambda: len(server.dispatcher.registry) == 2)
        statuses = [server.client.get(f"/v1/query/{i}").status_code for i in ids]
        assert statuses == [410, 410, 410, 200, 200]


def test_timeline_has_the_ten_verbs(server):
    query_id = server.pages("SELECT 1")[-1].json()["id"]
    info = server.client.get(f"/v1/query/{query_id}").json()
    verbs = ["receive", "parse", "analyze", "plan", "optimize", "fragment", "check", "queue", "dispatch", "deliver"]
    assert list(info["timeline"]) == verbs
    assert info["timeline"]["optimize"] == 0.004
    assert all(0 <= seconds < 100 for seconds in info["timeline"].values())


@pytest.mark.slow
def test_a_slow_client_holds_the_engine_not_the_memory(start_server):
    """2,000,000 rows of 220 bytes (over 400 MB of JSON) against a client that reads nothing but the first page."""
    settings = DispatchSettings(max_buffer_size=4 << 20)
    with start_server(settings=settings) as server:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        first = server.client.get(server.post("SELECT huge").json()["nextUri"])
        query = server.dispatcher.registry.get(first.json()["id"])
        server.wait_for(lambda: query.buffer.size >= 4 << 20)
        rows = query.output_rows
        pages = [server.client.get(first.json()["nextUri"])]
        for _ in range(20):
            pages.append(server.client.get(pages[-1].json()["nextUri"]))
        assert query.buffer.size < 5 << 20
        assert rows < query.output_rows < 400_000
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 150_000
        numbers = [row[0] for page in [first, *pages] for row in page.json()["data"]]
        assert numbers == list(range(len(numbers)))
        assert not query.state.done
        server.client.delete(pages[-1].json()["nextUri"])


@pytest.mark.slow
def test_two_hundred_statements_at_once(start_server):
    group = global_group(hard_concurrency_limit=8, max_queued=500)
    with start_server(group=group) as server, httpx.Client(base_url=server.url, timeout=60) as client:

        def conversation(index: int) -> tuple[str, int]:
            sql = ("SELECT 1", "SELECT many", "SELECT 1/0", "SELEC")[index % 4]
            response = client.post("/v1/statement", content=sql, headers={"X-Presto-User": f"u{index}"}).json()
            count = 0
            while "nextUri" in response:
                response = client.get(response["nextUri"]).json()
                count += len(response.get("data", ()))
            # A statement that fails while it runs may have given rows before.
            return response["stats"]["state"], 0 if index % 4 == 2 else count

        with ThreadPoolExecutor(32) as pool:
            results = list(pool.map(conversation, range(200)))
        assert results == [("FINISHED", 1), ("FINISHED", 20_000), ("FAILED", 0), ("FAILED", 0)] * 50
        assert server.client.get("/v1/resourceGroupState/global").json()["numRunningQueries"] == 0
        assert server.client.get("/v1/cluster").json()["runningQueries"] == 0


@pytest.mark.slow
def test_submitting_without_reading_runs_into_the_queue_not_into_memory(start_server):
    settings = DispatchSettings(max_buffered=3 << 20, sweep_interval=0.01)
    with start_server(settings=settings, group=global_group(hard_concurrency_limit=3, max_queued=1)) as server:
        firsts = []
        for _ in range(20):
            first = server.client.get(server.post("SELECT many").json()["nextUri"] + "&maxWait=200ms").json()
            if "error" in first:
                break
            firsts.append(first)
            server.sweep(server.dispatcher.registry.get(first["id"]))
        assert first["error"]["errorName"] == "QUERY_QUEUE_FULL"
        assert sum(query.buffer.size for query in server.dispatcher.registry) < 16 << 20
        for page in firsts:
            while "nextUri" in page:
                page = server.client.get(page["nextUri"]).json()
            assert page["stats"]["state"] == "FINISHED"


def test_last_pages_are_kept_for_replay_within_a_budget(start_server):
    settings = DispatchSettings(max_replay_size=600 << 10, sweep_interval=100)
    with start_server(settings=settings) as server:
        lasts = []
        for _ in range(6):
            response = server.post("SELECT many")
            while "nextUri" in response.json():
                uri = response.json()["nextUri"] + "&targetResultSize=1MB"
                response = server.client.get(uri)
            lasts.append(uri)
        server.sweep(server.dispatcher.registry.get(response.json()["id"]))
        statuses = [server.client.get(uri).status_code for uri in lasts]
        assert statuses[0] == 404
        assert statuses[-1] == 200
        assert server.client.get(lasts[-1]).content == response.content


def test_concurrent_polls_of_one_token_get_the_same_page(start_server):
    with start_server() as server, httpx.Client(base_url=server.url, timeout=60) as client:
        post = server.post("SELECT many").json()
        with ThreadPoolExecutor(8) as pool:
            firsts = list(pool.map(lambda _: client.get(post["nextUri"]).content, range(8)))
            assert len(set(firsts)) == 1
            following = httpx.Response(200, content=firsts[0]).json()["nextUri"]
            seconds = list(pool.map(lambda _: client.get(following).content, range(8)))
        assert len(set(seconds)) == 1
        assert seconds[0] != firsts[0]


def test_a_client_that_leaves_in_the_middle_of_its_post_leaves_nothing(start_server):
    with start_server() as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            head = b"POST /v1/statement HTTP/1.1\r\nHost: x\r\nX-Presto-User: t\r\nContent-Length: 99\r\n\r\n"
            connection.sendall(head + b"SEL")
        assert server.pages("SELECT 1")[-1].json()["data"] == [[1]]
        assert len(server.dispatcher.registry) == 1


def test_stopping_the_server_ends_running_queries(start_server):
    with start_server() as server:
        running = server.until(server.post("SELECT slow"), "RUNNING").json()
        planning = server.post("PLAN slowly").json()
        server.client.get(planning["nextUri"] + "&maxWait=1ms")
        queries = [server.dispatcher.registry.get(page["id"]) for page in (running, planning)]
    assert [query.error.code.name for query in queries] == ["USER_CANCELED", "USER_CANCELED"]
    server.wait_for(lambda: not [t for t in threading.enumerate() if t.name == f"query-{running['id']}"])


def test_no_thread_outlives_its_query(start_server):
    with start_server() as server:
        for sql in ("SELECT 1", "SELECT many", "SELECT 1/0", "SELECT none", "SELECT defect"):
            server.pages(sql)
        server.wait_for(lambda: not [t for t in threading.enumerate() if t.name.startswith("query-")])

"""Either of two coordinators lists the queries of both, of those that the user may see; one that is away is told."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

import httpx
import pytest

from coordinator.clustering import Clustering
from coordinator.connectors.system.runtime import NodeState, runtime_tables
from coordinator.connectors.system.wanted import Wanted
from coordinator.dispatch.runtime_state import DispatcherState
from coordinator.security.current_session import acting_for
from coordinator.server import peer_queries
from coordinator.server.owner_forwarding import QueryOwners
from coordinator.server.peer_queries import CUT_NODES_HEADER, PEER_QUERIES, SILENT_HEADER
from coordinator.server.peers import PeerTokens
from shared.spi.session import Session
from tests.cluster.conftest import SECRET, Beside, Pair, two_servers
from tests.cluster.test_owner_forwarding import USER, closed_address
from tests.protocol.conftest import Server
from tests.protocol.test_authentication import as_, secured

pytestmark = pytest.mark.slow

PAGE = USER | {"Accept": "text/html"}


def made(server: Server, sql: str = "SELECT 1") -> str:
    return str(server.pages(sql, USER)[-1].json()["id"])


def test_v1_query_is_of_both_the_newest_first(pair: Pair) -> None:
    ids = [made(pair.first), made(pair.second), made(pair.first)]
    for server in (pair.first, pair.second):
        answer = server.client.get("/v1/query?limit=3", headers=USER)
        listed = answer.json()
        assert [info["queryId"] for info in listed] == ids[::-1]
        assert SILENT_HEADER not in answer.headers
        assert len({info["nodeId"] for info in listed}) == 1, "both servers of these tests have one name"
        for info in listed:  # as the client sees them: at the coordinator that it asked
            assert httpx.URL(info["self"]).port == server.port
            assert server.client.get(info["self"], headers=USER).json()["queryId"] == info["queryId"]
    own = pair.second.client.get("/v1/query?includeLocalQueryOnly=true", headers=USER).json()
    assert {info["queryId"][-5:] for info in own} == {"bbbbb"}
    assert pair.first.client.get("/v1/query?state=nonsense", headers=USER).status_code == 400
    failed = made(pair.second, "SELECT 1/0")
    newest = pair.first.client.get("/v1/query?state=failed", headers=USER).json()[0]
    assert newest["queryId"] == failed


def test_what_runs_elsewhere_is_seen_and_ended_here(pair: Pair) -> None:
    slow = pair.first.until(pair.first.post("SELECT slow"), "RUNNING").json()["id"]
    states = {each["queryId"] for each in pair.second.client.get("/v1/queryState", headers=USER).json()}
    assert slow in states
    for path in ("/ui/", "/ui/queries?state=RUNNING"):
        page = pair.second.client.get(path, headers=PAGE).text
        assert slow in page, path
        assert '<th scope="col">Coordinator</th>' in page
    assert pair.second.client.put(f"/v1/query/{slow}/killed", content="x", headers=USER).status_code == 200


def test_the_button_of_a_page_ends_it_wherever_it_runs(pair: Pair) -> None:
    slow = pair.first.until(pair.first.post("SELECT slow"), "RUNNING").json()["id"]
    own = pair.second.until(pair.second.post("SELECT slow"), "RUNNING").json()["id"]
    # Servers of these tests have no secret in common, by which the token of the other's page would be good as well.
    page = pair.second.client.get(f"/ui/query.html?{own}", headers=PAGE).text
    token = re.search(r'name="form_token" value="(\w+)"', page)
    assert token is not None
    fields = {"query": slow, "reason": "too slow", "form_token": token[1]}
    answer = pair.second.client.post("/ui/kill", data=fields, headers=USER)
    assert (answer.status_code, answer.headers["location"]) == (303, f"query.html?{slow}"), answer.text
    query = pair.first.dispatcher.registry.get(slow)
    assert query is not None
    pair.first.wait_for(lambda: query.state.done)
    assert "too slow" in str(query.error)
    nobody = fields | {"query": "20261123_000000_00000_zzzzz"}
    assert pair.second.client.post("/ui/kill", data=nobody, headers=USER).status_code == 404
    assert pair.second.client.put(f"/v1/query/{own}/killed", content="x", headers=USER).status_code == 200


def test_pages_of_the_list_go_through_all(pair: Pair) -> None:
    for server in (pair.first, pair.second):
        for _ in range(55):
            server.post("SELEC", {"X-Presto-User": "many"})
    seen: list[str] = []
    for number in (1, 2, 3):
        for order in ("", "asc"):
            address = f"/ui/queries?user=many&page={number}&order={order}"
            found = re.findall(r'href="query.html\?(\w+)"', pair.second.client.get(address, headers=PAGE).text)
            seen += found if not order else []
            assert len(found) == (50, 50, 10)[number - 1], (number, order)
    assert len(set(seen)) == 110
    assert [each[:15] for each in seen] == sorted((each[:15] for each in seen), reverse=True)


def test_one_that_is_away_is_told_and_no_error() -> None:
    with two_servers() as pair:
        mine = made(pair.second)
        pair.gone("aaaaa", alive=True, address=closed_address())
        answer = pair.second.client.get("/v1/query", headers=USER)
        assert [info["queryId"] for info in answer.json()] == [mine]
        assert answer.headers[SILENT_HEADER] == "node-a"
        for path in ("/ui/", "/ui/queries"):
            page = pair.second.client.get(path, headers=PAGE)
            assert page.status_code == 200
            assert "what they have is missing here: node-a" in page.text
        pair.gone("aaaaa", alive=False, address=closed_address())
        assert SILENT_HEADER not in pair.second.client.get("/v1/query", headers=USER).headers


def test_rules_are_those_of_the_coordinator_that_has_the_query() -> None:
    with two_servers(secured()) as pair:
        page = pair.first.client.post("/v1/statement", content="SELECT 1", headers=as_("alice")).json()
        other = pair.second.client
        assert [info["queryId"] for info in other.get("/v1/query", headers=as_("alice")).json()] == [page["id"]]
        assert other.get("/v1/query", headers=as_("bob")).json() == []
        assert other.get("/v1/query").status_code in (401, 403)


@pytest.mark.parametrize("path", [PEER_QUERIES, "/v1/peer/listed", "/v1/peer/overview"])
def test_only_coordinators_ask_for_parts_of_lists(pair: Pair, path: str) -> None:
    assert pair.first.client.get(path, headers=USER).status_code == 404


def test_long_lists_are_cut_and_say_so(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    long = made(pair.second, "SELECT 1 -- " + "x" * 20_000)
    (info,) = pair.first.client.get("/v1/query?limit=1", headers=USER).json()
    assert info["queryId"] == long
    assert len(info["query"]) < 10_050
    assert "(20012 characters)" in info["query"]
    newest = made(pair.second)
    monkeypatch.setattr(peer_queries, "_MOST_BYTES", 5_000)
    answer = pair.first.client.get("/v1/query?limit=2000", headers=USER)
    listed = [each["queryId"] for each in answer.json()]
    assert listed[0] == newest
    assert long not in listed
    assert answer.headers[CUT_NODES_HEADER]


def test_system_tables_read_the_queries_of_all(pair: Pair) -> None:
    """As a statement on a thread of its own does: what the other coordinator answers, as the rows of a table."""
    slow = pair.first.until(pair.first.post("SELECT slow"), "RUNNING").json()["id"]
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    owners = QueryOwners(Beside(pair.known, "bbbbb"), PeerTokens("bbbbb", SECRET), lambda _: False)
    unused: Any = None
    clustering = Clustering(unused, PeerTokens("bbbbb", SECRET), None, unused)
    clustering._owners, clustering._loop = owners, loop
    try:
        with acting_for(Session(user="tester")):
            state = DispatcherState(pair.second.dispatcher, lambda: NodeState("b", "", "", "active"), others=clustering)
            (table,) = [each for each in runtime_tables(lambda: state) if each.name == "queries"]
            rows = {str(row[0]): row for row in table.rows(Wanted())}
        assert rows[slow][1] == "RUNNING"
        assert {each[-5:] for each in rows} == {"aaaaa", "bbbbb"}
        assert clustering.kill(Session(user="tester"), slow, "enough") is True
    finally:
        asyncio.run_coroutine_threadsafe(owners.aclose(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

"""Any of two coordinators answers for a query, as the one that runs it would."""

from __future__ import annotations

import socket
import time

import httpx
import jwt
import pytest

from coordinator.server.owner_forwarding import query_of
from coordinator.server.peers import PeerTokens
from shared.protocol.internal_authentication import ALGORITHM, BEARER_HEADER, signing_key
from tests.cluster.conftest import SECRET, Pair, two_servers
from tests.protocol.test_authentication import as_, secured

pytestmark = pytest.mark.slow

USER = {"X-Presto-User": "tester"}


def rows_by_turns(pair: Pair, sql: str) -> list[list[object]]:
    """All rows, each page asked of the other coordinator than the last, as a load balancer without memory does."""
    page = pair.first.client.post("/v1/statement", content=sql, headers=USER)
    rows: list[list[object]] = []
    turn = 0
    while True:
        assert page.status_code == 200, page.text
        body = page.json()
        rows += body.get("data", [])
        if "nextUri" not in body:
            assert "error" not in body, body
            return rows
        turn += 1
        asked = (pair.second, pair.first)[turn % 2]
        path = httpx.URL(body["nextUri"])
        assert path.port in (pair.first.port, pair.second.port)
        page = asked.client.get(path.raw_path.decode(), headers=USER)
        if page.status_code == 200 and "nextUri" in page.json():
            # The client goes on where it asked, not at the owner, whose address it may not reach.
            assert httpx.URL(page.json()["nextUri"]).port == asked.port


def test_pages_come_from_either(pair: Pair) -> None:
    assert rows_by_turns(pair, "SELECT many") == [[n, "x" * 100] for n in range(20_000)]


def test_compressed_pages_and_headers_go_through_unchanged(pair: Pair) -> None:
    page = pair.first.post("SELECT many").json()
    while not page.get("data"):
        path = httpx.URL(page["nextUri"]).raw_path.decode()
        here = pair.first.client.get(path, headers=USER | {"Accept-Encoding": "gzip"})
        there = pair.second.client.get(path, headers=USER | {"Accept-Encoding": "gzip"})
        page = there.json()
        # A page may be asked for twice; only the port in its addresses is another.
        assert here.text.replace(str(pair.first.port), "P") == there.text.replace(str(pair.second.port), "P")
        kept = ("content-type", "content-encoding", "cache-control", "vary", "x-content-type-options")
        assert [here.headers.get(name) for name in kept] == [there.headers.get(name) for name in kept]


def test_cancel_kill_and_info_through_the_other(pair: Pair) -> None:
    slow = pair.first.until(pair.first.post("SELECT slow"), "RUNNING").json()
    query_id = slow["id"]
    info = pair.second.client.get(f"/v1/query/{query_id}", headers=USER)
    assert info.json()["queryId"] == query_id
    assert info.json()["state"] == "RUNNING"
    assert query_id in pair.second.client.get(f"/ui/query.html?{query_id}").text
    killed = pair.second.client.put(f"/v1/query/{query_id}/killed", content="enough", headers=USER)
    assert killed.status_code == 200, killed.text
    query = pair.first.dispatcher.registry.get(query_id)
    assert query is not None
    pair.first.wait_for(lambda: query.state.done)
    assert query.error is not None
    assert "enough" in query.error.message
    other = pair.first.until(pair.first.post("SELECT slow"), "RUNNING").json()
    path = httpx.URL(other["nextUri"]).raw_path.decode()
    assert pair.second.client.delete(path, headers=USER).status_code == 204
    canceled = pair.first.dispatcher.registry.get(other["id"])
    assert canceled is not None
    pair.first.wait_for(lambda: canceled.state.done)


def test_wrong_slugs_and_passed_tokens_are_refused_as_by_the_owner(pair: Pair) -> None:
    page = pair.first.post("SELECT 1").json()
    wrong = f"/v1/statement/queued/{page['id']}/1?slug=x00000000000000000000000000000000"
    assert [s.client.get(wrong).status_code for s in (pair.first, pair.second)] == [404, 404]
    nobody = "/v1/statement/queued/20261123_000000_00000_zzzzz/1?slug=x"
    assert [s.client.get(nobody).status_code for s in (pair.first, pair.second)] == [404, 404]


def test_ids_of_clients_are_looked_up(pair: Pair) -> None:
    path = "/v1/statement/of_a_gateway_1?slug=abc"
    made = pair.second.client.put(path, content="SELECT 1", headers=USER)
    assert made.status_code == 200, made.text
    # Repeated elsewhere it is the same query, and its results are there too.
    again = pair.first.client.put(path, content="SELECT 1", headers=USER)
    assert again.status_code == 200, again.text
    assert "of_a_gateway_1" not in pair.first.dispatcher.registry
    page = again.json()
    while "nextUri" in page:
        page = pair.first.client.get(httpx.URL(page["nextUri"]).raw_path.decode(), headers=USER).json()
    assert page["stats"]["state"] == "FINISHED"


def closed_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_an_owner_that_does_not_answer() -> None:
    with two_servers() as pair:
        page = pair.first.post("SELECT 1").json()
        path = httpx.URL(page["nextUri"]).raw_path.decode()
        pair.gone("aaaaa", alive=True, address=closed_address())
        waiting = pair.second.client.get(path, headers=USER)
        assert (waiting.status_code, waiting.headers["retry-after"]) == (503, "1")
        assert "127.0.0.1" not in waiting.text
        pair.gone("aaaaa", alive=False, address=closed_address())
        ended = pair.second.client.get(path, headers=USER)
        assert ended.status_code == 200
        error = ended.json()["error"]
        assert (error["errorName"], error["retriable"], "nextUri" in ended.json()) == ("REMOTE_HOST_GONE", True, False)
        assert pair.second.client.delete(path, headers=USER).status_code == 204
        assert pair.second.client.get(f"/v1/query/{page['id']}", headers=USER).status_code == 410


def test_no_request_goes_round_in_circles() -> None:
    with two_servers() as pair:
        # Each takes the other for the owner.
        pair.known.nodes["ccccc"] = pair.known.nodes["aaaaa"]
        begun = time.monotonic()
        found = pair.second.client.get("/v1/statement/queued/20261123_000000_00000_ccccc/1?slug=x", headers=USER)
        assert found.status_code in (404, 503)
        assert time.monotonic() - begun < 20


def test_new_statements_at_one_that_is_drained_go_to_another() -> None:
    with two_servers() as pair:
        old = pair.first.post("SELECT 1").json()
        assert pair.first.client.put("/v1/info/state", content='"INACTIVE"').status_code == 200
        made = pair.first.client.post("/v1/statement", content="SELECT 1", headers=USER)
        assert made.status_code == 200, made.text
        assert made.json()["id"].endswith("bbbbb")
        query = pair.second.dispatcher.registry.get(made.json()["id"])
        assert query is not None
        assert (query.session.user, query.session.remote_address) == ("tester", "127.0.0.1")
        # Both conversations end where they were begun.
        for page in (old, made.json()):
            while "nextUri" in page:
                page = pair.first.client.get(page["nextUri"], headers=USER).json()
            assert page["stats"]["state"] == "FINISHED"
        assert pair.second.client.put("/v1/info/state", content='"INACTIVE"').status_code == 200
        page = pair.first.client.post("/v1/statement", content="SELECT 1", headers=USER).json()
        while "nextUri" in page:
            page = pair.first.client.get(page["nextUri"], headers=USER).json()
        assert page["error"]["errorName"] == "SERVER_SHUTTING_DOWN"


@pytest.mark.parametrize("change", ["secret", "owner", "request", "expired", "sidecar", "garbage"])
def test_only_tokens_of_peers_for_this_request_are_taken(pair: Pair, change: str) -> None:
    path = "/v1/query"
    claims = {"sub": "aaaaa", "aud": "coordinator/bbbbb", "exp": int(time.time()) + 60}
    claims |= {"request": f"GET {path}", "base": "http://x", "identity": ["root", "root", [], []]}
    secret = SECRET
    match change:
        case "secret":
            secret = "another"
        case "owner":
            claims["aud"] = "coordinator/aaaaa"
        case "request":
            claims["request"] = "GET /v1/cluster"
        case "expired":
            claims["exp"] = int(time.time()) - 121
        case "sidecar":
            del claims["aud"]
    token = "x.y.z" if change == "garbage" else jwt.encode(claims, signing_key(secret), ALGORITHM)
    assert pair.second.client.get(path, headers={BEARER_HEADER: token} | USER).status_code == 401


@pytest.mark.slow
def test_who_asks_is_told_by_the_coordinator_that_knows() -> None:
    with two_servers(secured()) as pair:
        page = pair.first.client.post("/v1/statement", content="SELECT 1", headers=as_("alice")).json()
        path = httpx.URL(page["nextUri"]).raw_path.decode()
        assert pair.second.client.get(path).status_code in (401, 403)
        assert pair.second.client.get(path, headers=as_("bob")).status_code == 404
        mine = pair.second.client.get(path, headers=as_("alice"))
        assert mine.status_code == 200
        # As the client sees it: over TLS, at the coordinator that it asked.
        assert mine.json()["infoUri"].startswith(f"https://127.0.0.1:{pair.second.port}/")
        assert pair.second.client.get(f"/v1/query/{page['id']}", headers=as_("bob")).status_code == 403
        assert pair.second.client.get(f"/v1/query/{page['id']}", headers=as_("alice")).status_code == 200


def test_the_sidecar_takes_no_token_between_coordinators() -> None:
    scope = {"method": "GET", "path": "/", "raw_path": b"/", "query_string": b""}
    token = PeerTokens("aaaaa", SECRET).sign("bbbbb", scope, "http://x", None)
    with pytest.raises(jwt.PyJWTError):
        jwt.decode(token, signing_key(SECRET), algorithms=[ALGORITHM], options={"require": ["exp", "sub"]})


@pytest.mark.parametrize(
    ("path", "query", "found"),
    [
        ("/v1/statement", "", None),
        ("/v1/statement/queued/20261123_165727_00020_b6a5v/1", "slug=x", "b6a5v"),
        ("/v1/statement/executing/20261123_165727_00020_b6a5v/12", "slug=x", "b6a5v"),
        ("/v1/statement/queued/retry/20261123_165727_00020_b6a5v", "", "b6a5v"),
        ("/v1/statement/20261123_165727_00020_b6a5v", "slug=x", "b6a5v"),
        ("/v1/query/20261123_165727_00020_b6a5v/killed", "", "b6a5v"),
        ("/v1/query", "", None),
        ("/ui/query.html", "20261123_165727_00020_b6a5v", "b6a5v"),
        ("/ui/", "", None),
        ("/v1/history/20261123_165727_00020_b6a5v", "", None),
        ("/v1/query/20261123_165727_00020_b6a5v/../../info", "", None),
    ],
)
def test_which_requests_are_about_a_query(path: str, query: str, found: str | None) -> None:
    about = query_of(path, query)
    assert (None if about is None else about.suffix) == found

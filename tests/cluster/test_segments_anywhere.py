"""Segments of Trino's spooling protocol at a coordinator that did not make them: fetched, acknowledged, refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cluster.conftest import Pair, two_servers
from tests.protocol.test_authentication import HTTPS, as_, secured
from tests.protocol.test_segments import SPOOLING, segments_of

ASKED = {"X-Trino-Query-Data-Encoding": "json"}
ALICE = HTTPS | {"Authorization": as_("alice")["Authorization"], "X-Trino-User": "alice"} | ASKED
MANY = [[n, "x" * 100] for n in range(20_000)]


@pytest.fixture
def secured_pair(tmp_path: Path) -> Iterator[Pair]:
    """Both want to know who asks; the first spools."""
    with two_servers(secured(), SPOOLING, tmp_path) as pair:
        yield pair


def path_of(uri: str) -> str:
    return httpx.URL(uri).raw_path.decode()


def test_all_segments_of_a_query_by_turns(secured_pair: Pair) -> None:
    """Pages too: addresses name the coordinator that was asked, and the files of the one that ran it go."""
    pair = secured_pair
    page, turn, rows = pair.first.post("SELECT many", ALICE).json(), 0, []
    while True:
        asked = (pair.first, pair.second)[turn % 2]
        for segment in page.get("data", {}).get("segments", []):
            assert segment["type"] == "spooled"
            assert httpx.URL(segment["uri"]).port == asked.port
            other = (pair.second, pair.first)[turn % 2]
            for server in (asked, other):
                data = server.client.get(path_of(segment["uri"]), headers=HTTPS)
                assert (data.status_code, data.headers["cache-control"]) == (200, "no-store")
            rows += json.loads(data.content)
            acknowledged = other.client.get(path_of(segment["ackUri"]), headers=HTTPS)
            assert acknowledged.status_code == 200
            gone = [server.client.get(path_of(segment["uri"]), headers=HTTPS) for server in (asked, other)]
            assert [each.status_code for each in gone] == [404, 404]
        if "nextUri" not in page:
            break
        turn += 1
        asked = (pair.first, pair.second)[turn % 2]
        page = asked.client.get(path_of(page["nextUri"]), headers=ALICE).json()
    assert rows == MANY
    pair.first.wait_for(lambda: pair.first.dispatcher.results.used("files") == 0)


def test_the_rules_are_those_of_the_coordinator_that_made_it(secured_pair: Pair) -> None:
    pair = secured_pair
    first, second = segments_of(pair.first, ALICE)[0], pair.second.client
    path = path_of(first["uri"])

    def status(asked: str, headers: dict[str, str], method: str = "GET") -> int:
        return second.request(method, asked, headers=headers).status_code

    assert status(path, {}) == 403, "TLS alone"
    assert status(path, HTTPS) == 200
    assert status(path, as_("bob")) == 200, "who has the secret may, as at the owner"
    wrong = path[:-1] + ("A" if path[-1] != "A" else "B")
    assert [status(wrong, headers) for headers in (HTTPS, as_("alice"))] == [404, 404]
    other = pair.first.post("SELECT 1", ALICE).json()["id"]
    assert status(path.replace(path.split("/")[-2], other), HTTPS) == 404
    assert status(path.replace("aaaaa/", "bbbbb/"), HTTPS) == 404
    assert status(path, HTTPS, "POST") == 401
    assert status(path.replace("download", "upload"), HTTPS) in (401, 404)
    assert status(path, HTTPS) == 200, "none of these has ended it"


def test_the_owner_is_silent_or_has_ended(secured_pair: Pair) -> None:
    pair = secured_pair
    segment: dict[str, Any] = segments_of(pair.first, ALICE)[0]
    for alive, expected in ((True, 503), (False, 410)):
        pair.gone("aaaaa", alive=alive, address="http://127.0.0.1:1")
        for name in ("uri", "ackUri"):
            found = pair.second.client.get(path_of(segment[name]), headers=HTTPS)
            assert found.status_code == expected
            assert "127.0.0.1" not in found.text
            assert ("retry-after" in found.headers) is alive


def test_a_cancelled_query_takes_its_segments_along(secured_pair: Pair) -> None:
    pair = secured_pair
    segment = segments_of(pair.first, ALICE)[0]
    query_id = segment["uri"].split("/")[-2]
    query = pair.first.dispatcher.registry.get(query_id)
    assert query is not None
    path = f"/v1/statement/executing/{query_id}/1?slug={query.slug}"
    assert pair.second.client.delete(path, headers=ALICE).status_code == 204
    pair.first.wait_for(lambda: query.state.done)
    found = pair.second.client.get(path_of(segment["uri"]), headers=HTTPS)
    assert found.status_code == 404

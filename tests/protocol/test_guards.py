"""Who may reach a query, and what a browser is kept from: ids alone give nothing, strangers' pages do nothing."""

from __future__ import annotations

import pytest

from coordinator.server.settings import ServerSettings

OWNER = {"X-Presto-User": "tester"}
OTHER = {"X-Presto-User": "mallory"}
EVIL = "http://evil.example"


def test_only_its_owner_or_the_slug_runs_a_failed_query_again(server):
    failed = server.pages("SELECT 1/0")[-1].json()["id"]
    path = f"/v1/statement/queued/retry/{failed}"
    before = len(list(server.dispatcher.registry))
    for headers in ({}, OTHER, {"X-Trino-User": "mallory"}):
        assert server.client.get(path, headers=headers).status_code == 404
        assert server.client.get(path, headers=headers, params={"slug": "x"}).status_code == 404
    assert server.client.get(path, headers=OWNER, params={"slug": "wrong"}).status_code == 404
    assert len(list(server.dispatcher.registry)) == before
    assert server.client.get(path, headers=OWNER).status_code == 200
    slug = server.dispatcher.registry.get(failed).slug
    assert server.client.get(path, params={"slug": slug}).status_code == 200


def test_the_principal_of_the_proxy_counts_for_a_retry(start_server):
    with start_server(server_settings=ServerSettings(principal_header="X-Who")) as server:
        let_in = OWNER | {"X-Who": "tester@lake"}
        failed = server.pages("SELECT 1/0", let_in)[-1].json()["id"]
        path = f"/v1/statement/queued/retry/{failed}"
        assert server.client.get(path, headers=OWNER | {"X-Who": "mallory@lake"}).status_code == 404
        assert server.client.get(path, headers=let_in).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": EVIL},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://{host}"},
    ],
)
def test_requests_across_sites_change_nothing(server, headers):
    headers = OWNER | {k: v.format(host=f"127.0.0.1:{server.port}") for k, v in headers.items()}
    before = len(list(server.dispatcher.registry))
    answers = [
        server.client.post("/v1/statement", content="SELECT 1", headers=headers),
        server.client.put("/v1/statement/x1?slug=abc", content="SELECT 1", headers=headers),
        server.client.put("/v1/info/state", content='"SHUTTING_DOWN"', headers=headers),
        server.client.delete("/v1/query/x", headers=headers),
    ]
    assert [answer.status_code for answer in answers] == [403] * 4
    assert len(list(server.dispatcher.registry)) == before
    assert server.client.get("/v1/info", headers=headers).status_code == 200


def test_the_own_page_and_clients_that_are_no_browsers_may(server):
    for headers in (
        {},
        {"Origin": server.url},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.a.proxy"},
        {"Sec-Fetch-Site": "none"},
    ):
        assert server.post("SELECT 1", OWNER | headers).status_code == 200


def test_a_name_that_is_not_ours_is_refused(start_server):
    """A page on ``evil.example`` may point that name at 127.0.0.1; the browser then sees one site."""
    with start_server(server_settings=ServerSettings(allowed_hosts=("lake.example",))) as server:
        for host in ("evil.example", "evil.example:8080", "lake.example.evil.example", "a b", "x/../y"):
            headers = OWNER | {"Host": host, "Origin": f"http://{host}"}
            assert server.post("SELECT 1", headers).status_code == 403
            assert server.client.get("/v1/query", headers=headers).status_code == 403
        for host in ("lake.example", "LAKE.example:8080", "127.0.0.1:1", "localhost", "[::1]:80", "10.1.2.3"):
            assert server.post("SELECT 1", OWNER | {"Host": host}).status_code == 200


def test_forwarded_headers_count_only_with_the_setting(server, start_server):
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example", "X-Forwarded-For": "10.1.2.3"}
    page = server.post("SELECT 1", OWNER | forwarded).json()
    assert page["nextUri"].startswith(server.url)
    assert server.dispatcher.registry.get(page["id"]).session.remote_address == "127.0.0.1"
    with start_server(server_settings=ServerSettings(process_forwarded=True)) as other:
        page = other.post("SELECT 1", OWNER | forwarded).json()
        assert page["nextUri"].startswith("https://evil.example/v1/statement/queued/")
        assert other.dispatcher.registry.get(page["id"]).session.remote_address == "10.1.2.3"
        for wrong in ({"X-Forwarded-Proto": "javascript"}, {"X-Forwarded-Host": "a/b@c"}, {"X-Forwarded-Host": "a b"}):
            assert other.post("SELECT 1", OWNER | wrong).status_code == 400

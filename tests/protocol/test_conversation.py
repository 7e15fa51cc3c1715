"""Whole conversations over HTTP: shape, tokens, slugs, headers."""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode

import pytest

from coordinator.server.settings import ServerSettings


def rows(responses):
    return [row for response in responses for row in response.json().get("data", [])]


def test_select_is_answered_inline_with_page_0(server):
    post, poll = server.pages("SELECT 1")
    assert post.json()["stats"]["state"] == "WAITING_FOR_PREREQUISITES"
    assert "/v1/statement/queued/" in post.json()["nextUri"]
    assert poll.json()["data"] == [[1]]
    assert poll.json()["stats"]["state"] == "FINISHED"
    assert list(poll.json()) == ["id", "infoUri", "columns", "data", "stats", "warnings"]
    assert poll.headers["content-type"] == "application/json"
    assert post.headers["cache-control"] == "max-age=60"
    assert poll.headers["cache-control"] == "max-age=300"


def test_no_rows_means_no_data_member(server):
    last = server.pages("SELECT none")[-1].json()
    assert "data" not in last
    assert [c["name"] for c in last["columns"]] == ["n"]


def test_a_large_result_comes_in_pages_of_the_asked_size(server):
    headers = {"X-Presto-User": "t", "X-Presto-Session": "target_result_size=100kB"}
    responses = server.pages("SELECT many", headers)
    assert [row[0] for row in rows(responses)] == list(range(20_000))
    assert "targetResultSize=100kB" in responses[1].json()["nextUri"]
    sizes = [len(r.content) for r in responses]
    assert len(responses) > 10
    assert max(sizes) < 300_000


def test_executing_tokens(server):
    first = server.client.get(server.post("SELECT many").json()["nextUri"])
    second_uri = first.json()["nextUri"]
    assert "/executing/" in second_uri
    assert second_uri.split("?")[0].endswith("/1")
    second = server.client.get(second_uri)
    assert server.client.get(second_uri).content == second.content
    passed = server.client.get(second_uri.replace("/1?", "/0?"))
    assert passed.status_code == 410
    ahead = server.client.get(second_uri.replace("/1?", "/7?"))
    assert (ahead.status_code, ahead.text) == (404, "Query not found")


def test_queued_tokens(server):
    uri = server.post("SELECT 1").json()["nextUri"]
    assert server.client.get(uri.replace("/1?", "/2?")).status_code == 410
    page = server.client.get(uri)
    assert server.client.get(uri).content == page.content
    assert server.client.get(uri.replace("/1?", "/2?")).content == page.content
    assert server.client.get(uri).status_code == 410


def test_past_the_end_is_404(server):
    last = server.pages("SELECT 1")[0].json()["nextUri"].replace("/queued/", "/executing/")
    assert server.client.get(last).status_code == 404


@pytest.mark.parametrize("change", [("slug=x", "slug=y"), ("slug=", "other="), ("/queued/2", "/queued/3")])
def test_wrong_slug_or_id_is_not_found(server, change):
    uri = server.post("SELECT 1").json()["nextUri"].replace(*change)
    response = server.client.get(uri)
    assert (response.status_code, response.text) == (404, "Query not found")
    assert response.headers["content-type"].startswith("text/plain")
    assert server.client.delete(uri).status_code == 404


@pytest.mark.parametrize(("token", "status"), [("abc", 404), ("-1", 404), ("9" * 30, 404), ("²", 404)])
def test_odd_tokens(server, token, status):
    uri = server.post("SELECT 1").json()["nextUri"]
    assert server.client.get(uri.replace("/1?", f"/{token}?")).status_code == status


def test_odd_parameters_are_400(server):
    uri = server.post("SELECT 1").json()["nextUri"]
    assert server.client.get(uri + "&maxWait=soon").status_code == 400
    assert server.client.get(uri + "&targetResultSize=big").status_code == 400
    assert server.client.get("/v1/statement").status_code == 405


def test_put_with_minted_id(server):
    uri = "/v1/statement/20261121_000000_00000_abcde?slug=xminted"
    headers = {"X-Presto-User": "t"}
    first = server.client.put(uri, content="SELECT 1", headers=headers)
    assert first.json()["id"] == "20261121_000000_00000_abcde"
    again = server.client.put(uri, content="SELECT 1", headers=headers)
    assert again.json()["nextUri"] == first.json()["nextUri"]
    other = server.client.put(uri.replace("xminted", "xother"), content="SELECT 1", headers=headers)
    assert (other.status_code, other.text) == (409, "Query already exists")
    assert server.client.get(first.json()["nextUri"]).json()["data"] == [[1]]
    assert server.client.put(uri, content="SELECT 1", headers=headers).status_code == 409
    assert server.client.put("/v1/statement/A!?slug=x", content="SELECT 1", headers=headers).status_code == 400
    assert server.client.put("/v1/statement/abc", content="SELECT 1", headers=headers).status_code == 400


def test_updates_carry_type_and_count(server):
    last = server.pages("DELETE FROM t")[-1].json()
    assert (last["updateType"], last["updateCount"], last["data"]) == ("DELETE", 5, [[5]])


@pytest.mark.parametrize("family", ["Presto", "Trino"])
@pytest.mark.parametrize(
    ("sql", "name", "value"),
    [
        ("USE tpch.sf1", "Set-Catalog", "tpch"),
        ("USE tpch.sf1", "Set-Schema", "sf1"),
        ("SET SESSION a = 'b c'", "Set-Session", "a=b%20c"),
        ("RESET SESSION a", "Clear-Session", "a"),
        ("PREPARE p FROM SELECT 1", "Added-Prepare", "p=SELECT%201"),
        ("DEALLOCATE PREPARE p", "Deallocated-Prepare", "p"),
        ("START TRANSACTION", "Started-Transaction-Id", "tx-1"),
        ("COMMIT", "Clear-Transaction-Id", "true"),
        ("SET ROLE", "Set-Role", "hive=ROLE%7Badmin%7D"),
    ],
)
def test_session_changes_ride_on_executing_pages(server, family, sql, name, value):
    post, page = server.pages(sql, {f"X-{family}-User": "t"})
    assert page.headers[f"X-{family}-{name}"] == value
    other = "Trino" if family == "Presto" else "Presto"
    assert not [h for r in (post, page) for h in r.headers if h.startswith(f"x-{other.lower()}")]
    assert f"X-{family}-{name}" not in post.headers
    assert page.json()["data"] == [[True]]


def test_request_headers_become_the_session(server):
    headers = [
        ("X-Presto-User", "ann"),
        ("X-Presto-Source", "cli"),
        ("X-Presto-Catalog", "iceberg"),
        ("X-Presto-Schema", "db"),
        ("X-Presto-Time-Zone", "Asia/Tokyo"),
        ("X-Presto-Language", "de-DE"),
        ("X-Presto-Trace-Token", "trace"),
        ("X-Presto-Session", "a=1,b=x%2Cy"),
        ("X-Presto-Session", "iceberg.codec=ZSTD"),
        ("X-Presto-Role", "hive=ROLE%7Badmin%7D"),
        ("X-Presto-Prepared-Statement", "my+p=SELECT+%3F"),
        ("X-Presto-Transaction-Id", "NONE"),
        ("X-Presto-Client-Info", '{"k": 1}'),
        ("X-Presto-Client-Tags", "one, two,one"),
        ("X-Presto-Resource-Estimate", "CPU_TIME=2h"),
        ("X-Presto-Extra-Credential", "token=s%20s"),
        ("User-Agent", "probe/1"),
    ]
    post = server.client.post("/v1/statement", content="SELECT 1", headers=headers)
    server.client.get(post.json()["nextUri"])
    session = server.planner.sessions[-1]
    assert session.query_id == post.json()["id"]
    assert (session.user, session.source, session.catalog, session.schema) == ("ann", "cli", "iceberg", "db")
    assert (session.time_zone, session.language, session.trace_token) == ("Asia/Tokyo", "de-DE", "trace")
    assert session.properties == {"a": "1", "b": "x,y"}
    assert session.catalog_properties == {"iceberg": {"codec": "ZSTD"}}
    assert session.roles == {"hive": "ROLE{admin}"}
    assert session.prepared_statements == {"my p": "SELECT ?"}
    assert (session.transaction_id, session.client_transaction_support) == (None, True)
    assert (session.client_info, session.client_tags) == ('{"k": 1}', ("one", "two"))
    assert session.resource_estimates == {"CPU_TIME": "2h"}
    assert session.extra_credentials == {"token": "s s"}
    assert (session.remote_address, session.user_agent) == ("127.0.0.1", "probe/1")
    assert "s s" not in repr(session)


@pytest.mark.parametrize(
    ("body", "headers", "text"),
    [
        ("", {"User": "t"}, "SQL statement is empty"),
        ("SELECT 1", {}, "User must be set"),
        ("SELECT 1", {"User": ""}, "User must be set"),
        ("SELECT 1", {"User": "t", "Schema": "s"}, "Schema is set but catalog is not"),
        ("SELECT 1", {"User": "t", "Session": "nonsense"}, "Invalid X-Presto-Session header"),
        ("SELECT 1", {"User": "t", "Session": "a.b.c=1"}, "Invalid X-Presto-Session header"),
        ("SELECT 1", {"User": "t", "Client-Tags": "a", "Role": "x"}, "Invalid X-Presto-Role header"),
        (
            "EXECUTE p",
            {"User": "t", "Prepared-Statement": "p=SELEC+1"},
            "Invalid X-Presto-Prepared-Statement header: line 1:1: mismatched input 'SELEC'",
        ),
        ("SELECT 1", {"User": "t", "Prefix-Url": "not a url"}, "Invalid X-Presto-Prefix-Url header: not a url"),
    ],
)
def test_bad_requests_have_prestos_texts(server, body, headers, text):
    response = server.post(body, {f"X-Presto-{name}": value for name, value in headers.items()})
    assert (response.status_code, response.text) == (400, text)
    assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("scheme", "host", "port", "base"),
    [
        ("https", "sql.example.com", None, "https://sql.example.com"),
        ("https", "sql.example.com", "443", "https://sql.example.com"),
        ("http", "sql.example.com", "443", "http://sql.example.com:443"),
        ("http", "10.0.0.1", "8080", "http://10.0.0.1:8080"),
        ("http", "sql.example.com:9000", "8080", "http://sql.example.com:9000"),
        ("https", "[::1]", "8443", "https://[::1]:8443"),
        ("https", "sql.example.com", "8443, 80", "https://sql.example.com:8443"),
    ],
)
def test_uris_follow_forwarded_headers(start_server, scheme, host, port, base):
    headers = {"X-Presto-User": "t", "X-Forwarded-Proto": scheme, "X-Forwarded-Host": host}
    if port is not None:
        headers["X-Forwarded-Port"] = port
    with start_server(server_settings=ServerSettings(process_forwarded=True)) as server:
        answer = server.post("SELECT 1", headers).json()
    assert answer["nextUri"].startswith(f"{base}/v1/statement/queued/")
    assert answer["infoUri"] == f"{base}/ui/query.html?{answer['id']}"


@pytest.mark.parametrize("port", ["0", "65536", "x", "-1", "80@evil.example.com", "\u0668"])
def test_a_forwarded_port_that_is_none_is_refused(start_server, port):
    headers = {"X-Presto-User": "t", "X-Forwarded-Host": "sql.example.com", "X-Forwarded-Port": port.encode()}
    with start_server(server_settings=ServerSettings(process_forwarded=True)) as server:
        answer = server.post("SELECT 1", headers)
    assert (answer.status_code, answer.text) == (400, "Invalid x-forwarded-port header")


def test_uris_behind_a_prefix(server):
    headers = {"X-Presto-User": "t", "X-Presto-Prefix-Url": "https://gate.example.com/go?to="}
    answer = server.post("SELECT 1", headers).json()
    assert answer["nextUri"].startswith("https://gate.example.com/go?to=")
    hidden = urlsafe_b64decode(answer["nextUri"].partition("to=")[2]).decode()
    assert hidden.startswith(server.url + "/v1/statement/queued/")


def test_retry_parameters_come_in_pairs(server):
    for parameters in ({"retryUrl": "http://x/"}, {"retryExpirationInSeconds": "5"}):
        assert server.post("SELECT 1", **parameters).status_code == 400
    response = server.post("SELECT 1", retryUrl="http://x/", retryExpirationInSeconds="0")
    assert response.status_code == 400


def test_a_retriable_failure_sends_the_client_elsewhere(server):
    url = "http://other:8080/v1/statement/queued/retry/abc"
    post = server.post("SELECT lost", retryUrl=url, retryExpirationInSeconds="60")
    page = server.client.get(post.json()["nextUri"]).json()
    assert page["nextUri"] == url
    assert "error" not in page
    post = server.post("SELECT 1/0", retryUrl=url, retryExpirationInSeconds="60")
    assert "error" in server.until(post, "FAILED").json()


def test_retry_endpoint(server):
    failed = server.pages("SELECT 1/0")[-1].json()
    owner = {"X-Presto-User": "tester"}
    again = server.client.get(f"/v1/statement/queued/retry/{failed['id']}", headers=owner)
    assert again.json()["id"] != failed["id"]
    assert server.until(again, "FAILED").json()["error"]["errorName"] == "DIVISION_BY_ZERO"
    shown = server.client.get(f"/v1/query/{again.json()['id']}").json()["query"]
    assert shown == f"-- retry query {failed['id']}; attempt: 1\nSELECT 1/0"
    succeeded = server.pages("SELECT 1")[-1].json()["id"]
    assert server.client.get(f"/v1/statement/queued/retry/{succeeded}", headers=owner).status_code == 409
    assert server.client.get("/v1/statement/queued/retry/nope", headers=owner).status_code == 404


def test_compression(server, start_server):
    uri = server.post("SELECT many").json()["nextUri"]
    squeezed = server.client.get(uri, headers={"Accept-Encoding": "gzip"})
    assert squeezed.headers["content-encoding"] == "gzip"
    assert squeezed.json()["data"][0][0] == 0
    plain = server.client.get(server.post("SELECT many").json()["nextUri"], headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    with start_server(server_settings=ServerSettings(compression_enabled=False)) as other:
        page = other.client.get(other.post("SELECT many").json()["nextUri"], headers={"Accept-Encoding": "gzip"})
        assert page.headers["content-encoding"] == "identity"


def test_warnings(server):
    page = server.pages("SELECT 1", {"X-Presto-User": "t", "X-Presto-Source": "warn"})[-1].json()
    assert page["warnings"] == [{"warningCode": {"code": 1, "name": "TEST_WARNING"}, "message": "be careful"}]


def test_a_placeholder_is_run_by_the_retry_endpoint_only_once_needed(server):
    post = server.post("SELECT 1", {"X-Presto-User": "t", "X-Presto-Retry-Query": "true"}).json()
    again = server.client.get(f"/v1/statement/queued/retry/{post['id']}", headers={"X-Presto-User": "t"})
    assert server.until(again, "FINISHED").json()["data"] == [[1]]
    plain = server.post("SELECT 1").json()
    owner = {"X-Presto-User": "tester"}
    assert server.client.get(f"/v1/statement/queued/retry/{plain['id']}", headers=owner).status_code == 409


@pytest.mark.parametrize("zone", ["Mars/Base", "+5", "+99:99", "-14:30", "+05:60", "../../etc/passwd", "America"])
def test_unknown_time_zones_fail_the_query(server, zone):
    last = server.pages("SELECT 1", {"X-Presto-User": "t", "X-Presto-Time-Zone": zone})[-1].json()
    assert (last["error"]["errorName"], last["error"]["message"]) == (
        "NOT_SUPPORTED",
        f"Time zone not supported: {zone}",
    )


@pytest.mark.parametrize("zone", ["+05:30", "-14:00", "Asia/Tokyo", "UTC"])
def test_known_time_zones(server, zone):
    assert "data" in server.pages("SELECT 1", {"X-Presto-User": "t", "X-Presto-Time-Zone": zone})[-1].json()


def test_the_zone_of_the_session_property_counts_before_the_clients(server):
    headers = {"X-Presto-User": "t", "X-Presto-Time-Zone": "UTC", "X-Presto-Session": "time_zone_id=Asia%2FTokyo"}
    assert "data" in server.pages("SELECT 1", headers)[-1].json()
    assert server.planner.sessions[-1].time_zone == "Asia/Tokyo"
    wrong = headers | {"X-Presto-Session": "time_zone_id=Mars"}
    assert server.pages("SELECT 1", wrong)[-1].json()["error"]["message"] == "Time zone not supported: Mars"


@pytest.mark.slow
def test_long_polls_end_within_a_second_and_short_ones_at_once(server):
    post = server.post("SELECT slow").json()
    started = time.monotonic()
    poll = server.client.get(post["nextUri"] + "&maxWait=30s")
    assert 0.9 < time.monotonic() - started < 20
    waited = []
    for _ in range(5):  # the shortest counts: the machine may stand still for a moment
        started = time.monotonic()
        poll = server.client.get(poll.json()["nextUri"] + "&maxWait=1ms")
        waited.append(time.monotonic() - started)
    assert min(waited) < 0.5
    server.client.delete(f"/v1/query/{post['id']}")

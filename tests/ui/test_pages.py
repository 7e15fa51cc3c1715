"""Pages over HTTP: what they show, whom they show it, and what never becomes markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coordinator.config import read_config
from coordinator.security.redaction import Redactor
from coordinator.ui_sources import shown_settings
from tests.e2e.service import write_etc

HOSTILE = """<script>alert(1)</script><img src=x onerror="alert(1)">'"javascript:alert(1)//{{6007*7001}}{% raw %}"""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def page(server, path, **headers):
    return server.client.get(path, headers={"Accept": "text/html"} | headers)


@pytest.mark.slow
def test_every_page_has_the_policy_and_landmarks(server):
    for path in ("/ui/", "/ui/queries", "/ui/login"):
        answer = page(server, path)
        assert answer.status_code == 200, path
        assert answer.headers["content-security-policy"] == POLICY
        text = answer.text
        for part in ('<html lang="en">', "<header>", '<main id="main"', "<nav aria-label", "<h1>", "<footer>"):
            assert part in text, (path, part)
        assert not re.search(r"<script(?! src=\"static/)|\sstyle=|\son\w+=|javascript:", text), path


def test_hostile_texts_stay_texts(server):
    headers = {"X-Presto-User": HOSTILE, "X-Presto-Source": HOSTILE, "X-Presto-Client-Info": HOSTILE}
    last = server.pages(f"SELECT {HOSTILE}", headers)[-1].json()
    for path in ("/ui/", "/ui/queries", f"/ui/query.html?{last['id']}", f"/ui/queries?text={HOSTILE}&user=%22%3E%3Cb"):
        text = page(server, path).text
        assert not re.search(r"<script>|<img|\sonerror=\"|<b\b|42055007", text.replace("&#", "")), path
        assert 'href="javascript' not in text
    assert "&lt;script&gt;alert(1)" in page(server, f"/ui/query.html?{last['id']}").text


def test_a_query_shows_its_error_in_the_text(server):
    last = server.pages("-- why\nSELEC 1")[-1].json()
    text = page(server, f"/ui/query.html?{last['id']}").text
    assert "SYNTAX_ERROR" in text
    assert "<mark>" in text
    assert "data-every" not in text, "it has ended"


def test_fragments_are_not_sent_again(server):
    query_id = server.pages("SELECT 1")[-1].json()["id"]
    whole = page(server, f"/ui/query.html?{query_id}")
    part = page(server, f"/ui/query.html?{query_id}", **{"X-Fragment": "1"})
    assert part.text.startswith("<main")
    assert part.text in whole.text
    again = page(server, f"/ui/query.html?{query_id}", **{"X-Fragment": "1", "If-None-Match": part.headers["etag"]})
    assert (again.status_code, again.text) == (304, "")


def test_a_running_query_shows_its_stages(server):
    running = server.until(server.post("SELECT slow"), "RUNNING").json()
    text = page(server, f"/ui/query.html?{running['id']}").text
    server.client.delete(running["nextUri"])
    _, _, stages = text.partition('<h2 id="stages">')
    assert "rows to the client" in stages
    row = stages.partition("<td>1</td>")[2].partition("</tr>")[0]
    assert [cell.rpartition(">")[2] for cell in row.split("</td>")[1:6]] == ["12", "7", "2", "3", "7"]


def test_a_time_zone_that_there_is_none_of_is_told(server):
    for zone in ("websocket", "+99:99"):
        assert f"Time zone not supported: {zone}" in page(server, "/ui/lake", **{"X-Presto-Time-Zone": zone}).text


def test_static_files_are_known_and_few(server):
    for name in ("style.css", "live.js", "editor.js", "icon.svg"):
        answer = server.client.get(f"/ui/static/{name}")
        assert (answer.status_code, answer.headers["content-security-policy"]) == (200, POLICY)
        again = server.client.get(f"/ui/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    for name in ("layout.html", "..%2Fpage.py", "%2e%2e/page.py", "style.css%00", ""):
        assert server.client.get(f"/ui/static/{name}").status_code == 404, name


def token(text):
    return re.search(r'name="form_token" value="(\w+)"', text)[1]


def test_a_query_is_killed_by_a_form_with_its_token(server):
    first = server.post("SELECT slow")
    server.until(first, "RUNNING")
    query_id = first.json()["id"]
    shown = page(server, f"/ui/query.html?{query_id}").text
    assert 'data-every="1"' in shown
    assert "25 %" in shown
    fields = {"query": query_id, "reason": "too slow"}
    for wrong in ({}, {"form_token": "x"}, {"form_token": "é"}):
        assert server.client.post("/ui/kill", data=fields | wrong).status_code == 403
    assert server.client.post("/ui/kill", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 400
    assert not server.dispatcher.registry.get(query_id).state.done
    kept = {"form_token": token(shown)}
    across = server.client.post("/ui/kill", data=fields | kept, headers={"Origin": "https://evil.example"})
    assert (across.status_code, across.text) == (403, "Request from another site")
    answer = server.client.post("/ui/kill", data=fields | kept)
    assert (answer.status_code, answer.headers["location"]) == (303, f"query.html?{query_id}")
    assert "too slow" in server.dispatcher.registry.get(query_id).error.message


def test_what_follows_in_the_editor(server):
    kept = re.search(r'data-token="(\w+)"', page(server, "/ui/editor").text)[1]
    fields = {"before": "SELECT a FROM t GROUP ", "form_token": kept}
    answer = server.client.post("/ui/following", data=fields)
    assert answer.json() == {"known": True, "names": False, "words": ["BY"]}
    assert server.client.post("/ui/following", data=fields | {"form_token": "x"}).status_code == 403


def test_names_that_browsers_choose(server):
    answer = server.client.post("/ui/login", data={"user": "alice", "next": "query.html?20260101_a"})
    assert (answer.status_code, answer.headers["location"]) == (303, "query.html?20260101_a")
    assert ">alice</a>" in page(server, "/ui/").text
    for wanted in ("//evil.example", "https://evil.example", "javascript:alert(1)", "/\\evil", "a/../../x"):
        answer = server.client.post("/ui/login", data={"user": "bob", "next": wanted})
        assert answer.headers["location"] == "./", wanted
    for name in ("a\r\nSet-Cookie: x=1", "Jürgen", "a" * 300):
        answer = server.client.post("/ui/login", data={"user": name})
        assert (answer.status_code, "set-cookie" in answer.headers) == (400, False), name
    server.client.cookies.clear()


def test_no_link_runs_a_failed_query_again(server):
    failed = server.pages("SELEC 1", {"X-Presto-User": "anonymous"})[-1].json()["id"]
    before = len(server.dispatcher.registry)
    for path in (f"/v1/statement/queued/retry/{failed}", f"/ui/v1/statement/queued/retry/{failed}"):
        assert server.client.get(path).status_code in (403, 404)
    assert len(server.dispatcher.registry) == before


@pytest.fixture(scope="module")
def many():
    from tests.protocol.conftest import running_server

    with running_server() as running:
        for number in range(120):
            running.pages(f"-- a comment\n/* more */ SELECT 1 -- {number}", {"X-Presto-User": f"user{number % 3}"})
        yield running


def ids(text):
    return re.findall(r'href="query\.html\?(\w+)"', text)


@pytest.mark.slow
def test_lists_are_filtered_sorted_and_paged(many):
    everything = [query.id for query in many.dispatcher.registry][::-1]
    first = page(many, "/ui/queries").text
    assert ids(first) == everything[:50]
    assert "120 queries" in first
    assert ids(page(many, "/ui/queries?page=3").text) == everything[100:]
    assert ids(page(many, "/ui/queries?page=99").text) == everything[100:]
    assert ids(page(many, "/ui/queries?order=asc").text) == everything[::-1][:50]
    of_one = [query.id for query in many.dispatcher.registry if query.session.user == "user1"][::-1]
    assert ids(page(many, "/ui/queries?user=user1").text) == of_one
    assert (
        ids(page(many, "/ui/queries?text=select%201%20--%207&state=failed").text)
        == [query.id for query in many.dispatcher.registry if "-- 7" in query.text][::-1]
    )
    slowest = sorted(many.dispatcher.registry, key=lambda query: -query._entered[query.state])
    assert len(ids(page(many, "/ui/queries?sort=elapsed").text)) == min(50, len(slowest))
    assert "is no time" in page(many, "/ui/queries?from=yesterday").text
    assert ids(page(many, "/ui/queries?from=2099-01-01").text) == []
    assert ids(page(many, "/ui/queries?sort=nonsense&page=-1&where=nowhere").text) == everything[:50]


def test_defaults_of_settings_have_their_units(tmp_path) -> None:
    """As docs/configuration.md writes them, and as they could stand in the file."""
    found = {each.name: each.value for each in shown_settings(read_config(write_etc(tmp_path / "etc")), Redactor(()))}
    documented = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    names = ("shutdown.grace-period", "query.client.timeout", "query.max-run-time", "embedded-engine.max-spill-size")
    for name in names:
        assert f"| `{name}` | `{found[name]}` |" in documented, (name, found[name])
    assert found["query.max-concurrent-queries"].isdecimal()

"""Browsers log in by a form, act by a signed cookie, and can do no more with it than the pages offer."""

from __future__ import annotations

import re

import pytest

from coordinator.security.access_control.built_in import OwnQueries
from coordinator.security.authentication.authentication import Authentication
from coordinator.security.authentication.authenticator import Authenticated
from coordinator.security.authentication.browser_sessions import LASTING, BrowserSessions
from coordinator.server.settings import ServerSettings
from tests.protocol.test_authentication import HTTPS, Words, as_

PAGE = HTTPS | {"Accept": "text/html"}
COOKIE = "__Host-Procession-Session"


@pytest.fixture(scope="module")
def guarded():
    from tests.protocol.conftest import running_server

    control = OwnQueries()
    settings = ServerSettings(
        shutdown_grace_period=0.0,
        process_forwarded=True,
        authentication=Authentication((Words(),), control, forms=frozenset({"password"})),
        access_control=control,
    )
    with running_server(server_settings=settings) as server:
        yield server


def login(server, user, password):
    return server.client.post("/ui/login", data={"user": user, "password": password}, headers=PAGE)


def as_browser(answer):
    content = re.match(rf"{COOKIE}=([^;]+);", answer.headers["set-cookie"])[1]
    return PAGE | {"Cookie": f"{COOKIE}={content}"}


def test_the_way_in_and_out(guarded):
    get = guarded.client.get
    sent = get("/ui/query.html?20260101_000000_00000_aaaaa", headers=PAGE)
    assert sent.status_code == 303
    assert sent.headers["location"] == "login?next=query.html%3F20260101_000000_00000_aaaaa"
    for path, where in (("/", "ui/login"), ("/v1/query", "../ui/login"), ("/v1/query/x", "../../ui/login")):
        assert get(path, headers=PAGE).headers["location"] == where
        assert get(path, headers=HTTPS).status_code == 401, "programs are challenged"
    form = get("/ui/login", headers=PAGE).text
    assert 'type="password"' in form
    assert "Log out" not in form
    refused = login(guarded, "alice", "<b>wrong")
    assert refused.status_code == 401
    assert "set-cookie" not in refused.headers
    assert "www-authenticate" not in refused.headers, "or the browser asks by itself"
    assert "Invalid credentials" in refused.text
    entered = login(guarded, "alice", "alice")
    attributes = entered.headers["set-cookie"].lower()
    assert all(part in attributes for part in ("; secure", "; httponly", "; path=/", "samesite=lax"))
    browser = as_browser(entered)
    page = get("/ui/", headers=browser)
    assert page.status_code == 200
    assert ">alice<" in page.text
    form = {"form_token": re.search(r'name="form_token" value="(\w+)"', page.text)[1]}
    out = guarded.client.post("/ui/logout", data=form, headers=browser)
    assert out.headers["location"] == "login?out"
    assert f'{COOKIE}=""' in out.headers["set-cookie"]


def test_a_session_opens_pages_and_nothing_else(guarded):
    browser = as_browser(login(guarded, "alice", "alice"))
    mine = guarded.post("SELECT 1", as_("alice")).json()["id"]
    assert guarded.client.get(f"/v1/query/{mine}", headers=browser).status_code == 200
    for method, path in (("POST", "/v1/statement"), ("DELETE", f"/v1/query/{mine}"), ("PUT", "/v1/info/state")):
        assert guarded.client.request(method, path, content="SELECT 1", headers=browser).status_code == 401
    theirs = guarded.post("SELECT slow", as_("bob")).json()["id"]
    assert theirs not in guarded.client.get("/ui/", headers=browser).text
    assert guarded.client.get(f"/ui/query.html?{theirs}", headers=browser).status_code == 403
    page = guarded.client.get("/ui/", headers=browser).text
    form = {"form_token": re.search(r'name="form_token" value="(\w+)"', page)[1], "query": theirs}
    assert guarded.client.post("/ui/kill", data=form, headers=browser).status_code == 403
    of_bob = as_browser(login(guarded, "bob", "bob"))
    assert guarded.client.post("/ui/kill", data=form, headers=of_bob).status_code == 403, "a token is one user's"
    assert not guarded.dispatcher.registry.get(theirs).state.done


def test_sessions_that_are_not_ours_or_over():
    now = [1000.0]
    sessions = BrowserSessions(clock=lambda: now[0])
    cookie, lasting = sessions.issue(Authenticated("alice@lake", "alice"))
    assert lasting == LASTING
    assert sessions.read(cookie) == Authenticated("alice@lake", "alice")
    content, _, signature = cookie.partition(".")
    wrong = [None, "", ".", content, f"{content}.", f".{signature}", f"{content[:-2]}AA.{signature}", f"é.{signature}"]
    assert [sessions.read(each) for each in wrong] == [None] * len(wrong)
    assert BrowserSessions().read(cookie) is None
    assert BrowserSessions("one", lambda: 0.0).read(BrowserSessions("one").issue(Authenticated("a", "b"))[0])
    assert sessions.issue(Authenticated("a", "b"), expires=1010.0)[1] == 10
    assert sessions.issue(Authenticated("a" * 4000, "b")) is None
    now[0] += LASTING
    assert sessions.read(cookie) is None


def test_the_editor_speaks_the_protocol_by_cookie_and_token(guarded):
    browser = as_browser(login(guarded, "alice", "alice"))
    page = guarded.client.get("/ui/editor", headers=browser).text
    assert guarded.client.post("/ui/v1/statement", content="SELECT 1", headers=browser).status_code == 403
    headers = browser | {"X-Procession-Form-Token": re.search(r'data-token="(\w+)"', page)[1]}
    found = guarded.client.post("/ui/v1/statement", content="SELECT 1", headers=headers).json()
    query_id, rows = found["id"], []
    while "nextUri" in found:
        below = "/ui/v1" + found["nextUri"].partition("/v1")[2]
        assert guarded.client.get(below.replace("/ui/", "/"), headers=browser).status_code == 401
        found = guarded.client.get(below, headers=browser).json()
        rows += found.get("data", [])
    assert rows == [[1]]
    assert guarded.dispatcher.registry.get(query_id).session.user == "alice"
    slow = guarded.client.post("/ui/v1/statement", content="SELECT slow", headers=headers).json()
    page = "/ui/v1" + slow["nextUri"].partition("/v1")[2]
    assert guarded.client.delete(page, headers=browser).status_code == 403
    assert guarded.client.delete(page, headers=headers).status_code == 204


def test_pages_of_other_sites_run_no_statements_through_a_browser(guarded):
    browser = as_browser(login(guarded, "alice", "alice"))
    drawn = browser | {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    before = len(guarded.dispatcher.registry)
    for path in ("lake", "table?catalog=a&schema=b&table=c", "procedures", "maintenance", "names"):
        guarded.client.get(f"/ui/{path}", headers=drawn)
    assert len(guarded.dispatcher.registry) == before
    followed = browser | {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    guarded.client.get("/ui/lake", headers=followed)
    assert len(guarded.dispatcher.registry) == before + 1

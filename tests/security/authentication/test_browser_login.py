"""Browsers log in to a whole service by our own form: with passwords and tokens, as whom the mapping says."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.security.authentication.secured import PASSWORD, Secured

PAGE = {"Accept": "text/html"}
COOKIE = "__Host-Procession-Session"


def browser(secured: Secured) -> httpx.Client:
    return httpx.Client(base_url=secured.url, verify=secured.context(), timeout=60, headers=PAGE)


@contextmanager
def logged_in(secured: Secured, **fields: str) -> Iterator[httpx.Client]:
    with browser(secured) as client:
        answer = client.post("/ui/login", data=fields)
        assert (answer.status_code, answer.headers["location"]) == (303, "./"), answer.text
        yield client


def token_of(page: str) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', page)
    assert found is not None
    return found[1]


def test_a_password_opens_pages_and_runs_statements_of_the_editor(secured: Secured) -> None:
    with logged_in(secured, user="bob", password=PASSWORD) as client:
        page = client.get("/ui/editor")
        assert ">bob<" in page.text
        token = re.search(r'data-token="(\w+)"', page.text)
        assert token is not None
        assert client.post("/ui/v1/statement", content="SELECT current_user").status_code == 403, "no token"
        assert client.post("/v1/statement", content="SELECT current_user").status_code == 401
        headers = {"X-Procession-Form-Token": token[1]}
        found = client.post("/ui/v1/statement", content="SELECT current_user", headers=headers).json()
        rows: list[list[str]] = []
        while "nextUri" in found:
            found = client.get("/ui/v1" + found["nextUri"].partition("/v1")[2]).json()
            rows += found.get("data", [])
        assert rows == [["bob"]]
        verdict = client.post("/ui/v1/validate", content="SELECT 1", headers=headers)
        assert verdict.json()["ok"] is True
        assert client.post("/ui/v1/validate", content="SELECT 1").status_code == 403
        node = client.get("/ui/node").text
        assert "You may not read system information" in node
        assert "client-secret-of-tests" not in node
        as_alice = client.get("/ui/", headers={"X-Presto-User": "alice"})
        assert as_alice.status_code == 403, "nobody becomes another by a header"


def test_settings_are_shown_without_their_secrets(secured: Secured) -> None:
    with logged_in(secured, user="alice", password=PASSWORD) as client:
        node = client.get("/ui/node").text
        assert "http-server.authentication.type" in node
        assert re.search(r"CERTIFICATE,PASSWORD,JWT,OAUTH2</td><td>config\.properties:\d+<", node)
        assert re.search(r"oauth2\.client-secret</th><td>\*\*\*</td>", node)
        assert "client-secret-of-tests" not in node


def test_a_token_is_one_of_the_mapped_user_and_ends_with_it(secured: Secured) -> None:
    with browser(secured) as client:
        answer = client.post("/ui/login", data={"token": secured.token(exp=time.time() + 30)})
        lasting = re.search(r"Max-Age=(\d+)", answer.headers["set-cookie"])
        assert lasting is not None and 20 <= int(lasting[1]) <= 30
        assert ">carol<" in client.get("/ui/").text
        lake = client.get("/ui/lake", params={"catalog": "tpch"}).text
        assert "Access Denied" in lake or "does not exist" in lake
        assert "tpch" not in re.findall(r'href="lake\?catalog=(\w+)"', client.get("/ui/lake").text)
        out = client.post("/ui/logout", data={"form_token": token_of(client.get("/ui/").text)})
        assert (out.status_code, out.headers["location"]) == (303, "login?out")
        assert COOKIE not in client.cookies


def test_who_is_not_let_in(secured: Secured) -> None:
    wrong = (
        {"user": "bob", "password": "no"},
        {"user": "", "password": ""},
        {"token": "x"},
        {"token": secured.token(aud="y")},
    )
    with browser(secured) as client:
        for fields in wrong:
            answer = client.post("/ui/login", data=fields)
            assert (answer.status_code, "set-cookie" in answer.headers) == (401, False), fields
            assert "www-authenticate" not in answer.headers
        assert "Log in at the provider" in client.get("/ui/login").text
    assert httpx.get(f"{secured.plain}/ui/login", headers=PAGE, timeout=60).status_code == 403

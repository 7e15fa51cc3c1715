"""OAUTH2: the flow of clients that open a browser, against a provider that checks what it is sent."""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from base64 import urlsafe_b64decode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import trino

from tests.security.authentication.secured import Secured, trino_cursor, who
from tests.tiers import FULL


def browser(secured: Secured) -> httpx.Client:
    return httpx.Client(verify=secured.context(), timeout=60, follow_redirects=True)


def logging_in(secured: Secured, seen: list[httpx.Response]) -> Callable[[str], None]:
    def opened(url: str) -> None:
        with browser(secured) as client:
            seen.append(client.get(url))

    return opened


def cursor(secured: Secured, user: str | None, opened: Callable[[str], None]) -> Any:
    return trino_cursor(secured, user, trino.auth.OAuth2Authentication(redirect_auth_url_handler=opened))


@pytest.fixture(autouse=True)
def erin(secured: Secured) -> None:
    provider = secured.provider
    provider.user, provider.refuses, provider.lifetime = "erin", None, 60.0
    provider.opaque = provider.refreshes = provider.down = False


def test_a_client_sends_its_user_to_the_provider(secured: Secured) -> None:
    seen: list[httpx.Response] = []
    asking = cursor(secured, "erin", logging_in(secured, seen))
    assert [who(asking), who(asking)] == ["erin", "erin"]
    [page] = seen
    assert "You are logged in" in page.text
    assert page.headers["cache-control"] == "no-store"
    assert page.url.path == "/oauth2/callback"


def test_an_expired_token_sends_them_again(secured: Secured) -> None:
    seen: list[httpx.Response] = []
    secured.provider.lifetime = -61.0 + 3.0  # the tolerance is a minute
    asking = cursor(secured, "erin", logging_in(secured, seen))
    assert who(asking) == "erin"
    logins = len(seen)  # one, unless this took the machine three seconds
    time.sleep(4.0)
    secured.provider.lifetime = 60.0
    assert who(asking) == "erin"
    assert len(seen) == logins + 1


KINDS = (False, True) if FULL else (True,)
"""Whether the provider's tokens are opaque; when those of JWTs end is told by the test above."""


def test_an_expired_token_is_replaced_without_its_user(secured: Secured) -> None:
    seen: list[httpx.Response] = []
    provider = secured.provider
    for turns, provider.opaque in enumerate(KINDS):
        provider.refreshes, provider.lifetime = True, 3.0 if provider.opaque else -61.0 + 3.0
        asking = cursor(secured, "erin", logging_in(secured, seen))
        assert who(asking) == "erin"
        time.sleep(4.0)
        provider.lifetime = 60.0
        assert [who(asking), who(asking)] == ["erin", "erin"]
        assert (len(seen), len(provider.refreshing)) == (1 + turns, 1)
        provider.refreshing.clear()
    provider.live.clear()
    time.sleep(1.1)  # the provider's word is believed for a second
    assert who(asking) == "erin"
    assert len(seen) == len(KINDS) + 1, "what the provider has withdrawn has ended"


def test_what_clients_hold_of_opaque_and_refresh_tokens_is_encrypted(secured: Secured) -> None:
    provider = secured.provider
    provider.opaque = provider.refreshes = True
    token = fetched(secured)
    head = json.loads(urlsafe_b64decode(token.split(".")[0] + "=="))
    assert (head["alg"], head["enc"], token.count(".")) == ("dir", "A256GCM", 4)
    [opaque] = list(provider.live)[-1:]
    assert opaque not in token
    statuses = [
        secured.get("/v1/query", headers={"Authorization": f"Bearer {each}"}).status_code
        for each in (token, f"{token[:-4]}AAAA", token + "A", opaque, list(provider.refreshing)[-1])
    ]
    assert statuses == [200, 401, 401, 401, 401], "the provider gave the bare tokens to others too, for all we know"


def test_a_provider_that_is_down_lets_nobody_in(secured: Secured) -> None:
    provider = secured.provider
    provider.opaque = True
    token = fetched(secured)
    headers = {"Authorization": f"Bearer {token}"}
    assert secured.get("/v1/query", headers=headers).status_code == 200
    time.sleep(1.1)
    provider.down = True
    answer = secured.get("/v1/query", headers=headers)
    assert (answer.status_code, "the provider refuses (503)" in answer.text) == (401, True)
    provider.down = False
    assert secured.get("/v1/query", headers=headers).status_code == 200


def test_requests_side_by_side_use_a_refresh_token_once(secured: Secured) -> None:
    provider = secured.provider
    provider.refreshes, provider.lifetime = True, -61.0
    token = fetched(secured)
    provider.lifetime = 60.0

    def challenge() -> str:
        answer = secured.get("/v1/query", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 401
        return next(each for each in answer.headers.get_list("www-authenticate") if "x_token_server" in each)

    with ThreadPoolExecutor(4) as threads:
        challenges = [each.result() for each in [threads.submit(challenge) for _ in range(4)]]
    assert len(set(challenges)) == 4
    assert not any("redirect" in each for each in challenges)
    for each in challenges:
        place = httpx.URL(each.split('"')[1]).path
        new = secured.get(place).json()["token"]
        assert secured.get("/v1/query", headers={"Authorization": f"Bearer {new}"}).status_code == 200


def test_a_browser_of_a_provider_with_opaque_tokens(secured: Secured) -> None:
    provider = secured.provider
    provider.opaque = provider.refreshes = True
    with browser(secured) as client:
        client.headers.update(PAGE)
        assert client.get(f"{secured.url}/ui/").status_code == 200
        [cookie] = [c for c in client.cookies.jar if c.name == "__Host-Procession-OAuth2-Token"]
        assert 60 < (cookie.expires or 0) - time.time() <= 3600, "it holds the means for the next one"
        provider.live.clear()
        time.sleep(1.1)
        assert client.get(f"{secured.url}/ui/", follow_redirects=False).status_code == 401


@pytest.mark.parametrize(
    ("refusal", "problem"),
    [("access_denied", "OAuth2 server denied the login"), ("<b>", "OAuth2 unknown error code: &lt;b&gt;")],
)
def test_who_is_refused_is_told_so(secured: Secured, refusal: str, problem: str) -> None:
    secured.provider.refuses = refusal
    seen: list[httpx.Response] = []
    with pytest.raises(trino.exceptions.TrinoAuthError, match="Error while getting the token: OAuth2"):
        who(cursor(secured, "erin", logging_in(secured, seen)))
    assert (seen[0].status_code, problem in seen[0].text) == (400, True)


def test_tokens_of_the_provider_for_others_are_refused(secured: Secured) -> None:
    def status(token: str) -> tuple[int, str]:
        answer = secured.get("/v1/query", headers={"Authorization": f"Bearer {token}"})
        return answer.status_code, answer.text

    provider = secured.provider
    assert status(provider.token())[0] == 200
    for claims, problem in (
        ({"aud": ["another"]}, "Audience"),
        ({"iss": "https://evil.example"}, "Invalid issuer"),
        ({"exp": time.time() - 61}, "expired"),
        ({"sub": ""}, "names no principal"),
    ):
        code, text = status(provider.token(**claims))
        assert code == 401
        assert problem in text


def begun(secured: Secured) -> tuple[str, str]:
    """A login id, and where its browser starts."""
    login_id = str(uuid.uuid4())
    return login_id, f"{secured.url}/oauth2/token/initiate/{hashlib.sha256(login_id.encode()).hexdigest()}"


def fetched(secured: Secured) -> str:
    """The token that a client gets for a login."""
    login_id, start = begun(secured)
    with browser(secured) as client:
        assert client.get(start).status_code == 200
    return str(secured.get(f"/oauth2/token/{login_id}").json()["token"])


def test_a_login_that_waits_a_page_that_is_opened_twice_and_one_that_is_not_repeated(secured: Secured) -> None:
    login_id, start = begun(secured)
    answers: list[dict[str, str]] = []

    def poll() -> None:
        answers.append(secured.get(f"/oauth2/token/{login_id}").json())

    waiting = threading.Thread(target=poll)
    waiting.start()
    with browser(secured) as client:
        first = client.get(start, follow_redirects=False)
        assert first.status_code == 303
        assert client.get(start, follow_redirects=False).status_code == 303
        back = client.get(first.headers["location"], follow_redirects=False).headers["location"]
        assert client.get(back).status_code == 200
        waiting.join(60)
        [answer] = answers
        claims = answer["token"].split(".")
        assert len(claims) == 3
        again = client.get(back)
        assert (again.status_code, "unknown or has ended" in again.text) == (400, True)
        assert client.delete(f"{secured.url}/oauth2/token/{login_id}").text == "Authentication deleted"
        assert client.get(back).status_code == 400


def test_what_strangers_may_send(secured: Secured) -> None:
    login_id, start = begun(secured)
    with browser(secured) as client:
        address = httpx.URL(client.get(start, follow_redirects=False).headers["location"])
        state = address.params["state"]
        assert address.params["redirect_uri"] == f"{secured.url}/oauth2/callback"
        head, body, signature = state.split(".")
        wrong = [
            {"code": "x"},
            {"state": "nonsense", "code": "x"},
            {"state": f"{head}.{body}.{signature[:-4]}AAAA", "code": "x"},
            {"state": state, "code": "not a code of the provider"},
        ]
        for parameters in wrong:
            assert client.get(f"{secured.url}/oauth2/callback", params=parameters).status_code == 400
        assert client.get(f"{secured.url}/oauth2/token/{login_id}").json() == {
            "error": "the provider refuses (400 invalid_grant)"
        }
        hashed = start.rpartition("/")[2]
        for path in ("token/x", f"token/{hashed}", "token/initiate/x", f"token/initiate/{login_id}", "nowhere"):
            assert client.get(f"{secured.url}/oauth2/{path}").status_code == 404
    plain = httpx.get(start.replace(secured.url, secured.plain), timeout=60)
    assert (plain.status_code, plain.text) == (403, "Authentication over HTTP is not enabled")


PAGE = {"Accept": "text/html,*/*;q=0.8"}


def test_a_browser_that_opens_a_page_logs_in_and_out(secured: Secured) -> None:
    with browser(secured) as client:
        client.headers.update(PAGE)
        page = client.get(f"{secured.url}/ui/")
        assert (page.status_code, page.url.path) == (200, "/ui/")
        assert "<h1>Overview</h1>" in page.text
        [cookie] = [c for c in client.cookies.jar if c.name == "__Host-Procession-OAuth2-Token"]
        assert (cookie.secure, cookie.path, cookie.has_nonstandard_attr("HttpOnly")) == (True, "/", True)
        assert 0 < (cookie.expires or 0) - time.time() <= 60
        assert client.get(f"{secured.url}/v1/query").status_code == 200
        # It opens pages and does nothing else.
        for method, path in (("POST", "/v1/statement"), ("DELETE", "/v1/query/x"), ("PUT", "/v1/info/state")):
            assert client.request(method, secured.url + path, content="SELECT 1").status_code == 401
        assert client.get(f"{secured.url}/v1/statement/queued/x/1?slug=y").status_code == 401
        assert "logged out" in client.get(f"{secured.url}/oauth2/logout").text
        assert client.get(f"{secured.url}/ui/", follow_redirects=False).status_code == 303


COOKIE = "__Host-Procession-OAuth2-Token"


def cookie_of_login(secured: Secured) -> str:
    """What a browser has been given for a login."""
    with browser(secured) as client:
        client.headers.update(PAGE)
        sent = client.get(f"{secured.url}/ui/", follow_redirects=False)
        back = client.get(sent.headers["location"], follow_redirects=False).headers["location"]
        return str(client.get(back, follow_redirects=False).cookies[COOKIE])


def test_a_browser_goes_on_when_its_token_has_expired(secured: Secured) -> None:
    provider = secured.provider
    provider.refreshes, provider.lifetime = True, -61.0
    provider.refreshing.clear()
    cookie = cookie_of_login(secured)
    assert not any(known in cookie for known in provider.refreshing)
    provider.lifetime, logins = 60.0, provider.asked["/authorize"]

    def opened(token: str, path: str = "/ui/") -> httpx.Response:
        return secured.get(path, headers=PAGE | {"Cookie": f"{COOKIE}={token}"})

    with ThreadPoolExecutor(4) as threads:
        pages = [each.result() for each in [threads.submit(opened, cookie) for _ in range(4)]]
    assert [page.status_code for page in pages] == [200] * 4
    assert (provider.asked["/authorize"], len(provider.refreshing)) == (logins, 1), "one refresh, and no login"
    new = pages[0].cookies[COOKIE]
    said = pages[0].headers["set-cookie"]
    assert all(word in said for word in ("HttpOnly", "Secure", "SameSite=lax"))
    again = opened(new)
    assert (again.status_code, "set-cookie" in again.headers) == (200, False), "a good one stays"
    assert opened(cookie, "/v1/query").status_code == 200
    assert secured.get("/v1/query", headers={"Cookie": f"{COOKIE}={new}"}).status_code == 200
    posted = httpx.post(
        f"{secured.url}/v1/statement", content="SELECT 1", verify=secured.context(), cookies={COOKIE: new}, timeout=60
    )
    assert posted.status_code == 401, "it opens pages and nothing else"


def test_a_browser_whose_provider_gives_nothing_new_logs_in(secured: Secured) -> None:
    provider = secured.provider
    provider.refreshes, provider.lifetime = True, -61.0
    cookie = cookie_of_login(secured)
    provider.lifetime = 60.0
    provider.refreshing.clear()
    answer = secured.get("/ui/", headers=PAGE | {"Cookie": f"{COOKIE}={cookie}"})
    assert (answer.status_code, f'{COOKIE}=""' in answer.headers["set-cookie"]) == (401, True)


def test_cookies_that_are_not_good(secured: Secured) -> None:
    provider = secured.provider
    stranger = provider.token(aud=["another"])
    for token in (stranger, provider.token(exp=time.time() - 61), "x"):
        answer = secured.get("/ui/", headers=PAGE | {"Cookie": f"__Host-Procession-OAuth2-Token={token}"})
        assert answer.status_code == 401
        assert 'Procession-OAuth2-Token=""' in answer.headers["set-cookie"], "the next try logs in"
    assert secured.get("/ui/").status_code == 401, "who is no browser gets challenges"
    with browser(secured) as client:
        sent = client.get(f"{secured.url}/ui/", headers=PAGE, follow_redirects=False)
        back = client.get(sent.headers["location"], follow_redirects=False).headers["location"]
    with browser(secured) as other:
        refused = other.get(back)
        assert (refused.status_code, "belongs to another browser" in refused.text) == (400, True)
        assert not other.cookies
    assert httpx.get(f"{secured.plain}/ui/", headers=PAGE, timeout=60).status_code == 403

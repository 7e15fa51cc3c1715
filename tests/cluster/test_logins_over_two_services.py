"""Whole logins by OAuth2 over two real services that share a PostgreSQL: each step at the other one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import pytest

from tests.databases import new_database
from tests.e2e.service import Service, start_service, write_etc
from tests.security.authentication.identity_provider import SECRET, IdentityProvider, identity_provider

pytestmark = [
    pytest.mark.slow,
    pytest.mark.full(
        "logins over two stores in cluster/test_shared_logins, over one service in security/authentication"
    ),
]
SHARED = "of-two-that-let-in"
OUTSIDE = "https://lake.example.com"
"""The load balancer's name, by which clients and browsers know both."""


@dataclass
class Balancer:
    """Ends TLS, and sends each request to the next of the services."""

    services: list[Service]
    asked: int = 0

    def send(self, url: str, method: str = "GET", **options: object) -> httpx.Response:
        parts = urlsplit(url)
        assert f"{parts.scheme}://{parts.netloc}" == OUTSIDE, "every address that is told is the outside one"
        self.asked += 1
        target = self.services[self.asked % 2].url + parts.path + (f"?{parts.query}" if parts.query else "")
        forwarded = {"X-Forwarded-Proto": "https", "Host": parts.netloc, "X-Forwarded-Host": parts.netloc}
        given = options.pop("headers", {})
        assert isinstance(given, dict)
        return httpx.request(method, target, headers={**forwarded, **given}, timeout=60, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    with identity_provider() as running:
        yield running


@pytest.fixture(scope="module")
def services(
    tmp_path_factory: pytest.TempPathFactory, postgres: str, provider: IdentityProvider
) -> Iterator[list[Service]]:
    home, state = tmp_path_factory.mktemp("logins"), new_database(postgres, "logins")
    config = f"""
state.url={state}
internal-communication.shared-secret={SHARED}
http-server.process-forwarded=true
http-server.allowed-hosts=lake.example.com
http-server.authentication.type=OAUTH2
http-server.authentication.oauth2.issuer={provider.url}
http-server.authentication.oauth2.client-id=procession
http-server.authentication.oauth2.client-secret={SECRET}
"""
    with ExitStack() as stack:
        found = []
        for name in ("one", "two"):
            etc = write_etc(home / name / "etc", spark=False)
            (etc / "node.properties").write_text(f"node.id={name}\n")
            with (etc / "config.properties").open("a") as written:
                written.write(config)
            found.append(start_service(etc, home / name / "data", home / name / "log"))
            stack.callback(found[-1].stop)
        yield found
    for name in ("one", "two"):
        log = (home / name / "log").read_text()
        assert not [word for word in (SECRET, SHARED, "Traceback") if word in log], log


def at_provider(answer: httpx.Response) -> str:
    """Where the provider sends the browser back to, once its user has logged in there."""
    assert answer.status_code == 303, answer.text
    back = httpx.get(answer.headers["location"], timeout=60)
    assert back.status_code == 302
    return str(back.headers["location"])


@pytest.mark.parametrize("first", [0, 1])
def test_a_client_logs_in(services: list[Service], provider: IdentityProvider, first: int) -> None:
    """Asked for a login by one, its browser goes by the other, the token comes from either and is good at both."""
    provider.user = f"erin{first}"
    balancer = Balancer(services, asked=first)
    refused = balancer.send(f"{OUTSIDE}/v1/statement", "POST", content="SELECT current_user")
    assert refused.status_code == 401
    told = dict(re.findall(r'(x_\w+_server)="([^"]+)"', ",".join(refused.headers.get_list("www-authenticate"))))
    browser = Balancer(services, asked=first + 1)
    with ThreadPoolExecutor(1) as threads:
        # A client waits for its token, at the service that did not send the browser on.
        waiting = threads.submit(balancer.send, told["x_token_server"])
        back = at_provider(browser.send(told["x_redirect_server"]))
        assert not waiting.done(), "nobody has logged in yet"
        assert "You are logged in" in browser.send(back).text
        token = waiting.result(60).json()["token"]
    login = {"Authorization": f"Bearer {token}"}
    rows: list[list[str]] = []
    page = balancer.send(f"{OUTSIDE}/v1/statement", "POST", content="SELECT current_user", headers=login).json()
    while "nextUri" in page:
        page = balancer.send(page["nextUri"], headers=login).json()
        rows += page.get("data", [])
    assert rows == [[f"erin{first}"]]
    assert balancer.send(told["x_token_server"], "DELETE").status_code == 200


@pytest.mark.parametrize("first", [0, 1])
def test_a_browser_that_opens_a_page_logs_in(services: list[Service], provider: IdentityProvider, first: int) -> None:
    provider.user = f"frida{first}"
    browser = Balancer(services, asked=first)
    pages = {"Accept": "text/html"}
    begun = browser.send(f"{OUTSIDE}/ui/", headers=pages)
    kept = {"Cookie": begun.headers["set-cookie"].partition(";")[0]}
    back = at_provider(begun)
    stranger = Balancer(services, asked=first).send(back, headers=pages)
    assert stranger.status_code == 400, "another browser cannot finish it"
    browser = Balancer(services, asked=first + 1)
    again = browser.send(f"{OUTSIDE}/ui/", headers=pages)
    kept = {"Cookie": again.headers["set-cookie"].partition(";")[0]}
    ended = browser.send(at_provider(again), headers=pages | kept)
    assert (ended.status_code, ended.headers["location"]) == (303, "/ui/")
    session = next(each for each in ended.headers.get_list("set-cookie") if "Max-Age=0" not in each)
    for _ in services:
        page = browser.send(f"{OUTSIDE}/ui/", headers=pages | {"Cookie": session.partition(";")[0]})
        assert (page.status_code, f">frida{first}<" in page.text) == (200, True)

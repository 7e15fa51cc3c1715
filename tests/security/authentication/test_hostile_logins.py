"""What somebody tries who wants in, or wants others out."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from coordinator.security.authentication.authenticator import AuthenticationError, Credentials
from coordinator.security.authentication.guess_limit import source_of
from coordinator.security.authentication.jwt_keys import JwksAddress
from coordinator.security.authentication.password_authenticator import PasswordAuthenticator
from tests.security.authentication.secured import PASSWORD, Secured, basic
from tests.security.authentication.test_authenticators import itself
from tests.security.authentication.test_opaque_tokens import authenticator, let_in


@contextmanager
def provider_of_keys(content: list[dict[str, Any]]) -> Iterator[tuple[str, threading.Event, list[float]]]:
    """Answers each request while the event is set, and else holds it; and when requests came."""
    answering, asked = threading.Event(), []
    answering.set()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                asked.append(time.monotonic())
                connection.recv(65536)
                body = json.dumps({"keys": content}).encode()
                if answering.wait(60):
                    head = f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
                    connection.sendall(head.encode() + body)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/keys", answering, asked
    finally:
        answering.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.anyio
async def test_a_silent_provider_of_keys_does_not_hold_up_tokens_with_known_keys() -> None:
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key()))
    now = [0.0]
    with provider_of_keys([public | {"kid": "one"}]) as (url, answering, asked):
        keys = JwksAddress(url, lambda: now[0])
        assert await keys.key("one") is not None
        now[0] = 1000.0
        answering.clear()
        async with asyncio.timeout(30):
            assert await keys.key("one") is not None
            assert await keys.key("one") is not None
        answering.set()
        async with asyncio.timeout(60):
            while keys.fetching:
                await asyncio.sleep(0.01)
        assert len(asked) == 2, "the keys are fetched again all the same"


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_provider_that_is_gone_is_not_asked_for_each_token() -> None:
    from tests.security.authentication.identity_provider import identity_provider

    with identity_provider() as provider:
        oauth2 = authenticator(provider)
        token = provider.token()
        provider.down = True
        for _ in range(5):
            assert "unknown key" in await let_in(oauth2, token)
        assert provider.asked["/.well-known/openid-configuration"] == 1


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("a socket", "a socket"),
        (None, None),
    ],
)
def test_who_has_a_whole_network_is_one_guesser(address: str | None, source: str | None) -> None:
    assert source_of(address) == source


@pytest.mark.anyio
async def test_guesses_from_a_whole_network_are_slowed() -> None:
    passwords = PasswordAuthenticator([], itself)
    told = []
    for number in range(8):
        given = Credentials(basic("bob", f"guess {number}") | {}, f"2001:db8::{number + 1:x}")
        lowered = Credentials({name.lower(): value for name, value in given.headers.items()}, given.address)
        with pytest.raises(AuthenticationError) as error:
            await passwords.authenticate(lowered)
        told.append(error.value.message)
    assert "Too many wrong passwords" in told[-1]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Presto-User": "bob"},
        {"X-Trino-User": "bob"},
        {"X-Presto-User": "bob", "X-Trino-User": "alice"},
        {"x-presto-USER": "bob", "X-Forwarded-User": "alice"},
        [("X-Presto-User", "bob"), ("X-Presto-User", "alice")],
    ],
)
def test_nobody_becomes_another_by_a_header(secured: Secured, headers: Any) -> None:
    sent = [*basic("alice", PASSWORD).items(), *(headers.items() if isinstance(headers, dict) else headers)]
    answer = secured.get("/v1/statement", method="POST", content="SELECT current_user", headers=sent)
    assert (answer.status_code, "cannot become user bob" in answer.text or "cannot impersonate" in answer.text) == (
        403,
        True,
    )


def test_forwarded_headers_make_nothing_of_plain_http(secured: Secured) -> None:
    for lie in (
        {"X-Forwarded-Proto": "https"},
        {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example", "X-Forwarded-For": "127.0.0.1"},
        {"Forwarded": "proto=https;host=evil.example"},
    ):
        answer = httpx.get(f"{secured.plain}/v1/query", headers=lie | basic("alice", PASSWORD), timeout=60)
        assert (answer.status_code, answer.text) == (403, "Authentication over HTTP is not enabled")
    challenged = secured.get("/v1/query", headers={"X-Forwarded-Host": "evil.example"})
    assert "evil" not in str(challenged.headers)


def test_tokens_that_are_not_valid_yet(secured: Secured) -> None:
    for token in (secured.token(nbf=time.time() + 30), secured.provider.token(nbf=time.time() + 90)):
        answer = secured.get("/v1/query", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, "not yet valid" in answer.text) == (401, True)
    soon = secured.provider.token(nbf=time.time() + 30)  # within the tolerance
    assert secured.get("/v1/query", headers={"Authorization": f"Bearer {soon}"}).status_code == 200


def test_where_a_login_leads_is_fixed(secured: Secured) -> None:
    """No parameter and no header chooses where a browser goes."""
    page = {"Accept": "text/html"}
    for path in ("/ui/?next=https://evil.example", "/ui//evil.example/", "/ui/?redirect_uri=https://evil.example"):
        answer = secured.get(path, headers=page | {"Referer": "https://evil.example"})
        assert answer.status_code == 303
        address = httpx.URL(answer.headers["location"])
        assert str(address).startswith(secured.provider.url)
        assert address.params["redirect_uri"] == f"{secured.url}/oauth2/callback"
        flags = answer.headers["set-cookie"]
        assert all(flag in flags for flag in ("__Host-", "HttpOnly", "Secure", "SameSite=lax", "Path=/"))
        assert "Domain" not in flags
    with httpx.Client(verify=secured.context(), headers=page, timeout=60) as client:
        there = client.get(f"{secured.url}/ui/").headers["location"]
        back = client.get(there).headers["location"]
        first = client.get(back + "&next=https://evil.example")
        assert (first.status_code, first.headers["location"]) == (303, "/ui/")
        again = client.get(back)
        assert (again.status_code, "set-cookie" in again.headers) == (400, False), "a state is good once"


def test_who_begins_tls_and_says_nothing_is_sent_away(secured: Secured) -> None:
    told, seconds = secured.silent.result(60)
    assert (told, seconds < 50) == (b"", True), seconds
    assert secured.get("/v1/info").status_code == 200


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"

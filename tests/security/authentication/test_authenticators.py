"""Authenticators by themselves: guesses cost time, proxies are known, keys come from providers."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from base64 import b64encode
from collections.abc import Coroutine
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import bcrypt
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from coordinator.security.access_control.built_in import AllowAll, OwnQueries
from coordinator.security.authentication.authentication import Authentication, RequestRefusedError
from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.guess_limit import GuessLimit
from coordinator.security.authentication.header_authenticator import HeaderAuthenticator
from coordinator.security.authentication.jwt_authenticator import JwtAuthenticator
from coordinator.security.authentication.jwt_keys import verification_keys
from coordinator.security.authentication.password_authenticator import PasswordAuthenticator, PasswordFile
from coordinator.security.authentication.password_file import read_password_file
from coordinator.security.refreshed_file import RefreshedFile
from shared.properties import ConfigurationError
from shared.spi.access_control import Identity


def itself(principal: str) -> str:
    return principal


def basic(user: str, password: str, address: str = "10.0.0.1") -> Credentials:
    text = b64encode(f"{user}:{password}".encode()).decode()
    return Credentials({"authorization": f"Basic {text}"}, address)


def passwords(tmp_path: Path, *names: str) -> PasswordAuthenticator:
    files = []
    for name in names:
        user, _, password = name.partition(":")
        file = tmp_path / name.replace(":", "-")
        file.write_text(f"{user}:{bcrypt.hashpw(password.encode(), bcrypt.gensalt(8)).decode()}\n")
        files.append(PasswordFile(RefreshedFile(file, read_password_file, 0.0), 10))
    return PasswordAuthenticator(files, itself)


def refusal(attempt: Coroutine[Any, Any, object]) -> str:
    async def run() -> str:
        with pytest.raises(AuthenticationError) as failure:
            await attempt
        return failure.value.message

    return asyncio.run(run())


def test_several_files_are_asked_in_order(tmp_path: Path) -> None:
    authenticator = passwords(tmp_path, "alice:one", "alice:two", "bob:three")

    async def run() -> list[Authenticated]:
        given = (("alice", "one"), ("alice", "two"), ("bob", "three"))
        return [await authenticator.authenticate(basic(*each)) for each in given]

    assert [each.user for each in asyncio.run(run())] == ["alice", "alice", "bob"]
    assert refusal(authenticator.authenticate(basic("bob", "one"))) == "Access Denied: Invalid credentials"


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("", ""),
        ("Bearer x", ""),
        ("Basic ?", "Invalid base64 encoded credentials"),
        ("Basic " + b64encode(b"alice").decode(), "Malformed credentials: user is empty"),
        ("Basic " + b64encode(b"alice:").decode(), "Malformed credentials: password is empty"),
    ],
)
def test_malformed_credentials(tmp_path: Path, header: str, problem: str) -> None:
    authenticator = passwords(tmp_path, "alice:one")
    assert refusal(authenticator.authenticate(Credentials({"authorization": header}))) == problem


def test_guesses_cost_time_and_those_who_know_go_on(tmp_path: Path) -> None:
    authenticator = passwords(tmp_path, "alice:right")

    async def run() -> list[str]:
        await authenticator.authenticate(basic("alice", "right"))
        said = []
        for number in range(8):
            with pytest.raises(AuthenticationError) as failure:
                await authenticator.authenticate(basic("alice", f"wrong{number}"))
            said.append(failure.value.message)
        await authenticator.authenticate(basic("alice", "right"))  # remembered
        return said

    said = asyncio.run(run())
    assert said[:5] == ["Access Denied: Invalid credentials"] * 5
    assert all(text.startswith("Too many wrong passwords; try again in") for text in said[5:])


def test_guesses_side_by_side_are_no_way_around(tmp_path: Path) -> None:
    authenticator = passwords(tmp_path, "alice:right")

    async def run() -> list[Any]:
        guesses = [authenticator.authenticate(basic("alice", f"wrong{number}")) for number in range(50)]
        return await asyncio.gather(*guesses, return_exceptions=True)

    said = [error.message for error in asyncio.run(run())]
    assert sum(text == "Access Denied: Invalid credentials" for text in said) == 5


def test_one_user_on_many_connections_is_looked_at_once(tmp_path: Path) -> None:
    authenticator = passwords(tmp_path, "alice:right")

    async def run() -> list[Authenticated]:
        return await asyncio.gather(*(authenticator.authenticate(basic("alice", "right")) for _ in range(50)))

    assert {each.user for each in asyncio.run(run())} == {"alice"}


def test_waits_grow_and_end() -> None:
    now = 0.0
    limit = GuessLimit(2, lambda: now)
    waits = []
    for _ in range(10):
        limit.failed("x")
        waits.append(limit.seconds_to_wait("x"))
    assert waits == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert limit.seconds_to_wait("y") == 0
    now = 59.0
    assert limit.seconds_to_wait("x") == 1.0
    now = 2000.0
    limit.failed("x")
    assert limit.seconds_to_wait("x") == 0


def test_only_known_proxies_name_users() -> None:
    authenticator = HeaderAuthenticator("X-Who", ("10.1.0.0/16", "::1"), itself)

    async def ask(address: str | None, name: str = "alice") -> Authenticated:
        return await authenticator.authenticate(Credentials({"x-who": name}, address))

    for address in ("10.1.2.3", "::1", "::ffff:10.1.2.3"):
        assert asyncio.run(ask(address)).principal == "alice"
    for address in ("10.2.0.1", None, "proxy", "127.0.0.1"):
        assert "no trusted proxy" in refusal(ask(address))
    assert refusal(ask("10.1.2.3", " ")) == ""
    with pytest.raises(ConfigurationError, match="trusted-proxies"):
        HeaderAuthenticator("X-Who", ("proxy",), itself)


class Says:
    def __init__(self, message: str, challenge: str | None) -> None:
        self.error = AuthenticationError(message, challenge)

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        raise self.error


def test_failures_are_joined_as_presto_joins_them() -> None:
    said = (Says("one\ntwo", "Basic"), Says("", None), Says("three", "Bearer"), Says("three", "Bearer"))
    authentication = Authentication(said, AllowAll())
    with pytest.raises(RequestRefusedError) as failure:
        asyncio.run(authentication.identify(Credentials({}), None, secure=True))
    refused = failure.value
    assert (refused.status, refused.text, refused.challenges) == (401, "one two | three", ("Basic", "Bearer"))


def test_plain_http_where_it_is_allowed() -> None:
    authentication = Authentication((), OwnQueries(), allow_insecure=True)

    def identity(headers: dict[str, str], user: str | None = None) -> Identity | None:
        return asyncio.run(authentication.identify(Credentials(headers), user, secure=False))

    assert identity({}, "alice") == Identity("alice")
    assert identity({}) is None
    assert identity({"authorization": "Basic " + b64encode(b"bob:").decode()}) == Identity("bob")
    for headers in (basic("bob", "word").headers, {"authorization": "Bearer x"}):
        with pytest.raises(RequestRefusedError, match="not allowed for insecure authentication"):
            identity(dict(headers))


class Provider(BaseHTTPRequestHandler):
    keys: ClassVar[list[dict[str, str]]] = []
    asked = 0

    def do_GET(self) -> None:
        Provider.asked += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"keys": self.keys}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_keys_of_a_provider_are_fetched_when_they_are_needed() -> None:
    first, second = (generate_private_key(65537, 2048) for _ in range(2))
    entries = [json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())) for key in (first, second)]
    Provider.keys = [entries[0] | {"kid": "1", "alg": "RS256"}]
    with HTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            now = 0.0
            keys = verification_keys(f"http://127.0.0.1:{server.server_port}/keys", lambda path: path)
            keys._monotonic = lambda: now  # type: ignore[attr-defined]
            authenticator = JwtAuthenticator(keys, itself)

            async def asked(key: Any, key_id: str) -> str:
                token = jwt.encode({"sub": "alice", "exp": time.time() + 60}, key, "RS256", {"kid": key_id})
                try:
                    return (await authenticator.authenticate(Credentials({"authorization": f"Bearer {token}"}))).user
                except AuthenticationError as error:
                    return error.message

            async def run() -> None:
                nonlocal now
                assert [await asked(first, "1") for _ in range(3)] == ["alice"] * 3
                assert Provider.asked == 1
                for _ in range(3):
                    assert "unknown key" in await asked(second, "2")
                assert Provider.asked == 1, "a stranger's key ids make no storm of requests"
                Provider.keys.append(entries[1] | {"kid": "2"})
                now = 11.0
                assert await asked(second, "2") == "alice"
                assert "Signature verification failed" in await asked(second, "1")

            asyncio.run(run())
        finally:
            server.shutdown()
            thread.join()


def test_a_key_for_each_key_id(tmp_path: Path) -> None:
    secrets = {name: name.encode().ljust(32, b".") for name in ("a_b", "default-key")}
    for name, secret in secrets.items():
        (tmp_path / f"{name}.key").write_text(b64encode(secret).decode())
    authenticator = JwtAuthenticator(verification_keys(f"{tmp_path}/${{KID}}.key", lambda path: path), itself)

    def asked(secret: bytes, key_id: str | None) -> str:
        token = jwt.encode({"sub": "alice"}, secret, "HS256", {} if key_id is None else {"kid": key_id})
        found = authenticator.authenticate(Credentials({"authorization": f"Bearer {token}"}))
        try:
            return asyncio.run(found).user
        except AuthenticationError as error:
            return error.message

    assert asked(secrets["a_b"], "a/b") == "alice"
    assert asked(secrets["default-key"], None) == "alice"
    assert "unknown key" in asked(secrets["a_b"], "../a_b")
    public = generate_private_key(65537, 2048).public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "rsa.key").write_bytes(pem)
    assert asked(secrets["a_b"], "rsa") == "JWT is signed with HS256, but no HMAC key is configured"

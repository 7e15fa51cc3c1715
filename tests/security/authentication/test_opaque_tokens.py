"""Opaque and sealed tokens of OAUTH2 against the provider of the tests, without a service."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from typing import Any

import pytest

from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.load import _oauth2
from coordinator.security.authentication.oauth2.authenticator import OAuth2Authenticator
from coordinator.security.authentication.oauth2.sealed_tokens import SealedTokens, Tokens, secret_key
from coordinator.security.authentication.oauth2.settings import OAuth2Settings
from shared.properties import ConfigurationError
from tests.security.authentication.identity_provider import CLIENT, SECRET, IdentityProvider, identity_provider
from tests.security.authentication.test_authenticators import itself

OAUTH2 = "http-server.authentication.oauth2."


def authenticator(provider: IdentityProvider, **settings: Any) -> OAuth2Authenticator:
    given = {"issuer": provider.url, "client-id": CLIENT, "client-secret": SECRET} | settings
    named = {OAUTH2 + name.replace("_", "-"): value for name, value in given.items()}
    return _oauth2(OAuth2Settings.model_validate(named), itself)


async def let_in(oauth2: OAuth2Authenticator, token: str, address: str = "10.0.0.1") -> str:
    """The user, or what the client is told."""
    bearer = Credentials({"authorization": f"Bearer {token}"}, address, base="https://here")
    try:
        found = await oauth2.authenticate(bearer)
    except AuthenticationError as error:
        return error.message
    assert found == Authenticated(found.user, found.user)
    return found.user


async def test_introspection_says_whose_and_for_whom_a_token_is() -> None:
    with identity_provider() as provider:
        oauth2 = authenticator(provider, introspection_url=f"{provider.url}/introspect")
        token = provider.opaque_token()
        assert [await let_in(oauth2, token) for _ in range(3)] == ["erin"] * 3
        assert provider.asked["/introspect"] == 1, "its word is believed for a while"
        for wrong, problem in (
            (provider.opaque_token(client="another"), "Audience"),
            ("never given", "not active"),
            ("é" * 10, "not active"),
        ):
            assert problem in await let_in(oauth2, wrong)
        other = authenticator(provider, introspection_url=f"{provider.url}/introspect", client_secret="wrong")
        assert "refuses (401 invalid_client)" in await let_in(other, token)


async def test_the_word_of_the_provider_ends_with_the_token_and_after_a_while() -> None:
    with identity_provider() as provider:
        oauth2 = authenticator(provider, introspection_url=f"{provider.url}/introspect", userinfo_cache_ttl="200ms")
        token = provider.opaque_token()
        assert await let_in(oauth2, token) == "erin"
        provider.live.clear()
        await asyncio.sleep(0.3)
        assert "not active" in await let_in(oauth2, token)
        long = authenticator(provider, introspection_url=f"{provider.url}/introspect", userinfo_cache_ttl="1h")
        for provider.lifetime in (1.0, 5.0, 25.0):  # a busy machine has to ask within it
            token = provider.opaque_token()
            found = await let_in(long, token)
            await asyncio.sleep(provider.lifetime + 0.1)
            assert "not active" in await let_in(long, token)
            if found == "erin":
                break
        assert found == "erin"


async def test_requests_side_by_side_ask_the_provider_once() -> None:
    with identity_provider() as provider:
        oauth2 = authenticator(provider, introspection_url=f"{provider.url}/introspect")
        token = provider.opaque_token()
        assert await asyncio.gather(*(let_in(oauth2, token) for _ in range(5))) == ["erin"] * 5
        assert provider.asked["/introspect"] == 1


async def test_who_guesses_tokens_waits_and_who_has_a_good_one_does_not() -> None:
    with identity_provider() as provider:
        oauth2 = authenticator(provider, introspection_url=f"{provider.url}/introspect")
        token = provider.opaque_token()
        assert await let_in(oauth2, token) == "erin"
        told = [await let_in(oauth2, f"guess {n}") for n in range(60)]
        assert "Too many wrong tokens" in told[-1]
        assert provider.asked["/introspect"] <= 52
        assert await let_in(oauth2, token) == "erin"
        assert "not active" in await let_in(oauth2, "guess", address="10.0.0.2")


async def test_a_provider_that_fails_lets_nobody_in_and_is_asked_again() -> None:
    with identity_provider() as provider:
        oauth2 = authenticator(provider, introspection_url=f"{provider.url}/introspect")
        token = provider.opaque_token()
        assert await let_in(oauth2, provider.token()) == "erin"
        provider.down = True
        assert "refuses (503)" in await let_in(oauth2, token)
        provider.down = False
        assert await let_in(oauth2, token) == "erin"
    assert "does not answer" in await let_in(oauth2, "another")


async def test_user_info_is_asked_of_tokens_of_this_service_alone() -> None:
    """Another service of the same provider could log in here with the tokens of its users."""
    with identity_provider() as provider:
        oauth2 = authenticator(provider)
        token = provider.opaque_token()
        assert "nobody can be asked" in await let_in(oauth2, token)
        assert provider.asked["/userinfo"] == 0
        sealed = oauth2.handed.sealed.seal(Tokens(token, None, time.time() + 60))
        assert await let_in(oauth2, sealed) == "erin"
        assert provider.asked["/userinfo"] == 1
        without = authenticator(provider, **{"oidc.use-userinfo-endpoint": False})
        own = without.handed.sealed.seal(Tokens(token, None, None))
        assert "nobody can be asked" in await let_in(without, own)
        assert "has expired" in await let_in(oauth2, oauth2.handed.sealed.seal(Tokens(token, None, time.time() - 1)))


async def test_a_sealed_token_holds_no_token_for_others() -> None:
    with identity_provider() as provider:
        oauth2 = authenticator(provider)
        sealed = oauth2.handed.sealed.seal(Tokens(provider.token(aud="another"), "refresh"))
        assert "Audience" in await let_in(oauth2, sealed)


@pytest.fixture
def clock() -> Callable[[], float]:
    return lambda: 1000.0


def test_sealed_tokens(clock: Callable[[], float]) -> None:
    key = bytes(range(32))
    sealed = SealedTokens(key, 60.0, "a", "b", clock)
    tokens = Tokens("access", "refresh", 12.5)
    text = sealed.seal(tokens)
    assert sealed.open(text) == tokens
    assert SealedTokens(key, 60.0, "a", "b", clock).open(text) == tokens, "another coordinator with the key"
    assert sealed.seal(tokens) != text
    assert "access" not in repr(tokens)
    for other in (
        SealedTokens(None, 60.0, "a", "b", clock),
        SealedTokens(key, 60.0, "x", "b", clock),
        SealedTokens(key, 60.0, "a", "x", clock),
        SealedTokens(key, 60.0, "a", "b", lambda: 1060.0),
    ):
        assert other.open(text) is None
    parts = text.split(".")
    for n, part in enumerate(parts):
        changed = "A" * max(len(part), 4)
        assert sealed.open(".".join([*parts[:n], changed, *parts[n + 1 :]])) is None
    for junk in ("", "....", "a.b.c.d.e", "é.é.é.é.é", "a" * 100_000):
        assert sealed.open(junk) is None


@pytest.mark.parametrize(("text", "problem"), [("x", "not base64"), ("AAAA", "needs 32 bytes"), ("ü", "not base64")])
def test_keys_that_are_none(text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=f"secret-key: .*{problem}"):
        _oauth2(
            OAuth2Settings(issuer="x", client_id="y", client_secret="z", secret_key=text),
            itself,
        )
    assert secret_key(base64.b64encode(bytes(32)).decode()) == bytes(32)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


pytestmark = [pytest.mark.anyio, pytest.mark.slow]

"""A login that one coordinator prepared is answered by another, over a real PostgreSQL."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import text

from coordinator.cluster.logins import SharedLogins
from coordinator.cluster.store import ClusterStore
from coordinator.security.authentication.oauth2.handed_tokens import HandedTokens
from coordinator.security.authentication.oauth2.login_store import Login, LoginsInMemory, LoginStore, LoginStoreError
from coordinator.security.authentication.oauth2.logins import LoginError, Logins, hash_of
from coordinator.security.authentication.oauth2.provider import ProviderError
from coordinator.security.authentication.oauth2.refreshes import Refreshes
from coordinator.security.authentication.oauth2.sealed_tokens import SealedTokens, Tokens
from tests.databases import new_database

T = TypeVar("T")


class Provider:
    """Gives one token for each code, to whoever brings the verifier of the login's challenge."""

    def __init__(self) -> None:
        self.verifiers: list[str] = []

    async def login_address(self, redirect_uri: str, state: str, challenge: str) -> str:
        return f"https://provider/?state={state}&challenge={challenge}"

    async def tokens(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        self.verifiers.append(verifier)
        return Tokens(f"token-for-{code}")

    async def refreshed(self, refresh: str) -> Tokens:
        """As providers do that take a refresh token once."""
        self.verifiers.append(refresh)
        await asyncio.sleep(0.05)
        if self.verifiers.count(refresh) > 1:
            raise ProviderError("the provider refuses (400 invalid_grant)")
        return Tokens(f"new-{refresh}", f"{refresh}+", time.time() - 1.0)


def refreshes(provider: Any, store: LoginStore) -> Refreshes:
    sealed = SealedTokens(b"k" * 32, 60.0, "issuer", "audience")
    handed = HandedTokens(sealed, 60.0, refresh=True)
    return Refreshes(provider, handed, Logins(provider, handed, "state", 60.0, store), store)


async def refreshed_once(first: LoginStore, second: LoginStore) -> None:
    """A browser's requests come to two coordinators at the same time, with the same cookie."""
    provider = Provider()
    both = [refreshes(provider, store) for store in (first, second)]
    cookie = both[0]._handed.sealed.seal(Tokens("old", "refresh 1", time.time() - 1.0))
    found = await asyncio.gather(*(each.for_browser(cookie) for each in (*both, *both)))
    opened = [both[0]._handed.sealed.open(each.token) for each in found if each is not None]
    assert {(each.access, each.refresh) for each in opened if each is not None} == {("new-refresh 1", "refresh 1+")}
    assert (len(opened), provider.verifiers) == (4, ["refresh 1"])
    # What the provider refuses is refused everywhere, and asked for once.
    provider.verifiers.append("refresh 2")
    stale = both[0]._handed.sealed.seal(Tokens("old", "refresh 2", time.time() - 1.0))
    assert await asyncio.gather(*(each.for_browser(stale) for each in both)) == [None, None]
    assert provider.verifiers == ["refresh 1", "refresh 2", "refresh 2"]


@pytest.mark.slow
def test_a_refresh_token_is_used_by_one_coordinator(store: ClusterStore) -> None:
    asyncio.run(refreshed_once(*(SharedLogins(store.engine, "secret") for _ in range(2))))
    with store.engine.begin() as connection:
        assert "refresh 1" not in str(connection.execute(text("SELECT hashed, sealed FROM cluster_logins")).all())
        connection.execute(text("DELETE FROM cluster_logins"))


def test_a_refresh_token_is_used_once_in_memory() -> None:
    async def run() -> None:
        shared = LoginsInMemory()
        await refreshed_once(shared, shared)

    asyncio.run(run())


def test_without_the_store_the_provider_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise LoginStoreError("The database of the coordinators cannot be reached; try again")

    async def run() -> None:
        shared = LoginsInMemory()
        for name in ("open", "end", "awaited"):
            monkeypatch.setattr(shared, name, broken)
        made = refreshes(Provider(), shared)
        cookie = made._handed.sealed.seal(Tokens("old", "refresh 1", time.time() - 1.0))
        assert await made.for_browser(cookie) is not None

    asyncio.run(run())


def logins(store: LoginStore) -> Logins:
    sealed = SealedTokens(b"k" * 32, 60.0, "issuer", "audience")
    provider: Any = Provider()
    return Logins(provider, HandedTokens(sealed, 60.0, refresh=False), "state", 60.0, store)


@pytest.fixture(scope="module")
def store(postgres: str) -> Iterator[ClusterStore]:
    made = ClusterStore(new_database(postgres, "logins"))
    yield made
    made.close()


def state_of(address: str) -> str:
    return parse_qs(urlsplit(address).query)["state"][0]


async def answered_elsewhere(first: Logins, second: Logins, third: Logins) -> None:
    login_id = str(uuid.uuid4())
    waiting = asyncio.create_task(third.outcome(login_id))
    state = state_of(await first.begin(hash_of(login_id), "https://here/callback"))
    assert state_of(await second.begin(hash_of(login_id), "https://here/callback"))
    assert await second.finish(state, "c1", None, "https://here/callback") is None
    outcome = await waiting
    assert outcome.token is not None
    assert (await first.outcome(login_id)).token == outcome.token
    with pytest.raises(LoginError, match="has ended"):
        await first.finish(state, "c2", None, "https://here/callback")
    with pytest.raises(LoginError, match="has ended"):
        await second.begin(hash_of(login_id), "https://here/callback")
    await second.drop(login_id)


@pytest.mark.slow
def test_prepared_here_answered_there_fetched_elsewhere(store: ClusterStore) -> None:
    async def run() -> None:
        await answered_elsewhere(*(logins(SharedLogins(store.engine, "secret")) for _ in range(3)))

    asyncio.run(run())
    with store.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM cluster_logins")).scalar() == 0


def test_the_same_in_memory() -> None:
    async def run() -> None:
        one = logins(LoginsInMemory())
        await answered_elsewhere(one, one, one)

    asyncio.run(run())


def with_shared(store: ClusterStore, secret: str, use: Callable[[SharedLogins], Awaitable[T]]) -> T:
    async def run() -> T:
        return await use(SharedLogins(store.engine, secret))

    return asyncio.run(run())


@pytest.mark.slow
def test_the_database_tells_nothing(store: ClusterStore) -> None:
    """Neither verifier nor token stands there, a login is no other's, and another secret opens none."""
    with_shared(store, "secret", lambda shared: shared.open("a" * 64, Login("the-verifier"), 60.0))
    with_shared(store, "secret", lambda shared: shared.end("a" * 64, "the-token", None))
    with_shared(store, "secret", lambda shared: shared.end("a" * 64, "another", None))
    assert with_shared(store, "secret", lambda shared: shared.get("a" * 64)) == Login("", True, "the-token", None)
    assert with_shared(store, "other", lambda shared: shared.get("a" * 64)) is None
    with store.engine.begin() as connection:
        (row,) = connection.execute(text("SELECT sealed, ended FROM cluster_logins")).all()
        assert "the-" not in str(row)
        connection.execute(
            text("INSERT INTO cluster_logins VALUES (:h, :s, true, now() + interval '1 minute')"),
            {"h": "b" * 64, "s": row.sealed},
        )
    assert with_shared(store, "secret", lambda shared: shared.get("b" * 64)) is None
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE cluster_logins SET until = now() - interval '1 second'"))
    assert with_shared(store, "secret", lambda shared: shared.get("a" * 64)) is None
    with_shared(store, "secret", lambda shared: shared.open("c" * 64, Login("v"), 60.0))
    with store.engine.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM cluster_logins")).scalar() == 1
        connection.execute(text("DELETE FROM cluster_logins"))


@pytest.mark.slow
def test_a_database_that_is_away_is_waited_for(store: ClusterStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise LoginStoreError("The database of the coordinators cannot be reached; try again")

    shared = LoginsInMemory()
    for name in ("open", "get", "end", "drop", "awaited"):
        monkeypatch.setattr(shared, name, broken)
    away = logins(shared)

    async def run() -> None:
        with pytest.raises(LoginError, match="cannot be reached"):
            await away.begin("a" * 64, "https://here/callback")
        assert (await away.outcome(str(uuid.uuid4()))).token is None
        await away.drop(str(uuid.uuid4()))

    asyncio.run(run())

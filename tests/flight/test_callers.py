"""Tokens of handshakes: for whom, over what, and how long."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import pytest

from coordinator.dispatch.clock import SystemClock
from coordinator.flight.callers import Arrival, Callers
from coordinator.flight.failures import CallError
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.authentication.authentication import Authentication
from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError
from coordinator.server.settings import ServerSettings
from tests.protocol.test_authentication import Words

PASSWORD = "Basic " + b64encode(b"alice:alice").decode()


class Tokens:
    """Knows one token, as long as it is good."""

    good = True

    async def authenticate(self, credentials):
        if credentials.bearer_token() != "theirs" or not self.good:
            raise AuthenticationError("no such token")
        return Authenticated("carol@lake", "carol")


def callers(*authenticators, **options):
    control = AllowAll()
    authentication = Authentication(authenticators, control, **options)
    return Callers(ServerSettings(authentication=authentication, access_control=control), SystemClock())


def arrival(authorization, *, secure=True):
    return Arrival((("authorization", authorization),), "127.0.0.1", secure)


def token(of, authorization, **options):
    return asyncio.run(of.token(arrival(authorization, **options)))


def user(of, authorization, **options):
    return asyncio.run(of.caller(arrival(authorization, **options))).session.user


def test_a_password_gives_a_token_which_gives_no_other():
    made = callers(Words())
    issued = token(made, PASSWORD)
    assert user(made, f"Bearer {issued}") == "alice"
    with pytest.raises(CallError, match="not exchanged"):
        token(made, f"Bearer {issued}")


def test_a_refused_login_is_told_and_who_brings_nothing_is_not():
    told = []
    authentication = Authentication((Words(),), AllowAll())
    settings = ServerSettings(authentication=authentication, login_refused=lambda *why: told.append(why))
    made = Callers(settings, SystemClock())
    wrong = "Basic " + b64encode(b"alice:wrong").decode()
    for call in (made.token, made.caller):
        with pytest.raises(CallError):
            asyncio.run(call(arrival(wrong)))
    with pytest.raises(CallError):
        asyncio.run(made.caller(Arrival((), "10.0.0.7", secure=True)))
    assert [(user, address) for _, user, address in told] == [("alice", "127.0.0.1")] * 2
    assert all(problem and "wrong" not in problem for problem, _, _ in told)


def test_without_passwords_a_token_gives_no_other_either():
    made = Callers(ServerSettings(), SystemClock())
    issued = token(made, "Basic " + b64encode(b"alice:").decode())
    assert user(made, f"Bearer {issued}") == "alice"
    with pytest.raises(CallError, match="not exchanged"):
        token(made, f"Bearer {issued}")


def test_a_token_of_somebody_else_lasts_as_long_as_they_say():
    theirs = Tokens()
    made = callers(Words(), theirs)
    given = token(made, "Bearer theirs")
    assert user(made, f"Bearer {given}") == "carol"
    theirs.good = False
    for call in (user, token):
        with pytest.raises(CallError):
            call(made, f"Bearer {given}")


@pytest.mark.parametrize("insecure", [False, True])
def test_tokens_of_principals_go_over_tls_alone(insecure):
    made = callers(Words(), allow_insecure=insecure)
    issued = token(made, PASSWORD)
    for call in (user, token):
        with pytest.raises(CallError):
            call(made, f"Bearer {issued}", secure=False)
    if insecure:
        open_ = token(made, "Basic " + b64encode(b"bob:").decode(), secure=False)
        assert user(made, f"Bearer {open_}", secure=False) == "bob"
        with pytest.raises(CallError):
            user(made, f"Bearer {open_}")

"""How a client says who it is: a password, a token, a certificate, a ticket, or a login in the browser."""

from __future__ import annotations

import re
import sys
import time
import webbrowser
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import msgspec

from coordinator.cli.kerberos import Tickets
from coordinator.cli.shell.values import visible
from coordinator.cli.tls import Store

_POLLS_SECONDS = 600.0
_REDIRECT = re.compile(r'x_redirect_server="([^"]*)"')
_TOKEN = re.compile(r'x_token_server="([^"]*)"')


class LoginError(Exception):
    """The login in the browser did not succeed."""


@dataclass(frozen=True, slots=True)
class Login:
    """``truststore``: whom a client trusts besides, in PEM; ``trust`` and ``keystore`` may be PKCS #12 as well."""

    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    truststore: Path | None = None
    trust: Store | None = None
    keystore: Store | None = None
    insecure: bool = False
    external: ExternalLogin | None = None
    principal: str | None = None
    kerberos: Tickets | None = None

    @property
    def is_secret(self) -> bool:
        return any(each is not None for each in (self.password, self.token, self.external, self.kerberos))

    @property
    def trusted(self) -> Store | None:
        """The store of either kind."""
        return self.trust or (None if self.truststore is None else Store(self.truststore))

    def headers(self, user: str) -> dict[str, str]:
        """Of every request; ``user`` is whose statements they are, unless another one logs in for them."""
        token = self.token or (self.external.token if self.external is not None else None)
        if token is not None:
            return {"Authorization": f"Bearer {token}"}
        if self.password is not None:
            name = self.principal or user
            return {"Authorization": "Basic " + b64encode(f"{name}:{self.password}".encode()).decode()}
        return {}


class _TokenAnswer(msgspec.Struct):
    token: str | None = None
    nextUri: str | None = None
    error: str | None = None


class ExternalLogin:
    """Trino's external authentication: a person logs in with a browser, and the token comes by polling.

    One object for every connection of a shell, so that nobody logs in twice.
    """

    def __init__(self, show: Callable[[str], None], *, seconds: float = _POLLS_SECONDS) -> None:
        """``show`` is given the address that the person must open."""
        self.token: str | None = None
        self._show = show
        self._seconds = seconds

    def answer(self, http: httpx.Client, challenge: str) -> bool:
        """Whether there is a new token after the challenge of a response; False for a challenge of another kind."""
        redirect, token = _REDIRECT.search(challenge), _TOKEN.search(challenge)
        if token is None:
            return False
        if redirect is not None:
            # The browser opens it: tokens come over https alone, and a server names no files or programs of ours.
            if not redirect[1].startswith("https://"):
                raise LoginError(f"the address of the login page is not https: {redirect[1]}")
            self._show(redirect[1])
        self.token = self._poll(http, token[1])
        return True

    def _poll(self, http: httpx.Client, address: str) -> str:
        deadline = time.monotonic() + self._seconds
        while time.monotonic() < deadline:
            if not address.startswith("https://"):
                raise LoginError(f"the address of the token is not https: {address}")
            try:
                answer = msgspec.json.decode(http.get(address).raise_for_status().content, type=_TokenAnswer)
            except (httpx.HTTPError, msgspec.DecodeError) as error:
                raise LoginError(f"no token came from {address}: {error}") from error
            if answer.error is not None:
                raise LoginError(answer.error)
            if answer.token is not None:
                http.delete(address)
                return answer.token
            address = answer.nextUri or address
        raise LoginError("nobody logged in within ten minutes")


def open_browser(address: str) -> None:
    """Opens the page where there is a browser, and says its address in any case."""
    sys.stderr.write(f"External authentication required. Please go to:\n{visible(address)}\n")
    webbrowser.open(address)


def print_address(address: str) -> None:
    """For machines without a browser."""
    sys.stderr.write(f"External authentication required. Please go to:\n{visible(address)}\n")

"""Authenticator: one way to find out who sends a request."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


class AuthenticationError(Exception):
    """Not let in. The message, if any, is for the client; ``challenge`` goes into ``WWW-Authenticate``."""

    def __init__(self, message: str = "", challenge: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.challenge = challenge


def nothing_said(_answer: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request brings. ``headers`` is looked up in lower case; ``address`` is the peer of the connection.

    ``certificate`` is the subject of the client's certificate, which TLS has verified, as RFC 4514 writes it. ``base``
    is the address of this server as the client knows it. ``say`` is given what shows to whom is let in that this is
    the server they mean.
    """

    headers: Mapping[str, str]
    address: str | None = None
    certificate: str | None = None
    base: str = ""
    say: Callable[[str], None] = nothing_said

    def bearer_token(self) -> str | None:
        """Of ``Authorization: Bearer``."""
        scheme, _, value = self.headers.get("authorization", "").partition(" ")
        return value.strip() if scheme.lower() == "bearer" else None

    def basic(self, challenge: str | None = None) -> tuple[str, str] | None:
        """User and password of ``Authorization: Basic``, None without one. Raises AuthenticationError."""
        scheme, _, value = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            decoded = b64decode(value.strip(), validate=True)
        except (binascii.Error, ValueError) as error:
            raise AuthenticationError("Invalid base64 encoded credentials", challenge) from error
        try:
            text = decoded.decode("utf-8")
        except UnicodeDecodeError:
            text = decoded.decode("latin-1")
        user, separator, password = text.partition(":")
        if not separator or not user:
            raise AuthenticationError("Malformed credentials: user is empty", challenge)
        return user, password


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Whom an authenticator let in, and the user that the mapping makes of it."""

    principal: str
    user: str


class Authenticator(Protocol):
    """Raises AuthenticationError for whom it does not know; also when the request brings nothing for it."""

    async def authenticate(self, credentials: Credentials) -> Authenticated: ...

"""Authenticators in the order of the configuration, and who acts as whom. Source: Trino's AuthenticationFilter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coordinator.security.access_control.audit import audit
from coordinator.security.access_control.off_loop import asked
from coordinator.security.authentication.authenticator import (
    Authenticated,
    AuthenticationError,
    Authenticator,
    Credentials,
)
from coordinator.security.authentication.browser_sessions import BrowserSessions
from coordinator.security.authentication.groups import GroupsOf, groups_off_loop, no_groups
from shared.errors import ProcessionError
from shared.spi.access_control import Identity, SystemAccessControl

UNAUTHORIZED = "Unauthorized"


class RequestRefusedError(Exception):
    """Ends a request with ``status`` and ``text``; each challenge is a ``WWW-Authenticate`` of its own."""

    def __init__(self, status: int, text: str, challenges: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.challenges = challenges


@dataclass(frozen=True, slots=True)
class Authentication:
    """Who is let in. ``allow_insecure``: over plain HTTP clients say who they are, as without authentication.

    ``forms``: what the login page asks for, a password or a token. ``negotiates``: browsers may bring a ticket.
    """

    authenticators: tuple[Authenticator, ...]
    access_control: SystemAccessControl
    groups: GroupsOf = field(default=no_groups)
    allow_insecure: bool = False
    forms: frozenset[Literal["password", "token"]] = frozenset()
    negotiates: bool = False
    sessions: BrowserSessions = field(default_factory=BrowserSessions)

    async def identify(self, credentials: Credentials, user: str | None, *, secure: bool) -> Identity | None:
        """Whom the request is from, and as whom it acts: ``user``, if it says so and may.

        None where plain HTTP is let in and names no user. Raises RequestRefusedError.
        """
        if not secure:
            return await self._insecure(credentials, user)
        return await self.acting(await self._authenticated(credentials), user)

    async def acting(self, found: Authenticated, user: str | None) -> Identity:
        """Whom somebody who was let in acts as. Raises RequestRefusedError."""
        # A client repeats the name that it has logged in with; the mapped user is meant, and nobody else.
        asking = await self._identity(found.user, found.principal)
        wanted = found.user if user is None or user == found.principal else user

        def check() -> None:
            self.access_control.check_can_set_user(found.principal, wanted)
            if wanted != found.user:
                self.access_control.check_can_impersonate_user(asking, wanted)

        try:
            await asked(self.access_control, check)
        except ProcessionError as error:
            audit(error, asking)
            raise RequestRefusedError(403, error.message) from error
        return asking if wanted == found.user else await self._identity(wanted, found.principal)

    async def _identity(self, user: str, principal: str | None) -> Identity:
        """Raises RequestRefusedError for whom nobody can say what they may do."""
        try:
            return Identity(user, principal, await groups_off_loop(self.groups, user))
        except ProcessionError as error:
            raise RequestRefusedError(503, error.message) from error

    async def _insecure(self, credentials: Credentials, user: str | None) -> Identity | None:
        if not self.allow_insecure:
            raise RequestRefusedError(403, "Authentication over HTTP is not enabled")
        try:
            basic = credentials.basic()
        except AuthenticationError as error:
            raise RequestRefusedError(401, error.message) from error
        if basic is not None and basic[1]:
            raise RequestRefusedError(401, "Password not allowed for insecure authentication")
        if credentials.bearer_token() is not None:
            raise RequestRefusedError(401, "Token not allowed for insecure authentication")
        named = user or (basic[0] if basic is not None else None)
        return None if named is None else await self._identity(named, None)

    async def _authenticated(self, credentials: Credentials) -> Authenticated:
        messages: list[str] = []
        challenges: list[str] = []
        for authenticator in self.authenticators:
            try:
                return await authenticator.authenticate(credentials)
            except AuthenticationError as error:
                if error.message:
                    messages.append(" ".join(error.message.split()))
                if error.challenge is not None:
                    challenges.append(error.challenge)
        # Clients show the text, on one line.
        text = " | ".join(dict.fromkeys(messages)) or UNAUTHORIZED
        raise RequestRefusedError(401, text, tuple(dict.fromkeys(challenges)))

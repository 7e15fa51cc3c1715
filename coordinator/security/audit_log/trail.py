"""What the audit log says: one line for each statement, refusal, refused login, and each end of a query by hand."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, Protocol

import msgspec

from coordinator.security.audit_log.file import Written
from coordinator.security.audit_log.refused_logins import RefusedLogins
from coordinator.security.redaction import redacted, shown_statement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.access_control import AccessDeniedError, Identity, identity_of_session
from shared.spi.accesses import AskedAccess, object_of
from shared.spi.session import Session

_WAIT_SECONDS = 30.0
Decision = Literal["allowed", "denied", "failed"]


class Lines(Protocol):
    """Where lines go."""

    def write(self, line: bytes) -> Written: ...


class AuditedAccess(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was asked; ``user`` where it is not who sent the statement."""

    access: str
    object: str
    columns: tuple[str, ...] = ()
    user: str | None = None


class AuditLine(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """``sequence`` counts the lines of one start of a coordinator: none is missing where it has no gap."""

    time: datetime
    node_id: str
    sequence: int
    event: Literal["statement", "access", "login"]
    decision: Decision
    query_id: str | None = None
    user: str | None = None
    principal: str | None = None
    groups: tuple[str, ...] = ()
    roles: Mapping[str, str] = {}
    client_address: str | None = None
    source: str | None = None
    query: str | None = None
    query_truncated: bool = False
    query_type: str | None = None
    accesses: tuple[AuditedAccess, ...] = ()
    access: str | None = None
    object: str | None = None
    rule: str | None = None
    error: str | None = None
    problem: str | None = None
    left_out: int | None = None
    """Refused logins of the address that have no line of their own."""


class Trail:
    """Makes lines; nothing that a client sends keeps one from being made. Any thread may call."""

    def __init__(
        self,
        lines: Lines,
        node_id: str,
        *,
        required: bool = False,
        max_query: int = 10_000,
        redact: Callable[[str], str] = redacted,
    ) -> None:
        self._lines, self._node, self._required = lines, node_id, required
        self._max_query, self._redact = max_query, redact
        self._lock, self._sequence = threading.Lock(), 0
        self._refused = RefusedLogins()

    async def allowed(
        self, text: str, session: Session, query_type: str, accesses: Sequence[AskedAccess], objects: Sequence[str]
    ) -> None:
        """A statement that may run: its line is there before it does, where that is required.

        ``objects`` are the tables that it reads. Raises ProcessionError.
        """
        asked = [_access(each, session.user) for each in accesses]
        known = {each.object for each in asked}
        asked += [AuditedAccess("Read", each) for each in objects if each not in known]
        written = self._statement(text, session, "allowed", query_type=query_type, accesses=tuple(asked))
        try:
            await self._there(written)
        except (OSError, TimeoutError) as error:
            message = "The audit log cannot be written, and statements are refused until it can (audit-log.required)"
            raise ProcessionError(ErrorCode.GENERIC_INSUFFICIENT_RESOURCES, message, retriable=True) from error

    async def refused(self, text: str, session: Session, error: ProcessionError) -> None:
        """A statement that does not run: it may not, or it is wrong. Its error is told where no line can be, too."""
        with suppress(OSError, TimeoutError):
            await self._there(self._statement(text, session, _decision(error), **self._why(error)))

    async def _there(self, written: Written) -> None:
        """Wait for the line, where lines are required. Raises OSError or TimeoutError."""
        if self._required:
            async with asyncio.timeout(_WAIT_SECONDS):
                await asyncio.wrap_future(written)

    def access(self, error: ProcessionError, identity: Identity | None, query_id: str | None = None) -> None:
        """A refusal beside the text of a statement; nothing for other errors."""
        if error.code is ErrorCode.PERMISSION_DENIED:
            self._write(event="access", decision="denied", query_id=query_id, **_who(identity), **self._why(error))

    def done(self, access: str, subject: str, identity: Identity) -> None:
        """What somebody did beside statements, and may do."""
        self._write(event="access", decision="allowed", access=access, object=subject, **_who(identity))

    def login(self, problem: str, user: str | None, address: str | None) -> None:
        """Somebody was not let in; ``user`` is what they said of themselves. Many of one address are counted."""
        with self._lock:
            if not self._refused.take(address):
                self._say_left_out()
                return
        self._write(event="login", decision="denied", user=user, client_address=address, problem=self._redact(problem))

    def finish(self) -> None:
        """Say what was only counted; no line comes after."""
        with self._lock:
            self._say_left_out(at_the_end=True)

    def _statement(self, text: str, session: Session, decision: Decision, **more: object) -> Written:
        shown = shown_statement(text, self._redact)
        return self._write(
            event="statement",
            decision=decision,
            query_id=session.query_id,
            roles=dict(session.roles),
            client_address=session.remote_address,
            source=session.source,
            query=shown[: self._max_query] if self._max_query else None,
            query_truncated=len(shown) > self._max_query,
            **_who(identity_of_session(session)),
            **more,
        )

    def _write(self, **content: object) -> Written:
        with self._lock:  # so that lines stand in the order of their numbers
            self._say_left_out()
            return self._add(**content)

    def _say_left_out(self, *, at_the_end: bool = False) -> None:
        for address, number in self._refused.left_out(at_the_end=at_the_end):
            problem = "More refused logins of this address within a minute" if address else "More refused logins"
            self._add(event="login", decision="denied", client_address=address, problem=problem, left_out=number)

    def _add(self, **content: object) -> Written:
        self._sequence += 1
        made = {"time": datetime.now(UTC), "nodeId": self._node, "sequence": self._sequence}
        line = msgspec.convert(made | _camel(content), AuditLine)
        return self._lines.write(msgspec.json.encode(line) + b"\n")

    def _why(self, error: ProcessionError) -> dict[str, object]:
        denied = error if isinstance(error, AccessDeniedError) else None
        return {
            "error": error.code.name,
            "problem": self._redact(error.message),
            "access": None if denied is None else denied.access,
            "object": None if denied is None else denied.subject,
            "rule": None if denied is None else denied.rule,
        }


def _decision(error: ProcessionError) -> Decision:
    return "denied" if error.code is ErrorCode.PERMISSION_DENIED else "failed"


def _camel(content: Mapping[str, object]) -> dict[str, object]:
    """``query_id`` as ``queryId``, without what is not known."""
    named = ((name.split("_"), value) for name, value in content.items() if value is not None)
    return {words[0] + "".join(map(str.capitalize, words[1:])): value for words, value in named}


def _who(identity: Identity | None) -> dict[str, object]:
    if identity is None:
        return {}
    return {"user": identity.user, "principal": identity.principal, "groups": identity.groups}


def _access(asked: AskedAccess, user: str) -> AuditedAccess:
    columns = getattr(asked.access, "columns", ())
    return AuditedAccess(
        type(asked.access).__name__, object_of(asked.access), columns, None if asked.user == user else asked.user
    )

"""The session's time zone while a statement is unparsed: casts between moments with and without zone need it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ZONE = ContextVar("session_zone", default="UTC")


def session_zone() -> str:
    """The zone's name, ``UTC`` outside a statement."""
    return _ZONE.get()


@contextmanager
def in_session_zone(name: str) -> Iterator[None]:
    """Unparse under the zone of a session."""
    token = _ZONE.set(name)
    try:
        yield
    finally:
        _ZONE.reset(token)

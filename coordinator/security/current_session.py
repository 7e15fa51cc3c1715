"""Whose statement is at work: what lists catalogs, queries and jobs looks here, however deep inside an engine it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from shared.spi.session import Session

_CURRENT: ContextVar[Session | None] = ContextVar("current_session", default=None)


@contextmanager
def acting_for(session: Session) -> Iterator[None]:
    """What runs inside, on this thread or by a copied context, is done for ``session``."""
    token = _CURRENT.set(session)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def acting_for_itself() -> Iterator[None]:
    """What runs inside is the coordinator's own, whoever asked for it: it sees every catalog."""
    token = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_session() -> Session | None:
    """None for what the coordinator does for itself."""
    return _CURRENT.get()


def may_use_catalog(name: str) -> bool:
    """Whether the statement at work may know of the catalog."""
    session = _CURRENT.get()
    return session is None or session.accessible_catalogs is None or name in session.accessible_catalogs

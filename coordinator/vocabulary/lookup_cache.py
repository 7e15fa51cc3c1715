"""What was looked up for the statement that is being planned: each thing once, so that it is the same throughout."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar, cast

T = TypeVar("T")

_FOUND: ContextVar[dict[Hashable, object] | None] = ContextVar("lookup_cache", default=None)


@contextmanager
def cached_lookups() -> Iterator[None]:
    """Meanwhile, on this thread, ``once`` remembers what it was given."""
    token = _FOUND.set({})
    try:
        yield
    finally:
        _FOUND.reset(token)


def once(key: Hashable, look: Callable[[], T]) -> T:
    """What ``look`` gives, or gave under this key before while the same statement was planned.

    Whoever plans nothing looks each time; so does who looks again for what raised an error.
    """
    found = _FOUND.get()
    if found is None:
        return look()
    if key not in found:
        found[key] = look()
    return cast(T, found[key])

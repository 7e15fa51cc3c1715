"""Whether analyzing a statement read a clock: its plan then belongs to that moment and cannot be used again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_READS: ContextVar[list[None] | None] = ContextVar("clock_reads", default=None)


@contextmanager
def clock_reads() -> Iterator[list[None]]:
    """Meanwhile, on this thread, ``note_clock`` adds to the list."""
    seen: list[None] = []
    token = _READS.set(seen)
    try:
        yield seen
    finally:
        _READS.reset(token)


def note_clock() -> None:
    """A constant of the plan was made from the time of day."""
    seen = _READS.get()
    if seen is not None:
        seen.append(None)

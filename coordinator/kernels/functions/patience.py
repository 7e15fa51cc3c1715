"""How long a program may compute: a constant for some seconds, a row until its query has been ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import thread_time

from ..errors import KernelError

CONSTANT_SECONDS = 5.0
"""CPU time in which lambdas may compute one value that is of no row. What Presto computes so long is no constant."""
_WANTED = threading.local()


def deadline() -> float:
    """When a constant that is begun now must be there, in this thread's CPU time."""
    return thread_time() + CONSTANT_SECONDS


def look(until: object) -> None:
    """Raises EXCEEDED_TIME_LIMIT past ``until``, and whatever says that nobody waits any more."""
    if isinstance(until, float) and thread_time() > until:
        message = f"A constant expression takes longer than {CONSTANT_SECONDS:g}s of CPU time to compute"
        raise KernelError("EXCEEDED_TIME_LIMIT", message)
    check: Callable[[], None] | None = getattr(_WANTED, "check", None)
    if check is not None:
        check()


@contextmanager
def interruptible(check: Callable[[], None]) -> Iterator[None]:
    """Programs of this thread call ``check`` now and then, which raises when they shall end."""
    _WANTED.check = check
    try:
        yield
    finally:
        _WANTED.check = None

"""Calls of other services on behalf of a statement (sidecar, Spark, catalogs, stores), as spans of its trace.

Noted only where somebody collects them, which costs a look at a context variable otherwise.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from secrets import token_hex

from coordinator.vocabulary.trace_context import inside_span

MOST_CALLS = 200
"""Of one statement; a rewrite reads thousands of files."""
_OFF: AbstractContextManager[None] = nullcontext()


@dataclass(frozen=True, slots=True)
class TracedCall:
    """``began`` is in seconds since 1970, ``parent`` the call around it, ``verb`` what the statement was at."""

    name: str
    span_id: str
    parent: str | None
    verb: str
    began: float
    seconds: float
    about: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    """The type of what it raised; its text may hold what traces should not."""


class TracedCalls:
    """Of one statement; any thread may add."""

    def __init__(self) -> None:
        self._calls: list[TracedCall] = []
        self._lock = threading.Lock()
        self.left_out = 0
        """Calls beyond the limit."""

    @property
    def calls(self) -> tuple[TracedCall, ...]:
        """In the order in which they ended."""
        with self._lock:
            return tuple(self._calls)

    def add(self, *calls: TracedCall, left_out: int = 0) -> None:
        with self._lock:
            taken = calls[: max(0, MOST_CALLS - len(self._calls))]
            self._calls += taken
            self.left_out += left_out + len(calls) - len(taken)


@dataclass(frozen=True, slots=True)
class _Place:
    into: TracedCalls
    verb: str
    parent: str | None = None


_HERE: ContextVar[_Place | None] = ContextVar("traced_calls", default=None)


class OpenCall:
    """A call that is under way. ``end`` may be called in any thread, once."""

    def __init__(self, here: _Place, name: str, about: Mapping[str, str]) -> None:
        self.span_id = token_hex(8)
        self._here, self._name, self._about = here, name, about
        self._began, self._clock = time.time(), time.perf_counter()

    def end(self, error: BaseException | None = None, **about: str) -> None:
        """It has ended, with ``error`` if that is given; ``about`` is what is known only now."""
        seconds = time.perf_counter() - self._clock
        problem, here = None if error is None else type(error).__name__, self._here
        known = {**self._about, **about}
        here.into.add(
            TracedCall(self._name, self.span_id, here.parent, here.verb, self._began, seconds, known, problem)
        )


@contextmanager
def collecting(into: TracedCalls | None, verb: str) -> Iterator[None]:
    """Calls of this task or thread are noted meanwhile; not where ``into`` is None."""
    if into is None:
        yield
        return
    token = _HERE.set(_Place(into, verb))
    try:
        yield
    finally:
        _HERE.reset(token)


def open_call(name: str, **about: str) -> OpenCall | None:
    """For what is no block, such as a stream of rows; None where nobody collects."""
    here = _HERE.get()
    return None if here is None else OpenCall(here, name, about)


def traced(name: str, **about: str) -> AbstractContextManager[None]:
    """A call of another service around a block, in which ``outgoing_headers`` passes its span on."""
    here = _HERE.get()
    return _OFF if here is None else _noted(here, OpenCall(here, name, about))


@contextmanager
def _noted(here: _Place, call: OpenCall) -> Iterator[None]:
    token = _HERE.set(_Place(here.into, here.verb, call.span_id))
    try:
        with inside_span(call.span_id):
            yield
    except BaseException as error:
        call.end(error)
        raise
    else:
        call.end()
    finally:
        _HERE.reset(token)

"""W3C trace context of statements: taken from clients, in every line of the log, and passed on.

All ids follow from the query's id, so that whoever needs one makes it, and spans are told when the query has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b

import structlog

_OUTGOING: ContextVar[str | None] = ContextVar("traceparent", default=None)


@dataclass(frozen=True, slots=True)
class Trace:
    """``span_id`` is the query's own span, ``parent_id`` the client's; in hexadecimal digits."""

    trace_id: str
    span_id: str
    parent_id: str | None = None
    sampled: bool = True

    @property
    def traceparent(self) -> str:
        """For requests on behalf of the query."""
        return f"00-{self.trace_id}-{self.span_id}-{int(self.sampled):02x}"


def trace_of(query_id: str, traceparent: str | None) -> Trace:
    """The trace of a query; ``traceparent`` is the valid header of its client, if there was one."""
    span_id = span_of(query_id, "query")
    if traceparent is None:
        return Trace(_digest(query_id, 16), span_id)
    _, trace_id, parent_id, flags = traceparent.split("-", 4)[:4]
    return Trace(trace_id, span_id, parent_id, bool(int(flags, 16) & 1))


def span_of(query_id: str, name: str) -> str:
    """The id of a span of the query."""
    return _digest(f"{query_id} {name}", 8)


def begin_tracing(query_id: str, traceparent: str | None) -> Trace:
    """From here on, in this task or thread, the log has the ids, and ``outgoing_headers`` the context."""
    trace = trace_of(query_id, traceparent)
    structlog.contextvars.bind_contextvars(query_id=query_id, trace_id=trace.trace_id)
    _OUTGOING.set(trace.traceparent)
    return trace


@contextmanager
def inside_span(span_id: str) -> Iterator[None]:
    """Requests of the block belong to this span of the trace, and not to the query's own."""
    outgoing = _OUTGOING.get()
    if outgoing is None:
        yield
        return
    version, trace_id, _, flags = outgoing.split("-")
    token = _OUTGOING.set(f"{version}-{trace_id}-{span_id}-{flags}")
    try:
        yield
    finally:
        _OUTGOING.reset(token)


def outgoing_headers() -> dict[str, str]:
    """For a request to another service."""
    traceparent = _OUTGOING.get()
    return {} if traceparent is None else {"traceparent": traceparent}


def _digest(text: str, size: int) -> str:
    return blake2b(text.encode(), digest_size=size).hexdigest()

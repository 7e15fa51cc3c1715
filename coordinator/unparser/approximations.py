"""Whose estimates Spark gives while a statement is unparsed: its own sketches, or Presto's over collected values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from coordinator.vocabulary.session_properties import session_value
from shared.spi.session import Session

ESTIMATES = frozenset({"approx_distinct", "approx_percentile"})
"""Aggregates that Spark has with sketches of its own (docs/adr/0011)."""
_PRESTOS = ContextVar("prestos_estimates", default=False)


def prestos_estimates() -> bool:
    """Whether a statement asks for Presto's; False outside a statement."""
    return _PRESTOS.get()


@contextmanager
def estimating_for(session: Session) -> Iterator[None]:
    """Unparse as the session's ``spark_approximate_functions`` says."""
    token = _PRESTOS.set(session_value(session, "spark_approximate_functions").upper() == "PRESTO")
    try:
        yield
    finally:
        _PRESTOS.reset(token)

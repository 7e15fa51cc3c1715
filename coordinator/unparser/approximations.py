"""Whose estimates Spark gives while a statement is unparsed: Presto's, or those of its own sketches (docs/adr/0011)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from coordinator.vocabulary.session_properties import session_value
from shared.spi.session import Session

_CHOSEN = ContextVar("approximate_functions", default="BOUNDED")


def estimated_by_spark(function: str) -> bool:
    """Whether Spark's own sketch answers this aggregate in the statement at hand."""
    return function in _BY_SPARK[_CHOSEN.get()]


def approximate_functions() -> str:
    """The choice in force."""
    return _CHOSEN.get()


def estimating_for(session: Session) -> AbstractContextManager[None]:
    """Unparse as the session's ``spark_approximate_functions`` says."""
    return estimating_as(session_value(session, "spark_approximate_functions").upper())


@contextmanager
def estimating_as(choice: str) -> Iterator[None]:
    """Unparse by this choice."""
    token = _CHOSEN.set(choice)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


_BY_SPARK: dict[str, tuple[str, ...]] = {
    "SPARK": ("approx_distinct", "approx_percentile"),
    "BOUNDED": ("approx_percentile",),
    "PRESTO": (),
}

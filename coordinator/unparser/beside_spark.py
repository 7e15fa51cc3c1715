"""Rows that the coordinator may write by itself as long as they are few: their query beside Spark's statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from coordinator.unparser.engine_choice import EngineLimits
from coordinator.vocabulary.planned_statement import Column, RunLocally, Work
from shared.errors import ProcessionError

RowsOfWrite = tuple[Work, tuple[Column, ...]]
"""The query, and its columns."""


def beside_spark(query: Callable[[], RowsOfWrite], limits: EngineLimits, *, few: bool = False) -> RowsOfWrite | None:
    """Where the embedded engine answers it, or its rows are known to be ``few``; None where Spark is to do it all."""
    if limits.engine == "spark":
        return None
    try:
        work, columns = query()
    except ProcessionError:
        return None  # also a value that cannot be told before Spark is asked, which has dates that Python has not
    if few:
        return work, columns
    # What is too much for the engine is Spark's as a whole: it would read the rows, and the coordinator write them.
    return (replace(work, otherwise=None), columns) if isinstance(work, RunLocally) else None

"""Changes of rows that lose to other commits, and are planned anew over the tables as they are then."""

from __future__ import annotations

import random
from dataclasses import replace

from coordinator.vocabulary.planned_statement import PlannedStatement, WriteRows
from shared.errors import ErrorCode, ProcessionError

MOST_RACES = 3
"""That one statement runs."""


def lost_race(planned: PlannedStatement, error: ProcessionError, engine: str | None = None) -> bool:
    """Whether a change of rows met another commit and changed nothing, so that it may be planned anew.

    Those that Spark ran, by the name of the ``engine``, have read their table again by themselves
    (``iceberg.write-conflict-retries``).
    """
    work = planned.work
    own = isinstance(work, WriteRows) and work.rows is not None and work.write.kind != "INSERT"
    return own and engine != "spark" and error.retriable and error.code is ErrorCode.TRANSACTION_CONFLICT


def last_race(planned: PlannedStatement) -> PlannedStatement:
    """The same for Spark, where that can do it, which reads the table again by itself so many times."""
    work = planned.work
    if isinstance(work, WriteRows) and work.rows is not None and work.write.after:
        return replace(planned, work=replace(work, rows=None))
    return planned


def pause_seconds() -> float:
    """Before the next race: so long that writers fall out of step."""
    return random.uniform(0.1, 0.3)  # noqa: S311 - no secret

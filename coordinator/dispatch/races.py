"""Changes and rewrites of rows that lose to other commits, and are planned anew over the tables as they are then."""

from __future__ import annotations

import random
from dataclasses import replace

from coordinator.vocabulary.planned_statement import CallProcedure, PlannedStatement, WriteRows
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ProcedureKind

MOST_RACES = 3
"""That one statement runs."""


def lost_race(planned: PlannedStatement, error: ProcessionError, engine: str | None = None) -> bool:
    """Whether a statement met another commit and changed nothing, so that it may be planned anew.

    Changes of rows that Spark ran, by the name of the ``engine``, have read their table again by themselves
    (``iceberg.write-conflict-retries``). A rewrite loses where most of what it read was removed meanwhile.
    """
    if not error.retriable or error.code is not ErrorCode.TRANSACTION_CONFLICT:
        return False
    match planned.work:
        case CallProcedure(kind=kind):
            return kind is ProcedureKind.TABLE_DATA_REWRITE
        case WriteRows(write, rows=rows):
            return rows is not None and write.kind != "INSERT" and engine != "spark"
        case _:
            return False


def last_race(planned: PlannedStatement) -> PlannedStatement:
    """The same for Spark, where that can do it, which reads the table again by itself so many times."""
    work = planned.work
    if isinstance(work, WriteRows) and work.rows is not None and work.write.after:
        return replace(planned, work=replace(work, rows=None))
    return planned


def pause_seconds() -> float:
    """Before the next race: so long that writers fall out of step."""
    return random.uniform(0.1, 0.3)  # noqa: S311 - no secret

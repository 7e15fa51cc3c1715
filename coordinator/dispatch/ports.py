"""What the life cycle needs from the rest of the coordinator; the composition root passes it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import pyarrow as pa

from coordinator.engine.execution import Execution
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.spi.event_listener import FragmentVerdictInfo
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session


class StatementPlanner(Protocol):
    async def plan(self, text: str, session: Session) -> PlannedStatement:
        """Raises ProcessionError for a statement that is refused."""
        ...


class PlanFreshness(Protocol):
    async def changed(self, planned: PlannedStatement) -> bool:
        """Whether the metadata that ``planned`` was made from has changed since."""
        ...


class StatementChecker(Protocol):
    async def check(
        self, planned: PlannedStatement, session: Session, note: Callable[[FragmentVerdictInfo], None]
    ) -> tuple[PrestoWarning, ...]:
        """Warnings of the checkers; a veto is a ProcessionError. ``note`` is told of the verdict on each fragment."""
        ...


class StatementExecutor(Protocol):
    def execute(self, planned: PlannedStatement, execution: Execution) -> Iterator[pa.RecordBatch]:
        """Blocks; runs on a thread of its own. Columns as in ``planned.columns``, by position.

        Raises ProcessionError. The iterator is closed on its own thread when the query ends early.
        """
        ...

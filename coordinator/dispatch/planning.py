"""The steps of a statement before it may run: its plan, the checks of it, and whether both are still good."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.dispatch.events import QueryEvents
from coordinator.dispatch.explained import shown_plan
from coordinator.dispatch.ports import PlanFreshness, StatementChecker, StatementPlanner
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from coordinator.dispatch.stats import queued_seconds
from coordinator.dispatch.transactions import Transactions
from coordinator.vocabulary.planned_statement import PlannedStatement
from coordinator.vocabulary.traced_calls import TracedCall, collecting
from shared.errors import ProcessionError


class Planning:
    """Of the statements of one dispatcher, which are told what became of them; belongs to its event loop."""

    def __init__(
        self,
        planner: StatementPlanner,
        checker: StatementChecker,
        freshness: PlanFreshness | None,
        settings: DispatchSettings,
        transactions: Transactions,
        events: QueryEvents,
    ) -> None:
        self._planner = planner
        self._checker = checker
        self._freshness = freshness
        self._settings = settings
        self._transactions = transactions
        self._events = events

    def is_eager(self, query: Query) -> bool:
        """Whether it is planned before it queues, so that what is wrong with it is told at once."""
        chosen = query.session.properties.get("eager_plan_validation_enabled")
        return self._settings.eager_validation if chosen is None else chosen.strip().lower() != "false"

    async def plan(self, query: Query) -> PlannedStatement:
        """Raises ProcessionError: what is wrong with it, or why a checker refuses it."""
        try:
            planned = await shown_plan(await self._planner.plan(query.text, query.session), query)
        except ProcessionError as error:
            _note_calls(query, error.calls)
            raise
        query.timeline.record(planned.verb_seconds)
        query.planned = planned
        query.verdicts.clear()
        _note_calls(query, planned.calls)
        self._transactions.begun(planned.session_change)
        query.warnings = planned.warnings
        with query.timeline.measure("check"), collecting(query.calls, "check"):
            query.warnings += await self._checker.check(planned, query.session, query.verdicts.append)
        self._events.planned(query, planned)
        return planned

    async def is_stale(self, query: Query, planned: PlannedStatement) -> bool:
        """A plan that had to wait may describe tables that are no more; one that had not is as good as new."""
        if self._freshness is None or queued_seconds(query) < self._settings.fresh_plan_age:
            return False
        return await self._freshness.changed(planned)


def _note_calls(query: Query, calls: Iterable[object]) -> None:
    if query.calls is not None:
        query.calls.add(*(call for call in calls if isinstance(call, TracedCall)))

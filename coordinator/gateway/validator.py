"""StatementValidator: the line up to and including the checks, and nothing after them."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, Protocol

from coordinator.checks.plan_checkers import FragmentVerdict, PlanCheckers
from coordinator.checks.worker_form import why_not_checked
from coordinator.planner.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session

Verdict = Literal["accepted", "refused", "not_checked"]

_UNDECIDED = frozenset(
    {
        ErrorCode.QUERY_QUEUE_FULL,
        ErrorCode.SERVER_SHUTTING_DOWN,
        ErrorCode.SERVER_STARTING_UP,
        ErrorCode.NATIVEPLANCHECKER_CONNECTION_ERROR,
    }
)


class Planner(Protocol):
    """The planner pool."""

    async def plan(self, text: str, session: Session) -> PlannedStatement: ...


@dataclass(frozen=True, slots=True)
class CheckedFragment:
    """One fragment's verdict; ``reason`` says why a fragment was not checked natively."""

    fragment_id: str
    verdict: Verdict
    reason: str | None = None
    error: ProcessionError | None = None


@dataclass(frozen=True, slots=True)
class StatementVerdict:
    """Whether a statement would be let into the queue now. ``error`` is None exactly when ``ok``.

    ``query_type``, ``inputs`` and ``fragments`` are empty for a statement that could not be planned; ``seconds`` is
    wall time, waiting for a planner included.
    """

    ok: bool
    seconds: float
    query_type: str | None = None
    inputs: tuple[str, ...] = ()
    fragments: tuple[CheckedFragment, ...] = ()
    warnings: tuple[PrestoWarning, ...] = ()
    error: ProcessionError | None = None

    @property
    def undecided(self) -> bool:
        """Nothing is known of the statement: this coordinator could not look at it."""
        return self.error is not None and self.error.code in _UNDECIDED


class StatementValidator:
    """Plans and checks statements as the coordinator would before queueing them, through the same pool."""

    def __init__(self, planner: Planner, checkers: PlanCheckers) -> None:
        self._planner = planner
        self._checkers = checkers

    async def validate(self, text: str, session: Session) -> StatementVerdict:
        """The verdict on one statement; a refused statement is a result, not an exception."""
        start = perf_counter()
        try:
            planned = await self._planner.plan(text, session)
        except ProcessionError as refusal:
            return StatementVerdict(ok=False, seconds=perf_counter() - start, error=refusal)
        try:
            verdicts = await self._verdicts(planned, session)
            error = next((v.error for v in verdicts if v.error is not None), None)
        except ProcessionError as veto:
            verdicts, error = [], veto
        return StatementVerdict(
            ok=error is None,
            seconds=perf_counter() - start,
            query_type=planned.query_type,
            inputs=planned.inputs,
            fragments=tuple(_checked(verdict) for verdict in verdicts),
            warnings=planned.warnings + tuple(w for v in verdicts for w in v.warnings),
            error=error,
        )

    async def _verdicts(self, planned: PlannedStatement, session: Session) -> list[FragmentVerdict]:
        if planned.subplan is None:
            return []
        async with aclosing(self._checkers.fragment_verdicts(planned.subplan, session)) as verdicts:
            return [verdict async for verdict in verdicts]


def _checked(verdict: FragmentVerdict) -> CheckedFragment:
    fragment_id = verdict.fragment.id
    if verdict.error is not None:
        return CheckedFragment(fragment_id, "refused", error=verdict.error)
    reason = why_not_checked(verdict.fragment)
    return CheckedFragment(fragment_id, "accepted" if reason is None else "not_checked", reason)

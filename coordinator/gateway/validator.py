"""StatementValidator: the line up to and including the checks, and nothing after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, Protocol

from coordinator.checks.plan_checkers import FragmentVerdict, PlanCheckers
from coordinator.resource_groups.group import queue_full
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.selection import criteria_of
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session

Verdict = Literal["accepted", "refused", "not_checked"]

NativeWord = Literal["accepted", "refused", "not_checked", "undecided"]
_WORST_FIRST: tuple[NativeWord, ...] = ("refused", "undecided", "accepted", "not_checked")

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
    """One fragment's verdict; ``reason`` says why a fragment was not checked natively.

    It is refused also where only native workers could not run it, and the statement may run all the same.
    """

    fragment_id: str
    verdict: Verdict
    reason: str | None = None
    error: ProcessionError | None = None


@dataclass(frozen=True, slots=True)
class StatementVerdict:
    """Whether a statement would be let into the queue now. ``error`` is None exactly when ``ok``.

    ``resource_group`` and its state (CAN_RUN, CAN_QUEUE, FULL) are those of a statement that passed the checks.

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
    resource_group: tuple[str, ...] = ()
    resource_group_state: str | None = None
    native: NativeWord | None = None
    """Whether native workers could run it, whatever the mode of the checker; None: there is none, or no plan."""

    @property
    def undecided(self) -> bool:
        """Nothing is known of the statement: this coordinator could not look at it."""
        return self.error is not None and self.error.code in _UNDECIDED


class StatementValidator:
    """Plans and checks statements as the coordinator would before queueing them, through the same pool.

    ``refusal`` says why this coordinator takes no statements at all, if so.
    """

    def __init__(
        self,
        planner: Planner,
        checkers: PlanCheckers,
        groups: ResourceGroups | None = None,
        refusal: Callable[[], ProcessionError | None] = lambda: None,
    ) -> None:
        self._planner = planner
        self._checkers = checkers
        self._groups = groups if groups is not None else ResourceGroups()
        self._refusal = refusal

    async def validate(self, text: str, session: Session) -> StatementVerdict:
        """The verdict on one statement; a refused statement is a result, not an exception."""
        start = perf_counter()
        closed = self._refusal()
        if closed is not None:
            return StatementVerdict(ok=False, seconds=0.0, error=closed)
        try:
            planned = await self._planner.plan(text, session)
        except ProcessionError as refusal:
            return StatementVerdict(ok=False, seconds=perf_counter() - start, error=refusal)
        try:
            verdicts = await self._verdicts(planned, session)
            error = next((v.error for v in verdicts if v.error is not None), None)
        except ProcessionError as veto:
            verdicts, error = [], veto
        group: tuple[str, ...] = ()
        state: str | None = None
        if error is None:
            group, state, error = self._admission(planned, session)
        return StatementVerdict(
            ok=error is None,
            seconds=perf_counter() - start,
            resource_group=group,
            resource_group_state=state,
            query_type=planned.query_type,
            inputs=planned.inputs,
            fragments=tuple(_checked(verdict) for verdict in verdicts),
            warnings=planned.warnings + tuple(dict.fromkeys(w for v in verdicts for w in v.warnings)),
            error=error,
            native=_native(verdicts),
        )

    def _admission(
        self, planned: PlannedStatement, session: Session
    ) -> tuple[tuple[str, ...], str | None, ProcessionError | None]:
        try:
            selection = self._groups.select(criteria_of(session, planned.query_type))
        except ProcessionError as error:
            return (), None, error
        state = self._groups.admission(selection)
        full = queue_full(selection.path) if state == "FULL" else None
        return selection.path, state, full

    async def _verdicts(self, planned: PlannedStatement, session: Session) -> list[FragmentVerdict]:
        if planned.subplan is None:
            return []
        verified = planned.fragments_verified
        async with aclosing(self._checkers.fragment_verdicts(planned.subplan, session, verified=verified)) as verdicts:
            return [verdict async for verdict in verdicts]


def _checked(verdict: FragmentVerdict) -> CheckedFragment:
    fragment_id = verdict.fragment_id
    error = verdict.error
    if error is None and verdict.native is not None and verdict.native.verdict == "refused":
        error = verdict.native.error
    if error is not None:
        return CheckedFragment(fragment_id, "refused", error=error)
    reason = verdict.not_checked
    return CheckedFragment(fragment_id, "accepted" if reason is None else "not_checked", reason)


def _native(verdicts: Sequence[FragmentVerdict]) -> NativeWord | None:
    """The worst of the fragments' native verdicts."""
    found = {verdict.native.verdict for verdict in verdicts if verdict.native is not None}
    return next((word for word in _WORST_FIRST if word in found), None)

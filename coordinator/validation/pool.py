"""ValidationPool: statements are planned in a bounded set of processes, so planning never holds up the server.

Processes, because only they can be killed and only they leave the loop free: its lag is 5 ms at the 99th percentile
against 35 ms with threads (docs/adr/0004).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from time import monotonic

from coordinator.validation.budget import Key, PlanningBudget
from coordinator.validation.line import FairLine
from coordinator.validation.planner_process import PlannerProcess, PlannerProcessEndedError
from coordinator.validation.worker import PlannerFactory
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from shared.units import format_duration

_LOG = logging.getLogger(__name__)
_START_SECONDS = 180.0  # a second on an idle machine; a busy one must not keep the coordinator down
_CANCEL_GRACE_SECONDS = 1.0
_FIRST_RESTART_SECONDS = 0.1
_LAST_RESTART_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class PoolStats:
    """``size`` processes of which ``alive`` can plan and ``busy`` do; ``waiting`` statements; the rest counts up."""

    size: int
    alive: int = 0
    busy: int = 0
    waiting: int = 0
    planned: int = 0
    refused: int = 0
    timed_out: int = 0
    crashed: int = 0
    restarted: int = 0


@dataclass(slots=True, eq=False)
class _Job:
    text: str
    session: Session
    attempts: int = 0
    planned: asyncio.Future[PlannedStatement] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class ValidationPool:
    """``plan`` from any task of the loop that called ``start``; ``aclose`` ends the processes."""

    def __init__(
        self,
        factory: PlannerFactory,
        *,
        size: int = 2,
        max_queued: int = 200,
        timeout_seconds: float = 30.0,
        user_burst_seconds: float = 5.0,
        long_text: int = 10_000,
        warm_up: str | None = "SELECT 1",
    ) -> None:
        self._factory = factory
        self._timeout_seconds = timeout_seconds
        self._max_queued = max_queued
        self._warm_up = warm_up
        self._budget = PlanningBudget(user_burst_seconds)
        self._long_text = long_text
        self._begun: dict[_Job, float] = {}
        """Statements that are being planned, and since when."""
        self._line: FairLine[Key, _Job] = FairLine(self._is_held)
        self._size = size
        self._counts = dict.fromkeys(("alive", "busy", "planned", "refused", "timed_out", "crashed", "restarted"), 0)
        """As PoolStats names them."""
        self._slots: list[asyncio.Task[None]] = []
        self._returning = 0
        """Processes that are being started again and have not failed to."""
        self._changes = 0
        self._changed: object = None

    def change(self, factory: PlannerFactory, value: object) -> None:
        """From now on statements are planned with ``value``, which processes are told before their next statement.

        ``factory`` makes new processes; it knows of the change. To be called in the loop's thread.
        """
        self._factory, self._changed = factory, value
        self._changes += 1

    async def start(self) -> None:
        """Start and warm up all processes at the same time; raises ProcessionError when one cannot plan."""
        starts = [asyncio.ensure_future(self._start_process()) for _ in range(self._size)]
        done = await asyncio.gather(*starts, return_exceptions=True)
        processes = [process for process in done if isinstance(process, PlannerProcess)]
        failure = next((error for error in done if isinstance(error, BaseException)), None)
        if failure is not None:
            await asyncio.gather(*(process.kill() for process in processes))
            raise _start_failure(failure) from failure
        self._slots = [asyncio.create_task(self._serve(process)) for process in processes]

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        """The statement's plan from the next free process; users are served in turn.

        Raises what planning raised, QUERY_QUEUE_FULL when the line is full, QUERY_PLANNING_TIMEOUT past the deadline
        (which starts with planning, not with waiting), SERVER_SHUTTING_DOWN when closed.
        """
        if not self._slots:
            raise ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Statements are not planned any more: shutting down")
        room = self._max_queued + self._counts["alive"] - self._counts["busy"]
        if len(self._line) >= room:
            raise ProcessionError(
                ErrorCode.QUERY_QUEUE_FULL, f"Too many statements are waiting to be planned ({len(self._line)})"
            )
        job = _Job(text, session)
        self._line.put(self._key(job), job)
        try:
            return await job.planned
        finally:
            self._line.discard(self._key(job), job)

    def stats(self) -> PoolStats:
        """Now."""
        return PoolStats(self._size, waiting=len(self._line), **self._counts)

    async def aclose(self) -> None:
        """End all processes; waiting and running statements fail with SERVER_SHUTTING_DOWN."""
        slots, self._slots = self._slots, []
        for slot in slots:
            slot.cancel()
        await asyncio.gather(*slots, return_exceptions=True)
        self._fail_waiting(ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down"))

    async def _start_process(self) -> PlannerProcess:
        changes = self._changes
        process = await PlannerProcess.start(self._factory, self._warm_up, _START_SECONDS)
        process.changes = changes
        self._count(alive=1)
        return process

    async def _serve(self, process: PlannerProcess) -> None:
        """One slot of the pool: a process and, when it had to be killed, the next one."""
        try:
            while True:
                job = await self._line.get()
                if job.planned.done():
                    continue
                self._count(busy=1)
                self._begun[job] = monotonic()
                usable = False
                try:
                    usable = await self._run(process, job)
                finally:
                    self._budget.spend(self._key(job), monotonic() - self._begun.pop(job))
                    # In this order: what is looked at again may need a planner that is left for others.
                    self._count(busy=-1, alive=0 if usable else -1)
                    self._returning += 0 if usable else 1
                    self._line.look_again()
                if not usable:
                    await process.kill()
                    process = await self._restart()
        finally:
            await process.aclose()

    def _key(self, job: _Job) -> Key:
        return job.session.user, len(job.text) > self._long_text

    def _is_held(self, key: Key) -> bool:
        """A user who has had much planning lately has one planner at a time: the others are for everybody else.

        Long texts of all users together leave one planner free, and a user's own short ones do not wait for them.
        """
        if self._size == 1:
            return False
        begun, (user, is_long) = self._begun, key
        # While one is being started again, the last one must not be taken by a long text.
        alive = self._counts["alive"]
        most_long = alive - 1 if self._returning or alive > 1 else 1
        if is_long and sum(self._key(job)[1] for job in begun) >= most_long:
            return True
        alike = [since for job, since in begun.items() if self._key(job) == key]
        slow = bool(alike) and monotonic() - min(alike) > self._budget.burst
        return slow or (self._budget.exceeded(key) and any(job.session.user == user for job in begun))

    async def _run(self, process: PlannerProcess, job: _Job) -> bool:
        """Plan one statement; False when the process cannot be used again."""
        answer = asyncio.ensure_future(self._planned(process, job))
        try:
            await asyncio.wait((answer, job.planned), timeout=self._timeout_seconds, return_when="FIRST_COMPLETED")
            if job.planned.done() and not answer.done():
                # Nobody wants the plan any more; a warm process is worth a moment's patience.
                await asyncio.wait((answer,), timeout=_CANCEL_GRACE_SECONDS)
            if not answer.done():
                self._count(timed_out=0 if job.planned.done() else 1)
                _fail(job, _timeout_error(self._timeout_seconds))
                return False
            return self._deliver(answer, job)
        finally:
            if not answer.done():
                answer.cancel()
                await asyncio.wait((answer,))
                await process.kill()
            if job not in self._line:
                _fail(job, ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down"))

    async def _planned(self, process: PlannerProcess, job: _Job) -> PlannedStatement:
        while process.changes != self._changes:
            changes = self._changes
            await process.change(self._changed)
            process.changes = changes
        return await process.plan(job.text, job.session)

    def _deliver(self, answer: asyncio.Future[PlannedStatement], job: _Job) -> bool:
        error = answer.exception()
        if error is None:
            self._count(planned=1)
            if not job.planned.done():
                job.planned.set_result(answer.result())
            return True
        if isinstance(error, ProcessionError):
            self._count(refused=1)
            _fail(job, error)
            return True
        self._count(crashed=1)
        _LOG.warning("query %s: planner process ended: %s", job.session.query_id, error)
        if job.attempts == 0 and not job.planned.done():
            # Planning is pure, and the process may have died of anything, before it saw the statement.
            job.attempts += 1
            self._line.put(self._key(job), job)
            return False
        reason = str(error) if isinstance(error, PlannerProcessEndedError) else f"{type(error).__name__}: {error}"
        _fail(
            job,
            ProcessionError(
                ErrorCode.GENERIC_INTERNAL_ERROR, f"The planner process ended while planning this statement: {reason}"
            ),
        )
        return False

    async def _restart(self) -> PlannerProcess:
        """A new process, however long it takes; without any that is alive, those who wait are told."""
        pause, expected = _FIRST_RESTART_SECONDS, 1
        while True:
            try:
                process = await self._start_process()
            except (ProcessionError, PlannerProcessEndedError, TimeoutError, OSError) as error:
                self._returning, expected = self._returning - expected, 0
                self._line.look_again()
                _LOG.error("a planner process could not be started: %s", error)
                if self._counts["alive"] == 0:
                    self._fail_waiting(_start_failure(error))
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LAST_RESTART_SECONDS)
            else:
                self._returning -= expected
                self._count(restarted=1)
                self._line.look_again()
                return process

    def _fail_waiting(self, error: ProcessionError) -> None:
        for job in self._line.drain():
            _fail(job, error)

    def _count(self, **changes: int) -> None:
        for name, change in changes.items():
            self._counts[name] += change


def _fail(job: _Job, error: ProcessionError) -> None:
    if not job.planned.done():
        job.planned.set_exception(error)


def _timeout_error(seconds: float) -> ProcessionError:
    return ProcessionError(
        ErrorCode.QUERY_PLANNING_TIMEOUT, f"The query planner exceeded the timeout of {format_duration(seconds)}."
    )


def _start_failure(error: BaseException) -> ProcessionError:
    if isinstance(error, ProcessionError):
        return error
    late = f"it did not answer within {_START_SECONDS:g} s"
    reason = late if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    return ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, f"A planner process could not be started: {reason}")

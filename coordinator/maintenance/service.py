"""The service: looks at tables that changed, decides, and has one table after another worked on."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

from sqlalchemy.exc import SQLAlchemyError

from coordinator.maintenance.calls import call_text, within
from coordinator.maintenance.commits import CommitFollower
from coordinator.maintenance.inspection import Inspection, Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.questions import Step
from coordinator.maintenance.records import Decision, JobState, MaintenanceJob, Spent, TableKey
from coordinator.maintenance.refreshes import ViewRefreshes
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.store import MaintenanceStore
from coordinator.maintenance.watch import CommitWatch
from coordinator.maintenance.windows import open_until
from shared.errors import ErrorCode, ProcessionError

_LOG = logging.getLogger(__name__)
_MOST_STEPS = 24
_MOST_OF_A_KIND = 4
_POLICY = "policy"
_COMMIT = "commit"
_ASK_AGAIN_SECONDS = 10.0
"""Whether users still wait, or a job has ended."""
_CHANGE_NOTHING = frozenset({"remove_orphan_files", "expire_partitions"})
"""Steps that may end well without a commit."""
_DAY = timedelta(days=1)


class Statements(Protocol):
    """What runs calls, see ``OwnStatements``."""

    async def run(self, text: str, begun: Callable[[str], Awaitable[None]], seconds: float | None = None) -> None: ...

    @property
    def users_wait(self) -> bool: ...


@dataclass(slots=True)
class Totals:
    """Since the start, for metrics."""

    looks: int = 0
    jobs: dict[tuple[str, str], int] = field(default_factory=dict)
    seconds: float = 0.0
    size: int = 0

    def add(self, job: MaintenanceJob) -> None:
        kind = (job.procedure, job.state)
        self.jobs[kind] = self.jobs.get(kind, 0) + 1
        self.seconds += job.seconds or 0.0
        self.size += job.estimated_size if job.state == "FINISHED" else 0


class MaintenanceService:
    """Belongs to one event loop. ``Inspector`` decides; what blocks runs on threads."""

    def __init__(
        self,
        settings: MaintenanceSettings,
        lake: Lake,
        inspector: Inspector,
        statements: Statements,
        store: MaintenanceStore,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        is_its_turn: Callable[[], bool] = lambda: True,
    ) -> None:
        """``is_its_turn``: whether no other coordinator does it; what somebody asks for is done all the same."""
        self._is_its_turn = is_its_turn
        self._settings = settings
        self._lake = lake
        self._inspector = inspector
        self._statements = statements
        self._store = store
        self._now = now
        self.totals = Totals()
        self.rounds = 0
        self._waiting: dict[TableKey, tuple[Inspection, str]] = {}
        self._working: dict[TableKey, asyncio.Task[None]] = {}
        self._works: Counter[TableKey] = Counter()
        """Times that a table was begun to be worked on."""
        self._wake = asyncio.Event()
        self._due = asyncio.Event()
        self._asked: dict[TableKey, str] = {}
        self._scans: Counter[TableKey] = Counter()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._refreshes = ViewRefreshes(settings, lake, statements, store, now)
        self._follower = CommitFollower(settings.commit_delay, self._look_after_commit)
        interval = settings.check_interval if settings.commit_delay else 0.0
        self._watch = CommitWatch(lake, interval, store.marks)
        self._choosing = asyncio.Lock()
        self._reserved: dict[TableKey, Step] = {}

    @property
    def backlog(self) -> int:
        """Tables with work that waits."""
        return len(self._waiting)

    @property
    def working(self) -> Sequence[TableKey]:
        return tuple(self._working)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work until left; then running calls are cancelled, which undoes what they have not committed."""
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._lose_running)
        works = (
            self._look_forever(), self._start_forever(), self._refresh_forever(), self._follower.follow_forever(),
            self._watch.watch_forever(self._watched, self._follower.committed),
        )  # fmt: skip
        tasks = [asyncio.create_task(work) for work in works]
        try:
            yield
        finally:
            for task in (*tasks, *self._working.values()):
                task.cancel()
            await asyncio.gather(*tasks, *self._working.values(), return_exceptions=True)
            await asyncio.to_thread(self._store.close)

    def _lose_running(self) -> None:
        lost = self._store.lose_running(self._now())
        if lost:
            _LOG.warning("maintenance: %d jobs of a coordinator that ended did not end", lost)

    def request(self, keys: Sequence[TableKey], by: str) -> None:
        """Look at tables now, whether they changed or not. From any thread but before the loop ends."""
        loop = self._loop

        def ask() -> None:
            self._asked.update(dict.fromkeys(keys, f"asked for by {by}"))
            self._due.set()

        if loop is not None:
            loop.call_soon_threadsafe(ask)

    def scanned(self, tables: Iterable[TableKey]) -> None:
        """A statement read tables: what is read often is worth more work."""
        self._scans.update(tables)

    def committed(self, table: TableKey) -> None:
        """A statement changed a table, named as in the statement: it is looked at soon."""
        self._follower.committed(table)

    async def _look_forever(self) -> None:
        while True:
            self._due.clear()  # before the look, so that what is asked for meanwhile is not forgotten
            try:
                await self.round()
            except (ProcessionError, SQLAlchemyError, OSError) as error:
                _LOG.error("maintenance cannot look at its tables: %s", error)
            except Exception:
                _LOG.exception("maintenance failed to look at its tables")
            await _set_within(self._due, self._settings.scan_interval)

    async def _refresh_forever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.scan_interval)
            try:
                if self._is_its_turn():
                    await self._refreshes.round()
            except Exception:
                _LOG.exception("maintenance failed to refresh materialized views")

    async def round(self) -> None:
        """One look at every table that is due."""
        scans, self._scans = self._scans, Counter()
        if scans:
            try:
                await asyncio.to_thread(self._store.count_scans, self._now().date(), list(scans.items()))
            except Exception:
                self._scans.update(scans)
                raise
        keys, listed = await asyncio.to_thread(self._lake.tables)
        asked, self._asked = self._asked, {}
        for key in await asyncio.to_thread(self._inspector.gone, keys, listed):
            self._waiting.pop(key, None)
        self._follower.known(keys)
        for key, trigger in asked.items():
            await self._look(key, trigger, forced=True)
        if self._is_its_turn():
            for key in await asyncio.to_thread(self._inspector.due, [key for key in keys if key not in asked]):
                await self._look(key, _POLICY)
        if self._store.shared:
            await asyncio.to_thread(self._lose_running)
        await asyncio.to_thread(self._store.clear, self._now() - timedelta(days=self._settings.keep_days))
        self.rounds += 1

    async def _look(self, key: TableKey, trigger: str, *, forced: bool = False) -> None:
        """What it finds to do waits for its turn."""
        if key in self._working:
            return
        works = self._works[key]
        inspection = await asyncio.to_thread(self._inspector.look, key, forced=forced)
        if inspection is None:
            return
        self.totals.looks += 1
        if self._works[key] != works:  # it was worked on meanwhile, and looked at after that
            return
        self._waiting.pop(key, None)
        if inspection.next_step is not None:
            self._waiting[key] = inspection, trigger
            self._wake.set()

    async def _look_after_commit(self, key: TableKey) -> None:
        if self._is_its_turn():
            await self._look(key, _COMMIT)

    def _watched(self) -> Sequence[TableKey]:
        """What other programs may change meanwhile: none that another coordinator looks after."""
        return self._follower.tables if self._is_its_turn() else ()

    async def _start_forever(self) -> None:
        while True:
            await _set_within(self._wake, min(_ASK_AGAIN_SECONDS, self._settings.scan_interval))
            self._wake.clear()
            try:
                await self._start_some()
            except Exception:
                _LOG.exception("maintenance failed to start a job")

    async def _start_some(self) -> None:
        """The group of tables that got least comes first, in it the table to which it does most good.

        What waits gains with every hour: the first of many busy tables must not keep a quiet one waiting for ever.
        """
        if self._settings.dry_run:
            self._waiting.clear()
            return
        if not self._is_its_turn():
            for key in [key for key, (_, trigger) in self._waiting.items() if trigger in (_POLICY, _COMMIT)]:
                del self._waiting[key]
        shares = await asyncio.to_thread(self._shares) if self._waiting else {}
        for key in sorted(self._waiting, key=lambda key: self._turn(key, shares)):
            busy = [other for other in self._working if other.catalog == key.catalog]
            if len(self._working) >= self._settings.max_jobs or self._statements_wait():
                return
            # A look that began before its work did may have put it here again.
            if len(busy) >= self._settings.max_per_catalog or key in self._working:
                continue
            _, trigger = self._waiting.pop(key)
            task = asyncio.create_task(self._work(key, trigger), name=f"maintenance-{key}")
            self._working[key] = task
            self._works[key] += 1
            task.add_done_callback(partial(self._ended, key))

    def _statements_wait(self) -> bool:
        return self._settings.stand_back and self._statements.users_wait

    def _turn(self, key: TableKey, shares: dict[str, float]) -> tuple[float, float, TableKey]:
        inspection, _ = self._waiting[key]
        step, since = inspection.next_step, inspection.look.waiting_since
        hours = 0.0 if since is None else max(0.0, (self._now() - since).total_seconds() / 3600)
        gain = (step.priority if step is not None else 0.0) * (1 + hours)
        return shares.get(inspection.group, 0.0), -gain, key

    def _shares(self) -> dict[str, float]:
        """Seconds of the last day by group of tables."""
        shares = dict[str, float]()
        for key, seconds in self._store.seconds_by_table(self._now() - _DAY).items():
            group = self._inspector.group_of(key)
            shares[group] = shares.get(group, 0.0) + seconds
        return shares

    def _ended(self, key: TableKey, task: asyncio.Task[None]) -> None:
        self._working.pop(key, None)
        self._reserved.pop(key, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _LOG.error("maintenance of %s broke off", key, exc_info=error)
        self._wake.set()

    async def _work(self, key: TableKey, trigger: str) -> None:
        """Step by step, each decided on the table as the one before left it."""
        began, done, last = self._now(), dict[str, int](), None
        for _ in range(_MOST_STEPS):
            inspection, step = await self._next(key, began, done)
            if last is not None and inspection is not None:
                after = replace(last, files_after=inspection.look.files, size_after=inspection.look.size)
                await asyncio.to_thread(self._store.save_job, after)
            if inspection is None or step is None:
                return
            if self._statements_wait():
                reason = "statements of users wait in a queue"
                await asyncio.to_thread(self._store.save_decision, self._put_off(key, step, reason))
                return
            done[step.kind] = done.get(step.kind, 0) + 1
            job = last = await self._run(key, step, trigger, inspection)
            self.totals.add(job)
            if job.state != "FINISHED":
                await asyncio.to_thread(self._inspector.look, key, forced=True, began=began)
                return

    async def _next(
        self, key: TableKey, began: datetime, done: Mapping[str, int]
    ) -> tuple[Inspection | None, Step | None]:
        """A look, and what is done next; from now until its job is written down it counts against the budgets."""
        async with self._choosing:
            others = [step for other, step in self._reserved.items() if other != key]
            reserved = Spent(sum(step.size for step in others), sum(step.seconds for step in others))
            inspection = await asyncio.to_thread(self._inspector.look, key, forced=True, began=began, reserved=reserved)
            if inspection is None:
                return None, None
            step = next((step for step in inspection.runnable if done.get(step.kind, 0) < _MOST_OF_A_KIND), None)
            if step is not None:
                self._reserved[key] = step
            return inspection, step

    def _put_off(self, key: TableKey, step: Step, reason: str) -> Decision:
        return Decision(self._now(), key, step.kind, "WAIT", reason, step.priority, step.size, step.seconds)

    async def _run(self, key: TableKey, step: Step, trigger: str, inspection: Inspection) -> MaintenanceJob:
        assert step.arguments is not None, "only wanted steps run"
        started, saved = self._now(), list[MaintenanceJob]()
        seconds = self._seconds_left(started)
        arguments, most = within(step.kind, step.arguments, seconds, self._settings.window_grace)
        text = call_text(key.catalog, key.schema, key.table, step.kind, arguments)

        async def begun(query_id: str) -> None:
            saved.append(
                MaintenanceJob(
                    query_id, key, step.kind, trigger, "RUNNING", started, None, step.size, step.seconds,
                    inspection.look.files, size_before=inspection.look.size,
                )
            )  # fmt: skip
            await asyncio.to_thread(self._store.save_job, saved[-1])
            self._reserved.pop(key, None)

        state, error = await self._outcome(text, begun, most)
        if not saved:
            await begun(f"not-started-{started:%Y%m%d%H%M%S%f}")
        if (
            state == "FINISHED"
            and step.kind not in _CHANGE_NOTHING
            and await self._is_still(key, inspection.look.marker)
        ):
            state, error = "FAILED", "the call changed nothing"
        job = replace(saved[0], state=state, ended=self._now(), error=error)
        await asyncio.to_thread(self._store.save_job, job)
        _LOG.info("maintenance: %s of %s %s%s", step.kind, key, state.lower(), f": {error}" if error else "")
        return job

    def _seconds_left(self, now: datetime) -> float | None:
        """Until the window closes; None where it never does."""
        until = open_until(self._settings.window, now)
        return None if until is None or until.year == datetime.max.year else (until - now).total_seconds()

    async def _is_still(self, key: TableKey, marker: str) -> bool:
        """Whether the table is as it was; of one that cannot be asked for, nobody knows."""
        try:
            return await asyncio.to_thread(self._lake.marker, key) == marker
        except ProcessionError:
            return False

    async def _outcome(
        self, text: str, begun: Callable[[str], Awaitable[None]], seconds: float | None
    ) -> tuple[JobState, str | None]:
        try:
            await self._statements.run(text, begun, seconds)
        except TimeoutError:
            return "STOPPED", "the window closed; what was committed stays"
        except ProcessionError as error:
            stopped = error.code in (ErrorCode.USER_CANCELED, ErrorCode.ADMINISTRATIVELY_KILLED)
            return ("STOPPED" if stopped else "FAILED"), f"{error.code.name}: {error.message}"
        except Exception as error:
            _LOG.exception("a call of the maintenance service broke off")
            return "FAILED", type(error).__name__
        return "FINISHED", None


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    """Not ``wait_for``, which in Python 3.11 can swallow the cancellation that comes with the event."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()

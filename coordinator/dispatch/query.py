"""One query: its identity and its life cycle."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Literal

from coordinator.dispatch.arrow_chunks import Compression
from coordinator.dispatch.buffer import PageBuffer
from coordinator.dispatch.clock import Clock
from coordinator.dispatch.failures import canceled
from coordinator.dispatch.result_space import ResultSpace
from coordinator.dispatch.segments import Encoding
from coordinator.dispatch.settings import DispatchSettings
from coordinator.dispatch.states import QueryState, check_transition
from coordinator.dispatch.timeline import Timeline
from coordinator.engine.execution import QueryProgress, SentRows
from coordinator.explain.operators import Operator
from coordinator.resource_groups.specification import NO_LIMITS
from coordinator.security.redaction import redacted, shown_statement
from coordinator.vocabulary.planned_statement import (
    FetchRows,
    PlannedStatement,
    ReturnRows,
    RunLocally,
    RunOnSpark,
    SelectRows,
)
from coordinator.vocabulary.session_properties import session_value
from coordinator.vocabulary.traced_calls import TracedCalls
from shared.errors import ProcessionError
from shared.spi.event_listener import FragmentVerdictInfo
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session

_NO_WORK = ReturnRows(())
_READING = (RunLocally, SelectRows, RunOnSpark, FetchRows)
_PARTIAL_RESULT = (6, "PARTIAL_RESULT_WARNING")
"""Presto's StandardWarningCode of that name."""

ResultFormat = Literal["json", "binary", "arrow"]
"""Rows as JSON or as Presto's SerializedPages, page by page; or all of them as one Arrow stream."""


@dataclass(frozen=True, slots=True)
class RetryOrder:
    """What a gateway asked for when it sent the statement: where a client goes if a retriable error ends it."""

    url: str
    expires_at: float
    clock: Clock

    def expired(self) -> bool:
        """The gateway has forgotten the statement by now."""
        return self.clock.monotonic() >= self.expires_at


@cache
def _drained() -> PageBuffer:
    """Stands for all that were read or dropped."""
    buffer = PageBuffer(0, lambda: None)
    buffer.close()
    return buffer


class Query:
    """Belongs to one event loop: everything is called there, except where a method says otherwise.

    ``text`` is what the planner gets; ``shown_text`` what people see (a retry carries a comment line in front).
    ``result_format``: what the client wants its rows as; ``segments``: how a page has them, if not as they are.
    ``redact`` takes secrets out of what people see.
    A ``placeholder`` was sent by a gateway to be run by the retry endpoint if another cluster fails.
    """

    def __init__(
        self,
        *,
        session: Session,
        text: str,
        slug: str,
        settings: DispatchSettings,
        clock: Clock,
        shown_text: str | None = None,
        retry_order: RetryOrder | None = None,
        attempt: int = 0,
        placeholder: bool = False,
        result_format: ResultFormat = "json",
        compression: Compression | None = None,
        segments: Encoding | None = None,
        redact: Callable[[str], str] = redacted,
        space: ResultSpace | None = None,
        sent_rows: SentRows | None = None,
    ) -> None:
        self.session = session
        self.text = text
        self.redact = redact
        self.shown_text = shown_statement(text if shown_text is None else shown_text, redact)
        self.slug = slug
        self.retry_order = retry_order
        self.attempt = attempt
        self.placeholder = placeholder
        self.result_format = result_format
        self._compression = compression
        self.segments = segments
        self.sent_rows = sent_rows
        self.stream_begun = False
        self.created: datetime = clock.now()
        self.ended: datetime | None = None
        self.timeline = Timeline(clock)
        self.planned: PlannedStatement | None = None
        self.warnings: tuple[PrestoWarning, ...] = ()
        self.error: ProcessionError | None = None
        self.progress = QueryProgress(nodes=0)
        self.update_count: int | None = None
        self.committed_snapshot: int | None = None
        self.output_rows = self.output_bytes = 0
        self.runs_again = 0
        self.ran_on: tuple[str, str] | None = None
        """The engine and why, where it is not the one that was planned."""
        self.operators: tuple[Operator, ...] = ()
        """What the engine measured of its own."""
        self.spark_operations: tuple[str, ...] = ()
        self.spark_jobs: tuple[int, ...] = ()
        self.verdicts: list[FragmentVerdictInfo] = []
        self.calls: TracedCalls | None = None
        """Of other services, where a trace is made of it."""
        self.resource_group: tuple[str, ...] = ()
        self.limits = NO_LIMITS
        self.results_dropped = self.results_delivered = False
        self.ends_early = False
        """Its client wants no more rows than those that have come."""
        self.last_access_time = self.created
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._state = QueryState.WAITING_FOR_PREREQUISITES
        self._last_access = clock.monotonic()
        self._task_seconds = (0.0, self._last_access)
        self._entered = {self._state: self._last_access}
        self._waiters: set[asyncio.Future[None]] = set()
        self._cancel_lock = threading.Lock()
        self._cancel_callbacks: list[Callable[[], None]] | None = []
        self._done_callbacks: list[Callable[[Query], None]] = []
        self._wake_pending = False
        self.buffer = PageBuffer(
            settings.max_buffer_size,
            self._notify_from_thread,
            space,
            name=session.query_id,
            max_stored=settings.max_stored_of_query,
            patience=settings.patience,
        )

    @property
    def id(self) -> str:
        return self.session.query_id

    @property
    def state(self) -> QueryState:
        return self._state

    @property
    def compression(self) -> Compression:
        """Of its Arrow stream: as its client says with the request, or else as the session does."""
        if self._compression is not None:
            return self._compression
        match session_value(self.session, "arrow_compression").lower():
            case "lz4" | "zstd" as known:
                return known
            case _:  # what is neither, planning has refused
                return "none"

    @property
    def active(self) -> bool:
        """Still running, or rows wait that a client may come for."""
        if not self._state.done:
            return True
        return self._state is QueryState.FINISHED and not (self.results_delivered or self.results_dropped)

    def seconds_between(self, start: QueryState, ends: tuple[QueryState, ...]) -> float:
        """Seconds from entering ``start`` until entering the first of ``ends`` or the end, or now; 0 if not begun."""
        begun = self._entered.get(start)
        if begun is None:
            return 0.0
        candidates = (*ends, QueryState.FINISHED, QueryState.FAILED)
        ended = min((self._entered[s] for s in candidates if s in self._entered), default=self._clock.monotonic())
        return max(0.0, ended - begun)

    def entered(self, state: QueryState) -> bool:
        """The query has been in ``state``."""
        return state in self._entered

    def transition(self, new: QueryState) -> None:
        """Step to ``new``; raises IllegalTransitionError."""
        check_transition(self._state, new)
        self._state = new
        self._entered[new] = self._clock.monotonic()
        if new.done:
            self.ended = self._clock.now()
            if new is QueryState.FAILED:
                self.timeline.stop_all()
            else:
                # The engine has ended; what its callbacks hold may go.
                self._cancel_callbacks = []
            callbacks, self._done_callbacks = self._done_callbacks, []
            for callback in callbacks:
                callback(self)
        self.notify()

    def on_done(self, callback: Callable[[Query], None]) -> None:
        """Call back once when the query has ended; at once if it already has."""
        if self._state.done:
            callback(self)
        else:
            self._done_callbacks.append(callback)

    def fail(self, error: ProcessionError) -> bool:
        """End with ``error`` and stop whatever runs; False when the query had already ended."""
        if self._state.done:
            return False
        message = self.redact(error.message)
        self.error = ProcessionError(error.code, message, location=error.location, retriable=error.retriable)
        self.transition(QueryState.FAILED)
        self.buffer.close()
        self._call_off()
        return True

    def _call_off(self) -> None:
        with self._cancel_lock:
            callbacks, self._cancel_callbacks = self._cancel_callbacks or [], None
        for callback in callbacks:
            self._start_callback(callback)

    def cancel(self) -> bool:
        """End as the user's wish; False when the query had already ended."""
        return self.fail(canceled())

    @property
    def may_end_early(self) -> bool:
        """An engine runs it, and all that it does is to return rows, each of which is right without the others."""
        running = self._state in (QueryState.STARTING, QueryState.RUNNING) and not self.ends_early
        return running and self.planned is not None and isinstance(self.planned.work, _READING)

    def end_early(self) -> bool:
        """Stop the engine and end well with the rows that have come; False when that cannot be."""
        if not self.may_end_early:
            return False
        self.ends_early = True
        self.warnings += (PrestoWarning(*_PARTIAL_RESULT, "The query was ended early: rows may be missing"),)
        self._call_off()
        return True

    def touch(self) -> None:
        """A client asked for the query."""
        self._last_access = self._clock.monotonic()
        self.last_access_time = self._clock.now()

    @property
    def idle_seconds(self) -> float:
        """Since a client last asked."""
        return self._clock.monotonic() - self._last_access

    @property
    def ended_seconds(self) -> float:
        """Since the end; 0 before."""
        entered = self._entered.get(QueryState.FINISHED, self._entered.get(QueryState.FAILED))
        return 0.0 if entered is None else self._clock.monotonic() - entered

    def report(self, progress: QueryProgress) -> None:
        """Take the newest totals; from any thread."""
        self._task_seconds = self._tasks_until_now()
        self.progress = progress

    @property
    def cpu_seconds(self) -> float:
        """As the engine says; of an engine that does not, how long tasks ran, each of which occupies a core."""
        return self.progress.cpu_seconds or self._tasks_until_now()[0]

    def _tasks_until_now(self) -> tuple[float, float]:
        """Seconds of tasks so far, and the moment that they are counted to."""
        seconds, since = self._task_seconds
        now = min(self._clock.monotonic(), self._entered.get(QueryState.FINISHING, math.inf))
        now = min(now, self._entered.get(QueryState.FAILED, math.inf))
        return seconds + self.progress.running_splits * max(0.0, now - since), now

    def drop_results(self) -> None:
        """Forget rows that nobody came for."""
        self.results_dropped = True
        self.timeline.stop_all()
        self.buffer.close()

    def shrink(self, text_length: int) -> None:
        """Free what only a recent query needs: what is known of its plan, its rows, and the end of a long text."""
        self.shown_text = self.shown_text[:text_length]
        if len(self.text) > text_length:
            self.text = ""
        planned = self.planned
        if planned is not None and planned.work != _NO_WORK:
            plans = replace(planned, initial_plan=None, logical_plan=None, subplan=None, work=_NO_WORK)
            self.planned = replace(plans, verb_seconds={}, table_versions=(), accesses=(), facts=None, calls=())
        self.operators, self.calls, self.sent_rows = (), None, None
        self.buffer = _drained()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call back on a thread of its own if the query fails; at once if it has ended. From any thread."""
        with self._cancel_lock:
            if self._cancel_callbacks is not None:
                self._cancel_callbacks.append(callback)
                return
        self._start_callback(callback)

    def _start_callback(self, callback: Callable[[], None]) -> None:
        threading.Thread(target=callback, name=f"cancel-{self.id}", daemon=True).start()

    def notify(self) -> None:
        """Wake everyone who waits for a change."""
        self._wake_pending = False
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _notify_from_thread(self) -> None:
        if self._wake_pending:
            return
        self._wake_pending = True
        self.call_on_loop(self.notify)

    def call_on_loop(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` on the query's event loop. From any thread; nothing happens once the loop is closed."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)

    async def wait_until(self, ready: Callable[[], bool], timeout: float) -> bool:
        """Wait until ``ready()`` or ``timeout`` real seconds; tells which."""
        deadline = self._loop.time() + timeout
        while not ready():
            remaining = deadline - self._loop.time()
            if remaining <= 0:
                return False
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiters.add(waiter)
            try:
                await asyncio.wait((waiter,), timeout=remaining)
            finally:
                self._waiters.discard(waiter)
        return True

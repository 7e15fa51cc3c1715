"""Takes statements in and sees each through its life: plan, check, queue, execute, deliver, forget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import structlog

from coordinator.dispatch.clock import Clock, SystemClock
from coordinator.dispatch.delivery import Delivery, settle
from coordinator.dispatch.events import QueryEvents
from coordinator.dispatch.execution import start_execution
from coordinator.dispatch.failures import internal_error, text_too_large
from coordinator.dispatch.planning import Planning
from coordinator.dispatch.ports import PlanFreshness, StatementChecker, StatementExecutor, StatementPlanner
from coordinator.dispatch.query import Query, RetryOrder
from coordinator.dispatch.races import MOST_RACES, last_race, lost_race, pause_seconds
from coordinator.dispatch.registry import KEPT_TEXT, QueryRegistry
from coordinator.dispatch.replays import Replays
from coordinator.dispatch.result_space import ResultSpace, return_memory
from coordinator.dispatch.segments import SpooledSegments
from coordinator.dispatch.settings import DispatchSettings
from coordinator.dispatch.slots import Slots
from coordinator.dispatch.states import QueryState
from coordinator.dispatch.stats import elapsed_seconds
from coordinator.dispatch.submission import Submission
from coordinator.dispatch.totals import Totals
from coordinator.dispatch.transactions import Transactions
from coordinator.dispatch.unpolled import UnpolledStatements
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.security.redaction import redacted
from coordinator.vocabulary.planned_statement import PlannedStatement
from coordinator.vocabulary.trace_context import begin_tracing, trace_of
from coordinator.vocabulary.traced_calls import TracedCalls
from shared.errors import ProcessionError
from shared.ids import QueryIdGenerator, new_slug
from shared.spi.session import Session

_log = structlog.get_logger(__name__)
_WRITES_OF_A_SWEEP = 16
"""Pages that one sweep writes to files, one after another on a thread: the next sweep waits for them."""


class Dispatcher:
    """Belongs to the event loop that runs it."""

    def __init__(
        self,
        planner: StatementPlanner,
        checker: StatementChecker,
        executor: StatementExecutor,
        groups: ResourceGroups,
        settings: DispatchSettings | None = None,
        clock: Clock | None = None,
        freshness: PlanFreshness | None = None,
        redact: Callable[[str], str] = redacted,
        distributed_procedures: Collection[str] = (),
        results_folder: Path | None = None,
        events: QueryEvents | None = None,
        id_suffix: str | None = None,
        traced: bool = False,
    ) -> None:
        """``results_folder`` takes rows for which memory has no room; it belongs to this dispatcher alone.

        By ``id_suffix`` its query ids end; without one it is random. ``traced``: calls of other services are noted.
        """
        self.settings = settings if settings is not None else DispatchSettings()
        self.clock = clock if clock is not None else SystemClock()
        self.groups = groups
        self.registry = QueryRegistry(self.settings, self.clock)
        self.totals = Totals(self.clock)
        self._transactions = Transactions(self.clock)
        self._unpolled = UnpolledStatements(self.settings)
        self.refusal: ProcessionError | None = None
        self.events = events or QueryEvents()
        self._planning = Planning(planner, checker, freshness, self.settings, self._transactions, self.events)
        self._slots = Slots(groups, self.settings, self.clock, distributed_procedures)
        self._listeners: list[Callable[[Query], None]] = []
        self._redact, self._traced = redact, traced
        self._executor = executor
        self.results = ResultSpace(
            self.settings.buffered_bytes(), self.settings.max_stored, results_folder, self.settings.keep_free
        )
        self.segments = SpooledSegments(self.settings, self.results, self.clock)
        self._ids = QueryIdGenerator(self.clock.now, id_suffix)
        self._deliveries: dict[str, Delivery] = {}
        self._replays = Replays(self.settings.max_replay_size, self.settings.client_timeout)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sweep the registry meanwhile; on leaving, cancel what still runs."""
        await asyncio.to_thread(self.results.clear)
        sweeper = asyncio.create_task(self._sweep_forever(), name="query-sweeper")
        try:
            yield
        finally:
            sweeper.cancel()
            for query in self.registry:
                query.cancel()
            tasks = [sweeper, *self._tasks.values()]
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(self.results.clear)

    async def _sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(self.settings.sweep_interval)
            try:
                await self.sweep()
            except Exception as error:
                internal_error(error)
            if self.results.worth_returning(self.clock.monotonic()):
                await asyncio.to_thread(return_memory)

    async def sweep(self) -> None:
        """Abandon, drop and forget, as the clock says; then put last pages beyond the limit into files."""
        for query in self.registry.sweep():
            self._deliveries.pop(query.id).release()
        await self.segments.sweep()
        active = self.registry.active()
        self._slots.tick(active)
        self._transactions.sweep({query.session.transaction_id for query in active})
        for query in active:
            settle(query, self.results)
            if query.state is QueryState.RUNNING:
                self._slots.lend(query)
        for conversation in self._replays.sweep()[:_WRITES_OF_A_SWEEP]:
            await conversation.set_aside()

    def submit(self, submission: Submission, *, shown_text: str | None = None, attempt: int = 0) -> Query:
        """Register a statement. It starts with its first poll, or with ``start``."""
        now = self.clock.monotonic()
        query_id = submission.query_id or self._ids.next()
        limit = self.settings.max_query_length
        too_large = text_too_large(submission.length, limit) if submission.length > limit else None
        retry = None
        if submission.retry_url is not None:
            retry = RetryOrder(submission.retry_url, now + submission.retry_seconds, self.clock)
        query = Query(
            session=replace(submission.session, query_id=query_id),
            text=submission.text[:KEPT_TEXT] if too_large else submission.text,
            slug=submission.slug or new_slug(),
            settings=self.settings,
            clock=self.clock,
            shown_text=shown_text,
            retry_order=retry,
            attempt=attempt,
            placeholder=submission.placeholder,
            result_format=submission.result_format,
            compression=submission.compression,
            segments=submission.segments,
            redact=self._redact,
            space=self.results,
            sent_rows=submission.sent_rows,
        )
        received = now if submission.received_at is None else submission.received_at
        query.timeline.record({"receive": now - received})
        self.registry.add(query)
        self._deliveries[query_id] = Delivery(query, self.results, self.segments, self._replays)
        query.on_done(self._ended)
        self.events.created(query)
        self.totals.submitted()
        error = self.refusal or submission.error or too_large or self._transactions.refusal(query.session)
        error = error or self._unpolled.refusal(query.session.user, len(query.text))
        if error is not None:
            query.fail(error)
        else:
            self._unpolled.add(query)
        return query

    def _ended(self, query: Query) -> None:
        self.totals.add(query)
        if query.error is not None:
            self.segments.drop(query.id)
        for listener in self._listeners:
            listener(query)
        self.events.ended(query)
        if query.planned is not None and query.error is None:
            self._transactions.ended(query.session, query.planned.session_change)
        _log.info(
            "query ended",
            query_id=query.id,
            trace_id=trace_of(query.id, query.session.traceparent).trace_id,
            user=query.session.user,
            source=query.session.source,
            state=query.state.value,
            error=None if query.error is None else query.error.code.name,
            elapsed_seconds=round(elapsed_seconds(query), 6),
            rows=query.output_rows,
        )

    def on_ended(self, listener: Callable[[Query], None]) -> None:
        """Tell of every query that ends, on the event loop; ``listener`` must not raise."""
        self._listeners.append(listener)

    def start(self, query: Query) -> None:
        """Begin planning; starting again, or after the end, changes nothing."""
        if query.id in self._tasks or query.state is not QueryState.WAITING_FOR_PREREQUISITES:
            return
        self._unpolled.discard(query)
        self.totals.started()
        self._begin(query, self._run(query))

    def delivery(self, query: Query) -> Delivery:
        """The conversation about ``query``."""
        return self._deliveries[query.id]

    def cancel(self, query: Query) -> None:
        """Stop a running query; drop the rows of one that has ended but was not read."""
        if not query.cancel() and query.active:
            query.drop_results()
            self.segments.drop(query.id)

    def retry(self, query: Query, session: Session) -> Query:
        """Run the failed ``query``, or a placeholder, under a new id and as ``session``; started at once."""
        attempt = query.attempt + 1
        again = self.submit(
            Submission(query.text, replace(session, start=self.clock.now()), len(query.text)),
            shown_text=f"-- retry query {query.id}; attempt: {attempt}\n{query.text}",
            attempt=attempt,
        )
        self.start(again)
        return again

    async def _run(self, query: Query) -> None:
        """Until the engine's thread has begun."""
        trace = begin_tracing(query.id, query.session.traceparent)
        if self._traced and trace.sampled:
            query.calls = TracedCalls()
        await self._guarded(query, self._planned_and_run(query))

    async def _planned_and_run(self, query: Query) -> None:
        planned = await self._planning.plan(query) if self._planning.is_eager(query) else None
        await self._slots.acquire(query, planned)
        if planned is None or await self._planning.is_stale(query, planned):
            query.transition(QueryState.PLANNING)
            planned = await self._planning.plan(query)
        self._execute(query, planned)

    async def _guarded(self, query: Query, work: Coroutine[None, None, None]) -> None:
        """Whatever goes wrong becomes the query's error."""
        try:
            await work
        except asyncio.CancelledError:
            # The query has ended (cancelled, killed, abandoned), or the server stops.
            query.cancel()
        except ProcessionError as error:
            query.fail(error)
        except Exception as error:
            query.fail(internal_error(error, query_id=query.id))

    def _execute(self, query: Query, planned: PlannedStatement) -> None:
        query.timeline.start("dispatch")
        if query.state not in (QueryState.STARTING, QueryState.RUNNING):  # as it is where it runs again
            query.transition(QueryState.STARTING)

        def started() -> None:
            if query.state is QueryState.STARTING:
                query.transition(QueryState.RUNNING)
                self.events.started(query)

        def ended(error: ProcessionError | None) -> None:
            query.timeline.stop("dispatch")
            if query.state.done:
                return
            if error is not None:
                engine = None if query.ran_on is None else query.ran_on[0]
                if lost_race(planned, error, engine) and query.runs_again < MOST_RACES:
                    self._race_again(query, error)
                else:
                    query.fail(error)
                return
            query.timeline.start("deliver")
            query.transition(QueryState.FINISHING)
            settle(query, self.results)

        start_execution(
            query,
            planned,
            self._executor,
            self.settings,
            started=started,
            first_rows=lambda: query.timeline.start("deliver"),
            ended=ended,
        )

    def _race_again(self, query: Query, lost: ProcessionError) -> None:
        """Plan a change of rows over the tables as they are now, and run it."""
        query.runs_again += 1
        query.ran_on = None
        _log.warning("statement runs again", query_id=query.id, reason=lost.message)

        async def again() -> None:
            await asyncio.sleep(pause_seconds())
            planned = await self._planning.plan(query)
            self._execute(query, last_race(planned) if query.runs_again == MOST_RACES else planned)

        self._begin(query, self._guarded(query, again()))

    def _begin(self, query: Query, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name=f"query-{query.id}")
        self._tasks[query.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(query.id, None))
        query.on_done(lambda _: _cancel_from_outside(task))

    async def drained(self, poll_interval: float = 0.05) -> None:
        """Return once no query runs and no rows wait for a client."""
        while self.registry.active() or self.segments.wanted:
            await asyncio.sleep(poll_interval)


def _cancel_from_outside(task: asyncio.Task[None]) -> None:
    if task is not asyncio.current_task():
        task.cancel()

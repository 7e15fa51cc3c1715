"""Queries as events: what listeners and the history are told of their lives.

The records are made on the thread of events, from what the query remembers; the event loop only says that there is
something to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import assert_never

from msgspec.structs import replace

from coordinator.dispatch.query import Query
from coordinator.dispatch.stages import stage_statistics
from coordinator.dispatch.states import QueryState
from coordinator.dispatch.stats import elapsed_seconds, execution_seconds, queued_seconds
from coordinator.events.bus import Publish, publish_nothing
from coordinator.security.redaction import HIDDEN, is_secret_name
from coordinator.vocabulary.planned_statement import (
    AnalyzeTable,
    CallProcedure,
    ChangeCatalog,
    ExplainAnalyze,
    ExplainNative,
    FetchRows,
    ManageCatalog,
    PlannedStatement,
    ReturnRows,
    RunLocally,
    RunOnSpark,
    SelectRows,
    Work,
    WriteRows,
)
from coordinator.vocabulary.statement_facts import restored
from coordinator.vocabulary.traced_calls import TracedCall
from shared.errors import ErrorCode, ProcessionError
from shared.spi.access_control import AccessDeniedError, Identity
from shared.spi.event_listener import (
    AccessDeniedEvent,
    ErrorCodeInfo,
    Event,
    EventWarning,
    ExecutionInfo,
    ListenerContext,
    QueryCompletedEvent,
    QueryContext,
    QueryCreatedEvent,
    QueryFailureInfo,
    QueryIOMetadata,
    QueryMetadata,
    QueryStartedEvent,
    QueryStatistics,
    QueryUpdatedEvent,
    TracedCallInfo,
)
from shared.spi.procedure import ProcedureKind

TEXT_LIMIT = 1 << 20
"""Characters of a statement that are told."""
_NOWHERE = ListenerContext("", "", "", "", Path())


class QueryEvents:
    """Tells of queries of one coordinator."""

    def __init__(
        self,
        publish: Publish = publish_nothing,
        service: ListenerContext = _NOWHERE,
        *,
        hide: Callable[[str], str] = str,
        each_creation: bool = True,
        starts: bool = False,
    ) -> None:
        """``hide`` takes secrets of the configuration out of plans.

        Without ``each_creation`` a statement that has ended by then is not told as created: the history needs one row.
        With ``starts`` those that run for long enough to be written meanwhile are told as begun.
        """
        self._publish, self._service = publish, service
        self._hide, self._each_creation, self._starts = hide, each_creation, starts

    def created(self, query: Query) -> None:
        """The statement was received; nothing has been done for it."""
        self._publish(partial(_created if self._each_creation else _still_running, query, self._service))

    def planned(self, query: Query, planned: PlannedStatement) -> None:
        """It has been planned and checked; told of those that write."""
        if planned.facts is not None and planned.facts.io.output is not None:
            self._publish(partial(_updated, query, planned, self._service))

    def started(self, query: Query) -> None:
        """It runs; what has ended by the time of telling is told as that alone."""
        if self._starts:
            self._publish(partial(_started, query))

    def described(self, query: Query) -> QueryCompletedEvent:
        """What would be told of it if it ended now; in any thread."""
        return _completed(query, query.planned, self._service, self._hide)

    def ended(self, query: Query) -> None:
        """It has ended in any way."""
        # What the query forgets later is held here.
        self._publish(partial(_completed, query, query.planned, self._service, self._hide))
        if query.error is not None and query.error.code is ErrorCode.PERMISSION_DENIED:
            who = Identity(query.session.user, query.session.principal)
            self._publish(partial(access_denied, query.error, who, query.id, query.redact))


def access_denied(
    error: ProcessionError, identity: Identity | None, query_id: str | None, redact: Callable[[str], str]
) -> AccessDeniedEvent:
    """A refusal of the access control."""
    denied = error if isinstance(error, AccessDeniedError) else None
    return AccessDeniedEvent(
        time=datetime.now(UTC),
        query_id=query_id,
        user=None if identity is None else identity.user,
        principal=None if identity is None else identity.principal,
        access=None if denied is None else denied.access,
        object=None if denied is None else denied.subject,
        rule=None if denied is None else denied.rule,
        problem=redact(error.message.removeprefix("Access Denied: ")),
    )


def _created(query: Query, service: ListenerContext) -> Event:
    return QueryCreatedEvent(
        create_time=query.created,
        context=_context(query, None, service),
        metadata=_metadata(query, None, service, QueryState.QUEUED),
    )


def _still_running(query: Query, service: ListenerContext) -> Event | None:
    return None if query.state.done else _created(query, service)


def _updated(query: Query, planned: PlannedStatement, service: ListenerContext) -> Event:
    return QueryUpdatedEvent(
        create_time=query.created,
        context=_context(query, planned, service),
        metadata=_metadata(query, planned, service, QueryState.QUEUED),
        io_metadata=_io(planned),
    )


def _started(query: Query) -> Event | None:
    planned = query.planned
    if query.state.done:
        return None
    return QueryStartedEvent(
        query_id=query.id,
        query_state=query.state.value,
        query_type=None if planned is None else planned.query_type,
        update_type=None if planned is None else planned.update_type,
        resource_group_id=query.resource_group,
        execution_start_time=_execution_start(query),
    )


def _execution_start(query: Query) -> datetime | None:
    if not query.entered(QueryState.DISPATCHING):
        return None
    waited = query.seconds_between(QueryState.WAITING_FOR_PREREQUISITES, (QueryState.DISPATCHING,))
    return query.created + timedelta(seconds=waited)


def _completed(
    query: Query, planned: PlannedStatement | None, service: ListenerContext, hide: Callable[[str], str]
) -> QueryCompletedEvent:
    return QueryCompletedEvent(
        create_time=query.created,
        execution_start_time=_execution_start(query),
        end_time=query.ended or datetime.now(UTC),
        context=_context(query, planned, service),
        metadata=_metadata(query, planned, service, query.state, hide),
        statistics=_statistics(query, planned),
        stage_statistics=stage_statistics(query.progress),
        io_metadata=_committed(_io(planned), query.committed_snapshot),
        failure_info=_failure(query),
        warnings=tuple(EventWarning(code=w.code, name=w.name, message=query.redact(w.message)) for w in query.warnings),
        execution=execution_info(query, planned),
        calls=() if query.calls is None else tuple(_call(each) for each in query.calls.calls),
    )


def _call(call: TracedCall) -> TracedCallInfo:
    return TracedCallInfo(
        name=call.name,
        span_id=call.span_id,
        parent=call.parent,
        verb=call.verb,
        start_time=datetime.fromtimestamp(call.began, UTC),
        duration=round(call.seconds, 6),
        about=call.about,
        error=call.error,
    )


def _context(query: Query, planned: PlannedStatement | None, service: ListenerContext) -> QueryContext:
    session = query.session
    return QueryContext(
        user=session.user,
        principal=session.principal,
        groups=session.groups,
        enabled_roles=tuple(f"{catalog}={role}" for catalog, role in sorted(session.roles.items())),
        remote_client_address=session.remote_address,
        user_agent=session.user_agent,
        client_info=session.client_info,
        client_tags=session.client_tags,
        source=session.source,
        timezone=session.time_zone,
        catalog=session.catalog,
        schema=session.schema,
        resource_group_id=query.resource_group or None,
        session_properties=_properties(query),
        resource_estimates=dict(session.resource_estimates),
        trace_token=session.trace_token,
        traceparent=session.traceparent,
        server_address=service.server_address,
        server_version=service.server_version,
        environment=service.environment,
        node_id=service.node_id,
        query_type=None if planned is None else planned.query_type,
    )


def _properties(query: Query) -> Mapping[str, str]:
    own = query.session.properties
    catalogs = query.session.catalog_properties
    named = {
        **own,
        **{f"{c}.{name}": value for c, properties in catalogs.items() for name, value in properties.items()},
    }
    return {name: HIDDEN if is_secret_name(name) else query.redact(value) for name, value in named.items()}


def _metadata(
    query: Query,
    planned: PlannedStatement | None,
    service: ListenerContext,
    state: QueryState,
    hide: Callable[[str], str] | None = None,
) -> QueryMetadata:
    """``hide`` is given where the plan is told."""
    facts = None if planned is None or hide is None else planned.facts
    prepared = None if planned is None or planned.prepared_sql is None else query.redact(planned.prepared_sql)
    # A plan spells literals in ways of its own, which the patterns for texts do not know.
    hides = HIDDEN in query.shown_text
    text, json = (None, None) if facts is None or hides else (restored(facts.plan.text), restored(facts.plan.json))
    return QueryMetadata(
        query_id=query.id,
        query=query.shown_text[:TEXT_LIMIT],
        query_state=state.value,
        query_truncated=len(query.shown_text) > TEXT_LIMIT,
        transaction_id=query.session.transaction_id,
        prepared_query=prepared,
        update_type=None if planned is None else planned.update_type,
        uri=f"{service.server_address}/v1/query/{query.id}",
        plan=None if text is None or hide is None else hide(text),
        json_plan=None if json is None or hide is None else hide(json),
    )


def _io(planned: PlannedStatement | None) -> QueryIOMetadata:
    return QueryIOMetadata() if planned is None or planned.facts is None else planned.facts.io


def _committed(io: QueryIOMetadata, snapshot_id: int | None) -> QueryIOMetadata:
    if io.output is None or snapshot_id is None:
        return io
    return replace(io, output=replace(io.output, committed_snapshot_id=snapshot_id))


def _statistics(query: Query, planned: PlannedStatement | None) -> QueryStatistics:
    verbs, progress = query.timeline.seconds(), query.progress
    analysis = sum(verbs.get(verb, 0.0) for verb in ("parse", "analyze"))
    writes = planned is not None and isinstance(planned.work, WriteRows)
    return QueryStatistics(
        cpu_time=round(query.cpu_seconds, 6),
        wall_time=round(elapsed_seconds(query), 6),
        queued_time=round(queued_seconds(query), 6),
        analysis_time=round(analysis, 6),
        planning_time=round(analysis + sum(verbs.get(v, 0.0) for v in ("plan", "optimize", "fragment", "check")), 6),
        execution_time=round(execution_seconds(query), 6),
        peak_user_memory_bytes=progress.peak_memory_bytes,
        processed_input_bytes=progress.processed_bytes,
        processed_input_rows=progress.processed_rows,
        output_bytes=query.output_bytes,
        output_rows=query.output_rows,
        written_rows=(query.update_count or 0) if writes else 0,
        completed_splits=progress.completed_splits,
        verbs={verb: round(seconds, 6) for verb, seconds in verbs.items()},
    )


def _failure(query: Query) -> QueryFailureInfo | None:
    error = query.error
    if error is None:
        return None
    code, place = error.code, error.location
    return QueryFailureInfo(
        error_code=ErrorCodeInfo(code=code.code, name=code.name, type=code.type, retriable=error.retriable),
        failure_message=error.message,
        line=None if place is None else place.line,
        column=None if place is None else place.column,
    )


def engine_of(query: Query) -> str | None:
    """The engine that it runs or ran on, or that planning chose; None before."""
    return _ran_on(query, query.planned)[0]


def _ran_on(query: Query, planned: PlannedStatement | None) -> tuple[str | None, str | None]:
    if query.ran_on is not None:
        return query.ran_on
    return (None, None) if planned is None else _engine_of(planned.work)


def execution_info(query: Query, planned: PlannedStatement | None) -> ExecutionInfo:
    engine, reason = _ran_on(query, planned)
    return ExecutionInfo(
        engine=engine,
        reason=None if reason is None else query.redact(reason),
        attempt=query.attempt,
        runs_again=query.runs_again,
        spark_operations=query.spark_operations,
        spark_jobs=query.spark_jobs,
        verdicts=tuple(replace(v, reason=None if v.reason is None else query.redact(v.reason)) for v in query.verdicts),
    )


def _engine_of(work: Work) -> tuple[str, str | None]:
    """The engine that planning chose, and why."""
    match work:
        case ReturnRows():
            return "coordinator", "its rows were known when it had been planned"
        case SelectRows():
            return "coordinator", "a connector makes its rows"
        case ExplainNative():
            return "coordinator", None
        case ChangeCatalog() | ManageCatalog() | AnalyzeTable():
            return "coordinator", None
        case RunLocally():
            return ("coordinator" if work.otherwise is None else "embedded"), work.why or None
        case RunOnSpark():
            return "spark", work.why or None
        case FetchRows():
            return "spark", work.otherwise.why or "late materialization"
        case WriteRows():
            return "spark", "it writes rows"
        case CallProcedure():
            return ("coordinator" if work.kind is ProcedureKind.COORDINATOR else "spark"), None
        case ExplainAnalyze():
            return _engine_of(work.work)
        case _:
            assert_never(work)

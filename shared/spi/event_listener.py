"""EventListener: who is told what statements, procedures and accesses did. Events look as Presto's and Trino's.

Registered under the entry point group ``procession.event_listeners``: an EventListenerProvider, or its class. On the
wire names are Presto's, in camel case; moments are UTC, durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

import msgspec


class EventPart(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the records in events."""


class ErrorCodeInfo(EventPart, frozen=True, kw_only=True):
    code: int
    name: str
    type: str
    retriable: bool = False


class QueryContext(EventPart, frozen=True, kw_only=True):
    """Who sent a statement, and under which settings. Values of secret names are hidden."""

    user: str
    principal: str | None = None
    groups: tuple[str, ...] = ()
    enabled_roles: tuple[str, ...] = ()
    remote_client_address: str | None = None
    user_agent: str | None = None
    client_info: str | None = None
    client_tags: tuple[str, ...] = ()
    source: str | None = None
    timezone: str = "UTC"
    catalog: str | None = None
    schema: str | None = None
    resource_group_id: tuple[str, ...] | None = None
    session_properties: Mapping[str, str] = {}
    resource_estimates: Mapping[str, str] = {}
    trace_token: str | None = None
    traceparent: str | None = None
    """W3C trace context that the statement belongs to (ours)."""
    server_address: str = ""
    server_version: str = ""
    environment: str = ""
    node_id: str = ""
    query_type: str | None = None


class QueryMetadata(EventPart, frozen=True, kw_only=True):
    """``query`` is the text without secrets; ``query_truncated`` tells that its end was cut off (ours)."""

    query_id: str
    query: str
    query_state: str
    query_truncated: bool = False
    transaction_id: str | None = None
    prepared_query: str | None = None
    update_type: str | None = None
    uri: str = ""
    plan: str | None = None
    json_plan: str | None = None


class QueryStatistics(EventPart, frozen=True, kw_only=True):
    """``verbs`` are seconds of the ten verbs (ours). What engines do not tell is zero."""

    cpu_time: float = 0.0
    wall_time: float = 0.0
    queued_time: float = 0.0
    analysis_time: float = 0.0
    planning_time: float = 0.0
    execution_time: float = 0.0
    peak_user_memory_bytes: int = 0
    processed_input_bytes: int = 0
    processed_input_rows: int = 0
    output_bytes: int = 0
    output_rows: int = 0
    written_rows: int = 0
    completed_splits: int = 0
    complete: bool = True
    verbs: Mapping[str, float] = {}


class StageStatistics(EventPart, frozen=True, kw_only=True):
    """A stage of the engine, under its own name for it; bytes are those that its splits read."""

    stage_id: str
    total_splits: int
    completed_splits: int
    processed_bytes: int = 0
    done: bool = False


class SourceColumn(EventPart, frozen=True, kw_only=True):
    """A column that another one is made of. ``type`` and ``subtype`` are OpenLineage's words."""

    catalog: str
    schema: str
    table: str
    column: str
    type: Literal["DIRECT", "INDIRECT"] = "DIRECT"
    subtype: str = "IDENTITY"


class InputColumn(EventPart, frozen=True, kw_only=True):
    name: str
    type: str


class QueryInput(EventPart, frozen=True, kw_only=True):
    """A table that is read, at ``snapshot_id``; ``columns`` are those that the statement names.

    ``location`` is its folder, where it has one (ours).
    """

    catalog_name: str
    schema: str
    table: str
    columns: tuple[InputColumn, ...] = ()
    snapshot_id: int | None = None
    location: str | None = None


class OutputColumn(EventPart, frozen=True, kw_only=True):
    column_name: str
    column_type: str
    source_columns: tuple[SourceColumn, ...] = ()


LifecycleChange = Literal["ALTER", "CREATE", "DROP", "OVERWRITE", "RENAME", "TRUNCATE"]
"""OpenLineage's words."""


class QueryOutput(EventPart, frozen=True, kw_only=True):
    """The table that is written, or the table or view that is defined. ``operation`` is INSERT, CALL, DROP VIEW, …

    ``snapshot_id`` is that before the write, ``committed_snapshot_id`` the newest that the statement committed: told at
    its end, and None where it changed nothing or nobody could tell.

    ``influenced_by``: columns that decide which rows are written (filters, joins, groups), and not what is in them.
    """

    catalog_name: str
    schema: str
    table: str
    operation: str
    columns: tuple[OutputColumn, ...] = ()
    influenced_by: tuple[SourceColumn, ...] = ()
    snapshot_id: int | None = None
    committed_snapshot_id: int | None = None
    created: bool = False
    lifecycle: LifecycleChange | None = None
    """What becomes of the whole table or view (ours)."""
    previous_name: str | None = None
    """Of one that is renamed, with its schema (ours)."""
    location: str | None = None
    """Its folder, where that is known (ours)."""


class QueryIOMetadata(EventPart, frozen=True, kw_only=True):
    inputs: tuple[QueryInput, ...] = ()
    output: QueryOutput | None = None


class QueryFailureInfo(EventPart, frozen=True, kw_only=True):
    error_code: ErrorCodeInfo
    failure_message: str
    line: int | None = None
    column: int | None = None


class EventWarning(EventPart, frozen=True, kw_only=True):
    code: int
    name: str
    message: str


class FragmentVerdictInfo(EventPart, frozen=True, kw_only=True):
    """What the plan checkers said of a fragment."""

    fragment_id: str
    verdict: str
    reason: str | None = None


class ExecutionInfo(EventPart, frozen=True, kw_only=True):
    """The engine and why; ``attempt`` counts retries of clients, ``runs_again`` those after an engine was lost.

    ``spark_operations`` are ids of Spark Connect's operations, ``spark_jobs`` of Spark's jobs, where they are known.
    """

    engine: str | None = None
    reason: str | None = None
    attempt: int = 0
    runs_again: int = 0
    verdicts: tuple[FragmentVerdictInfo, ...] = ()
    spark_operations: tuple[str, ...] = ()
    spark_jobs: tuple[int, ...] = ()


class TracedCallInfo(EventPart, frozen=True, kw_only=True):
    """A call of the sidecar, Spark, a catalog or a store: ``parent`` is the ``span_id`` of the call around it.

    ``verb``: plan, check or dispatch. ``error`` is the type of what went wrong.
    """

    name: str
    span_id: str
    parent: str | None = None
    verb: str
    start_time: datetime
    duration: float
    about: Mapping[str, str] = {}
    error: str | None = None


class _Event(EventPart, frozen=True, kw_only=True, tag_field="eventType"):
    """Base of every event."""


class QueryCreatedEvent(_Event, frozen=True, kw_only=True, tag="queryCreated"):
    create_time: datetime
    context: QueryContext
    metadata: QueryMetadata


class QueryStartedEvent(_Event, frozen=True, kw_only=True, tag="queryStarted"):
    """It has left its queue and runs still: for the history, and for no other listener."""

    query_id: str
    query_state: str
    query_type: str | None
    update_type: str | None
    resource_group_id: tuple[str, ...]
    execution_start_time: datetime | None


class QueryUpdatedEvent(_Event, frozen=True, kw_only=True, tag="queryUpdated"):
    """A statement that writes has been planned and is about to queue; for others there is none."""

    create_time: datetime
    context: QueryContext
    metadata: QueryMetadata
    io_metadata: QueryIOMetadata = QueryIOMetadata()


class QueryCompletedEvent(_Event, frozen=True, kw_only=True, tag="queryCompleted"):
    """Exactly once for each statement, also for one that could not even be read."""

    create_time: datetime
    execution_start_time: datetime | None = None
    end_time: datetime
    context: QueryContext
    metadata: QueryMetadata
    statistics: QueryStatistics
    stage_statistics: tuple[StageStatistics, ...] = ()
    """Where the engine runs a statement in stages, the newest of very many."""
    io_metadata: QueryIOMetadata = QueryIOMetadata()
    failure_info: QueryFailureInfo | None = None
    warnings: tuple[EventWarning, ...] = ()
    execution: ExecutionInfo = ExecutionInfo()
    calls: tuple[TracedCallInfo, ...] = ()
    """Of other services, where traces are made (ours)."""


class ProcedureProgressEvent(_Event, frozen=True, kw_only=True, tag="procedureProgress"):
    """A procedure has begun, is so far, or has ended; between, at most one a second."""

    time: datetime
    query_id: str
    user: str
    procedure: str
    table: str | None
    state: str
    started: datetime
    ended: datetime | None = None
    phase: str = ""
    completed: int = 0
    total: int = 0
    error: str | None = None


class AccessDeniedEvent(_Event, frozen=True, kw_only=True, tag="accessDenied"):
    time: datetime
    query_id: str | None
    user: str | None
    principal: str | None
    access: str | None
    object: str | None
    rule: str | None
    problem: str


class ServiceEvent(_Event, frozen=True, kw_only=True, tag="service"):
    """Anything else that a part of the service decides or does, such as maintenance by itself."""

    time: datetime
    part: str
    name: str
    subject: str | None = None
    details: Mapping[str, str | int | float | bool | None] = {}


Event = (
    QueryCreatedEvent
    | QueryStartedEvent
    | QueryUpdatedEvent
    | QueryCompletedEvent
    | ProcedureProgressEvent
    | AccessDeniedEvent
    | ServiceEvent
)


@dataclass(frozen=True, slots=True)
class ListenerContext:
    """The service that the events are of."""

    server_address: str
    server_version: str
    environment: str
    node_id: str
    data_dir: Path


class EventListener(Protocol):
    """Told of events on a thread of its own, in their order; what it raises is logged and counted."""

    def receive(self, events: Sequence[Event]) -> None:
        """Some events, at least one. May block: while it does, newer ones wait, and are dropped beyond a limit."""
        ...

    def close(self) -> None:
        """No more events will come."""
        ...


class EventListenerProvider(Protocol):
    """A named factory."""

    name: str

    def create(self, properties: Mapping[str, str], context: ListenerContext) -> EventListener:
        """A listener of one file; raises ConfigurationError that quotes the wrong property in single quotes."""
        ...

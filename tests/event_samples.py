"""Events as tests of listeners and of the history send them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from shared.spi.event_listener import (
    ErrorCodeInfo,
    ExecutionInfo,
    InputColumn,
    ListenerContext,
    OutputColumn,
    ProcedureProgressEvent,
    QueryCompletedEvent,
    QueryContext,
    QueryCreatedEvent,
    QueryFailureInfo,
    QueryInput,
    QueryIOMetadata,
    QueryMetadata,
    QueryOutput,
    QueryStartedEvent,
    QueryStatistics,
    QueryUpdatedEvent,
    SourceColumn,
)

CREATED = datetime(2026, 11, 23, 6, 0, 0, 123456, tzinfo=UTC)
PRICE = SourceColumn(catalog="lake", schema="db", table="orders", column="price", subtype="AGGREGATION")
DAY = SourceColumn(catalog="lake", schema="db", table="orders", column="day", type="INDIRECT", subtype="FILTER")
IO = QueryIOMetadata(
    inputs=(
        QueryInput(
            catalog_name="lake",
            schema="db",
            table="orders",
            columns=(InputColumn(name="price", type="double"), InputColumn(name="day", type="date")),
            snapshot_id=8_765_432_109_876_543_210 % 2**63,
        ),
    ),
    output=QueryOutput(
        catalog_name="lake",
        schema="db",
        table="totals",
        operation="INSERT",
        columns=(OutputColumn(column_name="total", column_type="double", source_columns=(PRICE,)),),
        influenced_by=(DAY,),
        committed_snapshot_id=7_654_321_098_765_432_109,
    ),
)
FAILURE = QueryFailureInfo(
    error_code=ErrorCodeInfo(code=8, name="DIVISION_BY_ZERO", type="USER_ERROR"),
    failure_message="/ by zero",
    line=1,
    column=8,
)


def service(data_dir: Path = Path("nowhere")) -> ListenerContext:
    return ListenerContext("http://coordinator.example.com:8080", "1.2.3", "test", "node-1", data_dir)


def created(query_id: str = "q1", **changes: Any) -> QueryCreatedEvent:
    about = QueryMetadata(query_id=query_id, query="INSERT INTO totals SELECT 1", query_state="QUEUED")
    event = QueryCreatedEvent(create_time=CREATED, context=_context(None), metadata=about)
    return replace(event, **changes)


def started(query_id: str = "q1", **changes: Any) -> QueryStartedEvent:
    event = QueryStartedEvent(
        query_id=query_id,
        query_state="RUNNING",
        query_type="INSERT",
        update_type="INSERT",
        resource_group_id=("global", "ann"),
        execution_start_time=CREATED + timedelta(seconds=1),
    )
    return replace(event, **changes)


def updated(query_id: str = "q1", query_type: str = "INSERT") -> QueryUpdatedEvent:
    about = QueryMetadata(query_id=query_id, query="INSERT INTO totals SELECT 1", query_state="QUEUED")
    return QueryUpdatedEvent(create_time=CREATED, context=_context(query_type), metadata=about, io_metadata=IO)


def completed(query_id: str = "q1", query_type: str | None = "INSERT", after: float = 0.0, **changes: Any) -> Any:
    """``after``: seconds by which it began later than the first."""
    failed = changes.get("failure_info") is not None
    about = QueryMetadata(
        query_id=query_id,
        query=changes.pop("text", "INSERT INTO totals SELECT 1"),
        query_state="FAILED" if failed else "FINISHED",
        plan="- Output",
        json_plan='{"id":"1"}',
    )
    begun = CREATED + timedelta(seconds=after)
    context = replace(_context(query_type), **changes.pop("context", {}))
    event = QueryCompletedEvent(
        create_time=begun,
        execution_start_time=begun + timedelta(seconds=1),
        end_time=begun + timedelta(seconds=3),
        context=context,
        metadata=about,
        statistics=QueryStatistics(wall_time=3.0, output_rows=1, written_rows=7, verbs={"plan": 0.5}),
        io_metadata=IO,
        execution=ExecutionInfo(
            engine="spark", reason="it writes rows", spark_operations=("c4a1", "c4a2"), spark_jobs=(7, 8)
        ),
    )
    return replace(event, **changes)


def progress(query_id: str = "q1", state: str = "RUNNING", **changes: Any) -> ProcedureProgressEvent:
    event = ProcedureProgressEvent(
        time=CREATED,
        query_id=query_id,
        user="ann",
        procedure="rewrite_data_files",
        table="lake.db.orders",
        state=state,
        started=CREATED,
    )
    return replace(event, **changes)


def _context(query_type: str | None) -> QueryContext:
    return QueryContext(
        user="ann",
        principal="ann@example.com",
        groups=("dev", "ops"),
        source="dbt",
        client_tags=("nightly",),
        resource_group_id=("global", "ann"),
        remote_client_address="10.0.0.7",
        server_address="http://coordinator.example.com:8080",
        server_version="1.2.3",
        environment="test",
        node_id="node-1",
        query_type=query_type,
    )

"""Events to rows of the history."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from coordinator.history.schema import QUERIES
from coordinator.values.storable_texts import storable
from shared.spi.event_listener import (
    ProcedureProgressEvent,
    QueryCompletedEvent,
    QueryContext,
    QueryCreatedEvent,
    QueryMetadata,
    QueryStartedEvent,
)

Row = dict[str, Any]
_EMPTY: Row = dict.fromkeys(column.name for column in QUERIES.columns)
"""Rows that are written together have the same columns."""
_CUT = "… (cut off)"
_FIXED_SIZE = 400
"""Bytes of a row's numbers and indexes, about."""


def micros(instant: datetime | None) -> int | None:
    return None if instant is None else round(instant.timestamp() * 1_000_000)


def from_micros(value: int | None) -> datetime | None:
    """Inverse of ``micros``."""
    if value is None:
        return None
    return datetime.fromtimestamp(value // 1_000_000, UTC).replace(microsecond=value % 1_000_000)


def created_row(event: QueryCreatedEvent, max_text: int) -> Row:
    """A statement that runs: as much as is known."""
    row = _EMPTY | _about(event.context, event.metadata, max_text) | {"created": micros(event.create_time)}
    return row | {"size": _size(row)}


def started_row(event: QueryStartedEvent) -> Row:
    """What is known better of a statement that runs."""
    group = event.resource_group_id
    return {
        "query_id": event.query_id,
        "state": event.query_state,
        "query_type": event.query_type,
        "update_type": event.update_type,
        "resource_group": ".".join(group) or None,
        "started": micros(event.execution_start_time),
    }


def completed_row(event: QueryCompletedEvent, max_text: int) -> Row:
    """A statement that has ended."""
    numbers, failure, execution = event.statistics, event.failure_info, event.execution
    row = _EMPTY | _about(event.context, event.metadata, max_text)
    row |= {
        "created": micros(event.create_time),
        "started": micros(event.execution_start_time),
        "ended": micros(event.end_time),
        "elapsed_ms": _millis(numbers.wall_time),
        "queued_ms": _millis(numbers.queued_time),
        "cpu_ms": _millis(numbers.cpu_time),
        "verbs": _json(numbers.verbs),
        "engine": execution.engine,
        "engine_reason": execution.reason,
        "verdicts": _json(execution.verdicts),
        "attempt": execution.attempt,
        "runs_again": execution.runs_again,
        "spark_operations": _json(execution.spark_operations),
        "spark_jobs": _json(execution.spark_jobs),
        "warnings": _json(event.warnings),
        "input_rows": numbers.processed_input_rows,
        "input_bytes": numbers.processed_input_bytes,
        "output_rows": numbers.output_rows,
        "output_bytes": numbers.output_bytes,
        "written_rows": numbers.written_rows,
        "peak_memory_bytes": numbers.peak_user_memory_bytes,
        "splits": numbers.completed_splits,
        "plan": _compressed(event.metadata.plan),
        "json_plan": _compressed(event.metadata.json_plan),
    }
    if failure is not None:
        row |= {
            "error_code": failure.error_code.code,
            "error_name": failure.error_code.name,
            "error_type": failure.error_code.type,
            "error_message": _shortened(failure.failure_message, max_text),
            "error_line": failure.line,
            "error_column": failure.column,
        }
    return row | {"size": _size(row)}


def table_rows(event: QueryCompletedEvent) -> list[Row]:
    """One for each table that it read, and one for the table that it wrote."""
    io, written = event.io_metadata, event.io_metadata.output
    rows = [
        _table(event, "READ", None, each.catalog_name, each.schema, each.table, (c.name for c in each.columns))
        | {"snapshot_id": each.snapshot_id, "committed_snapshot_id": None}
        for each in io.inputs
    ]
    if written is not None:
        named = (column.column_name for column in written.columns)
        row = _table(event, "WRITE", written.operation, written.catalog_name, written.schema, written.table, named)
        rows.append(row | {"snapshot_id": written.snapshot_id, "committed_snapshot_id": written.committed_snapshot_id})
    return [row | {"position": position} for position, row in enumerate(rows)]


def procedure_row(event: ProcedureProgressEvent, node_id: str) -> Row:
    return {
        "query_id": event.query_id,
        "node_id": node_id,
        "procedure": event.procedure,
        "table_name": event.table,
        "user_name": event.user,
        "state": event.state,
        "started": micros(event.started),
        "ended": micros(event.ended),
        "phase": event.phase,
        "completed": event.completed,
        "total": event.total,
        "error": event.error,
    }


def _table(
    event: QueryCompletedEvent,
    access: str,
    operation: str | None,
    catalog: str,
    schema: str,
    table: str,
    columns: Iterable[str],
) -> Row:
    return {
        "query_id": event.metadata.query_id,
        "access": access,
        "operation": operation,
        "catalog": catalog,
        "schema_name": schema,
        "table_name": table,
        "columns": _json(list(columns)),
        "created": micros(event.create_time),
    }


def _about(context: QueryContext, about: QueryMetadata, max_text: int) -> Row:
    group = context.resource_group_id
    return {
        "query_id": about.query_id,
        "node_id": context.node_id,
        "state": about.query_state,
        "user_name": context.user,
        "principal": context.principal,
        "groups": _json(context.groups),
        "source": context.source,
        "client_info": context.client_info,
        "client_tags": _json(context.client_tags),
        "remote_address": context.remote_client_address,
        "resource_group": None if group is None else ".".join(group),
        "catalog": context.catalog,
        "schema_name": context.schema,
        "query_type": context.query_type,
        "update_type": about.update_type,
        "query": _shortened(about.query, max_text),
        "query_truncated": about.query_truncated or len(about.query) > max_text,
        "prepared_query": None if about.prepared_query is None else _shortened(about.prepared_query, max_text),
        "session_properties": _json(context.session_properties),
        "trace_token": context.trace_token,
        "trace_id": None if context.traceparent is None else context.traceparent.split("-")[1],
    }


def _size(row: Row) -> int:
    return _FIXED_SIZE + sum(len(value) for value in row.values() if isinstance(value, str | bytes))


def _json(value: Sequence[Any] | Mapping[str, Any]) -> str | None:
    if not value:
        return None
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(storable(msgspec.to_builtins(value))).decode()


def _millis(seconds: float) -> int:
    return round(seconds * 1000)


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + _CUT


def _compressed(content: str | None) -> bytes | None:
    return None if content is None else zlib.compress(content.encode("utf-8", "replace"), 3)

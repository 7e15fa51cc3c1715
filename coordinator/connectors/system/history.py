"""``system.history``: statements, their tables and plans, and procedure calls, from the history beyond restarts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from coordinator.connectors.system.virtual_table import VirtualTable, typed
from coordinator.connectors.system.wanted import Wanted

SCHEMA = "history"
Record = Mapping[str, Any]
Exact = Mapping[str, frozenset[Any]]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)


class HistoryTables(Protocol):
    """The history as its tables see it: records that the statement at work may see, the newest first."""

    def queries(self, exact: Exact) -> Iterable[Record]:
        """``exact`` holds the values of columns that may only have a few; records may be more than those."""
        ...

    def tables(self, exact: Exact) -> Iterable[Record]: ...

    def plans(self, exact: Exact) -> Iterable[Record]: ...

    def procedures(self) -> Iterable[Record]: ...


History = Callable[[], HistoryTables | None]
"""None in a process that keeps none, whose tables are empty."""

_QUERIES = typed(
    "query_id, node_id, state, user, principal, groups array(varchar), source, client_info, "
    "client_tags array(varchar), remote_address, resource_group_id array(varchar), catalog, schema, query_type, "
    "update_type, query, prepared_query, created timestamp, started timestamp, end timestamp, elapsed_time_ms bigint, "
    "queued_time_ms bigint, cpu_time_ms bigint, timeline, engine, engine_reason, verdicts, attempt bigint, "
    "runs_again bigint, error_code bigint, error_name, error_type, error_message, error_line bigint, "
    "error_column bigint, warnings, input_rows bigint, input_bytes bigint, output_rows bigint, output_bytes bigint, "
    "written_rows bigint, peak_memory_bytes bigint, splits bigint, trace_token, trace_id, "
    "spark_operations array(varchar), spark_jobs array(bigint)"
)
_FIELDS = {
    "user": "user_name",
    "schema": "schema_name",
    "resource_group_id": "resource_group",
    "end": "ended",
    "elapsed_time_ms": "elapsed_ms",
    "queued_time_ms": "queued_ms",
    "cpu_time_ms": "cpu_ms",
    "timeline": "verbs",
    "table": "table_name",
}
"""Names of records for names of columns that are others."""
_OF_TABLES = "query_id, user, catalog, schema, table, columns array(varchar), snapshot_id bigint, created timestamp"
_READ = typed(_OF_TABLES)
_WRITTEN = typed(_OF_TABLES + ", operation, committed_snapshot_id bigint")
_PLANS = typed("query_id, plan, json_plan")
_PROCEDURES = typed(
    "query_id, node_id, procedure, table, user, state, started timestamp, end timestamp, phase, completed bigint, "
    "total bigint, error"
)


def history_tables(history: History) -> tuple[VirtualTable, ...]:
    """The tables of ``system.history``."""

    def made(
        name: str, columns: Mapping[str, str], read: Callable[[HistoryTables, Wanted], Iterable[Record]]
    ) -> VirtualTable:
        def rows(wanted: Wanted) -> Iterator[Sequence[object]]:
            found = history()
            if found is not None:
                yield from (_row(record, columns) for record in read(found, wanted))

        return VirtualTable(SCHEMA, name, columns, rows)

    return (
        made("queries", _QUERIES, lambda found, wanted: found.queries(wanted.exact)),
        made("tables_read", _READ, lambda found, wanted: _of_access(found, wanted, "READ")),
        made("tables_written", _WRITTEN, lambda found, wanted: _of_access(found, wanted, "WRITE")),
        made("plans", _PLANS, lambda found, wanted: found.plans(wanted.exact)),
        made("procedures", _PROCEDURES, lambda found, _wanted: found.procedures()),
    )


def _of_access(found: HistoryTables, wanted: Wanted, access: str) -> Iterator[Record]:
    return (record for record in found.tables(wanted.exact) if record["access"] == access)


def _row(record: Record, columns: Mapping[str, str]) -> list[object]:
    return [_value(record.get(_FIELDS.get(name, name)), name, type_) for name, type_ in columns.items()]


def _value(value: Any, name: str, type_: str) -> Any:
    if value is None:
        return None
    if type_ == "timestamp":
        return _EPOCH + timedelta(microseconds=value)
    if name == "resource_group_id":
        return str(value).split(".")
    return json.loads(value) if type_.startswith("array(") else value

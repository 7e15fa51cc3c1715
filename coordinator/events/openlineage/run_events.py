"""Events of statements to OpenLineage's run events, as JSON objects.

Source of shapes: OpenLineage's spec (facets in the versions named here) and Presto's OpenLineage listener.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from typing import Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from coordinator.events.openlineage.settings import Scheme
from shared.spi.event_listener import (
    QueryCompletedEvent,
    QueryContext,
    QueryInput,
    QueryMetadata,
    QueryOutput,
    QueryUpdatedEvent,
    SourceColumn,
)

RunState = Literal["START", "COMPLETE", "FAIL"]
PRODUCER = "https://github.com/procession/procession"
_DEFINITION = "DATA_DEFINITION"
PARENT_TAG = "openlineage.parent="
"""A client tag that names the run whose part a statement is: ``namespace/job/run id``, as OPENLINEAGE_PARENT_ID."""
_SPEC = "https://openlineage.io/spec"
_FACETS = {
    "schema": "1-2-0/SchemaDatasetFacet",
    "dataSource": "1-0-1/DatasourceDatasetFacet",
    "symlinks": "1-0-1/SymlinksDatasetFacet",
    "version": "1-0-1/DatasetVersionDatasetFacet",
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet",
    "lifecycleStateChange": "1-0-1/LifecycleStateChangeDatasetFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
    "parent": "1-2-0/ParentRunFacet",
    "sql": "1-1-0/SQLJobFacet",
    "jobType": "2-0-4/JobTypeJobFacet",
    "processing_engine": "1-1-1/ProcessingEngineRunFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet",
    "externalQuery": "1-0-2/ExternalQueryRunFacet",
    "nominalTime": "1-0-1/NominalTimeRunFacet",
}


@dataclass(frozen=True, slots=True)
class Naming:
    """How jobs and tables are named: ``address`` is ``host:port``."""

    address: str
    scheme: Scheme = "presto"
    namespace: str | None = None
    job_name: str = "$QUERY_ID"
    disabled: frozenset[str] = frozenset()

    @property
    def datasets(self) -> str:
        return f"{self.scheme}://{self.address}"

    @property
    def jobs(self) -> str:
        return self.namespace or self.datasets


def run_event(event: QueryUpdatedEvent | QueryCompletedEvent, state: RunState, naming: Naming) -> dict[str, object]:
    """One run event; START is of the creation, the others of the end."""
    ended = event.end_time if isinstance(event, QueryCompletedEvent) and state != "START" else None
    done = state == "COMPLETE"
    output = event.io_metadata.output
    return {
        "eventType": state,
        "eventTime": _instant(ended or event.create_time),
        "run": {
            "runId": str(run_id(event.create_time, event.metadata.query_id)),
            "facets": _run_facets(event, state, naming),
        },
        "job": {
            "namespace": naming.jobs,
            "name": _job_name(naming.job_name, event),
            "facets": _job_facets(event.metadata, naming),
        },
        "inputs": [_input(each, naming) for each in event.io_metadata.inputs],
        "outputs": [] if output is None else [_output(output, event, naming, done=done)],
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }


def run_id(created: datetime, query_id: str) -> UUID:
    """A UUID of version 7 that moment and query id give alone, so that all events of a run agree without a memory."""
    instant = created.astimezone(UTC)
    digest = sha1(instant.isoformat().encode() + query_id.encode(), usedforsecurity=False).digest()
    number = (int(instant.timestamp() * 1000) & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(digest, "big") >> 84
    number = number & ~(0xF << 76) | 7 << 76
    return UUID(int=number & ~(0x3 << 62) | 0x2 << 62)


def _facet(kind: str, content: Mapping[str, object]) -> dict[str, object]:
    name = _FACETS.get(kind)
    url = f"{PRODUCER}#{kind}" if name is None else f"{_SPEC}/facets/{name}.json#/$defs/{name.partition('/')[2]}"
    return {"_producer": PRODUCER, "_schemaURL": url, **content}


def _run_facets(
    event: QueryUpdatedEvent | QueryCompletedEvent, state: RunState, naming: Naming
) -> dict[str, dict[str, Any]]:
    about, context, scheme = event.metadata, event.context, naming.scheme
    found: dict[str, dict[str, Any]] = {
        "processing_engine": {"name": "procession", "version": context.server_version},
        "externalQuery": {"externalQueryId": about.query_id, "source": naming.datasets},
        f"{scheme}_metadata": {"query_id": about.query_id, "transaction_id": about.transaction_id},
        f"{scheme}_query_context": _context(context),
    }
    parent = _parent(context)
    if parent is not None:
        found["parent"] = parent
    if isinstance(event, QueryCompletedEvent) and state != "START":
        times = {"nominalStartTime": _instant(event.create_time), "nominalEndTime": _instant(event.end_time)}
        found["nominalTime"] = times
        statistics: Mapping[str, Any] = msgspec.to_builtins(event.statistics)
        plain = {name: str(value) for name, value in statistics.items() if name != "verbs"}
        found[f"{scheme}_query_statistics"] = plain
        if event.failure_info is not None:
            message = f"{event.failure_info.error_code.name}: {event.failure_info.failure_message}"
            found["errorMessage"] = {"message": message, "programmingLanguage": "SQL"}
    return {kind: _facet(kind, content) for kind, content in found.items() if kind not in naming.disabled}


def _parent(context: QueryContext) -> dict[str, object] | None:
    """What the client says; None where that names no run."""
    tag = next((tag for tag in context.client_tags if tag.startswith(PARENT_TAG)), None)
    # Namespaces may hold slashes, names of jobs and ids of runs do not.
    parts = [] if tag is None else tag.removeprefix(PARENT_TAG).rsplit("/", 2)
    if len(parts) != 3 or not all(parts):
        return None
    namespace, name, run = parts
    try:
        UUID(run)
    except ValueError:
        return None
    return {"run": {"runId": run}, "job": {"namespace": namespace, "name": name}}


def _context(context: QueryContext) -> dict[str, Any]:
    return {
        "server_address": context.server_address,
        "environment": context.environment,
        "user": context.user,
        "principal": context.principal,
        "source": context.source,
        "client_info": context.client_info,
        "remote_client_address": context.remote_client_address,
        "user_agent": context.user_agent,
    }


def _job_facets(about: QueryMetadata, naming: Naming) -> dict[str, dict[str, object]]:
    kinds = {"processingType": "BATCH", "integration": naming.scheme.upper(), "jobType": "QUERY"}
    return {
        "jobType": _facet("jobType", kinds),
        "sql": _facet("sql", {"query": about.query, "dialect": naming.scheme}),
    }


def _job_name(form: str, event: QueryUpdatedEvent | QueryCompletedEvent) -> str:
    values = {
        "$QUERY_ID": event.metadata.query_id,
        "$USER": event.context.user,
        "$SOURCE": event.context.source or "",
        "$CLIENT_IP": event.context.remote_client_address or "",
    }
    for mark, value in values.items():
        form = form.replace(mark, value)
    return form


def _input(table: QueryInput, naming: Naming) -> dict[str, object]:
    facets = {"dataSource": {"name": table.catalog_name, "uri": naming.datasets}}
    if table.columns:
        facets["schema"] = {"fields": [_field(c.name, c.type) for c in table.columns]}  # type: ignore[dict-item]
    if table.location is not None:
        facets["symlinks"] = _symlinks(table.location)  # type: ignore[assignment]
    if table.snapshot_id is not None:
        facets["version"] = {"datasetVersion": str(table.snapshot_id)}
    return {
        "namespace": naming.datasets,
        "name": f"{table.catalog_name}.{table.schema}.{table.table}",
        "facets": {kind: _facet(kind, content) for kind, content in facets.items()},
    }


def _output(
    table: QueryOutput, event: QueryUpdatedEvent | QueryCompletedEvent, naming: Naming, *, done: bool
) -> dict[str, object]:
    facets: dict[str, dict[str, object]] = {"dataSource": {"name": table.catalog_name, "uri": naming.datasets}}
    if table.columns:
        facets["schema"] = {"fields": [_field(c.column_name, c.column_type) for c in table.columns]}
    lineage = _column_lineage(table, naming)
    if lineage["fields"] or lineage["dataset"]:
        facets["columnLineage"] = lineage
    if table.location is not None:
        facets["symlinks"] = _symlinks(table.location)
    if table.committed_snapshot_id is not None:
        facets["version"] = {"datasetVersion": str(table.committed_snapshot_id)}
    if table.lifecycle is not None:
        facets["lifecycleStateChange"] = _lifecycle(table, naming)
    made: dict[str, object] = {
        "namespace": naming.datasets,
        "name": f"{table.catalog_name}.{table.schema}.{table.table}",
        "facets": {kind: _facet(kind, content) for kind, content in facets.items()},
    }
    if done and isinstance(event, QueryCompletedEvent) and event.context.query_type != _DEFINITION:
        rows = {"rowCount": event.statistics.written_rows}
        made["outputFacets"] = {"outputStatistics": _facet("outputStatistics", rows)}
    return made


def _field(name: str, type_: str) -> dict[str, str]:
    """A column; the types of what a view reads are not known."""
    return {"name": name, "type": type_} if type_ else {"name": name}


def _symlinks(location: str) -> dict[str, object]:
    """The folder as OpenLineage names files: by it other engines' lineage of the same table is found."""
    parts = urlsplit(location)
    scheme = "s3" if parts.scheme in ("s3a", "s3n") else parts.scheme or "file"
    keeps_slash = scheme in ("file", "hdfs")
    named = {
        "namespace": f"{scheme}://{parts.netloc}" if parts.netloc else scheme,
        "name": parts.path.rstrip("/") if keeps_slash else parts.path.strip("/"),
        "type": "LOCATION",
    }
    return {"identifiers": [named]}


def _lifecycle(table: QueryOutput, naming: Naming) -> dict[str, object]:
    change: dict[str, object] = {"lifecycleStateChange": table.lifecycle}
    if table.previous_name is not None:
        previous = f"{table.catalog_name}.{table.previous_name}"
        change["previousIdentifier"] = {"name": previous, "namespace": naming.datasets}
    return change


def _column_lineage(table: QueryOutput, naming: Naming) -> dict[str, object]:
    fields = {c.column_name: {"inputFields": _fields(c.source_columns, naming)} for c in table.columns}
    return {
        "fields": {name: field for name, field in fields.items() if field["inputFields"]},
        "dataset": _fields(table.influenced_by, naming),
    }


def _fields(columns: Iterable[SourceColumn], naming: Naming) -> list[dict[str, object]]:
    """Each column once, with all ways in which it counts."""
    ways: dict[tuple[str, str], list[dict[str, object]]] = {}
    for column in columns:
        place = (f"{column.catalog}.{column.schema}.{column.table}", column.column)
        way = {"type": column.type, "subtype": column.subtype, "description": "", "masking": False}
        ways.setdefault(place, []).append(way)
    return [
        {"namespace": naming.datasets, "name": name, "field": field, "transformations": found}
        for (name, field), found in ways.items()
    ]


def _instant(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

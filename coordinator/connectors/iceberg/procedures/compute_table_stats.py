"""``CALL catalog.system.compute_table_stats(schema, table_name, snapshot_id, columns)``"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Annotated

import numpy as np
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.statistics import BlobMetadata, StatisticsFile
from pyiceberg.table.update import SetStatisticsUpdate
from pyiceberg.types import NestedField, TimestampNanoType, TimestamptzNanoType

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFiles, read_live
from coordinator.connectors.iceberg.opaque_types import is_opaque
from coordinator.connectors.iceberg.procedures.arguments import SnapshotArguments
from coordinator.connectors.iceberg.procedures.show_snapshot_files import chosen_snapshot
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.rewrite.planning.outputs import Slice
from coordinator.connectors.iceberg.rewrite.planning.tasks import TaskFactory
from coordinator.connectors.iceberg.rewrite.writing.kernel_calls import run_kernel
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.statistics.puffin import Blob, puffin
from coordinator.kernels.tasks import SKETCH, WriteTask
from coordinator.kernels.theta import Theta
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    ArgumentError,
    OutputColumn,
    ProcedureDeclaration,
    ProcedureKind,
)
from shared.spi.procedure_arguments import Declared, declared_arguments

_THETA = "apache-datasketches-theta-v1"
_TASKS_A_CORE = 4
_NEWEST = 3
"""Format version that the kernels read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(SnapshotArguments):
    """What the call says."""

    columns: Annotated[
        tuple[str, ...] | None, Declared("array(varchar)", "Columns; default: all top-level ones of primitive types.")
    ] = None


DECLARATION = ProcedureDeclaration(
    name="compute_table_stats",
    kind=ProcedureKind.COORDINATOR,
    distributed=True,
    summary="Count the distinct values of columns, as Theta sketches in a Puffin file of the table.",
    arguments=declared_arguments(Arguments),
    output=(OutputColumn("statistics_file", "varchar", "The Puffin file that was written."),),
    example="CALL iceberg.system.compute_table_stats(table => 'sales.orders', columns => ARRAY['customer', 'day'])",
    notes="Trino, Spark and others read it. The columns are read on the executors. Iceberg's own procedure does it for "
    "tables with equality deletes, with Avro or ORC files, and for columns inside of others. "
    "No rows for a table without snapshots. Up to 4,096 distinct values the count is exact, then within about 3 %.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for unknown snapshots and columns, and when reading or committing fails."""
    table = call.catalog.open(call.schema, call.table)
    snapshot = chosen_snapshot(call, table)
    if snapshot is None:
        return []
    fields = _fields(table, snapshot, call.arguments.columns)
    live = read_live(table, snapshot)
    if not _is_ours(table, live, fields, snapshot):
        given = {"snapshot_id": call.arguments.snapshot_id, "columns": call.arguments.columns}
        return [(row["statistics_file"],) for row in call_spark(call, "compute_table_stats", given)]
    sketches = _sketches(call, table, live, fields)
    file = _write(table, snapshot, fields, sketches)
    try:
        update = SetStatisticsUpdate.model_validate({"snapshot-id": snapshot.snapshot_id, "statistics": file})
        commit_change(call.catalog, call.schema, call.table, lambda newest: _staged(newest, snapshot, update))
    except ProcessionError as error:
        if error.code in (ErrorCode.TRANSACTION_CONFLICT, ErrorCode.NOT_FOUND, ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID):
            table.io.delete(file.statistics_path)
        raise
    return [(file.statistics_path,)]


def _staged(newest: Table, snapshot: Snapshot, update: SetStatisticsUpdate) -> Change[None]:
    if newest.snapshot_by_id(snapshot.snapshot_id) is None:
        raise ProcessionError(
            ErrorCode.TRANSACTION_CONFLICT, f"Snapshot {snapshot.snapshot_id} expired meanwhile", retriable=True
        )
    return Change(None, (update,))


def _schema(table: Table, snapshot: Snapshot) -> Schema:
    found = None if snapshot.schema_id is None else table.schemas().get(snapshot.schema_id)
    return found or table.schema()


def _fields(table: Table, snapshot: Snapshot, columns: Sequence[str] | None) -> list[NestedField]:
    schema = _schema(table, snapshot)
    if columns is None:
        fields = [field for field in schema.fields if field.field_type.is_primitive]
    else:
        fields = list({field.field_id: field for field in (_field(schema, name) for name in columns)}.values())
    if not fields:
        raise ArgumentError("columns", "No columns found to compute stats")
    return fields


def _field(schema: Schema, name: str) -> NestedField:
    try:
        found = schema.find_field(name, case_sensitive=False)
    except ValueError as error:
        raise ArgumentError("columns", f"Can't find column {name}", ErrorCode.COLUMN_NOT_FOUND) from error
    if not found.field_type.is_primitive:
        message = f"Can't compute stats on non-primitive type column: {name} ({found.field_type})"
        raise ArgumentError("columns", message)
    return found


def _is_ours(table: Table, live: LiveFiles, fields: Sequence[NestedField], snapshot: Snapshot) -> bool:
    files = (*live.data, *live.deletes)
    top = {field.field_id for field in _schema(table, snapshot).fields}
    plain = all((file.is_parquet or file.vector is not None) and file.file.key_metadata is None for file in files)
    by_position = all(file.is_position_delete for file in live.deletes)
    known = all(field.field_id in top and not _is_new(field) for field in fields)
    return plain and by_position and known and table.format_version <= _NEWEST


def _is_new(field: NestedField) -> bool:
    """Of the types of version 3, whose sketches Iceberg alone knows how to make."""
    return is_opaque(field.field_type) or isinstance(field.field_type, TimestampNanoType | TimestamptzNanoType)


def _sketches(call: Call[Arguments], table: Table, live: LiveFiles, fields: Sequence[NestedField]) -> dict[int, Theta]:
    """One sketch a field id, made on the executors from about equal shares of the files."""
    sketches = {field.field_id: Theta() for field in fields}
    tasks = _tasks(call, table, live, fields)
    for found in run_kernel(call.context, SKETCH, tasks, "sketching distinct values", f"statistics of {call.table}"):
        for field_id, sketch in found.fields.items():
            part = Theta(np.frombuffer(sketch.hashes, "<u8").astype(np.uint64), sketch.theta)
            sketches[int(field_id)].merge(part)
    return sketches


def _tasks(call: Call[Arguments], table: Table, live: LiveFiles, fields: Sequence[NestedField]) -> list[WriteTask]:
    index = DeleteIndex(live.deletes, table.specs())
    slices = [Slice(Candidate(file, index.of(file)), file.size) for file in live.data]
    slices.sort(key=lambda piece: -piece.size)
    count = min(len(slices), call.context.workers.parallelism * _TASKS_A_CORE)
    factory = TaskFactory.of(table, call.catalog.settings.storage)
    columns = [json.loads(field.model_dump_json()) for field in fields]
    return [replace(factory.write(slices[n::count], "none", "none"), fields=columns) for n in range(count)]


def _write(
    table: Table, snapshot: Snapshot, fields: Sequence[NestedField], sketches: dict[int, Theta]
) -> StatisticsFile:
    sequence = snapshot.sequence_number or 0
    blobs = [
        Blob(
            _THETA,
            (field.field_id,),
            snapshot.snapshot_id,
            sequence,
            sketches[field.field_id].to_bytes(),
            {"ndv": str(int(sketches[field.field_id].estimate()))},
        )
        for field in fields
    ]
    made = puffin(blobs, f"Procession {version('procession')}")
    path = table.location_provider().new_metadata_location(f"{snapshot.snapshot_id}-{uuid.uuid4()}.stats")
    with table.io.new_output(path).create() as stream:
        stream.write(made.data)
    listed = [
        BlobMetadata.model_validate(
            {
                "type": blob.type,
                "snapshot-id": blob.snapshot_id,
                "sequence-number": blob.sequence_number,
                "fields": list(blob.fields),
                "properties": dict(blob.properties),
            }
        )
        for blob in blobs
    ]
    return StatisticsFile.model_validate(
        {
            "snapshot-id": snapshot.snapshot_id,
            "statistics-path": path,
            "file-size-in-bytes": len(made.data),
            "file-footer-size-in-bytes": made.footer_size,
            "blob-metadata": listed,
        }
    )

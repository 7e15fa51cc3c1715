"""Counts of each partition, in the layout of Iceberg's partition statistics files.

Sources: Iceberg specification, "Partition Statistics"; ``PartitionStatsHandler`` and ``Partitioning.partitionType``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntryStatus
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of
from pyiceberg.types import IntegerType, LongType, NestedField, StructType, UUIDType

from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.live_files import Partition

_COUNTS = (
    (3, "data_record_count", LongType(), True),
    (4, "data_file_count", IntegerType(), True),
    (5, "total_data_file_size_in_bytes", LongType(), True),
    (6, "position_delete_record_count", LongType(), False),
    (7, "position_delete_file_count", IntegerType(), False),
    (8, "equality_delete_record_count", LongType(), False),
    (9, "equality_delete_file_count", IntegerType(), False),
    (10, "total_record_count", LongType(), False),
    (11, "last_updated_at", LongType(), False),
    (12, "last_updated_snapshot_id", LongType(), False),
)
_DV_COUNT = (13, "dv_count", IntegerType(), True)


@dataclass(slots=True)
class _Counts:
    values: dict[str, int] = field(default_factory=lambda: {name: 0 for _, name, _, _ in (*_COUNTS[:7], _DV_COUNT)})
    updated_at: int | None = None
    updated_by: int | None = None

    def add(self, file: DataFile, sign: int = 1) -> None:
        match file.content:
            case DataFileContent.DATA:
                self.values["total_data_file_size_in_bytes"] += sign * file.file_size_in_bytes
                kind, files = "data_record_count", "data_file_count"
            case DataFileContent.POSITION_DELETES:
                kind = "position_delete_record_count"
                files = "dv_count" if file.file_format == FileFormat.PUFFIN else "position_delete_file_count"
            case _:
                kind, files = "equality_delete_record_count", "equality_delete_file_count"
        self.values[kind] += sign * file.record_count
        self.values[files] += sign

    def touched(self, snapshot: Snapshot | None) -> None:
        if snapshot is not None and (self.updated_at is None or self.updated_at < snapshot.timestamp_ms):
            self.updated_at, self.updated_by = snapshot.timestamp_ms, snapshot.snapshot_id


@dataclass(frozen=True, slots=True)
class KnownStatistics:
    """The statistics of an earlier snapshot, and the snapshots after it up to the one that is asked for."""

    rows: pa.Table
    since: tuple[Snapshot, ...]


def partition_statistics(table: Table, snapshot: Snapshot, known: KnownStatistics | None = None) -> pa.Table:
    """One row a partition of the snapshot, sorted by partition with nulls first; each manifest read once.

    With ``known``, only what changed since is read, as Iceberg does it.
    """
    fields = _partition_fields(table)
    found = _count(table, snapshot) if known is None else _continued(table, fields, known)
    spec_fields = {spec_id: [f.field_id for f in spec.fields] for spec_id, spec in table.specs().items()}
    rows = []
    for (spec_id, values), counts in found.items():
        mine = dict(zip(spec_fields[spec_id], values, strict=True))
        rows.append(([mine.get(f.field_id) for f in fields], spec_id, counts))
    rows.sort(key=lambda row: ([(v is not None, v) for v in row[0]], row[1]))
    return _arrow(table, fields, rows)


def earlier_statistics(table: Table, snapshot: Snapshot) -> tuple[str, tuple[Snapshot, ...]] | None:
    """The statistics file of the nearest ancestor that has one, and the snapshots since; None when there is none.

    None as well when the line to it is broken by expired snapshots.
    """
    files = {file.snapshot_id: file.statistics_path for file in table.metadata.partition_statistics}
    since: list[Snapshot] = []
    for ancestor in ancestors_of(snapshot, table.metadata):
        if ancestor.snapshot_id in files:
            return files[ancestor.snapshot_id], tuple(since)
        since.append(ancestor)
    return None


def _count(table: Table, snapshot: Snapshot) -> dict[Partition, _Counts]:
    found: dict[Partition, _Counts] = {}
    by_id = {s.snapshot_id: s for s in table.snapshots()}
    for manifest in manifests_of(table.io, snapshot):
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
            counts = found.setdefault(_key(entry.data_file), _Counts())
            if entry.status != ManifestEntryStatus.DELETED:
                counts.add(entry.data_file)
            counts.touched(by_id.get(entry.snapshot_id) if entry.snapshot_id is not None else None)
    return found


def _continued(table: Table, fields: Sequence[NestedField], known: KnownStatistics) -> dict[Partition, _Counts]:
    """The known counts with what each snapshot since then added and dropped."""
    found = _read(table, fields, known.rows)
    for snapshot in reversed(known.since):
        for manifest in manifests_of(table.io, snapshot):
            if manifest.added_snapshot_id != snapshot.snapshot_id:
                continue
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
                if entry.status == ManifestEntryStatus.EXISTING or entry.snapshot_id != snapshot.snapshot_id:
                    continue
                counts = found.setdefault(_key(entry.data_file), _Counts())
                counts.add(entry.data_file, 1 if entry.status == ManifestEntryStatus.ADDED else -1)
                counts.touched(snapshot)
    return found


def _key(file: DataFile) -> Partition:
    return file.spec_id, tuple(file.partition[i] for i in range(len(file.partition)))


def _read(table: Table, fields: Sequence[NestedField], rows: pa.Table) -> dict[Partition, _Counts]:
    """The counts of a statistics file by spec and partition values, which are as manifests hold them."""
    kinds = rows.schema.field("partition").type
    ids = {int((kinds.field(i).metadata or {}).get(b"PARQUET:field_id", -1)): i for i in range(kinds.num_fields)}
    by_field = {f.field_id: f for f in fields}
    column = rows.column("partition").combine_chunks()
    values = {
        number: _plain(column.field(place), by_field[number]) for number, place in ids.items() if number in by_field
    }
    found: dict[Partition, _Counts] = {}
    for place, row in enumerate(rows.select([n for n in rows.schema.names if n != "partition"]).to_pylist()):
        spec = table.specs()[row["spec_id"]]
        key = row["spec_id"], tuple(values[f.field_id][place] if f.field_id in values else None for f in spec.fields)
        counts = found.setdefault(key, _Counts())
        counts.values |= {name: row.get(name) or 0 for name in counts.values}
        counts.updated_at, counts.updated_by = row["last_updated_at"], row["last_updated_snapshot_id"]
    return found


def _plain(values: Any, field: NestedField) -> list[Any]:
    """Days and microseconds since 1970 as numbers, UUIDs as such."""
    if isinstance(field.field_type, UUIDType):
        return [None if v is None else UUID(bytes=bytes(v)) for v in _storage(values).to_pylist()]
    if pa.types.is_date32(values.type):
        return list(values.view(pa.int32()).to_pylist())
    if pa.types.is_timestamp(values.type) or pa.types.is_time64(values.type):
        return list(values.view(pa.int64()).to_pylist())
    return list(values.to_pylist())


def _storage(values: Any) -> Any:
    return values.storage if isinstance(values, pa.ExtensionArray) else values


def _partition_fields(table: Table) -> list[NestedField]:
    """The partition fields of all specs whose columns still exist, by id, under their newest names."""
    schema = table.schema()
    columns = set(schema._lazy_id_to_name)
    fields: dict[int, NestedField] = {}
    for _, spec in sorted(table.specs().items(), reverse=True):
        for part in spec.fields:
            if part.source_id in columns and part.field_id not in fields:
                kind = part.transform.result_type(schema.find_type(part.source_id))
                fields[part.field_id] = NestedField(part.field_id, part.name, kind, required=False)
    return [fields[i] for i in sorted(fields)]


def _arrow(table: Table, fields: Sequence[NestedField], rows: Sequence[tuple[list[Any], int, _Counts]]) -> pa.Table:
    newest = table.format_version > 2
    counts = [(i, n, k, r or (newest and i < 10)) for i, n, k, r in _COUNTS] + ([_DV_COUNT] if newest else [])
    schema = schema_to_pyarrow(
        Schema(
            NestedField(1, "partition", StructType(*fields), required=True),
            NestedField(2, "spec_id", IntegerType(), required=True),
            *(NestedField(i, name, kind, required=required) for i, name, kind, required in counts),
        )
    )
    kinds = schema.field("partition").type
    children = [_values([row[0][i] for row in rows], kinds.field(i).type) for i in range(len(fields))]
    columns: list[Any] = [pa.StructArray.from_arrays(children, fields=list(kinds))]
    columns.append(pa.array([row[1] for row in rows], pa.int32()))
    for name in schema.names[2:]:
        column = [_cell(row[2], name) for row in rows]
        columns.append(pa.array(column, schema.field(name).type))
    return pa.Table.from_arrays(columns, schema=schema)


def _cell(counts: _Counts, name: str) -> int | None:
    match name:
        case "total_record_count":
            return None  # only reading the data would tell
        case "last_updated_at":
            return counts.updated_at
        case "last_updated_snapshot_id":
            return counts.updated_by
        case _:
            return counts.values[name]


def _values(values: list[Any], kind: Any) -> Any:
    """Partition values as manifests hold them: days and microseconds since 1970 are plain numbers."""
    if any(isinstance(value, UUID) for value in values):
        values = [None if value is None else value.bytes for value in values]
    numbers = all(value is None or isinstance(value, int) for value in values)
    if numbers and (pa.types.is_temporal(kind) and not pa.types.is_date64(kind)):
        plain = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(values, plain).view(kind) if kind.bit_width == 32 else pa.array(values, plain).cast(kind)
    return pa.array(values, kind)

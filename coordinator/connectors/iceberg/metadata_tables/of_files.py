"""``$files`` and ``$manifests``: data files with their statistics, and the manifests that list them.

Source of names and types: Presto 0.296 (``FilesTable``, ``ManifestsTable``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyiceberg.manifest import ManifestFile, PartitionFieldSummary
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import UnknownType

from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.metadata_tables.values import bigint, bound_text
from coordinator.connectors.system.virtual_table import typed

_COUNTED = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
FILES = {
    **typed("content integer, file_path, file_format, record_count bigint, file_size_in_bytes bigint"),
    **dict.fromkeys(_COUNTED, "map(integer,bigint)"),
    "lower_bounds": "map(integer,varchar)",
    "upper_bounds": "map(integer,varchar)",
    **typed("key_metadata varbinary, split_offsets array(bigint), equality_ids array(integer)"),
}
MANIFESTS = {
    **typed(
        "path, length bigint, partition_spec_id integer, added_snapshot_id bigint, added_data_files_count integer, "
        "existing_data_files_count integer, deleted_data_files_count integer"
    ),
    "partitions": "array(row(contains_null boolean,lower_bound varchar,upper_bound varchar))",
}


def files(table: Table, snapshot: Snapshot | None) -> Iterator[tuple[object, ...]]:
    """Data files of the snapshot."""
    schema = table.schema()
    for live in read_live(table, snapshot).data:
        file = live.file
        yield (
            file.content.value,
            file.file_path,
            file.file_format.value,
            file.record_count,
            file.file_size_in_bytes,
            *(_items(getattr(file, counts)) for counts in _COUNTED),
            _texts(file.lower_bounds, schema),
            _texts(file.upper_bounds, schema),
            file.key_metadata,
            file.split_offsets,
            file.equality_ids,
        )


def manifests(table: Table, snapshot: Snapshot | None) -> Iterator[tuple[object, ...]]:
    """Manifests of the snapshot, those of delete files too."""
    if snapshot is None:
        return
    specs = table.specs()
    for manifest in manifests_of(table.io, snapshot):
        yield (
            manifest.manifest_path,
            manifest.manifest_length,
            manifest.partition_spec_id,
            manifest.added_snapshot_id,
            manifest.added_files_count,
            manifest.existing_files_count,
            manifest.deleted_files_count,
            _summaries(manifest, specs[manifest.partition_spec_id], table.schema()),
        )


def _items(counts: dict[int, int] | None) -> list[tuple[int, int | None]] | None:
    return None if counts is None else [(field_id, bigint(count)) for field_id, count in counts.items()]


def _texts(bounds: dict[int, bytes] | None, schema: Schema) -> list[tuple[int, str]] | None:
    """Bounds by field id as texts; columns that the schema has no more are left out, as in Presto."""
    if bounds is None:
        return None
    known = ((field_id, _kind(schema, field_id), encoded) for field_id, encoded in bounds.items())
    texts = ((field_id, bound_text(kind, encoded)) for field_id, kind, encoded in known if kind is not None)
    return [(field_id, text) for field_id, text in texts if text is not None]


def _kind(schema: Schema, field_id: int) -> Any:
    try:
        return schema.find_type(field_id)
    except ValueError:
        return None


def _summaries(manifest: ManifestFile, spec: PartitionSpec, schema: Schema) -> list[dict[str, Any]]:
    found: list[PartitionFieldSummary] = list(manifest.partitions or ())
    texts = []
    for field, summary in zip(spec.fields, found, strict=False):
        source = _kind(schema, field.source_id) or UnknownType()
        low, high = (
            bound_text(source, encoded, field.transform) for encoded in (summary.lower_bound, summary.upper_bound)
        )
        texts.append({"contains_null": summary.contains_null, "lower_bound": low, "upper_bound": high})
    return texts

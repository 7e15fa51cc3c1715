"""Metadata tables that the metadata file alone answers: snapshots, history, references, properties, its own log.

Source of names and types: Presto 0.296 (``SnapshotsTable``, ``HistoryTable``, ``RefsTable``, ``PropertiesTable``).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from coordinator.connectors.iceberg.instants import from_millis
from coordinator.connectors.iceberg.snapshots.changes import operation
from coordinator.connectors.iceberg.snapshots.references import history as history_of
from coordinator.connectors.system.virtual_table import typed
from coordinator.security.redaction import shown_value

SNAPSHOTS = typed(
    "committed_at timestamp with time zone, snapshot_id bigint, parent_id bigint, operation, manifest_list"
) | {"summary": "map(varchar,varchar)"}
HISTORY = typed(
    "made_current_at timestamp with time zone, snapshot_id bigint, parent_id bigint, is_current_ancestor boolean"
)
REFS = typed(
    "name, type, snapshot_id bigint, max_reference_age_in_ms bigint, min_snapshots_to_keep bigint, "
    "max_snapshot_age_in_ms bigint"
)
PROPERTIES = typed("key, value")
METADATA_LOG_ENTRIES = typed(
    "timestamp timestamp with time zone, file, latest_snapshot_id bigint, latest_schema_id integer, "
    "latest_sequence_number bigint"
)


def snapshots(table: Table) -> Iterator[tuple[object, ...]]:
    """In the order of the metadata: oldest first."""
    for snapshot in table.snapshots():
        summary = snapshot.summary
        yield (
            from_millis(snapshot.timestamp_ms),
            snapshot.snapshot_id,
            snapshot.parent_snapshot_id,
            operation(snapshot),
            snapshot.manifest_list,
            None if summary is None else list(summary.additional_properties.items()),
        )


def history(table: Table) -> Iterator[tuple[object, ...]]:
    """Which snapshot became current when."""
    ancestors = {snapshot.snapshot_id for snapshot in history_of(table)}
    for entry in table.history():
        snapshot = table.snapshot_by_id(entry.snapshot_id)
        parent = None if snapshot is None else snapshot.parent_snapshot_id
        yield from_millis(entry.timestamp_ms), entry.snapshot_id, parent, entry.snapshot_id in ancestors


def refs(table: Table) -> Iterator[tuple[object, ...]]:
    """Branches and tags."""
    for name, ref in table.refs().items():
        kind = "BRANCH" if ref.snapshot_ref_type == SnapshotRefType.BRANCH else "TAG"
        yield name, kind, ref.snapshot_id, ref.max_ref_age_ms, ref.min_snapshots_to_keep, ref.max_snapshot_age_ms


def properties(table: Table) -> Iterator[tuple[object, ...]]:
    """The table's properties; those that hold secrets are listed without them."""
    yield from ((name, shown_value(name, value)) for name, value in table.properties.items())


def metadata_log_entries(table: Table) -> Iterator[tuple[object, ...]]:
    """Metadata files, the current one last, with the snapshot that was current then."""
    metadata = table.metadata
    entries = [(entry.timestamp_ms, entry.metadata_file) for entry in metadata.metadata_log]
    for instant, file in (*entries, (metadata.last_updated_ms, table.metadata_location)):
        current = [entry for entry in metadata.snapshot_log if entry.timestamp_ms <= instant]
        snapshot = table.snapshot_by_id(current[-1].snapshot_id) if current else None
        if snapshot is None:
            yield from_millis(instant), file, current[-1].snapshot_id if current else None, None, None
        else:
            yield from_millis(instant), file, snapshot.snapshot_id, snapshot.schema_id, snapshot.sequence_number

"""``CALL catalog.system.show_commits_metadata(schema, table_name, limit)``"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from coordinator.connectors.iceberg.instants import instant
from coordinator.connectors.iceberg.partitions import partition_text
from coordinator.connectors.iceberg.procedures.arguments import LimitArguments
from coordinator.connectors.iceberg.procedures.show_snapshots import limit_of
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.changes import FileChange, changes_of, operation
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="show_commits_metadata",
    kind=ProcedureKind.COORDINATOR,
    summary="Commits of a table file by file, the newest first.",
    arguments=declared_arguments(LimitArguments),
    output=(
        OutputColumn("commit_time", "varchar", "When it was committed: yyyyMMddHHmmssSSS in UTC."),
        OutputColumn("action", "varchar", "append, overwrite, delete or replace."),
        OutputColumn("partition", "varchar", "Partition of the file; empty for unpartitioned ones."),
        OutputColumn("file_id", "varchar", "The file."),
        OutputColumn("previous_commit", "varchar", "Time of the commit that this one was made on."),
        OutputColumn("num_writes", "bigint", "Rows of an added data file."),
        OutputColumn("num_inserts", "bigint", "The same when the commit appended; rows that were not moved."),
        OutputColumn("num_deletes", "bigint", "Rows of a dropped data file, or deletes of an added delete file."),
        OutputColumn("total_bytes_written", "bigint", "Bytes of an added file."),
        OutputColumn("snapshot_id", "bigint", "The snapshot."),
    ),
    example="CALL iceberg.system.show_commits_metadata(table => 'sales.orders')",
    notes="Hudi's procedure of the name, with the columns that mean something on Iceberg. The limit counts files.",
)


def answer(call: Call[LimitArguments]) -> Rows:
    """Raises ProcessionError for a limit below 1."""
    return list(islice(_rows(call.read()), limit_of(call)))


def _rows(table: Table) -> Iterator[tuple[object, ...]]:
    specs, schema = table.specs(), table.schema()
    for snapshot in sorted(table.snapshots(), key=lambda s: (s.timestamp_ms, s.sequence_number or 0), reverse=True):
        changes = sorted(changes_of(table.io, snapshot), key=lambda c: (not c.added, c.file.file_path))
        for change in changes:
            partition = partition_text(change.file, specs[change.file.spec_id], schema)
            head = (instant(snapshot.timestamp_ms), operation(snapshot), partition, change.file.file_path)
            yield (*head, _previous(table, snapshot), *_counts(snapshot, change), snapshot.snapshot_id)


def _previous(table: Table, snapshot: Snapshot) -> str | None:
    parent = snapshot.parent_snapshot_id
    found = None if parent is None else table.snapshot_by_id(parent)
    return None if found is None else instant(found.timestamp_ms)


def _counts(snapshot: Snapshot, change: FileChange) -> tuple[int, int, int, int]:
    rows, size = change.file.record_count, change.file.file_size_in_bytes
    if not change.is_data:
        return (0, 0, rows, size) if change.added else (0, 0, 0, 0)
    if not change.added:
        return 0, 0, rows, 0
    appended = operation(snapshot) == Operation.APPEND.value
    return rows, rows if appended else 0, 0, size

"""``CALL catalog.system.show_snapshots(schema, table_name, limit, ref)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table.snapshots import Snapshot, ancestors_of

from coordinator.connectors.iceberg.instants import from_millis
from coordinator.connectors.iceberg.procedures.arguments import LimitArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.changes import count, operation
from coordinator.connectors.iceberg.snapshots.references import history
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

COUNTS = (
    ("added_data_files", "added-data-files", "Data files that it added."),
    ("deleted_data_files", "deleted-data-files", "Data files that it dropped."),
    ("added_delete_files", "added-delete-files", "Delete files that it added."),
    ("removed_delete_files", "removed-delete-files", "Delete files that it dropped."),
    ("added_records", "added-records", "Rows of the added data files."),
    ("deleted_records", "deleted-records", "Rows of the dropped data files."),
    ("added_files_size", "added-files-size", "Bytes of the added files."),
    ("removed_files_size", "removed-files-size", "Bytes of the dropped files."),
    ("total_data_files", "total-data-files", "Data files of the table then."),
    ("total_delete_files", "total-delete-files", "Delete files of the table then."),
    ("total_records", "total-records", "Rows of the data files of the table then."),
    ("total_files_size", "total-files-size", "Bytes of the files of the table then."),
)
"""Columns from the summaries of snapshots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(LimitArguments):
    """What the call says."""

    ref: Annotated[str | None, Declared("varchar", "Only the history of this branch or tag.")] = None


DECLARATION = ProcedureDeclaration(
    name="show_snapshots",
    kind=ProcedureKind.COORDINATOR,
    summary="The newest snapshots of a table with what each did.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("committed_at", "timestamp with time zone", "When it was committed."),
        OutputColumn("snapshot_id", "bigint", "The snapshot."),
        OutputColumn("parent_id", "bigint", "The snapshot that it was made on."),
        OutputColumn("operation", "varchar", "append, overwrite, delete or replace."),
        OutputColumn("is_current_ancestor", "boolean", "Whether it is in the table's present history."),
        OutputColumn("refs", "array(varchar)", "Branches and tags that point at it."),
        *(OutputColumn(name, "bigint", doc) for name, _, doc in COUNTS),
    ),
    example="CALL iceberg.system.show_snapshots(table => 'sales.orders', limit => 20)",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for an unknown ref and a limit below 1."""
    table, ref = call.read(), call.arguments.ref
    line = {snapshot.snapshot_id for snapshot in history(table)}
    pointing: dict[int, list[str]] = {}
    for name, found in table.refs().items():
        pointing.setdefault(found.snapshot_id, []).append(name)
    if ref is None:
        chosen = sorted(table.snapshots(), key=lambda s: (s.timestamp_ms, s.sequence_number or 0), reverse=True)
    else:
        if ref not in table.refs():
            raise ArgumentError("ref", f"Ref does not exist: {ref}")
        chosen = list(ancestors_of(table.snapshot_by_name(ref), table.metadata))
    return [
        (*_row(s), s.snapshot_id in line, sorted(pointing.get(s.snapshot_id, ())), *(count(s, c) for _, c, _ in COUNTS))
        for s in chosen[: limit_of(call)]
    ]


def limit_of(call: Call[LimitArguments]) -> int:
    """The limit; raises ArgumentError when it is below 1."""
    limit = call.arguments.limit
    if limit < 1:
        raise ArgumentError("limit", f"limit must be at least 1, got: {limit}")
    return limit


def _row(snapshot: Snapshot) -> tuple[object, ...]:
    parent = snapshot.parent_snapshot_id
    return from_millis(snapshot.timestamp_ms), snapshot.snapshot_id, parent, operation(snapshot)

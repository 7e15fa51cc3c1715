"""``CALL catalog.system.rollback_to_snapshot(schema, table_name, snapshot_id)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.column_types import check_types
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import history, known_snapshot, main_at
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

MOVED = (
    OutputColumn("previous_snapshot_id", "bigint", "Current snapshot before the call."),
    OutputColumn("current_snapshot_id", "bigint", "Current snapshot after the call."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    snapshot_id: Annotated[int, Declared("bigint", "Snapshot to return to; an ancestor of the current one.")]


DECLARATION = ProcedureDeclaration(
    name="rollback_to_snapshot",
    kind=ProcedureKind.COORDINATOR,
    summary="Make an earlier snapshot of the table's history its current one.",
    arguments=declared_arguments(Arguments),
    output=MOVED,
    example="CALL iceberg.system.rollback_to_snapshot('sales', 'orders', 8954597067493422955)",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for an unknown snapshot, one outside the history, and the last lost race."""
    snapshot_id: int = call.arguments.snapshot_id
    return [commit_change(call.catalog, call.schema, call.table, lambda table: rolled_back(table, snapshot_id))]


def rolled_back(table: Table, snapshot_id: int) -> Change[tuple[int | None, int]]:
    """The change that makes an ancestor current, with previous and new current snapshot."""
    known_snapshot(table, snapshot_id, "Cannot roll back to unknown snapshot id")
    if snapshot_id not in {snapshot.snapshot_id for snapshot in history(table)}:
        raise ArgumentError(
            "snapshot_id",
            f"Cannot roll back to snapshot, not an ancestor of the current state: {snapshot_id}",
            ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID,
        )
    return made_current(table, snapshot_id)


def made_current(table: Table, snapshot_id: int) -> Change[tuple[int | None, int]]:
    """The change that makes any snapshot current; none when it is already. Raises as ``check_types``."""
    current = table.current_snapshot()
    previous = None if current is None else current.snapshot_id
    if previous == snapshot_id:
        return Change((previous, snapshot_id))
    check_types(table, snapshot_id)
    update, guard = main_at(table, snapshot_id)
    return Change((previous, snapshot_id), (update,), (guard,))

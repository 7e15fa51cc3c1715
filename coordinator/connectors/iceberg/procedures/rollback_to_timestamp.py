"""``CALL catalog.system.rollback_to_timestamp(schema, table_name, timestamp)``"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pyiceberg.table import Table

from coordinator.connectors.iceberg.instants import to_millis
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.rollback_to_snapshot import MOVED, made_current
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import history
from shared.spi.procedure import ArgumentError, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    timestamp: Annotated[datetime, Declared("timestamp", "A point in time, in the session's time zone.")]


DECLARATION = ProcedureDeclaration(
    name="rollback_to_timestamp",
    kind=ProcedureKind.COORDINATOR,
    summary="Make the newest snapshot current that the table's history had before a point in time.",
    arguments=declared_arguments(Arguments),
    output=MOVED,
    example="CALL iceberg.system.rollback_to_timestamp('sales', 'orders', TIMESTAMP '2026-11-20 08:00:00')",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError when no ancestor of the current snapshot is older than the moment."""
    instant = to_millis(call.arguments.timestamp, call.context.session.time_zone)
    return [commit_change(call.catalog, call.schema, call.table, lambda table: _rolled_back(table, instant))]


def _rolled_back(table: Table, instant: int) -> Change[tuple[int | None, int]]:
    older = [snapshot for snapshot in history(table) if snapshot.timestamp_ms < instant]
    if not older:
        raise ArgumentError("timestamp", f"Cannot roll back, no valid snapshot older than: {instant}")
    return made_current(table, max(older, key=lambda snapshot: snapshot.timestamp_ms).snapshot_id)

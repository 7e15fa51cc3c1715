"""``CALL catalog.system.cherrypick_snapshot(schema, table_name, snapshot_id)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.exceptions import CommitFailedException, ValidationException

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.rollback_to_snapshot import made_current
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from coordinator.connectors.iceberg.snapshots.cherry_pick import can_fast_forward, check_pick, read_pick
from coordinator.connectors.iceberg.snapshots.edit_files import EditFiles
from coordinator.connectors.iceberg.snapshots.metadata_changes import commit_once
from coordinator.connectors.iceberg.snapshots.references import known_snapshot
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

PICKED = (
    OutputColumn("source_snapshot_id", "bigint", "The snapshot whose changes were applied."),
    OutputColumn("current_snapshot_id", "bigint", "Current snapshot after the call."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    snapshot_id: Annotated[int, Declared("bigint", "The snapshot to apply.")]


DECLARATION = ProcedureDeclaration(
    name="cherrypick_snapshot",
    kind=ProcedureKind.COORDINATOR,
    summary="Apply the changes of a snapshot to the current state of the table, and keep the snapshot.",
    arguments=declared_arguments(Arguments),
    output=PICKED,
    example="CALL iceberg.system.cherrypick_snapshot('sales', 'orders', 8954597067493422955)",
    notes="Appends and dynamic overwrites can be applied to any state that they do not contradict; any other snapshot "
    "only where it was made on the current one, which it then becomes.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for an unknown snapshot and for one that contradicts the current state."""
    return [pick(call, call.arguments.snapshot_id, "snapshot_id")]


def pick(call: Call[TableArguments], snapshot_id: int, argument: str) -> tuple[int, int]:
    """The picked snapshot's id and that of the snapshot that is current then; ``argument`` is where errors point."""
    table = call.catalog.open(call.schema, call.table)
    picked = known_snapshot(table, snapshot_id, "Cannot cherry-pick unknown snapshot ID", argument)
    if can_fast_forward(table.metadata, picked):
        try:
            commit_once(table, made_current(table, snapshot_id))
        except CommitFailedException:
            # Somebody committed in between: then the snapshot may still be picked, as onto any other state.
            return pick(call, snapshot_id, argument)
        return snapshot_id, snapshot_id
    try:
        prepared = read_pick(table, picked)
        check_pick(table.metadata, picked, prepared, table.io)
    except ValidationException as error:
        raise ArgumentError(argument, str(error)) from error
    if table.format_version > 2:
        row = call_spark(call, "cherrypick_snapshot", {"snapshot_id": snapshot_id})[0]
        return int(row["source_snapshot_id"]), int(row["current_snapshot_id"])
    transaction = table.transaction()
    producer = EditFiles(
        transaction,
        prepared.operation,
        added=prepared.added,
        dropped=prepared.dropped,
        check=lambda metadata: check_pick(metadata, picked, prepared, table.io),
        properties=prepared.properties,
    )
    producer.stage()
    transaction.commit_transaction()
    return snapshot_id, producer.snapshot_id

"""``CALL catalog.system.publish_changes(schema, table_name, wap_id)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.cherrypick_snapshot import PICKED, pick
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.cherry_pick import staged_wap_id
from shared.spi.procedure import ArgumentError, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    wap_id: Annotated[str, Declared("varchar", "The id that they were staged under.")]


DECLARATION = ProcedureDeclaration(
    name="publish_changes",
    kind=ProcedureKind.COORDINATOR,
    summary="Apply the changes that were staged under a write-audit-publish id to the current state of the table.",
    arguments=declared_arguments(Arguments),
    output=PICKED,
    example="CALL iceberg.system.publish_changes('sales', 'orders', 'load-2026-11-20')",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError when no or more than one snapshot has the id, or its changes contradict the state."""
    wap_id = call.arguments.wap_id
    table = call.catalog.open(call.schema, call.table)
    staged = [snapshot.snapshot_id for snapshot in table.snapshots() if staged_wap_id(snapshot) == wap_id]
    if not staged:
        raise ArgumentError("wap_id", f"Cannot apply unknown WAP ID '{wap_id}'")
    if len(staged) > 1:
        raise ArgumentError(
            "wap_id", f"Cannot apply non-unique WAP ID. Found multiple snapshots with WAP ID '{wap_id}'"
        )
    return [pick(call, staged[0], "wap_id")]

"""``CALL catalog.system.set_current_snapshot(schema, table_name, snapshot_id | ref)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.rollback_to_snapshot import MOVED, made_current
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import known_snapshot
from shared.spi.procedure import ArgumentError, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    snapshot_id: Annotated[int | None, Declared("bigint", "The snapshot; give either this or ref.")] = None
    ref: Annotated[
        str | None, Declared("varchar", "The branch or tag whose snapshot to take; give either this or snapshot_id.")
    ] = None


DECLARATION = ProcedureDeclaration(
    name="set_current_snapshot",
    kind=ProcedureKind.COORDINATOR,
    summary="Make any snapshot of the table current, an ancestor or not, by its id or by a branch or tag.",
    arguments=declared_arguments(Arguments),
    output=MOVED,
    example="CALL iceberg.system.set_current_snapshot(table => 'sales.orders', ref => 'before_migration')",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError unless exactly one of the two is given and known."""
    snapshot_id, ref = call.arguments.snapshot_id, call.arguments.ref
    if (snapshot_id is None) == (ref is None):
        raise ArgumentError("ref", "Either snapshot_id or ref must be provided, not both")

    def stage(table: Table) -> Change[tuple[int | None, int]]:
        if snapshot_id is not None:
            known_snapshot(table, snapshot_id, "Cannot roll back to unknown snapshot id")
            return made_current(table, snapshot_id)
        found = table.refs().get(ref or "")
        if found is None:
            raise ArgumentError("ref", f"Cannot find matching snapshot ID for ref {ref}")
        return made_current(table, found.snapshot_id)

    return [commit_change(call.catalog, call.schema, call.table, stage)]

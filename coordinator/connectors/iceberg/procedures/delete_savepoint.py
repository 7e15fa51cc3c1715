"""``CALL catalog.system.delete_savepoint(schema, table_name, instant_time)``"""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.update import RemovePropertiesUpdate, TableUpdate

from coordinator.connectors.iceberg.procedures.arguments import SavepointArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from coordinator.connectors.iceberg.snapshots.references import drop_reference, unmoved
from coordinator.connectors.iceberg.snapshots.savepoints import property_of, savepoint_at, tag_of
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="delete_savepoint",
    kind=ProcedureKind.COORDINATOR,
    summary="Remove a savepoint; its snapshot stays until it expires.",
    arguments=declared_arguments(SavepointArguments),
    output=(OutputColumn("delete_savepoint_result", "boolean", "true: the savepoint is gone."),),
    example="CALL iceberg.system.delete_savepoint('sales', 'orders', '20261120080000123')",
)


def answer(call: Call[SavepointArguments]) -> Rows:
    """Raises ProcessionError when no savepoint is at that commit."""
    return [(commit_change(call.catalog, call.schema, call.table, lambda table: _deleted(table, call)),)]


def _deleted(table: Table, call: Call[SavepointArguments]) -> Change[bool]:
    zone = call.context.session.time_zone
    snapshot_id = savepoint_at(table, call.arguments.instant_time, zone, "instant_time").snapshot.snapshot_id
    tag, name = tag_of(snapshot_id), property_of(snapshot_id)
    updates: tuple[TableUpdate, ...] = (drop_reference(tag),)
    if name in table.properties:
        updates += (RemovePropertiesUpdate(removals=[name]),)
    return Change(True, updates, (unmoved(tag, table.refs().get(tag)),))

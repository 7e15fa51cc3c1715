"""``CALL catalog.system.show_refs(schema, table_name)``"""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import declared_arguments

DECLARATION = ProcedureDeclaration(
    name="show_refs",
    kind=ProcedureKind.COORDINATOR,
    summary="Branches and tags of a table with their retention.",
    arguments=declared_arguments(TableArguments),
    output=(
        OutputColumn("name", "varchar", "Name of the branch or tag."),
        OutputColumn("type", "varchar", "BRANCH or TAG."),
        OutputColumn("snapshot_id", "bigint", "The snapshot that it points to."),
        OutputColumn("max_reference_age_in_ms", "bigint", "How long it lives; NULL: as the table's properties say."),
        OutputColumn("min_snapshots_to_keep", "integer", "Snapshots of the branch that are kept however old."),
        OutputColumn("max_snapshot_age_in_ms", "bigint", "How long snapshots of the branch are kept."),
    ),
    example="CALL iceberg.system.show_refs('sales', 'orders')",
)


def answer(call: Call[TableArguments]) -> Rows:
    """Raises ProcessionError when the table does not exist."""
    return [
        (
            name,
            ref.snapshot_ref_type.value.upper(),
            ref.snapshot_id,
            ref.max_ref_age_ms,
            ref.min_snapshots_to_keep,
            ref.max_snapshot_age_ms,
        )
        for name, ref in sorted(call.read().refs().items())
    ]

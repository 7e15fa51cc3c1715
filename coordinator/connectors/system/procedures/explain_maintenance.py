"""``CALL system.explain_maintenance(catalog, schema, table_name)``"""

from __future__ import annotations

from coordinator.connectors.system.maintenance import Maintenance
from coordinator.connectors.system.procedures.maintain import ScopeArguments, scope_of, view_of
from shared.errors import ErrorCode
from shared.spi.procedure import (
    ArgumentError,
    Arguments,
    OutputColumn,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
)
from shared.spi.procedure_arguments import declared_arguments, record_of

DECLARATION = ProcedureDeclaration(
    name="explain_maintenance",
    kind=ProcedureKind.COORDINATOR,
    summary="Show all that the maintenance service's decision about a table rests on.",
    arguments=declared_arguments(ScopeArguments),
    output=(
        OutputColumn("topic", "varchar", "health, table, policy, past, decision, or partition."),
        OutputColumn("name", "varchar", "What the value is of."),
        OutputColumn("value", "varchar", "The value in words."),
    ),
    example="CALL iceberg.system.explain_maintenance(schema => 'sales', table_name => 'orders')",
    notes="Of the partitions, the ten with the most small files are shown.",
)


class ExplainMaintenance:
    """Looks at the table anew, and writes nothing down."""

    declaration = DECLARATION

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError NOT_FOUND, NOT_SUPPORTED where the service is off."""
        scope = scope_of(context, record_of(ScopeArguments, arguments))
        if scope.table is None:
            raise ArgumentError("table_name", "explain_maintenance needs a table")
        rows = list(view_of(self._maintenance).explain(scope))
        if not rows:
            raise ArgumentError("table_name", f"Table not found: {scope}", ErrorCode.NOT_FOUND)
        return ProcedureResult(rows=rows)

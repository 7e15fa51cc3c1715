"""``CALL system.resume(catalog, schema, table_name)``"""

from __future__ import annotations

from coordinator.connectors.system.maintenance import Maintenance
from coordinator.connectors.system.procedures.maintain import ScopeArguments, scope_of, view_of
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    Arguments,
    OutputColumn,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
)
from shared.spi.procedure_arguments import declared_arguments, record_of

DECLARATION = ProcedureDeclaration(
    name="resume",
    kind=ProcedureKind.COORDINATOR,
    summary="End a pause of the maintenance service.",
    arguments=declared_arguments(ScopeArguments),
    output=(OutputColumn("resumed", "varchar", "What was paused."),),
    example="CALL system.resume(catalog => 'iceberg', schema => 'sales')",
)


class ResumeMaintenance:
    """Takes the pause away that was made for the same part of the lake."""

    declaration = DECLARATION

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError NOT_FOUND when there is no such pause, NOT_SUPPORTED, PERMISSION_DENIED."""
        scope = scope_of(context, record_of(ScopeArguments, arguments))
        if not view_of(self._maintenance).resume(context.session, scope):
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Maintenance is not paused for {scope}")
        return ProcedureResult(rows=[(str(scope),)])

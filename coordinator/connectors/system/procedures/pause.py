"""``CALL system.pause(catalog, schema, table_name, reason)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.system.maintenance import Maintenance
from coordinator.connectors.system.procedures.maintain import ScopeArguments, scope_of, view_of
from shared.spi.procedure import (
    Arguments,
    OutputColumn,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
)
from shared.spi.procedure_arguments import Declared, declared_arguments, record_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseArguments(ScopeArguments):
    """What the call says."""

    reason: Annotated[str, Declared("varchar", "The reason, which decisions show.")] = ""


DECLARATION = ProcedureDeclaration(
    name="pause",
    kind=ProcedureKind.COORDINATOR,
    summary="Have the maintenance service start nothing more, everywhere or in a part of the lake.",
    arguments=declared_arguments(PauseArguments),
    output=(OutputColumn("paused", "varchar", "What is paused: a table, a schema, a catalog, or * for everything."),),
    example="CALL system.pause(catalog => 'iceberg', schema => 'sales', reason => 'migration')",
    notes="Calls that run go on; `kill_job` ends them. A pause outlives restarts.",
)


class PauseMaintenance:
    """Writes the pause down."""

    declaration = DECLARATION

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError NOT_SUPPORTED where the service is off, PERMISSION_DENIED."""
        asked = record_of(PauseArguments, arguments)
        scope = scope_of(context, asked)
        view_of(self._maintenance).pause(context.session, scope, asked.reason)
        return ProcedureResult(rows=[(str(scope),)])

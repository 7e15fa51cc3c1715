"""``CALL system.kill_job(job_id, message)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.system.procedures.show_jobs import log_of
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
from shared.spi.procedure_arguments import Declared, declared_arguments, record_of


@dataclass(frozen=True, slots=True, kw_only=True)
class KillJobArguments:
    """What the call says."""

    job_id: Annotated[str, Declared("varchar", "The job, as show_jobs lists it.")]
    message: Annotated[str, Declared("varchar", "The reason, which is shown to the caller of the job.")] = ""


DECLARATION = ProcedureDeclaration(
    name="kill_job",
    kind=ProcedureKind.COORDINATOR,
    summary="Stop a procedure call that runs; what it wrote is removed as when its own client cancels it.",
    arguments=declared_arguments(KillJobArguments),
    output=(OutputColumn("killed", "boolean", "true: the job was told to stop."),),
    example="CALL system.kill_job('20261120_080000_00042_abcde', 'maintenance window')",
)


class KillJob:
    """Ends the job's query with Presto's ADMINISTRATIVELY_KILLED."""

    declaration = DECLARATION

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError NOT_FOUND when no such job runs."""
        asked = record_of(KillJobArguments, arguments)
        if not log_of(context).kill(asked.job_id, asked.message):
            raise ArgumentError("job_id", f"Target job is not running: {asked.job_id}", ErrorCode.NOT_FOUND)
        return ProcedureResult(rows=[(True,)])

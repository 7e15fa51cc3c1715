"""``CALL system.kill_job(job_id, message)``"""

from __future__ import annotations

from coordinator.connectors.system.procedures.show_jobs import log_of
from shared.errors import ErrorCode
from shared.spi.procedure import (
    Argument,
    ArgumentError,
    Arguments,
    OutputColumn,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
)

DECLARATION = ProcedureDeclaration(
    name="kill_job",
    kind=ProcedureKind.COORDINATOR,
    summary="Stop a procedure call that runs; what it wrote is removed as when its own client cancels it.",
    arguments=(
        Argument("job_id", "varchar", "The job, as show_jobs lists it.", required=True),
        Argument("message", "varchar", "The reason, which is shown to the caller of the job.", default=""),
    ),
    output=(OutputColumn("killed", "boolean", "true: the job was told to stop."),),
    example="CALL system.kill_job('20261120_080000_00042_abcde', 'maintenance window')",
)


class KillJob:
    """Ends the job's query with Presto's ADMINISTRATIVELY_KILLED."""

    declaration = DECLARATION

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError NOT_FOUND when no such job runs."""
        job_id = arguments["job_id"]
        if not log_of(context).kill(job_id, arguments["message"]):
            raise ArgumentError("job_id", f"Target job is not running: {job_id}", ErrorCode.NOT_FOUND)
        return ProcedureResult(rows=[(True,)])

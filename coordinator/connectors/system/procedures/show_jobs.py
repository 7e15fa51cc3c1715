"""``CALL system.show_jobs(limit, state)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shared.errors import ErrorCode, ProcessionError
from shared.spi.jobs import Job, Jobs
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

_STATES = ("RUNNING", "FINISHED", "FAILED", "CANCELED", "LOST")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowJobsArguments:
    """What the call says."""

    limit: Annotated[int, Declared("integer", "Most rows to return.")] = 100
    state: Annotated[str | None, Declared("varchar", f"Only jobs in this state: {', '.join(_STATES)}.")] = None


DECLARATION = ProcedureDeclaration(
    name="show_jobs",
    kind=ProcedureKind.COORDINATOR,
    summary="Procedure calls that run and that ran, the newest first, with their progress.",
    arguments=declared_arguments(ShowJobsArguments),
    output=(
        OutputColumn("job_id", "varchar", "The job: the id of its query."),
        OutputColumn("procedure", "varchar", "The procedure that was called."),
        OutputColumn("table_name", "varchar", "The table that it works on, with catalog and schema."),
        OutputColumn("user", "varchar", "Who called it."),
        OutputColumn("state", "varchar", f"{', '.join(_STATES[:-1])}, or LOST: the coordinator died meanwhile."),
        OutputColumn("phase", "varchar", "What it does or did last."),
        OutputColumn("completed", "bigint", "Steps of the phase that are done."),
        OutputColumn("total", "bigint", "Steps of the phase."),
        OutputColumn("started", "timestamp with time zone", "When it began to run."),
        OutputColumn("ended", "timestamp with time zone", "When it ended; NULL while it runs."),
        OutputColumn("elapsed_ms", "bigint", "Milliseconds that it ran, or runs so far."),
        OutputColumn("error", "varchar", "Why it failed."),
        OutputColumn("node_id", "varchar", "The coordinator that runs or ran it."),
    ),
    example="CALL system.show_jobs(state => 'RUNNING')",
    notes="The last 10,000 calls are kept in the coordinator's data directory. Calls that only look are not logged. "
    "Several coordinators show the calls of all, those of the others as their history has them, about a second late.",
)


class ShowJobs:
    """Reads the job log of this coordinator, and the history that it shares with others."""

    declaration = DECLARATION

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError for a limit below 1 and an unknown state."""
        asked = record_of(ShowJobsArguments, arguments)
        limit, state = asked.limit, asked.state
        if limit < 1:
            raise ArgumentError("limit", f"limit must be at least 1, got: {limit}")
        if state is not None and state.upper() not in _STATES:
            raise ArgumentError("state", f"Invalid state: {state}. Valid values are {', '.join(_STATES)}.")
        found = log_of(context).jobs(limit, None if state is None else state.upper())
        return ProcedureResult(rows=[_row(job, context) for job in found])


def log_of(context: ProcedureContext) -> Jobs:
    """The job log; raises ProcessionError where there is none."""
    if context.jobs is None:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, "This coordinator keeps no jobs")
    return context.jobs


def _row(job: Job, context: ProcedureContext) -> tuple[object, ...]:
    elapsed = (job.ended or context.now) - job.started if job.ended or job.state == "RUNNING" else None
    return (
        job.job_id,
        job.procedure,
        job.table,
        job.user,
        job.state,
        job.phase,
        job.completed,
        job.total,
        job.started,
        job.ended,
        None if elapsed is None else max(0, round(elapsed.total_seconds() * 1000)),
        job.error,
        job.node_id or None,
    )

"""How a bound CALL runs, by the kind of its procedure (RFC-0021: begin and finish here, writing on workers)."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never, cast

from coordinator.vocabulary.planned_statement import CallProcedure
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    ArgumentError,
    CoordinatorProcedure,
    MaintenanceProcedure,
    Procedure,
    ProcedureContext,
    ProcedureKind,
    ProcedureResult,
    TableDataRewriteProcedure,
)


def run_procedure(procedure: Procedure, work: CallProcedure, context: ProcedureContext) -> ProcedureResult:
    """The result rows of the call; blocks. A rewrite that fails or is cancelled is aborted before the error goes on.

    Errors about an argument's value, and about a table that does not exist, say where it stands in the statement.
    """
    try:
        return _run(procedure, work, context)
    except ArgumentError as error:
        location = work.locations.get(error.argument, work.location)
        raise ProcessionError(error.code, error.message, location=location) from error
    except ProcessionError as error:
        if error.code is not ErrorCode.NOT_FOUND or error.location is not None:
            raise
        location = work.locations.get("table_name", work.location)
        raise ProcessionError(error.code, error.message, location=location) from error


def _run(procedure: Procedure, work: CallProcedure, context: ProcedureContext) -> ProcedureResult:
    match work.kind:
        case ProcedureKind.COORDINATOR:
            filtered = context if work.target is None else replace(context, filter=work.target.filter)
            return cast(CoordinatorProcedure, procedure).call(filtered, work.arguments)
        case ProcedureKind.TABLE_DATA_REWRITE:
            return _rewrite(cast(TableDataRewriteProcedure, procedure), work, context)
        case ProcedureKind.MAINTENANCE:
            return _maintain(cast(MaintenanceProcedure, procedure), work, context)
        case _:
            assert_never(work.kind)


def _rewrite(procedure: TableDataRewriteProcedure, work: CallProcedure, context: ProcedureContext) -> ProcedureResult:
    assert work.target is not None, "the planner resolves the table of every rewrite"
    context.check_cancelled()
    handle = procedure.begin(context, work.target, work.arguments)
    try:
        written = procedure.write(context, handle)
        context.check_cancelled()
        return procedure.finish(context, handle, written)
    except BaseException:
        procedure.abort(context, handle)
        raise


def _maintain(procedure: MaintenanceProcedure, work: CallProcedure, context: ProcedureContext) -> ProcedureResult:
    kernel, payload = procedure.payload(context, work.arguments)
    results = list(context.workers.run_on_all_workers(kernel, payload, description=work.procedure))
    return procedure.finish(context, work.arguments, results)

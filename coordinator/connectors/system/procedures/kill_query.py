"""``CALL system.runtime.kill_query(query_id, message)``"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.system.runtime import RuntimeState
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
class KillQueryArguments:
    """What the call says."""

    query_id: Annotated[str, Declared("varchar", "The query, as system.runtime.queries lists it.")]
    message: Annotated[str, Declared("varchar", "The reason, which is shown to who sent the query.")] = ""


DECLARATION = ProcedureDeclaration(
    name="kill_query",
    kind=ProcedureKind.COORDINATOR,
    summary="Stop a query that runs or waits.",
    arguments=declared_arguments(KillQueryArguments),
    output=(OutputColumn("killed", "boolean", "true: the query was told to stop."),),
    example="CALL system.runtime.kill_query('20261120_080000_00042_abcde', 'Using too many resources')",
    notes="Presto's name of it is system.runtime.kill_query; system.system.kill_query is the same.",
)


class KillQuery:
    """Ends a query with Presto's ADMINISTRATIVELY_KILLED; error texts are those of its KillQueryProcedure."""

    declaration = DECLARATION

    def __init__(self, runtime: Callable[[], RuntimeState | None]) -> None:
        self._runtime = runtime

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError NOT_FOUND, NOT_SUPPORTED for one that has ended, PERMISSION_DENIED."""
        asked, runtime = record_of(KillQueryArguments, arguments), self._runtime()
        query_id = asked.query_id
        if query_id == context.session.query_id:
            raise ArgumentError("query_id", "A query cannot kill itself", ErrorCode.NOT_SUPPORTED)
        running = None if runtime is None else runtime.kill(context.session, query_id, asked.message)
        if running is None:
            raise ArgumentError("query_id", f"Target query not found: {query_id}", ErrorCode.NOT_FOUND)
        if not running:
            raise ArgumentError("query_id", f"Target query is not running: {query_id}", ErrorCode.NOT_SUPPORTED)
        return ProcedureResult(rows=[(True,)])

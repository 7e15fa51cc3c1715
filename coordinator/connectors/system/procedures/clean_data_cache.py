"""``CALL catalog.system.clean_data_cache('ALL_WORKERS')``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from coordinator.kernels.tasks import CLEAR_CACHE
from coordinator.kernels.wire import decode
from shared.errors import ErrorCode, ProcessionError
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
class CleanDataCacheArguments:
    """What the call says."""

    scope: Annotated[str, Declared("varchar", "Which executors: only ALL_WORKERS is supported.")] = "ALL_WORKERS"


DECLARATION = ProcedureDeclaration(
    name="clean_data_cache",
    kind=ProcedureKind.MAINTENANCE,
    summary="Drop what the executors cache of data files (Parquet footers).",
    arguments=declared_arguments(CleanDataCacheArguments),
    output=(
        OutputColumn("worker", "varchar", "Executor that was cleaned."),
        OutputColumn("entries", "bigint", "Cache entries that were dropped."),
        OutputColumn("bytes", "bigint", "Bytes that these entries held."),
    ),
    example="CALL iceberg.system.clean_data_cache('ALL_WORKERS')",
)


class CleanDataCache:
    """Runs the kernel ``cache:clear`` once on every executor: one result row an executor."""

    declaration = DECLARATION

    def payload(self, context: ProcedureContext, arguments: Arguments) -> tuple[str, bytes]:  # noqa: ARG002
        """Raises ProcessionError for a scope other than ALL_WORKERS."""
        scope = record_of(CleanDataCacheArguments, arguments).scope
        if scope.upper() != "ALL_WORKERS":
            raise ProcessionError(
                ErrorCode.INVALID_PROCEDURE_ARGUMENT, f"Invalid scope: {scope}. Valid values are 'ALL_WORKERS'."
            )
        return CLEAR_CACHE.name, b""

    def finish(
        self,
        context: ProcedureContext,  # noqa: ARG002
        arguments: Arguments,  # noqa: ARG002
        results: Sequence[tuple[str, bytes]],
    ) -> ProcedureResult:
        """One row an executor, by name: the sums over its processes."""
        sums: dict[str, tuple[int, int]] = {}
        for worker, result in sorted(results):
            found = decode(CLEAR_CACHE.answer, result)
            entries, size = sums.get(worker, (0, 0))
            sums[worker] = entries + found.entries, size + found.bytes
        return ProcedureResult(rows=[(worker, entries, size) for worker, (entries, size) in sums.items()])

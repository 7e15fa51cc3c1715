"""``CALL catalog.system.invalidate_metadata_cache()`` and its relatives of Presto and Trino."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.iceberg.catalog import TableCatalog
from shared.spi.procedure import (
    Arguments,
    OutputColumn,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
)
from shared.spi.procedure_arguments import Declared, declared_arguments

_NOTES = (
    "What is kept belongs to files that never change, so that a call changes no answer: the catalog is asked for the "
    "newest metadata by every statement."
)
SUMMARIES = {
    "invalidate_metadata_cache": "Forget what the coordinator keeps of tables' metadata.",
    "flush_metadata_cache": "The same as invalidate_metadata_cache, by Trino's name.",
    "invalidate_manifest_file_cache": "The same as invalidate_metadata_cache, by Presto's name for manifests.",
    "invalidate_statistics_file_cache": "The same as invalidate_metadata_cache, by Presto's name for statistics.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidateCacheArguments:
    """What the call says; tables are not told apart."""

    schema_name: Annotated[str | None, Declared("varchar", "As in Trino; the tables of all schemas are forgotten.")] = (
        None
    )
    table_name: Annotated[str | None, Declared("varchar", "As in Trino; all tables are forgotten.")] = None


def declared(name: str, summary: str) -> ProcedureDeclaration:
    return ProcedureDeclaration(
        name=name,
        kind=ProcedureKind.COORDINATOR,
        summary=summary,
        arguments=declared_arguments(InvalidateCacheArguments),
        output=(OutputColumn("invalidated_tables_count", "bigint", "Tables whose metadata was kept."),),
        example=f"CALL iceberg.system.{name}()",
        notes=_NOTES,
    )


class InvalidateCache:
    """One of the names; it is about no table, so its arguments are no record of one."""

    def __init__(self, name: str, summary: str, catalog: TableCatalog) -> None:
        self.declaration = declared(name, summary)
        self._catalog = catalog

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError when the catalog cannot be reached."""
        del context, arguments
        return ProcedureResult(rows=[(self._catalog.forget(),)])


def invalidating_procedures(catalog: TableCatalog) -> tuple[InvalidateCache, ...]:
    """All names under which metadata is forgotten."""
    return tuple(InvalidateCache(name, summary, catalog) for name, summary in SUMMARIES.items())

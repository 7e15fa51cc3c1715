"""``CALL catalog.system.invalidate_metadata_cache()`` and its relatives of Presto and Trino."""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.spi.procedure import Argument, OutputColumn, ProcedureDeclaration, ProcedureKind

_NOTES = (
    "What is kept belongs to files that never change, so that a call changes no answer: the catalog is asked for the "
    "newest metadata by every statement."
)
_NAMED = (
    Argument("schema_name", "varchar", "As in Trino; the tables of all schemas are forgotten."),
    Argument("table_name", "varchar", "As in Trino; all tables are forgotten."),
)
_OTHERS = {
    "flush_metadata_cache": "The same as invalidate_metadata_cache, by Trino's name.",
    "invalidate_manifest_file_cache": "The same as invalidate_metadata_cache, by Presto's name for manifests.",
    "invalidate_statistics_file_cache": "The same as invalidate_metadata_cache, by Presto's name for statistics.",
}


def _declared(name: str, summary: str) -> ProcedureDeclaration:
    return ProcedureDeclaration(
        name=name,
        kind=ProcedureKind.COORDINATOR,
        summary=summary,
        arguments=_NAMED,
        output=(OutputColumn("invalidated_tables_count", "bigint", "Tables whose metadata was kept."),),
        example=f"CALL iceberg.system.{name}()",
        notes=_NOTES,
    )


def _answer(call: Call) -> Rows:
    """Raises ProcessionError when the catalog cannot be reached."""
    return [(call.catalog.forget(),)]


PROCEDURES = (
    (_declared("invalidate_metadata_cache", "Forget what the coordinator keeps of tables' metadata."), _answer),
    *((_declared(name, summary), _answer) for name, summary in _OTHERS.items()),
)

"""``CALL catalog.system.upgrade_format_version(schema, table_name, format_version)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.format_version import NEWEST, upgraded
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    format_version: Annotated[int, Declared("integer", "2 or 3.")] = 2


DECLARATION = ProcedureDeclaration(
    name="upgrade_format_version",
    kind=ProcedureKind.COORDINATOR,
    summary="Raise the format version of a table; there is no way back.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("previous_version", "integer", "Format version before the call."),
        OutputColumn("current_version", "integer", "Format version after the call."),
    ),
    example="CALL iceberg.system.upgrade_format_version('sales', 'orders', 3)",
    notes="No file is rewritten. Rows that are there get their ids of version 3 with the next commit.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for a lower version and for one that does not exist."""
    version: int = call.arguments.format_version
    if not 1 <= version <= NEWEST:
        message = f"Cannot upgrade table to unsupported format version: v{version} (supported: v{NEWEST})"
        raise ArgumentError("format_version", message)
    return [commit_change(call.catalog, call.schema, call.table, lambda table: _upgraded(table, version))]


def _upgraded(table: Table, version: int) -> Change[tuple[int, int]]:
    if version < table.format_version:
        raise ArgumentError("format_version", f"Cannot downgrade v{table.format_version} table to v{version}")
    return upgraded(table, version)

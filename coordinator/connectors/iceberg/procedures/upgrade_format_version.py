"""``CALL catalog.system.upgrade_format_version(schema, table_name, format_version)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table
from pyiceberg.table.update import UpgradeFormatVersionUpdate

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import run_spark, spark_table
from coordinator.connectors.iceberg.snapshots.metadata_changes import Change, commit_change
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_NEWEST = 3


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
    notes="No file is rewritten. Version 3 is set through Spark.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for a lower version and for one that does not exist."""
    version: int = call.arguments.format_version
    if not 1 <= version <= _NEWEST:
        message = f"Cannot upgrade table to unsupported format version: v{version} (supported: v{_NEWEST})"
        raise ArgumentError("format_version", message)
    if version < _NEWEST:
        return [commit_change(call.catalog, call.schema, call.table, lambda table: _upgraded(table, version))]
    previous = _checked(call.catalog.open(call.schema, call.table), version)
    if previous != version:
        statement = f"ALTER TABLE {spark_table(call)} SET TBLPROPERTIES ('format-version'='{version:d}')"
        run_spark(call, statement, "upgrade")
    return [(previous, version)]


def _upgraded(table: Table, version: int) -> Change[tuple[int, int]]:
    previous = _checked(table, version)
    if previous == version:
        return Change((previous, version))
    update = UpgradeFormatVersionUpdate.model_validate({"format-version": version})
    return Change((previous, version), (update,))


def _checked(table: Table, version: int) -> int:
    if version < table.format_version:
        raise ArgumentError("format_version", f"Cannot downgrade v{table.format_version} table to v{version}")
    return int(table.format_version)

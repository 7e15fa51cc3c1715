"""``CALL catalog.system.rewrite_table_path(schema, table_name, source_prefix, target_prefix, …)`` through Spark."""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from shared.spi.procedure import Argument, ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind

_PASSED_ON = ("source_prefix", "target_prefix", "start_version", "end_version", "staging_location", "create_file_list")

DECLARATION = ProcedureDeclaration(
    name="rewrite_table_path",
    kind=ProcedureKind.COORDINATOR,
    summary="Write copies of a table's metadata whose paths begin elsewhere, for copying the table there.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("source_prefix", "varchar", "How its paths begin now.", required=True),
        Argument("target_prefix", "varchar", "How they shall begin.", required=True),
        Argument("start_version", "varchar", "Metadata file to begin after; default: the first."),
        Argument("end_version", "varchar", "Metadata file to end with; default: the current."),
        Argument("staging_location", "varchar", "Where the copies are written; default: under the metadata location."),
        Argument("create_file_list", "boolean", "Also write a list of what to copy where; default: true."),
    ),
    output=(
        OutputColumn("latest_version", "varchar", "The newest metadata file of the copy."),
        OutputColumn("file_list_location", "varchar", "A CSV file of source and target paths."),
    ),
    example="CALL iceberg.system.rewrite_table_path('sales', 'orders', 's3://old/sales', 's3://new/sales')",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError for an empty prefix, and what Iceberg's procedure raises."""
    for name in ("source_prefix", "target_prefix"):
        if not call.arguments[name]:
            raise ArgumentError(name, f"{name} is empty")
    call.read()
    row = call_spark(call, "rewrite_table_path", {name: call.arguments[name] for name in _PASSED_ON})[0]
    return [[row["latest_version"], row["file_list_location"]]]

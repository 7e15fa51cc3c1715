"""``CALL catalog.system.add_files(schema, table_name, source_table, …)``, answered by Iceberg's own in Spark."""

from __future__ import annotations

from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from shared.spi.procedure import Argument, OutputColumn, ProcedureDeclaration, ProcedureKind

_PASSED_ON = ("source_table", "partition_filter", "check_duplicate_files", "parallelism")

DECLARATION = ProcedureDeclaration(
    name="add_files",
    kind=ProcedureKind.COORDINATOR,
    summary="Make files that exist already part of the table, without copying them.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument("source_table", "varchar", "A folder as `parquet`.`path` (or orc, avro).", required=True),
        Argument("partition_filter", "map(varchar,varchar)", "Only partitions with these values."),
        Argument("check_duplicate_files", "boolean", "Refuse files that the table has already; default: true."),
        Argument("parallelism", "integer", "Files that are read at the same time."),
    ),
    output=(
        OutputColumn("added_files_count", "bigint", "Files that were added."),
        OutputColumn("changed_partition_count", "bigint", "Partitions that changed; NULL where Iceberg does not tell."),
    ),
    example="CALL iceberg.system.add_files('sales', 'orders', '`parquet`.`/data/orders`')",
    notes="The files belong to the table from then on: expiring snapshots may delete them.",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError: what Iceberg's procedure raises."""
    call.read()
    row = call_spark(call, "add_files", {name: call.arguments[name] for name in _PASSED_ON})[0]
    changed = row.get("changed_partition_count")
    return [[int(row["added_files_count"]), None if changed is None else int(changed)]]

"""``CALL catalog.system.add_files(schema, table_name, source_table, …)``, answered by Iceberg's own in Spark."""

from __future__ import annotations

from coordinator.connectors.iceberg.maintenance.parquet_folders import list_folder
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.procedures.source_tables import check_source
from coordinator.connectors.iceberg.procedures.table_procedure import TABLE_ARGUMENTS, Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from shared.errors import ErrorCode
from shared.spi.procedure import Argument, ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind

_PASSED_ON = ("source_table", "partition_filter", "check_duplicate_files", "parallelism")

DECLARATION = ProcedureDeclaration(
    name="add_files",
    kind=ProcedureKind.COORDINATOR,
    summary="Make files that exist already part of the table, without copying them.",
    arguments=(
        *TABLE_ARGUMENTS,
        Argument(
            "source_table",
            "varchar",
            "A folder as `parquet`.`path` (or orc, avro) in an allowed location.",
            required=True,
        ),
        Argument("partition_filter", "map(varchar,varchar)", "Only partitions with these values."),
        Argument("check_duplicate_files", "boolean", "Refuse files that the table has already; default: true."),
        Argument("parallelism", "integer", "Files that are read at the same time."),
        Argument("dry_run", "boolean", "Only list the files of the folder.", default=False),
    ),
    output=(
        OutputColumn("added_files_count", "bigint", "Files that were added."),
        OutputColumn("changed_partition_count", "bigint", "Partitions that changed; NULL where Iceberg does not tell."),
    ),
    dry_run_output=(
        OutputColumn("file_path", "varchar", "A file that would be added."),
        OutputColumn("partition", "varchar", "Its partition, as its folders say."),
        OutputColumn("file_size_in_bytes", "bigint", "Its size."),
        OutputColumn("is_duplicate", "boolean", "Whether the table has it already."),
    ),
    example="CALL iceberg.system.add_files('sales', 'orders', '`parquet`.`/data/orders`')",
    notes="The files belong to the table from then on: expiring snapshots may delete them.",
)


def answer(call: Call) -> Rows:
    """Raises ProcessionError: what Iceberg's procedure raises."""
    table = call.read()
    folder = check_source(call, call.arguments["source_table"], "source_table", table.location())
    if not call.arguments["dry_run"]:
        row = call_spark(call, "add_files", {name: call.arguments[name] for name in _PASSED_ON})[0]
        changed = row.get("changed_partition_count")
        return [[int(row["added_files_count"]), None if changed is None else int(changed)]]
    if folder is None:
        message = "A dry run can only look at folders, such as `parquet`.`/data/orders`"
        raise ArgumentError("source_table", message, ErrorCode.NOT_SUPPORTED)
    known = {file.key for file in read_live(table, table.current_snapshot(), statistics=False).data}
    wanted = (call.arguments["partition_filter"] or {}).items()
    return [
        (file.location, "/".join(f"{k}={v}" for k, v in file.partition), file.size, normalize(file.location) in known)
        for file in list_folder(call.catalog.file_io(folder[1]), folder[1])
        if wanted <= dict(file.partition).items()
    ]

"""``CALL catalog.system.add_files(schema, table_name, source_table, …)``, answered by Iceberg's own in Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.iceberg.maintenance.parquet_folders import list_folder
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.source_tables import check_source
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_PASSED_ON = ("source_table", "partition_filter", "check_duplicate_files", "parallelism")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    source_table: Annotated[
        str, Declared("varchar", "A folder as `parquet`.`path` (or orc, avro) in an allowed location.")
    ]
    partition_filter: Annotated[
        Mapping[str, str] | None, Declared("map(varchar,varchar)", "Only partitions with these values.")
    ] = None
    check_duplicate_files: Annotated[
        bool | None, Declared("boolean", "Refuse files that the table has already; default: true.")
    ] = None
    parallelism: Annotated[int | None, Declared("integer", "Files that are read at the same time.")] = None
    dry_run: Annotated[bool, Declared("boolean", "Only list the files of the folder.")] = False


DECLARATION = ProcedureDeclaration(
    name="add_files",
    kind=ProcedureKind.COORDINATOR,
    summary="Make files that exist already part of the table, without copying them.",
    arguments=declared_arguments(Arguments),
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


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError: what Iceberg's procedure raises."""
    table = call.read()
    folder = check_source(call, call.arguments.source_table, "source_table", table.location())
    if not call.arguments.dry_run:
        row = call_spark(call, "add_files", call.given(*_PASSED_ON))[0]
        changed = row.get("changed_partition_count")
        return [[int(row["added_files_count"]), None if changed is None else int(changed)]]
    if folder is None:
        message = "A dry run can only look at folders, such as `parquet`.`/data/orders`"
        raise ArgumentError("source_table", message, ErrorCode.NOT_SUPPORTED)
    known = {file.key for file in read_live(table, table.current_snapshot(), statistics=False).data}
    wanted = (call.arguments.partition_filter or {}).items()
    return [
        (file.location, _shown(file.partition), file.size, normalize(file.location) in known)
        for file in list_folder(call.catalog.file_io(folder[1]), folder[1])
        if wanted <= dict(file.partition).items()
    ]


def _shown(partition: tuple[tuple[str, str | None], ...]) -> str:
    return "/".join(f"{name}={'null' if value is None else value}" for name, value in partition)

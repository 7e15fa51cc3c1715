"""``CALL catalog.system.migrate(schema, table_name, source_table, properties, drop_backup, …)``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.iceberg.maintenance.shared_folders import refuse_held_of_new
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.importing import (
    FILES,
    DryRun,
    IgnoreMissingFiles,
    Parallelism,
    Properties,
    checked_properties,
    file_rows,
    look,
    make,
)
from coordinator.connectors.iceberg.procedures.source_tables import SPARK_CATALOG, find_source
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import run_spark
from coordinator.connectors.iceberg.spark_sql import quoted_path
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    source_table: Annotated[
        str | None,
        Declared(
            "varchar",
            "A folder as `parquet`.`path` in an allowed location, or a table of Spark's own catalog; default: the one "
            "of the same name.",
        ),
    ] = None
    properties: Properties = None
    drop_backup: Annotated[
        bool, Declared("boolean", "Remove Spark's table from its catalog instead of renaming it.")
    ] = False
    backup_table_name: Annotated[
        str | None, Declared("varchar", "What it is renamed to; default: <table_name>_BACKUP_.")
    ] = None
    parallelism: Parallelism = None
    ignore_missing_files: IgnoreMissingFiles = False
    dry_run: DryRun = False


DECLARATION = ProcedureDeclaration(
    name="migrate",
    kind=ProcedureKind.COORDINATOR,
    summary="Make an Iceberg table of a folder of Parquet files or a table of Spark, in its place.",
    arguments=declared_arguments(Arguments),
    output=(OutputColumn("migrated_files_count", "bigint", "Files that the table has."),),
    dry_run_output=FILES,
    iceberg_order=("properties", "drop_backup", "backup_table_name"),
    example="CALL iceberg.system.migrate(table => 'sales.orders', source_table => '`parquet`.`/data/orders`')",
    notes="No file is copied; the table's location is the source's folder, and its files belong to the table from then "
    "on: expiring snapshots may delete them. Partitions are told as snapshot tells them. A table that Spark manages is "
    "refused: renaming or dropping it would move or delete its files.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for a source without files or with files that do not fit, and a name that is taken."""
    properties = checked_properties(call.arguments.properties)
    named = call.arguments.source_table or f"{SPARK_CATALOG}.{call.schema}.{call.table}"
    source = find_source(call, named, "source_table" if call.arguments.source_table else "table_name")
    if source.managed:
        message = f"Cannot migrate {named}: Spark manages its files; snapshot it, or make it an external table"
        raise ArgumentError("source_table", message, ErrorCode.NOT_SUPPORTED)
    location = None if source.table else source.folder
    call.catalog.check_new_table(call.schema, location, properties)
    refuse_held_of_new(call.catalog, call.schema, call.table, location, properties)
    arguments = call.arguments
    parallelism, may_miss = arguments.parallelism, arguments.ignore_missing_files
    made = look(call, source, properties, parallelism=parallelism, may_miss=may_miss)
    if call.arguments.dry_run:
        return file_rows(made)
    properties = {"migrated": "true", **properties}
    folder = source.folder.rstrip("/")
    if source.table is None:
        return [[make(call, made, folder, properties)]]
    if call.arguments.drop_backup:
        count = make(call, made, folder, properties)
        run_spark(call, f"DROP TABLE {quoted_path(source.table)}", "forget the source of")
        return [[count]]
    backup = (*source.table[:-1], call.arguments.backup_table_name or f"{source.table[-1]}_BACKUP_")
    _rename(call, source.table, backup)
    try:
        return [[make(call, made, folder, properties)]]
    except BaseException:
        _rename(call, backup, source.table)
        raise


def _rename(call: Call[Arguments], old: Sequence[str], new: Sequence[str]) -> None:
    """So that nobody writes past Iceberg. Spark takes the new name without its catalog."""
    run_spark(call, f"ALTER TABLE {quoted_path(old)} RENAME TO {quoted_path(new[1:])}", "rename the source of")

"""``CALL catalog.system.snapshot(schema, table_name, source_table, location, properties, …)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.iceberg.maintenance.shared_folders import check_no_others_folder
from coordinator.connectors.iceberg.paths import normalize
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
from coordinator.connectors.iceberg.procedures.source_tables import find_source
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_SNAPSHOT = {"gc.enabled": "false", "snapshot": "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    source_table: Annotated[
        str,
        Declared("varchar", "A folder as `parquet`.`path` in an allowed location, or a table of Spark's own catalog."),
    ]
    location: Annotated[
        str | None, Declared("varchar", "Where the new table's own files go; default: the catalog's place for it.")
    ] = None
    properties: Properties = None
    parallelism: Parallelism = None
    ignore_missing_files: IgnoreMissingFiles = False
    dry_run: DryRun = False


DECLARATION = ProcedureDeclaration(
    name="snapshot",
    kind=ProcedureKind.COORDINATOR,
    summary="Make an Iceberg table over the files of another one, to try it out; the source stays as it is.",
    arguments=declared_arguments(Arguments),
    output=(OutputColumn("imported_files_count", "bigint", "Files that the table has."),),
    dry_run_output=FILES,
    iceberg_order=("source_table", "table", "location", "properties"),
    example="CALL iceberg.system.snapshot(table => 'sales.orders_try', source_table => '`parquet`.`/data/orders`')",
    notes="schema and table_name name the new table. Partitions are folders such as day=2026-11-01, of the type that "
    "all their values have: integer, bigint, date, else varchar. No file of the source is ever deleted through the "
    "new table (gc.enabled is false). Files with field ids, such as those of another Iceberg table, are refused.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for a source without files or with files that do not fit, and a name that is taken."""
    properties = checked_properties(call.arguments.properties)
    source = find_source(call, call.arguments.source_table, "source_table")
    location = call.arguments.location
    if location is not None and _inside(location, source.folder):
        message = (
            "The snapshot table location cannot be same as the source table location. This would mix snapshot table "
            "files with original table files."
        )
        raise ArgumentError("location", message)
    call.catalog.check_new_table(call.schema, location, properties)
    check_no_others_folder(call.catalog, location)
    arguments = call.arguments
    parallelism, may_miss = arguments.parallelism, arguments.ignore_missing_files
    made = look(call, source, properties, parallelism=parallelism, may_miss=may_miss)
    if call.arguments.dry_run:
        return file_rows(made)
    return [[make(call, made, location, {**_SNAPSHOT, **properties})]]


def _inside(location: str, folder: str) -> bool:
    return f"{normalize(location).rstrip('/')}/".startswith(f"{normalize(folder).rstrip('/')}/")

"""What snapshot and migrate have in common: looking at the source, the dry run, and making the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.maintenance.parquet_folders import list_folder, partition_types, read_footers
from coordinator.connectors.iceberg.maintenance.table_import import ImportedTable, imported_table, make_table
from coordinator.connectors.iceberg.partitions import partition_text
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.source_tables import Source
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import run_spark
from coordinator.connectors.iceberg.spark_sql import quoted_path
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureProgress
from shared.spi.procedure_arguments import Declared

Properties = Annotated[Mapping[str, str] | None, Declared("map(varchar,varchar)", "Properties of the new table.")]
Parallelism = Annotated[int | None, Declared("integer", "Files that are read at the same time; default: 8.")]
IgnoreMissingFiles = Annotated[bool, Declared("boolean", "Go on when files vanish meanwhile.")]
DryRun = Annotated[bool, Declared("boolean", "Only list the files.")]
FILES = (
    OutputColumn("file_path", "varchar", "A data file that the table would have."),
    OutputColumn("partition", "varchar", "Its partition as field=value/…."),
    OutputColumn("record_count", "bigint", "Its rows."),
    OutputColumn("file_size_in_bytes", "bigint", "Its size."),
)


def look(
    call: Call[TableArguments],
    source: Source,
    properties: Mapping[str, str],
    *,
    parallelism: int | None,
    may_miss: bool,
) -> ImportedTable:
    """Read every footer of the source; raises ProcessionError before anything is made."""
    if parallelism is not None and parallelism < 1:
        raise ArgumentError("parallelism", "Parallelism should be larger than 0")
    _check_free(call)

    def progress(done: int, total: int) -> None:
        call.context.check_cancelled()
        call.context.report(ProcedureProgress(done, total, "reading footers"))

    with mapped(source.folder):
        io = call.catalog.file_io(source.folder)
        listed = list_folder(io, source.folder)
        files = read_footers(io, listed, progress, parallelism=parallelism, may_miss=may_miss)
        made = imported_table(files, partition_types(listed), properties)
    if not may_miss:
        _check_complete(call, source, made)
    return made


def _check_complete(call: Call[TableArguments], source: Source, made: ImportedTable) -> None:
    """Partitions of a table of Spark may lie elsewhere, and folders may be none of its partitions."""
    if source.table is None:
        return
    query = f"SELECT count(*) AS n FROM {quoted_path(source.table)}"  # noqa: S608
    (row,) = run_spark(call, query, "count the source of")
    found = sum(file.record_count for file in made.files)
    if row["n"] != found:
        message = f"Table {'.'.join(source.table)} has {row['n']} rows and the files under its folder {found}"
        raise ArgumentError("source_table", message, ErrorCode.NOT_SUPPORTED)


def make(call: Call[TableArguments], made: ImportedTable, location: str | None, properties: dict[str, str]) -> int:
    """How many files the new table has; raises ProcessionError ALREADY_EXISTS and TRANSACTION_CONFLICT."""
    _check_free(call)
    call.context.check_cancelled()
    with mapped(f"{call.schema}.{call.table}"):
        make_table(call.catalog.client(), (*call.schema.split("."), call.table), made, location, properties)
    return len(made.files)


def _check_free(call: Call[TableArguments]) -> None:
    if not call.catalog.schema_exists(call.schema):
        raise ArgumentError("schema", f"Schema {call.schema} does not exist", ErrorCode.NOT_FOUND)
    if call.catalog.load(call.schema, call.table) is not None:
        message = f"Table {call.schema}.{call.table} already exists"
        raise ArgumentError("table_name", message, ErrorCode.ALREADY_EXISTS)


def file_rows(made: ImportedTable) -> Rows:
    """One row a file, for the dry run."""
    return [
        (f.file_path, partition_text(f, made.spec, made.schema), f.record_count, f.file_size_in_bytes)
        for f in made.files
    ]


def checked_properties(properties: Mapping[str, str] | None) -> dict[str, str]:
    """The argument ``properties``; raises ProcessionError for format version 3, which is an upgrade afterwards."""
    given = dict(properties or {})
    if given.get("format-version", "2") not in ("1", "2"):
        message = "The table is made as format version 2; upgrade_format_version raises it afterwards"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return given

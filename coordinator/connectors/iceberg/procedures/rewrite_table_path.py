"""``CALL catalog.system.rewrite_table_path(schema, table_name, source_prefix, target_prefix, …)`` through Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pyiceberg.manifest import DataFileContent
from pyiceberg.table import Table

from coordinator.connectors.iceberg.manifests.table_files import TableFile, referenced_files
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_PASSED_ON = ("source_prefix", "target_prefix", "start_version", "end_version", "staging_location", "create_file_list")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    source_prefix: Annotated[str, Declared("varchar", "Prefix that its paths have now.")]
    target_prefix: Annotated[str, Declared("varchar", "Prefix that they get.")]
    start_version: Annotated[str | None, Declared("varchar", "Metadata file to begin after; default: the first.")] = (
        None
    )
    end_version: Annotated[str | None, Declared("varchar", "Metadata file to end with; default: the current.")] = None
    staging_location: Annotated[
        str | None, Declared("varchar", "Where the copies are written; default: under the metadata location.")
    ] = None
    create_file_list: Annotated[
        bool | None, Declared("boolean", "Also write a list of what to copy where; default: true.")
    ] = None
    dry_run: Annotated[bool, Declared("boolean", "Only list the files with their new paths.")] = False


DECLARATION = ProcedureDeclaration(
    name="rewrite_table_path",
    kind=ProcedureKind.COORDINATOR,
    summary="Write copies of a table's metadata whose paths begin elsewhere, for copying the table there.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("latest_version", "varchar", "The newest metadata file of the copy."),
        OutputColumn("file_list_location", "varchar", "A CSV file of source and target paths."),
        OutputColumn("rewritten_manifest_file_paths_count", "integer", "Manifests whose paths were changed."),
        OutputColumn("rewritten_delete_file_paths_count", "integer", "Position delete files whose paths were changed."),
    ),
    dry_run_output=(
        OutputColumn("file_path", "varchar", "A file that the table refers to."),
        OutputColumn("target_path", "varchar", "Where its copy belongs."),
        OutputColumn("content", "varchar", "data, deletes, manifest, manifest_list, metadata or statistics."),
        OutputColumn("is_rewritten", "boolean", "Whether it holds paths, so that a changed copy is written for it."),
        OutputColumn("file_size_in_bytes", "bigint", "Its size; NULL where the metadata does not say."),
    ),
    example="CALL iceberg.system.rewrite_table_path('sales', 'orders', 's3://old/sales', 's3://new/sales')",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for an empty prefix, and what Iceberg's procedure raises."""
    for name, prefix in call.given("source_prefix", "target_prefix").items():
        if not prefix:
            raise ArgumentError(name, f"{name} is empty")
    table = call.read()
    if call.arguments.dry_run:
        return _listed(table, call)
    if call.arguments.staging_location:
        call.check_free_location("staging_location", call.arguments.staging_location, table.location())
    row = call_spark(call, "rewrite_table_path", call.given(*_PASSED_ON))[0]
    return [[row[column.name] for column in DECLARATION.output]]


def _listed(table: Table, call: Call[Arguments]) -> Rows:
    for name, version in call.given("start_version", "end_version").items():
        if version is not None:
            raise ArgumentError(name, "A dry run looks at all versions of the table", ErrorCode.NOT_SUPPORTED)
    source, target = call.arguments.source_prefix.rstrip("/"), call.arguments.target_prefix.rstrip("/")
    rows: dict[str, Sequence[object]] = {}
    for found in referenced_files(table):
        path = found.location
        if path != source and not path.startswith(f"{source}/"):
            raise ArgumentError("source_prefix", f"Path {path} does not start with {source}/")
        moved = f"{target}{path[len(source) :]}"
        rows.setdefault(path, (path, moved, found.role, _holds_paths(found), found.size))
    return list(rows.values())


def _holds_paths(found: TableFile) -> bool:
    if found.role in ("data", "statistics"):
        return False
    return found.file is None or found.file.content == DataFileContent.POSITION_DELETES

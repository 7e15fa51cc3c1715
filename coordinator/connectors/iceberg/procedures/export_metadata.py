"""``CALL catalog.system.export_metadata(schema, table_name, location)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table

from coordinator.connectors.iceberg.maintenance.listing import walk
from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.errors import ErrorCode
from shared.spi.procedure import (
    ArgumentError,
    OutputColumn,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureProgress,
)
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    location: Annotated[str, Declared("varchar", "The folder, in an allowed location.")]


DECLARATION = ProcedureDeclaration(
    name="export_metadata",
    kind=ProcedureKind.COORDINATOR,
    summary="Copy the metadata of a table, its manifest lists and its manifests into an empty folder.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("location", "varchar", "The folder."),
        OutputColumn("exported_files_count", "bigint", "Files that were copied."),
        OutputColumn("exported_bytes_count", "bigint", "Their bytes."),
    ),
    example="CALL iceberg.system.export_metadata('sales', 'orders', 's3://lake/exports/orders-2026-11-20')",
    notes="For looking at, or for keeping what a table was made of; the copies refer to the original files.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for a folder elsewhere or with files in it; a failed export leaves no file."""
    table = call.catalog.open(call.schema, call.table)
    folder = _folder(call, table)
    sources = [table.metadata_location]
    for snapshot in table.snapshots():
        sources.append(snapshot.manifest_list)
        sources += [manifest.manifest_path for manifest in manifests_of(table.io, snapshot)]
    sources = list(dict.fromkeys(sources))
    written: list[str] = []
    size = 0
    try:
        for number, source in enumerate(sources, start=1):
            call.context.check_cancelled()
            target = f"{folder}/{source.rpartition('/')[2]}"
            with table.io.new_input(source).open() as stream:
                data = stream.read()
            written.append(target)
            with table.io.new_output(target).create() as sink:
                sink.write(data)
            size += len(data)
            call.context.report(ProcedureProgress(number, len(sources), "copying metadata"))
    except BaseException:
        for target in written:
            table.io.delete(target)
        raise
    return [(folder, len(written), size)]


def _folder(call: Call[Arguments], table: Table) -> str:
    folder = call.check_free_location("location", str(call.arguments.location), table.location()).rstrip("/")
    if next(walk(table.io, folder), None) is not None:
        raise ArgumentError("location", f"The folder is not empty: {folder}", ErrorCode.ALREADY_EXISTS)
    return folder

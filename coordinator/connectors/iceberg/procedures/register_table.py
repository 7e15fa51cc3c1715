"""``CALL catalog.system.register_table(schema, table_name, metadata_location, metadata_file)``"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from coordinator.connectors.iceberg.maintenance.listing import walk
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.snapshots.changes import count
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_NUMBER = re.compile(r"(?:^|/)v?(\d+)(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    metadata_location: Annotated[
        str | None, Declared("varchar", "Folder of the table or of its metadata; its newest file is taken.")
    ] = None
    metadata_file: Annotated[
        str | None, Declared("varchar", "The metadata file: whole, or its name inside metadata_location.")
    ] = None


DECLARATION = ProcedureDeclaration(
    name="register_table",
    kind=ProcedureKind.COORDINATOR,
    summary="Make a table of the catalog from metadata that exists already.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("current_snapshot_id", "bigint", "Current snapshot of the table; NULL when it has none."),
        OutputColumn("total_records_count", "bigint", "Rows of its data files."),
        OutputColumn("total_data_files_count", "bigint", "Its data files."),
    ),
    iceberg_order=("metadata_file",),
    example="CALL iceberg.system.register_table(table => 'sales.orders', "
    "metadata_file => 's3://lake/sales/orders/metadata/00003-2f1c.metadata.json')",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError when the table exists already or the metadata cannot be read."""
    try:
        table = call.catalog.register(call.schema, call.table, _metadata_file(call), partial(_check_folder, call))
    except ProcessionError as error:
        if error.code in (ErrorCode.ICEBERG_MISSING_DATA, ErrorCode.ICEBERG_INVALID_METADATA):
            given = "metadata_file" if call.arguments.metadata_file else "metadata_location"
            raise ArgumentError(given, error.message, error.code) from error
        raise
    current = table.current_snapshot()
    if current is None:
        return [(None, None, None)]
    return [(current.snapshot_id, count(current, "total-records"), count(current, "total-data-files"))]


def _metadata_file(call: Call[Arguments]) -> str:
    folder, file = call.arguments.metadata_location, call.arguments.metadata_file
    if file is not None and not file:
        raise ArgumentError("metadata_file", "Cannot handle an empty argument metadata_file")
    if folder is None:
        if file is None:
            raise ArgumentError("metadata_file", "Either metadata_file or metadata_location must be provided")
        return call.check_free_location("metadata_file", str(file))
    base = call.check_free_location("metadata_location", str(folder)).rstrip("/")
    if not base.endswith("/metadata"):
        base = f"{base}/metadata"
    if file is not None:
        return call.check_free_location("metadata_file", str(file) if "/" in file else f"{base}/{file}")
    return _newest(call, base)


def _check_folder(call: Call[Arguments], location: str) -> None:
    """What the metadata says its folder is, which may be another than its own."""
    given = "metadata_location" if call.arguments.metadata_file is None else "metadata_file"
    call.check_free_location(given, location, location)


def _newest(call: Call[Arguments], folder: str) -> str:
    found = [
        (int(m[1]), f.location) for f in walk(call.catalog.file_io(folder), folder) if (m := _NUMBER.search(f.location))
    ]
    if not found:
        raise ArgumentError("metadata_location", f"No metadata file is in {folder}", ErrorCode.ICEBERG_INVALID_METADATA)
    return max(found)[1]

"""``CALL catalog.system.validate_files(schema, table_name, verbose, check_footers)``"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.manifest import FileFormat
from pyiceberg.table import Table

from coordinator.connectors.iceberg.maintenance.listing import sizes_of
from coordinator.connectors.iceberg.manifests.table_files import TableFile, referenced_files
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.spi.procedure import OutputColumn, ProcedureContext, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_BATCH = 10_000
_MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    verbose: Annotated[bool, Declared("boolean", "A row for every file, not only for those with a problem.")] = False
    check_footers: Annotated[bool, Declared("boolean", "Also read the Parquet footers and count rows.")] = False


DECLARATION = ProcedureDeclaration(
    name="validate_files",
    kind=ProcedureKind.COORDINATOR,
    summary="Look whether every file that a table refers to is in storage and as large as it should be.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("file_path", "varchar", "The file."),
        OutputColumn("content", "varchar", "data, deletes, manifest, manifest_list, metadata or statistics."),
        OutputColumn("is_live", "boolean", "Whether the current snapshot needs it."),
        OutputColumn("is_present_in_fs", "boolean", "Whether storage has it."),
        OutputColumn("fs_size", "bigint", "Bytes in storage."),
        OutputColumn("metadata_size", "bigint", "Bytes as the metadata says; NULL where it does not."),
        OutputColumn("problem", "varchar", "What is wrong; NULL when nothing is."),
    ),
    example="CALL iceberg.system.validate_files(table => 'sales.orders', check_footers => true)",
    notes=f"No rows: nothing is wrong. At most {_MOST_ROWS} rows. Old metadata files that were deleted on purpose "
    "(write.metadata.delete-after-commit.enabled) are not counted as missing. What a missing or broken manifest lists "
    "cannot be looked at.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError when storage cannot be asked."""
    table = call.read()
    rows = _rows(table, call.context, footers=call.arguments.check_footers)
    wanted = rows if call.arguments.verbose else (row for row in rows if row[-1] is not None)
    return list(islice(wanted, _MOST_ROWS))


def _rows(table: Table, context: ProcedureContext, *, footers: bool) -> Iterator[tuple[object, ...]]:
    seen: set[str] = set()
    files = (f for f in referenced_files(table, broken=True) if f.live or f.role != "metadata")
    while batch := list(islice(files, _BATCH)):
        context.check_cancelled()
        chosen: dict[str, TableFile] = {}
        for file in batch:
            key = normalize(file.location)
            if key not in seen:
                chosen[file.location] = file
                seen.add(key)
        for location, size in sizes_of(table.io, chosen):
            file = chosen[location]
            problem = _problem(table.io, file, size, footers=footers)
            yield location, file.role, file.live, size is not None, size, file.size, problem


def _problem(io: FileIO, file: TableFile, size: int | None, *, footers: bool) -> str | None:
    if size is None:
        return "missing"
    # DVs share a Puffin file, and v1 writers wrote no length for some manifests.
    if file.size and size != file.size:
        return f"has {size} bytes, not {file.size}"
    if file.broken is not None:
        return f"cannot be read: {file.broken}"
    if not footers or file.file is None or file.file.file_format != FileFormat.PARQUET:
        return None
    try:
        with io.new_input(file.location).open() as stream:
            rows = pq.ParquetFile(stream).metadata.num_rows
    except (pa.ArrowInvalid, OSError) as error:
        return f"footer cannot be read: {str(error).splitlines()[0]}"
    return None if rows == file.file.record_count else f"has {rows} rows, not {file.file.record_count}"

"""Kernel ``positions:run``: find the rows that equality deletes take out, and write them down as positions.

One file a data file: Parquet with ``file_path`` and ``pos``, or a Puffin file with a deletion vector, which also takes
over the positions that were deleted before. Source: Iceberg specification, "Position Delete Files" and "Deletion
Vectors".
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .deletes import Positions, read_positions
from .equality_rows import rows_taken_out
from .errors import writing
from .outputs import open_output
from .storage import normalize, open_new, resolve
from .tasks import Input, Output, PositionFile, PositionFiles, PositionsTask, WriteTask
from .vector_blob import puffin_with
from .wire import decode, encode

_SCHEMA = pa.schema(
    [
        # Stored as text; here a path takes a byte a row, not its length.
        pa.field(
            "file_path",
            pa.dictionary(pa.int8(), pa.string()),
            nullable=False,
            metadata={b"PARQUET:field_id": b"2147483546"},
        ),
        pa.field("pos", pa.int64(), nullable=False, metadata={b"PARQUET:field_id": b"2147483545"}),
    ]
)


def run(payload: bytes) -> bytes:
    """The PositionFiles of a PositionsTask, whose WriteTask has no fields; raises KernelError."""
    asked = decode(PositionsTask, payload)
    task = asked.task
    written: list[PositionFile] = []
    try:
        wanted = {normalize(item.path) for item in task.inputs if item.positions}
        known = read_positions(task.position_deletes, wanted, task.storage)
        for number, (item, rows) in enumerate(zip(task.inputs, rows_taken_out(task), strict=True)):
            name = normalize(item.path)
            before = [known[i][name] for i in item.positions if name in known[i]]
            found = np.setdiff1d(rows, np.concatenate([np.zeros(0, np.int64), *before]))
            if len(found):
                written.append(_write(task, item, number, found, before, vectors=asked.vectors))
    except BaseException:
        _discard([file.path for file in written], task.storage)
        raise
    finally:
        pa.default_memory_pool().release_unused()
    return encode(PositionFiles(written))


def _write(
    task: WriteTask, item: Input, number: int, found: Positions, before: Sequence[Positions], *, vectors: bool
) -> PositionFile:
    output = replace(task.output, name=f"{task.output.name}-{number}")
    positions = np.unique(np.concatenate([found, *before])) if vectors else found
    return replace(
        write_positions(output, task.storage, item.path, positions, vectors=vectors), deleted_rows=len(found)
    )


def write_positions(
    output: Output, storage: Mapping[str, str], data_file: str, positions: Positions, *, vectors: bool
) -> PositionFile:
    """A delete file about one data file: Parquet, or a Puffin file with a deletion vector. Raises KernelError."""
    write = _write_puffin if vectors else _write_parquet
    return write(output, storage, data_file, positions)


def _write_parquet(output: Output, storage: Mapping[str, str], data_file: str, positions: Positions) -> PositionFile:
    paths = pa.DictionaryArray.from_arrays(np.zeros(len(positions), np.int8), [data_file])
    table = pa.table([paths, pa.array(positions)], schema=_SCHEMA)
    location, sink = open_output(output, storage)
    try:
        with writing(location), sink:
            pq.write_table(table, sink, **_options(output))
            size = sink.tell()
    except BaseException:
        _discard([location], storage)
        raise
    rows = len(positions)
    return PositionFile(data_file, rows, rows, location, size, bounds=(int(positions[0]), int(positions[-1])))


def _options(output: Output) -> dict[str, Any]:
    return {
        "compression": None if output.codec in ("none", "uncompressed") else output.codec,
        "compression_level": output.level,
        "data_page_size": output.page_bytes,
        "data_page_version": output.page_version,
        "dictionary_pagesize_limit": output.dictionary_bytes,
        "max_rows_per_page": output.page_rows,
        "store_schema": False,
    }


def _write_puffin(output: Output, storage: Mapping[str, str], data_file: str, positions: Positions) -> PositionFile:
    location = f"{output.directory}/{output.name}-{secrets.token_hex(4)}.puffin"
    data, offset, length = puffin_with(positions, data_file)
    try:
        with writing(location), open_new(location, storage) as sink:
            sink.write(data)
    except BaseException:
        _discard([location], storage)
        raise
    rows = len(positions)
    return PositionFile(data_file, rows, rows, location, len(data), offset=offset, length=length)


def _discard(locations: Sequence[str], storage: Mapping[str, str]) -> None:
    """Best effort: the coordinator sweeps by name as well."""
    for location in locations:
        filesystem, path = resolve(location, storage)
        try:
            filesystem.delete_file(path)
        except OSError:
            continue

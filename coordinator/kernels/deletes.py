"""Deleted rows of data files: position deletes and equality deletes, read once a task and applied to whole batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .deletion_vectors import read_vector
from .errors import reading
from .fetching import side_by_side
from .key_sets import RowSet
from .keys import plain_array
from .row_groups_needed import Range
from .schema import FieldJson, aligner, arrow_type, field_id
from .storage import normalize, resolve
from .tasks import DeleteFile

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_BATCH_ROWS = 131_072


def read_positions(
    files: Sequence[DeleteFile], wanted: Iterable[str], storage: Mapping[str, str]
) -> list[dict[str, Positions]]:
    """Per delete file: the deleted positions of each data file of ``wanted`` (normalized paths), sorted."""
    names = set(wanted)
    return side_by_side(lambda file: _positions_of(file, names, storage), files, lambda file: file.path)


def _positions_of(file: DeleteFile, wanted: set[str], storage: Mapping[str, str]) -> dict[str, Positions]:
    if file.offset is not None:
        name = normalize(file.data_file)
        return {name: read_vector(file, storage)} if name in wanted else {}
    found: dict[str, list[Positions]] = {}
    with reading(file.path):
        filesystem, path = resolve(file.path, storage)
        with filesystem.open_input_file(path) as source:
            reader = pq.ParquetFile(source, read_dictionary=["file_path"], pre_buffer=False, buffer_size=1 << 20)
            for batch in reader.iter_batches(_BATCH_ROWS, columns=["file_path", "pos"], use_threads=False):
                _collect(batch, wanted, found)
    return {path: np.sort(np.concatenate(parts)) for path, parts in found.items()}


def _collect(batch: pa.RecordBatch, wanted: set[str], found: dict[str, list[Positions]]) -> None:
    paths = batch.column(0)
    codes = paths.indices.to_numpy(zero_copy_only=False)
    positions = batch.column(1).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    for code, name in enumerate(paths.dictionary.to_pylist()):
        normalized = normalize(name)
        if normalized in wanted:
            found.setdefault(normalized, []).append(positions[codes == code])


def keep_mask(deleted: Positions, start: int, length: int) -> Mask | None:
    """Which of ``length`` rows from position ``start`` on are kept; None when all are."""
    low, high = np.searchsorted(deleted, (start, start + length))
    if low == high:
        return None
    keep = np.ones(length, dtype=np.bool_)
    keep[deleted[low:high] - start] = False
    return keep


class EqualityDeletes:
    """The union of some equality delete files over the same columns, each key with a level (its least one)."""

    def __init__(self, fields: Sequence[FieldJson], keys: Any, levels: npt.NDArray[np.int64]) -> None:
        self.ids = tuple(field["id"] for field in fields)
        self.ranges = {
            number: [found] for number, c in zip(self.ids, keys.columns, strict=True) if (found := _range(c))
        }
        self._keys, numbers = RowSet.of([plain_array(keys.column(i)) for i in range(keys.num_columns)])
        self._levels: npt.NDArray[np.int64] | None = None
        if levels.any():
            # The last one written counts: the least level of each key.
            order = np.argsort(-levels, kind="stable")
            self._levels = np.zeros(int(numbers.max()) + 1, np.int64)
            self._levels[numbers[order]] = levels[order]

    def keep_mask(self, columns: Sequence[pa.Array], level: int = 0) -> Mask | None:
        """Which rows of ``columns`` (arrays in the order of ``ids``) are kept by keys up to ``level``; None: all."""
        codes = self._keys.codes([plain_array(column) for column in columns])
        keep: Mask = codes < 0
        if self._levels is not None:
            keep |= self._levels[np.maximum(codes, 0)] > level
        return None if bool(keep.all()) else keep


def _range(keys: pa.ChunkedArray) -> Range | None:
    """The least and the greatest key of a column; None for those with NULL, and of types without such an order."""
    types = pa.types
    if keys.null_count or not (types.is_integer(keys.type) or types.is_string(keys.type) or types.is_date32(keys.type)):
        return None
    found = pc.min_max(keys)
    return (found["min"].as_py(), found["max"].as_py()) if len(keys) else None


def read_keys(file: DeleteFile, storage: Mapping[str, str]) -> Any:
    """The deleted keys of one equality delete file as a table of its fields' current types."""
    (table,) = key_batches(file, storage, 1 << 62)
    return table


def stored_bytes(file: DeleteFile, storage: Mapping[str, str]) -> int:
    """What the keys of an equality delete file take uncompressed, about."""
    with reading(file.path):
        filesystem, path = resolve(file.path, storage)
        with filesystem.open_input_file(path) as source:
            metadata = pq.read_metadata(source)
    return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


def key_batches(file: DeleteFile, storage: Mapping[str, str], most: int) -> Iterator[Any]:
    """The deleted keys in tables of at most ``most`` rows."""
    with reading(file.path):
        filesystem, path = resolve(file.path, storage)
        with filesystem.open_input_file(path) as source:
            parquet = pq.ParquetFile(source, pre_buffer=False)
            if parquet.metadata.num_rows <= most:
                yield _keys(parquet.read(use_threads=False), file)
                return
            for batch in parquet.iter_batches(most, use_threads=False):
                yield _keys(pa.Table.from_batches([batch]), file)


def _keys(table: pa.Table, file: DeleteFile) -> pa.Table:
    by_id = {field_id(field): i for i, field in enumerate(table.schema)}
    arrays = []
    for field in file.fields:
        index = by_id.get(field["id"])
        if index is None:
            arrays.append(pa.nulls(table.num_rows, arrow_type(field["type"])))
            continue
        align = aligner(table.schema.field(index), field)
        column = table.column(index).combine_chunks()
        chunk = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
        arrays.append(align(chunk) if align else chunk)
    return pa.table(arrays, names=[str(field["id"]) for field in file.fields])

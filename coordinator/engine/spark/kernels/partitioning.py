"""Kernel ``partitioning:scatter``: rows of data files into a scratch file, apart by partition of another spec.

``sorting:gather`` makes data files of the pieces, one partition a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .key_ranges import Ranges, unpacked
from .keys import plain_array
from .rewrite import dictionaries
from .sorting import KEY, Scratch, compact, runs
from .tasks import WriteTask, write_task_of
from .transforms import transformed


def scatter(payload: bytes) -> bytes:
    """``{"task", "partition": [{"id", "transform"}], "order", "samples", "compression"}``.

    Answers with partitions (``values`` as JSON: numbers, days, microseconds, text of decimals, hex of bytes) and pieces
    ``[partition, offset, length, rows, bytes]``.
    """
    raw = json.loads(payload)
    task = write_task_of(raw["task"])
    try:
        return json.dumps(_scatter(task, raw)).encode()
    finally:
        pa.default_memory_pool().release_unused()


def _scatter(task: WriteTask, raw: Mapping[str, Any]) -> dict[str, Any]:
    order = raw["order"]
    curve = Ranges(order, unpacked(raw["samples"]), 1) if order is not None and order.get("curve") else None
    scratch = Scratch(task, raw["compression"])
    known: dict[str, int] = {}
    pieces: list[list[int]] = []
    read = 0
    try:
        for run, rows in runs(task):
            read += rows
            if run is not None:
                pieces += _spread(run, raw["partition"], curve, known, scratch, task)
        path = scratch.close()
    except BaseException:
        scratch.discard()
        raise
    values = [json.loads(text) for text in known]
    worth, _ = dictionaries(task)
    return {
        "tag": task.tag,
        "path": path,
        "read_rows": read,
        "pieces": pieces,
        "values": values,
        "worth": sorted(worth),
    }


def _spread(
    run: Any,
    partition: Sequence[Mapping[str, Any]],
    curve: Ranges | None,
    known: dict[str, int],
    scratch: Scratch,
    task: WriteTask,
) -> list[list[int]]:
    place = {field["id"]: i for i, field in enumerate(task.fields)}
    columns = [
        _encoded(transformed(plain_array(run.column(place[field["id"]])), field["transform"])) for field in partition
    ]
    codes, firsts = _codes([column.indices.to_numpy() for column in columns])
    arrays = run.columns
    names = [field["name"] for field in task.fields]
    if curve is not None:
        _, keys = curve.of([run.column(place[column.id]) for column in curve.columns])
        arrays, names = [*arrays, pa.chunked_array([pa.array(keys)])], [*names, KEY]
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(firsts)))
    taken = [column.combine_chunks().take(pa.array(order)) for column in arrays]
    pieces = []
    for number, first in enumerate(firsts):
        start = int(ends[number - 1]) if number else 0
        rows = int(ends[number]) - start
        text = json.dumps([_value(column.dictionary[column.indices[int(first)].as_py()]) for column in columns])
        batch = pa.RecordBatch.from_arrays([compact(_one(array).slice(start, rows)) for array in taken], names=names)
        offset, length = scratch.write(batch)
        pieces.append([known.setdefault(text, len(known)), offset, length, rows, batch.nbytes])
    return pieces


def _encoded(array: Any) -> Any:
    """Places among the distinct values, NULL being one of them."""
    return _one(array).dictionary_encode(null_encoding="encode")


def _one(array: Any) -> Any:
    if not isinstance(array, pa.ChunkedArray):
        return array
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()


def _codes(
    columns: Sequence[npt.NDArray[np.int32]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """A number for each row, the same for the same values in all columns, and the first row of each number."""
    codes: npt.NDArray[np.int64] = np.zeros(len(columns[0]), np.int64)
    firsts: npt.NDArray[np.int64] = np.zeros(1, np.int64)
    for column in columns:
        pairs = codes * (int(column.max(initial=0)) + 1) + column
        _, firsts, codes = np.unique(pairs, return_index=True, return_inverse=True)
    return codes, firsts


def _value(scalar: Any) -> Any:
    kind = scalar.type
    if not scalar.is_valid or pa.types.is_null(kind):
        return None
    if pa.types.is_date(kind):
        return scalar.cast(pa.int32()).as_py()
    if pa.types.is_temporal(kind):
        return scalar.cast(pa.int64()).as_py()
    value = scalar.as_py()
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if pa.types.is_decimal(kind) else value

"""Kernel ``partitioning:scatter``: rows of data files into a scratch file, apart by partition of another spec.

``sorting:gather`` makes data files of the pieces, one partition a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .key_ranges import Ranges, unpacked
from .keys import plain_array
from .scratch import Scratch, scattered, whole_array
from .sort_tasks import PartitionColumn, Piece, SpreadTask
from .transforms import transformed
from .wire import decode, encode


def scatter(payload: bytes) -> bytes:
    """The Spread of a SpreadTask, by the values of its partition columns."""
    task = decode(SpreadTask, payload)
    order = task.order
    curve = Ranges(order, unpacked(task.samples), 1) if order is not None and order.curve else None
    place = {field["id"]: i for i, field in enumerate(task.task.fields)}
    known: dict[str, int] = {}

    def spread(run: pa.Table, scratch: Scratch) -> list[Piece]:
        numbers, texts = _partitions(run, task.partition, place)
        keys = None if curve is None else curve.of([run.column(place[column.id]) for column in curve.columns])[1]
        pieces = scratch.write_pieces(run, numbers, len(texts), keys)
        return [replace(piece, number=known.setdefault(texts[piece.number], len(known))) for piece in pieces]

    found = scattered(task, spread)
    return encode(replace(found, values=[json.loads(text) for text in known]))


def _partitions(
    run: pa.Table, partition: Sequence[PartitionColumn], place: Mapping[int, int]
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """The number of each row's partition in this run, and the values of each partition as JSON."""
    columns = [
        _encoded(transformed(plain_array(run.column(place[column.id])), column.transform)) for column in partition
    ]
    codes, firsts = _codes([column.indices.to_numpy() for column in columns])
    return codes, [
        json.dumps([_value(column.dictionary[column.indices[int(first)].as_py()]) for column in columns])
        for first in firsts
    ]


def _encoded(array: pa.Array | pa.ChunkedArray) -> Any:
    """Places among the distinct values, NULL being one of them."""
    return whole_array(array).dictionary_encode(null_encoding="encode")


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


def _value(scalar: pa.Scalar) -> object:
    type_ = scalar.type
    if not scalar.is_valid or pa.types.is_null(type_):
        return None
    if pa.types.is_date(type_):
        return scalar.cast(pa.int32()).as_py()
    if pa.types.is_temporal(type_):
        return scalar.cast(pa.int64()).as_py()
    value = scalar.as_py()
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if pa.types.is_decimal(type_) else value

"""Kernel ``scan_part:batches``: part of a table's scan as Arrow batches, for a Spark that reads no files by itself.

A row group costs Spark's reader its bytes and all its dictionaries on the heap, however few rows are wanted at a time;
here it is streamed, beside the heap.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

import pyarrow as pa

from .errors import reading
from .file_scan import FileScan, scan_batches
from .row_groups_needed import Ranges, footer_of, with_needed_groups
from .tasks import Input, WriteTask, with_inputs
from .wire import decode, encode

_PART_BYTES, _LEAST_PART_BYTES = 128 << 20, 8 << 20
_PIECE_BYTES, _PIECE_ROWS = 8 << 20, 10_000
"""Of a batch: Spark has a few of them in memory at a time."""


@dataclass(frozen=True, slots=True)
class ScanPart:
    """Some inputs of a scan, the ``share``-th of ``shares`` equal parts of their row groups.

    ``schema`` is as Arrow writes it, ``ranges`` are those of the scan as JSON.
    """

    task: WriteTask
    schema: bytes
    ranges: str
    share: int = 0
    shares: int = 1


def parts_of(scan: FileScan, parallelism: int) -> list[bytes]:
    """The scan in parts, each for a task of its own, as bytes."""
    common = scan.schema.serialize().to_pybytes(), json.dumps(scan.ranges, default=_day)
    total = sum(item.size for item in scan.task.inputs)
    most = min(_PART_BYTES, max(_LEAST_PART_BYTES, total // max(1, 2 * parallelism)))
    parts, waiting, size = [], list[Input](), 0
    for item in scan.task.inputs:
        if item.size > most:
            shares = -(-item.size // most)
            alone = with_inputs(scan.task, [item])
            parts += [ScanPart(alone, *common, share, shares) for share in range(shares)]
            continue
        if waiting and size + item.size > most:
            parts.append(ScanPart(with_inputs(scan.task, waiting), *common))
            waiting, size = [], 0
        waiting.append(item)
        size += item.size
    if waiting:
        parts.append(ScanPart(with_inputs(scan.task, waiting), *common))
    return [encode(part) for part in parts]


def batches(payload: bytes) -> Iterator[pa.RecordBatch]:
    """The rows of a part that no delete file takes away; raises KernelError while it is read."""
    part = decode(ScanPart, payload)
    task = with_needed_groups(part.task, _ranges(part.ranges))
    if part.shares > 1:
        task = replace(task, inputs=[found for item in task.inputs for found in _share(item, part)])
    schema = pa.ipc.read_schema(pa.py_buffer(part.schema))
    try:
        for batch in scan_batches(FileScan(task, schema, 0)):
            rows = max(1, min(_PIECE_ROWS, _PIECE_BYTES * batch.num_rows // max(1, batch.nbytes)))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
    finally:
        pa.default_memory_pool().release_unused()


def _share(item: Input, part: ScanPart) -> list[Input]:
    with reading(item.path):
        count = footer_of(item, part.task.storage).num_row_groups
    begin, end = item.groups or (0, count)
    first, last = max(begin, count * part.share // part.shares), min(end, count * (part.share + 1) // part.shares)
    return [replace(item, groups=(first, last))] if first < last else []


def _day(value: object) -> dict[str, str]:
    assert isinstance(value, date)
    return {"date": value.isoformat()}


def _ranges(text: str) -> Ranges:
    found = json.loads(text, object_hook=lambda o: date.fromisoformat(o["date"]) if "date" in o else o)
    return {int(number): [(least, greatest) for least, greatest in several] for number, several in found.items()}

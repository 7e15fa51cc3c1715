"""The rows that equality deletes take out of data files, found in the compared columns alone and kept.

Neither a data file nor a delete file ever changes, so that which rows one takes out of the other is found once. A
delete file that comes in later, as streams of changes bring them, is looked at alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .cache import TAKEN_OUT, Bits, TakenOut
from .deletes import Positions
from .equality import Applied, EqualityCache, deleted_rows
from .errors import reading
from .reader import FileReader
from .row_groups_needed import footer_of, needed_parts
from .schema import FieldJson
from .storage import is_local
from .tasks import DeleteFile, Input, WriteTask, with_inputs

_REQUESTS = 8
"""Files of object stores that are read at once."""
_NOTHING = TakenOut(frozenset(), np.zeros(0, np.uint8))


class _Wanted(NamedTuple):
    """The equality deletes of a file by name, and the number that the task has for each."""

    deletes: frozenset[str]
    numbers: dict[str, int]


def known_files(task: WriteTask, items: Sequence[Input]) -> list[bool]:
    """Of which files it is known already what their equality deletes take out."""
    asked = zip(items, _wanted(task, items), strict=True)
    return [_kept(item, wanted.deletes).deletes == wanted.deletes for item, wanted in asked]


def bits_taken_out(task: WriteTask, items: Sequence[Input], threads: int = 1) -> list[Bits]:
    """For each of some whole files of ``task``: its rows as bits, the first one highest, set where they go.

    There are no bits where no row goes. Raises KernelError.
    """
    wanted = _wanted(task, items)
    known = [_kept(item, each.deletes) for item, each in zip(items, wanted, strict=True)]
    unseen = [
        replace(item, equality=[number for name, number in each.numbers.items() if name not in found.deletes])
        for item, each, found in zip(items, wanted, known, strict=True)
    ]
    needed = [number for number, item in enumerate(unseen) if item.equality]
    rows = list(rows_taken_out(with_inputs(task, [unseen[number] for number in needed]), threads)) if needed else []
    for number, positions in zip(needed, rows, strict=True):
        item = items[number]
        bits = _marked(known[number].bits, positions, int(footer_of(item, task.storage).num_rows))
        known[number] = TakenOut(wanted[number].deletes, bits)
        TAKEN_OUT.put(item.path, item.size, known[number])
    return [found.bits for found in known]


def rows_taken_out(task: WriteTask, threads: int = 1) -> Iterator[Positions]:
    """The positions of the rows of each input that its equality deletes take out, sorted. Raises KernelError."""
    bare = replace(task, fields=[])
    passed = deleted_rows(bare)
    if passed is not None:
        yield from passed
        return
    cache = EqualityCache(bare)
    fields = cache.extra_fields()
    applied = [cache.of(item.equality) for item in task.inputs]

    def found(number: int) -> Positions:
        parts = [_rows_of(task, task.inputs[number], fields, deletes) for deletes in applied[number]]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))

    try:
        at_once = threads if all(is_local(item.path) for item in task.inputs) else max(threads, _REQUESTS)
        if threads == 1:
            yield from map(found, range(len(task.inputs)))
        else:
            with ThreadPoolExecutor(at_once) as pool:
                yield from pool.map(found, range(len(task.inputs)))
    finally:
        pa.default_memory_pool().release_unused()


def _rows_of(task: WriteTask, item: Input, fields: Sequence[FieldJson], deletes: Applied) -> Positions:
    """By deletes over the same columns, in the row groups that may hold such keys."""
    found = [np.zeros(0, np.int64)]
    compared = [field for field in fields if field["id"] in deletes.ids]
    for part in needed_parts(item, task, deletes.ranges):
        with reading(part.path), FileReader(part, task.storage, ()) as reader:
            found.append(reader.deleted(compared, task.name_mapping, [deletes]))
    return np.concatenate(found)


def _wanted(task: WriteTask, items: Sequence[Input]) -> list[_Wanted]:
    """What applies to each file: one record for all files that have the same."""
    names = [_name(delete) for delete in task.equality_deletes]
    known: dict[tuple[object, ...], _Wanted] = {}
    found = []
    for item in items:
        compared = {str(field["id"]) for n in item.equality for field in task.equality_deletes[n].fields}
        constants = json.dumps({number: value for number, value in item.constants.items() if number in compared})
        key = (*item.equality, constants)
        if key not in known:
            numbers = {sys.intern(f"{names[number]} {constants}"): number for number in item.equality}
            known[key] = _Wanted(frozenset(numbers), numbers)
        found.append(known[key])
    return found


def _name(delete: DeleteFile) -> str:
    """With what a table says of the compared columns: another table, of anybody's, may name the same file."""
    return f"{delete.path} {json.dumps(delete.fields, sort_keys=True)}"


def _kept(item: Input, deletes: frozenset[str]) -> TakenOut:
    """What is known of a data file, none of it by deletes that do not apply to it now."""
    known = TAKEN_OUT.get(item.path, item.size)
    return _NOTHING if known is None or not known.deletes <= deletes else known


def _marked(bits: Bits, rows: Positions, count: int) -> Bits:
    """``bits`` with further rows of a file that has ``count``."""
    if not len(rows):
        return bits
    marked = np.zeros(count, np.bool_)
    marked[rows] = True
    found = np.packbits(marked)
    return found | bits if len(bits) else found

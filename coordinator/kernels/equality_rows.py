"""The rows that equality deletes take out of data files, found in the compared columns alone and kept.

Neither a data file nor a delete file ever changes, so that which rows one takes out of the other is found once. A
delete file that comes in later, as streams of changes bring them, is looked at alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa

from .cache import TAKEN_OUT, Bits, TakenOut
from .deletes import Positions
from .equality import EqualityCache, deleted_rows
from .errors import reading
from .reader import FileReader
from .row_groups_needed import footer_of
from .storage import is_local
from .tasks import Input, WriteTask, with_inputs

_REQUESTS = 8
"""Files of object stores that are read at once."""
_NOTHING = TakenOut(frozenset(), np.zeros(0, np.uint8))


def known_files(task: WriteTask, items: Sequence[Input]) -> list[bool]:
    """Of which files it is known already what their equality deletes take out."""
    wanted = _deletes(task, items)
    return [_kept(item, deletes).deletes == deletes for item, deletes in zip(items, wanted, strict=True)]


def bits_taken_out(task: WriteTask, items: Sequence[Input], threads: int = 1) -> list[Bits]:
    """For each of some whole files of ``task``: its rows as bits, the first one highest, set where they go.

    There are no bits where no row goes. Raises KernelError.
    """
    wanted = _deletes(task, items)
    known = [_kept(item, deletes) for item, deletes in zip(items, wanted, strict=True)]
    unseen = [_without(task, item, found.deletes) for item, found in zip(items, known, strict=True)]
    needed = [number for number, item in enumerate(unseen) if item.equality]
    rows = list(rows_taken_out(with_inputs(task, [unseen[number] for number in needed]), threads)) if needed else []
    for number, positions in zip(needed, rows, strict=True):
        item = items[number]
        bits = _marked(known[number].bits, positions, int(footer_of(item, task.storage).num_rows))
        known[number] = TakenOut(wanted[number], bits)
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
        item = task.inputs[number]
        if not applied[number]:
            return np.zeros(0, np.int64)
        with reading(item.path), FileReader(item, task.storage, ()) as reader:
            return np.unique(reader.deleted(fields, task.name_mapping, applied[number]))

    try:
        at_once = threads if all(is_local(item.path) for item in task.inputs) else max(threads, _REQUESTS)
        if threads == 1:
            yield from map(found, range(len(task.inputs)))
        else:
            with ThreadPoolExecutor(at_once) as pool:
                yield from pool.map(found, range(len(task.inputs)))
    finally:
        pa.default_memory_pool().release_unused()


def _deletes(task: WriteTask, items: Sequence[Input]) -> list[frozenset[str]]:
    """The paths of each file's equality deletes: one set for all files that have the same."""
    paths = [sys.intern(delete.path) for delete in task.equality_deletes]
    known: dict[tuple[int, ...], frozenset[str]] = {}
    for item in items:
        numbers = tuple(item.equality)
        if numbers not in known:
            known[numbers] = frozenset(paths[number] for number in numbers)
    return [known[tuple(item.equality)] for item in items]


def _kept(item: Input, deletes: frozenset[str]) -> TakenOut:
    """What is known of a data file, none of it by deletes that do not apply to it now."""
    known = TAKEN_OUT.get(item.path, item.size)
    return _NOTHING if known is None or not known.deletes <= deletes else known


def _without(task: WriteTask, item: Input, known: frozenset[str]) -> Input:
    left = [number for number in item.equality if task.equality_deletes[number].path not in known]
    return replace(item, equality=left)


def _marked(bits: Bits, rows: Positions, count: int) -> Bits:
    """``bits`` with further rows of a file that has ``count``."""
    if not len(rows):
        return bits
    marked = np.zeros(count, np.bool_)
    marked[rows] = True
    found = np.packbits(marked)
    return found | bits if len(bits) else found

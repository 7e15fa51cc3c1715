"""The equality deletes of a task, each key held once, whatever the number of data files that they apply to.

An older data file meets the deletes of a younger one and more: deletes over the same columns are then one set of keys
with levels, and a data file looks at the keys up to its level. With more keys than memory should hold, the deleted
rows are found in several passes over the compared columns alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .deletes import EqualityDeletes, Mask, Positions, key_batches, read_keys, stored_bytes
from .errors import reading
from .fetching import side_by_side
from .reader import FileReader
from .row_groups_needed import Ranges
from .schema import FieldJson
from .tasks import Input, WriteTask

MEMORY_BYTES = 420 << 20
"""What deleted keys take at a time while they are made ready."""
_KEY_BYTES, _COPIES = 90, 6
"""What a key takes besides its values, and how often the values are there; measured with numbers and text."""
_FEW_KEYS = 50_000
"""However long they are, they fit."""

Keyed = tuple[int, Any]
"""The number of a delete file, and keys of it as a table."""


@dataclass(frozen=True, slots=True)
class Applied:
    """Deletes as they apply to one data file: of keys up to ``level``."""

    deletes: EqualityDeletes
    level: int

    @property
    def ids(self) -> tuple[int, ...]:
        return self.deletes.ids

    @property
    def ranges(self) -> Ranges:
        """By compared column, within which values the keys of any level are; nothing where that is not known."""
        return self.deletes.ranges

    def keep_mask(self, columns: Sequence[pa.Array]) -> Mask | None:
        """Which rows of ``columns`` (arrays in the order of ``ids``) are kept; None when all are."""
        return self.deletes.keep_mask(columns, self.level)


@dataclass(frozen=True, slots=True)
class _Set:
    """Delete files over the same columns, in the order of their levels; ``levels`` are those of data files."""

    files: tuple[int, ...]
    file_levels: tuple[int, ...]
    levels: dict[frozenset[int], int]


class EqualityCache:
    """The equality deletes of a task, read when a data file first needs them."""

    def __init__(self, task: WriteTask, keys: Sequence[Keyed] | None = None) -> None:
        self._task = task
        self._keys = keys
        self._sets = _sets(task, None if keys is None else {number for number, _ in keys})
        self._read: dict[int, EqualityDeletes] = {}

    def extra_fields(self) -> list[FieldJson]:
        """Columns that deletes compare and the table no longer has."""
        known = {field["id"] for field in self._task.fields}
        files = self._task.equality_deletes
        return list({f["id"]: f for file in files for f in file.fields if f["id"] not in known}.values())

    def of(self, indices: Sequence[int]) -> list[Applied]:
        """The deletes of the given files."""
        wanted = frozenset(indices)
        found = []
        for number, part in enumerate(self._sets):
            level = part.levels.get(wanted.intersection(part.files))
            if level is not None:
                found.append(Applied(self._deletes(number), level))
        return found

    def _deletes(self, number: int) -> EqualityDeletes:
        if number not in self._read:
            part = self._sets[number]
            level_of = dict(zip(part.files, part.file_levels, strict=True))
            pairs = [(level_of[n], table) for n, table in self._tables(part.files)]
            levels = np.concatenate([np.full(table.num_rows, level, np.int64) for level, table in pairs])
            fields = self._task.equality_deletes[part.files[0]].fields
            self._read[number] = EqualityDeletes(fields, pa.concat_tables([table for _, table in pairs]), levels)
        return self._read[number]

    def _tables(self, files: Sequence[int]) -> list[Keyed]:
        if self._keys is not None:
            return [(number, table) for number, table in self._keys if number in files]
        deletes = [self._task.equality_deletes[n] for n in files]
        tables = side_by_side(lambda f: read_keys(f, self._task.storage), deletes, lambda f: f.path)
        return list(zip(files, tables, strict=True))


def _sets(task: WriteTask, only: set[int] | None) -> list[_Set]:
    """The delete files by columns; those of which the data files do not each need more than the next, apart."""
    by_columns: dict[tuple[int, ...], list[int]] = {}
    for number, file in enumerate(task.equality_deletes):
        if only is None or number in only:
            by_columns.setdefault(tuple(f["id"] for f in file.fields), []).append(number)
    found: list[_Set] = []
    for files in by_columns.values():
        needs = {frozenset(item.equality).intersection(files) for item in task.inputs} - {frozenset[int]()}
        chain = sorted(needs, key=len)
        if all(small <= large for small, large in itertools.pairwise(chain)):
            found += [_chained(chain)] if chain else []
        else:
            found += _apart(files, chain)
    return found


def _chained(chain: Sequence[frozenset[int]]) -> _Set:
    levels: dict[int, int] = {}
    for level, files in enumerate(chain):
        for number in files:
            levels.setdefault(number, level)
    ordered = sorted(levels)
    return _Set(tuple(ordered), tuple(levels[n] for n in ordered), {files: i for i, files in enumerate(chain)})


def _apart(files: Sequence[int], needs: Sequence[frozenset[int]]) -> list[_Set]:
    """Files that the same data files need are one set."""
    alike: dict[tuple[bool, ...], list[int]] = {}
    for number in files:
        alike.setdefault(tuple(number in need for need in needs), []).append(number)
    return [_chained([frozenset(members)]) for users, members in alike.items() if any(users)]


def deleted_rows(task: WriteTask) -> list[Positions] | None:
    """The rows of each input that equality deletes take out; None when their keys fit into memory together."""
    if _fit(task):
        return None
    fields = list({f["id"]: f for file in task.equality_deletes for f in file.fields}.values())
    found: list[list[npt.NDArray[np.int64]]] = [[] for _ in task.inputs]
    for keys in _passes(task):
        for number, positions in _found_by(task, fields, keys):
            found[number].append(positions)
        pa.default_memory_pool().release_unused()
    return [np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64) for parts in found]


def _found_by(task: WriteTask, fields: Sequence[FieldJson], keys: list[Keyed]) -> Iterator[tuple[int, Positions]]:
    """For each input that ``keys``, which are taken over, may apply to: the rows that they take out."""
    cache = EqualityCache(task, keys)
    for number, item in enumerate(task.inputs):
        if applied := cache.of(item.equality):
            yield number, _rows(task, item, fields, applied)
    # The next ones are read while this list is still held outside.
    keys.clear()


def _fit(task: WriteTask) -> bool:
    keys = sum(file.keys for file in task.equality_deletes)
    if keys * _KEY_BYTES > MEMORY_BYTES:
        return False
    if keys <= _FEW_KEYS:
        return True
    stored = sum(side_by_side(lambda f: stored_bytes(f, task.storage), task.equality_deletes, lambda f: f.path))
    return keys * _KEY_BYTES + _COPIES * stored <= MEMORY_BYTES


def _passes(task: WriteTask) -> Iterator[list[Keyed]]:
    """All keys, as many at a time as memory should hold."""
    taken: list[Keyed] = []
    size = 0
    for number, file in enumerate(task.equality_deletes):
        each = _KEY_BYTES + _COPIES * stored_bytes(file, task.storage) // max(1, file.keys)
        for table in key_batches(file, task.storage, max(1, MEMORY_BYTES // each)):
            more = table.num_rows * _KEY_BYTES + _COPIES * table.nbytes
            if taken and size + more > MEMORY_BYTES:
                yield taken
                taken, size = [], 0
            taken.append((number, table))
            size += more
    if taken:
        yield taken


def _rows(task: WriteTask, item: Input, fields: Sequence[FieldJson], applied: Sequence[Applied]) -> Positions:
    with reading(item.path), FileReader(item, task.storage, ()) as reader:
        return reader.deleted(fields, task.name_mapping, applied)

"""Position deletes that arrive while a rewrite runs, carried over from the old files to the new ones.

All rows of an old file that others removed count as deleted (``lost_files.py``).

Packing keeps the order of rows: within a group, the new files one after another hold the rows of the old files one
after another, without those that were deleted when they were read. So a position of an old file is a position of a new
one, told by counting. Where that is not so, rows are looked for (``searched_rows.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt
from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import DataFile

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.rewrite.asked.output_specs import scatters
from coordinator.connectors.iceberg.rewrite.committing.lost_files import left_out, lost_groups
from coordinator.connectors.iceberg.rewrite.committing.searched_rows import searched
from coordinator.connectors.iceberg.rewrite.equality_conversion import position_delete_entry
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import delete_output
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.planning.tasks import position_delete
from coordinator.connectors.iceberg.snapshots.replace import Carried
from coordinator.kernels.deletes import read_positions
from coordinator.kernels.errors import KernelError
from coordinator.kernels.positions import write_positions
from coordinator.kernels.tasks import Fragment
from shared.errors import ErrorCode, ProcessionError
from shared.spi.workers import WorkerRuntime

Positions = npt.NDArray[np.int64]
_NONE: Positions = np.zeros(0, np.int64)
_KEPT_ROWS = 1_000_000
"""Deleted rows whose positions are kept from one attempt to the next: 8 bytes each."""


@dataclass(frozen=True, slots=True)
class MovedRows:
    """A group: its old files and the new ones; ``in_order`` when rows can be told by counting."""

    old: tuple[Candidate, ...]
    new: tuple[DataFile, ...]
    in_order: bool


def moved_rows(rewrite: Rewrite, fragments: Sequence[Fragment], added: Sequence[DataFile]) -> tuple[MovedRows, ...]:
    """Each group with its new files, in the order of the rows.

    Rows cannot be counted that were sorted or spread over partitions, nor where equality deletes took out some: which
    rows that were is known to the tasks alone.
    """
    by_path = {file.file_path: file for file in added}
    found = []
    for number, group in enumerate(rewrite.groups):
        written = [f for f in fragments if f.path is not None and rewrite.outputs[f.output].group == number]
        written.sort(key=lambda fragment: (fragment.output, fragment.path or ""))
        by_equality = any(not delete.is_position_delete for c in group.files for delete in c.deletes)
        in_order = rewrite.ordering is None and not by_equality and not scatters(rewrite.table, group)
        found.append(MovedRows(group.files, tuple(by_path[f.path] for f in written if f.path is not None), in_order))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Located:
    """Deleted positions of old files of a group, and where these rows are in its new ones, by their places."""

    old: Mapping[str, Positions]
    new: Mapping[int, Positions]


class DeleteCarrier:
    """Gives the delete files that a commit has to add, for the head that it builds on; each attempt has its own.

    What an attempt has read and found is kept for the next one, which has to be quicker than other writers' commits.
    """

    def __init__(self, rewrite: Rewrite, moved: Sequence[MovedRows], workers: WorkerRuntime) -> None:
        self._rewrite = rewrite
        self._moved = moved
        self._workers = workers
        self._before: dict[str, Positions] = {}
        self._files = 0
        self._keys = {candidate.data.key for group in rewrite.groups for candidate in group.files}
        self._kept: dict[str, Mapping[str, Positions]] = {}
        self._kept_rows = 0
        self._located: dict[int, _Located] = {}

    def carry(self, deletes: Sequence[LiveFile], gone: Set[str]) -> Carried:
        """``deletes`` are all live ones of the head, ``gone`` keys of old files that it has no more.

        A group of which rows would be lost or return is left out. Raises ValidationException where that is all of them,
        ProcessionError where a file cannot be read.
        """
        positional = [delete for delete in deletes if delete.is_position_delete]
        equality = {delete.key for delete in self._rewrite.applied if not delete.is_position_delete}
        revoked = equality - {delete.key for delete in deletes}
        try:
            lost = lost_groups(self._rewrite, gone)
            self._check_any_left(lost)
            now = self._changed(positional, revoked, gone, lost.keys())
            return self._carried(now, positional, revoked, lost)
        except KernelError as error:
            raise _conflict(error) from error

    def _changed(
        self, deletes: Sequence[LiveFile], revoked: Set[str], gone: Set[str], lost: Set[int]
    ) -> Mapping[str, Positions]:
        """Positions that are deleted now of each old file of which that may have changed since it was read."""
        specs = self._rewrite.table.specs()
        newer = DeleteIndex([d for d in deletes if d.sequence_number > self._rewrite.base_sequence], specs)
        live, index = {delete.key for delete in deletes}, DeleteIndex(deletes, specs)
        asked: list[tuple[str, LiveFile]] = []
        changed: dict[str, list[Positions]] = {}
        groups = [group for number, group in enumerate(self._rewrite.groups) if number not in lost]
        for candidate in (candidate for group in groups for candidate in group.files):
            known = {delete.key for delete in candidate.deletes if delete.is_position_delete}
            if candidate.data.key in gone:
                changed[candidate.data.key] = [np.arange(candidate.data.file.record_count)]
            elif newer.of(candidate.data) or not known <= live or any(d.key in revoked for d in candidate.deletes):
                changed[candidate.data.key] = [_NONE]
                asked += [(candidate.data.key, delete) for delete in index.of(candidate.data)]
        found = self._read([delete for _, delete in asked], changed)
        for (key, _), positions in zip(asked, found, strict=True):
            changed[key].append(positions.get(key, _NONE))
        return {key: np.unique(np.concatenate(parts)) for key, parts in changed.items()}

    def _carried(
        self,
        now: Mapping[str, Positions],
        deletes: Sequence[LiveFile],
        revoked: Set[str],
        lost: dict[int, ValidationException],
    ) -> Carried:
        self._know_before(now)
        added: list[DataFile] = []
        for number, moved in enumerate(self._moved):
            of_group = {c.data.key: now[c.data.key] for c in moved.old if c.data.key in now}
            if number in lost or not of_group:
                continue
            try:
                added += self._of_group(number, moved, of_group, revoked)
            except ValidationException as error:
                lost[number] = error
        self._check_any_left(lost)
        replaced = {file.key for file in self._rewrite.replaced}
        newer = [delete for delete in deletes if delete.sequence_number > self._rewrite.base_sequence]
        obsolete = frozenset(d.key for d in newer if d.only_data_file in replaced)
        left, unused = left_out(self._rewrite, lost.keys(), [[f.file_path for f in m.new] for m in self._moved])
        return Carried(tuple(added), obsolete, left, unused)

    def _check_any_left(self, lost: Mapping[int, ValidationException]) -> None:
        if len(lost) == len(self._moved):
            raise next(iter(lost.values()))

    def _of_group(
        self, number: int, moved: MovedRows, now: Mapping[str, Positions], revoked: Set[str]
    ) -> list[DataFile]:
        """Delete files of the new files of a group; raises ValidationException."""
        for key, positions in now.items():
            if len(np.setdiff1d(self._before[key], positions)):
                raise ValidationException(f"Cannot commit, applied delete files are not live any more: {key}")
        new = {key: np.setdiff1d(positions, self._before[key]) for key, positions in now.items()}
        new = {key: found for key, found in new.items() if len(found) or revoked}
        if moved.in_order:
            return self._counted(moved, new)
        if not new:
            return []
        try:
            places = self._places(number, new, now, revoked)
        except KernelError as error:
            raise _conflict(error) from error
        return [self._write(moved.new[place], positions) for place, positions in places.items()]

    def _places(
        self, number: int, deleted: Mapping[str, Positions], now: Mapping[str, Positions], revoked: Set[str]
    ) -> Mapping[int, Positions]:
        """Where the deleted rows of a group are in its new files; only those that no attempt found are looked for."""
        known = self._located.get(number, _Located({}, {}))
        if revoked or any(len(np.setdiff1d(old, deleted.get(key, _NONE))) for key, old in known.old.items()):
            known = _Located({}, {})
        moved = self._moved[number]
        newer = {key: np.setdiff1d(positions, known.old.get(key, _NONE)) for key, positions in deleted.items()}
        wanted = {key: (positions, now[key]) for key, positions in newer.items() if len(positions) or revoked}
        if wanted:
            found = searched(self._rewrite, self._workers, moved.old, moved.new, wanted, revoked, known.new)
            places = sorted(found.keys() | known.new.keys())
            both = {place: [part[place] for part in (known.new, found) if place in part] for place in places}
            known = _Located(deleted, {place: np.sort(np.concatenate(parts)) for place, parts in both.items()})
            self._located[number] = known
        return known.new

    def _counted(self, moved: MovedRows, new: Mapping[str, Positions]) -> list[DataFile]:
        """Delete files of the new files of a group, for newly deleted positions of its old ones."""
        if not any(len(positions) for positions in new.values()):
            return []
        self._know_before([candidate.data.key for candidate in moved.old])
        starts = dict(_starts(moved.old, self._before))
        ends = np.array(list(accumulate(file.record_count for file in moved.new)), np.int64)
        kept = sum(c.data.file.record_count - len(self._before[c.data.key]) for c in moved.old)
        if kept != (int(ends[-1]) if len(ends) else 0):
            raise ValidationException("Cannot commit, found new position delete for replaced data files of odd counts")
        places = [
            starts[key] + positions - np.searchsorted(self._before[key], positions) for key, positions in new.items()
        ]
        rows = np.unique(np.concatenate(places))
        files = np.searchsorted(ends, rows, side="right")
        return [
            self._write(moved.new[int(n)], rows[files == n] - (int(ends[n - 1]) if n else 0)) for n in np.unique(files)
        ]

    def _write(self, data: DataFile, positions: Positions) -> DataFile:
        vectors = self._rewrite.table.format_version > 2
        directory = data.file_path.rpartition("/")[0]
        self._files += 1
        name = f"{self._files:05d}-{self._rewrite.call_id}-carried"
        output = delete_output(self._rewrite.table.properties, directory, name)
        written = write_positions(output, self._rewrite.factory.storage, data.file_path, positions, vectors=vectors)
        return position_delete_entry(written, LiveFile(data, self._rewrite.base_sequence), vectors=vectors)

    def _know_before(self, keys: Sequence[str] | Mapping[str, object]) -> None:
        """What was deleted of old files when they were read."""
        wanted = {key for key in keys if key not in self._before}
        candidates = [c for group in self._rewrite.groups for c in group.files if c.data.key in wanted]
        asked = [(c.data.key, delete) for c in candidates for delete in c.deletes if delete.is_position_delete]
        found = self._read([delete for _, delete in asked], wanted)
        parts: dict[str, list[Positions]] = {key: [_NONE] for key in wanted}
        for (key, _), positions in zip(asked, found, strict=True):
            parts[key].append(positions.get(key, _NONE))
        self._before |= {key: np.unique(np.concatenate(arrays)) for key, arrays in parts.items()}

    def _read(
        self, deletes: Sequence[LiveFile], wanted: Sequence[str] | Mapping[str, object] | set[str]
    ) -> list[Mapping[str, Positions]]:
        """Each file is read once, however many data files it is about, and small ones once for all attempts."""
        distinct = {delete.key: delete for delete in deletes if delete.key not in self._kept}
        small = {}
        for key, delete in distinct.items():
            if self._kept_rows + delete.file.record_count <= _KEPT_ROWS:
                self._kept_rows += delete.file.record_count
                small[key] = delete
        large = {key: delete for key, delete in distinct.items() if key not in small}
        storage = self._rewrite.factory.storage
        read = read_positions([position_delete(d) for d in small.values()], self._keys, storage)
        self._kept |= zip(small, read, strict=True)
        passing = read_positions([position_delete(d) for d in large.values()], wanted, storage)
        by_key = self._kept | dict(zip(large, passing, strict=True))
        return [by_key[delete.key] for delete in deletes]


def _conflict(error: KernelError) -> ValidationException | ProcessionError:
    """What was read is gone by now: somebody merged or copied files, and their snapshots expired."""
    if error.name == ErrorCode.ICEBERG_MISSING_DATA.name:
        return ValidationException(f"Cannot commit, {error.message}")
    return ProcessionError(ErrorCode[error.name], error.message)


def _starts(old: Sequence[Candidate], before: Mapping[str, Positions]) -> list[tuple[str, int]]:
    """By old file, how many rows of the group come before its first."""
    start, found = 0, []
    for candidate in old:
        found.append((candidate.data.key, start))
        start += candidate.data.file.record_count - len(before[candidate.data.key])
    return found

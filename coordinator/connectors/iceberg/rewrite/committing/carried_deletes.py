"""Position deletes that arrive while a rewrite runs, carried over from the old files to the new ones.

Packing keeps the order of rows: within a group, the new files one after another hold the rows of the old files one
after another, without those that were deleted when they were read. So a position of an old file is a position of a new
one, told by counting. Where rows of sorted files went is not known; there, new deletes stay conflicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt
from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import DataFile

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.rewrite.asked.output_specs import scatters
from coordinator.connectors.iceberg.rewrite.equality_conversion import position_delete_entry
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.planning.tasks import position_delete
from coordinator.connectors.iceberg.snapshots.replace import Carried
from coordinator.kernels.deletes import read_positions
from coordinator.kernels.errors import KernelError
from coordinator.kernels.positions import write_positions
from coordinator.kernels.tasks import Fragment, Output
from shared.errors import ErrorCode, ProcessionError

Positions = npt.NDArray[np.int64]
_NONE: Positions = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class MovedRows:
    """A group whose rows kept their order: its old files, and the new ones in the order of the rows."""

    old: tuple[Candidate, ...]
    new: tuple[DataFile, ...]


def moved_rows(rewrite: Rewrite, fragments: Sequence[Fragment], added: Sequence[DataFile]) -> tuple[MovedRows, ...]:
    """Groups of which it is known where each row went.

    Not those that were sorted or spread over partitions, nor those of which equality deletes took out rows: which rows
    that were is known to the tasks alone.
    """
    if rewrite.ordering is not None:
        return ()
    by_path = {file.file_path: file for file in added}
    found = []
    for number, group in enumerate(rewrite.groups):
        if scatters(rewrite.table, group) or any(not d.is_position_delete for c in group.files for d in c.deletes):
            continue
        written = [f for f in fragments if f.path is not None and rewrite.outputs[f.output].group == number]
        written.sort(key=lambda fragment: (fragment.output, fragment.path or ""))
        found.append(MovedRows(group.files, tuple(by_path[f.path] for f in written if f.path is not None)))
    return tuple(found)


class DeleteCarrier:
    """Gives the delete files that a commit has to add, for the head that it builds on; each attempt has its own."""

    def __init__(self, rewrite: Rewrite, moved: Sequence[MovedRows]) -> None:
        self._rewrite = rewrite
        self._moved = moved
        self._before: dict[str, Positions] = {}
        self._files = 0

    def carry(self, deletes: Sequence[LiveFile]) -> Carried:
        """``deletes`` are all live ones of the head.

        Raises ValidationException where rows would be lost or return, ProcessionError where a file cannot be read.
        """
        positional = [delete for delete in deletes if delete.is_position_delete]
        try:
            now = self._changed(positional)
            return self._carried(now, positional)
        except KernelError as error:
            if error.name == ErrorCode.ICEBERG_MISSING_DATA.name:
                # What was read is gone by now: somebody merged delete files, and their snapshots expired.
                raise ValidationException(f"Cannot commit, {error.message}") from error
            raise ProcessionError(ErrorCode[error.name], error.message) from error

    def _changed(self, deletes: Sequence[LiveFile]) -> Mapping[str, Positions]:
        """Positions that are deleted now of each old file of which that may have changed since it was read."""
        specs = self._rewrite.table.specs()
        newer = DeleteIndex([d for d in deletes if d.sequence_number > self._rewrite.base_sequence], specs)
        live, index = {delete.key for delete in deletes}, DeleteIndex(deletes, specs)
        asked: list[tuple[str, LiveFile]] = []
        changed: dict[str, list[Positions]] = {}
        for group in self._rewrite.groups:
            for candidate in group.files:
                known = {delete.key for delete in candidate.deletes if delete.is_position_delete}
                if newer.of(candidate.data) or not known <= live:
                    changed[candidate.data.key] = [_NONE]
                    asked += [(candidate.data.key, delete) for delete in index.of(candidate.data)]
        found = self._read([delete for _, delete in asked], changed)
        for (key, _), positions in zip(asked, found, strict=True):
            changed[key].append(positions.get(key, _NONE))
        return {key: np.unique(np.concatenate(parts)) for key, parts in changed.items()}

    def _carried(self, now: Mapping[str, Positions], deletes: Sequence[LiveFile]) -> Carried:
        if not now:
            return Carried()
        self._know_before(now)
        lost = {key: np.setdiff1d(self._before[key], positions) for key, positions in now.items()}
        if any(len(positions) for positions in lost.values()):
            path = next(key for key, positions in lost.items() if len(positions))
            raise ValidationException(f"Cannot commit, applied delete files are not live any more: {path}")
        new = {key: np.setdiff1d(positions, self._before[key]) for key, positions in now.items()}
        new = {key: positions for key, positions in new.items() if len(positions)}
        added: list[DataFile] = []
        for moved in self._moved:
            added += self._written(moved, {c.data.key: new.pop(c.data.key) for c in moved.old if c.data.key in new})
        if new:
            path = next(iter(new))
            raise ValidationException(f"Cannot commit, found new position delete for replaced data file: {path}")
        replaced = {file.key for file in self._rewrite.replaced}
        newer = [delete for delete in deletes if delete.sequence_number > self._rewrite.base_sequence]
        return Carried(tuple(added), frozenset(d.key for d in newer if d.only_data_file in replaced))

    def _written(self, moved: MovedRows, new: Mapping[str, Positions]) -> list[DataFile]:
        """Delete files of the new files of a group, for newly deleted positions of its old ones."""
        if not new:
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
        output = Output(directory, f"{self._files:05d}-{self._rewrite.call_id}-carried")
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
        """Each file is read once, however many data files it is about."""
        distinct = {delete.key: delete for delete in deletes}
        read = read_positions([position_delete(d) for d in distinct.values()], wanted, self._rewrite.factory.storage)
        by_key = dict(zip(distinct, read, strict=True))
        return [by_key[delete.key] for delete in deletes]


def _starts(old: Sequence[Candidate], before: Mapping[str, Positions]) -> list[tuple[str, int]]:
    """By old file, how many rows of the group come before its first."""
    start, found = 0, []
    for candidate in old:
        found.append((candidate.data.key, start))
        start += candidate.data.file.record_count - len(before[candidate.data.key])
    return found

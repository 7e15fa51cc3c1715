"""Rows that go with their data files: what is left of each is copied into a new one of its partition and spec.

Iceberg calls it copy-on-write. The kernel that packs files copies the rows, to the bit and with their lineage, without
those that deletes of the table took out before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

import numpy as np
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.rewrite.asked.output_specs import data_directory
from coordinator.connectors.iceberg.rewrite.delegated import reason_of_properties
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.rewrite.planning.outputs import Slice
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import check_codec
from coordinator.connectors.iceberg.rewrite.planning.rewrite import written_data_file
from coordinator.connectors.iceberg.rewrite.planning.tasks import TaskFactory, equality_fields, position_delete
from coordinator.connectors.iceberg.snapshots.row_delta import Delta
from coordinator.connectors.iceberg.tables.changed_rows import Positions
from coordinator.kernels.deletes import read_positions
from coordinator.kernels.errors import KernelError
from coordinator.kernels.rewrite import copy
from coordinator.kernels.tasks import Fragment, Tag, WriteTask
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import LeftToEngineError

_MOST_BYTES, _MOST_FILES = 128 << 20, 32
"""Of the files that lose rows, with their deletes: what is copied here in the time that a warm Spark takes."""
_MOST_ROWS = 10_000_000
"""In these files: columns of few values take next to nothing stored, and their time all the same."""
_MOST_KEYS = 1_000_000
"""Of equality deletes, which are held in memory for each file."""
_AT_ONCE = threading.BoundedSemaphore(4)
"""Copies in this process, each of which holds a row group, whoever asks for them."""
_SIDE_BY_SIDE = 4
_ROW_GROUP_BYTES = 64 << 20
_PAUSE_SECONDS = 0.1
_NONE: Positions = np.zeros(0, np.int64)


class _OverError(Exception):
    """Another copy of the statement failed."""


def may_copy(table: Table) -> bool:
    """Whether the kernels write files of the table as it asks for them."""
    try:
        check_codec(table.properties)
    except ProcessionError:
        return False
    return table.format_version <= 3 and reason_of_properties(table) is None


class FilesToCopy:
    """The data files of a snapshot that lose rows, of which it is told while these are found."""

    def __init__(self, table: Table, base: Snapshot | None) -> None:
        self.table = table
        self.chosen: dict[str, Candidate] = {}
        lives = read_live(table, base, statistics=False)
        self._data = {file.key: file for file in lives.data}
        self._deletes = DeleteIndex(lives.deletes, table.specs())

    def add(self, key: str) -> None:
        """Raises LeftToEngineError once they are too much for this process, or not of a kind that it copies."""
        data = self._data.get(key)
        if data is None:
            raise ProcessionError(ErrorCode.ICEBERG_MISSING_DATA, f"No data file of the table: {key}")
        candidate = Candidate(data, self._deletes.of(data))
        self.chosen[key] = candidate
        reason = _foreign(candidate, self.table) or _too_much(self.chosen.values())
        if reason is not None:
            raise LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, reason)


def _foreign(candidate: Candidate, table: Table) -> str | None:
    """What the kernels do not read."""
    for file in (candidate.data, *candidate.deletes):
        if file.file.key_metadata is not None or not (file.is_parquet or file.vector is not None):
            return f"a file is encrypted or no Parquet: {file.path}"
        if not file.is_data and not file.is_position_delete:
            try:
                equality_fields(table, file)
            except ProcessionError as error:
                return error.message
    return None


def _too_much(candidates: Collection[Candidate]) -> str | None:
    deletes = {delete.key: delete for candidate in candidates for delete in candidate.deletes}.values()
    size = sum(candidate.data.size for candidate in candidates) + sum(_stored(delete) for delete in deletes)
    rows = sum(candidate.data.file.record_count for candidate in candidates)
    keys = sum(delete.file.record_count for delete in deletes if not delete.is_position_delete)
    if len(candidates) <= _MOST_FILES and size <= _MOST_BYTES and rows <= _MOST_ROWS and keys <= _MOST_KEYS:
        return None
    return f"{len(candidates)} files and more of {size} bytes and {rows} rows, with {keys} keys of deletes, lose rows"


def _stored(delete: LiveFile) -> int:
    return delete.size if delete.vector is None else delete.vector[1]


@dataclass(frozen=True, slots=True)
class _Losing:
    """A data file, and the sorted positions of all its rows that go or went by position."""

    candidate: Candidate
    positions: Positions

    @property
    def has_rows(self) -> bool:
        return len(self.positions) < self.candidate.data.file.record_count


def with_copies(
    delta: Delta,
    files: FilesToCopy,
    positions: Mapping[str, Positions],
    write_id: str,
    storage: Mapping[str, str],
    check: Callable[[], None],
) -> Delta:
    """``delta`` without the rows at ``positions`` of its base, by data file.

    Raises LeftToEngineError for what kernels fail at, and what ``check`` raises; files may be there then.
    """
    try:
        losing = _losing(files, positions, storage)
        check()
        tasks = _tasks(files.table, losing, write_id, storage)
        written = _run(tasks, check)
    except KernelError as error:
        raise LeftToEngineError(ErrorCode[error.name], error.message) from error
    except MemoryError as error:
        raise LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, f"Copies of files: {error}") from error
    copies = [_data_file(losing[fragment.output].candidate.data, fragment) for fragment in written]
    changed = [file.candidate.data for file in losing]
    kept = [file for file in copies if file is not None]
    return replace(delta, rows=[*kept, *delta.rows], changed=changed, replaced=_without_use(losing), copied=True)


def _losing(files: FilesToCopy, positions: Mapping[str, Positions], storage: Mapping[str, str]) -> list[_Losing]:
    deletes = {d.key: d for c in files.chosen.values() for d in c.deletes if d.is_position_delete}
    read = read_positions([position_delete(delete) for delete in deletes.values()], positions, storage)
    before = dict(zip(deletes, read, strict=True))
    found = []
    for key, going in positions.items():
        candidate = files.chosen[key]
        gone = (before[d.key].get(key, _NONE) for d in candidate.deletes if d.is_position_delete)
        found.append(_Losing(candidate, np.unique(np.concatenate([going, *gone]))))
    return found


def _tasks(table: Table, losing: Sequence[_Losing], write_id: str, storage: Mapping[str, str]) -> list[WriteTask]:
    factory = TaskFactory.of(table, storage)
    return [_task(factory, file, number, write_id) for number, file in enumerate(losing) if file.has_rows]


def _task(factory: TaskFactory, file: _Losing, number: int, write_id: str) -> WriteTask:
    data = file.candidate.data
    equality = tuple(delete for delete in file.candidate.deletes if not delete.is_position_delete)
    name = f"{number:05d}-{write_id}-copies"
    directory = data_directory(factory.table, factory.table.specs()[data.file.spec_id], data.file.partition, name)
    slices = [Slice(Candidate(data, equality), data.size)]
    task = factory.write(slices, directory, name, Tag(number), final=True)
    (item,) = task.inputs
    bounded = min(task.output.row_group_bytes, _ROW_GROUP_BYTES)
    return replace(
        task,
        inputs=[replace(item, deleted=file.positions.astype("<i8").tobytes())],
        output=replace(task.output, row_group_bytes=bounded),
    )


def _run(tasks: Sequence[WriteTask], check: Callable[[], None]) -> list[Fragment]:
    """What the kernel wrote, in no order. No copy is under way any more when this ends, or raises."""
    over = threading.Event()

    def checked() -> None:
        check()
        if over.is_set():
            raise _OverError

    def one(task: WriteTask) -> Fragment:
        while not _AT_ONCE.acquire(timeout=_PAUSE_SECONDS):
            checked()
        try:
            checked()
            return copy(task, checked)
        finally:
            _AT_ONCE.release()

    with ThreadPoolExecutor(_SIDE_BY_SIDE, "copies") as pool:
        try:
            return [done.result() for done in as_completed([pool.submit(one, task) for task in tasks])]
        except BaseException:
            over.set()
            pool.shutdown(cancel_futures=True)
            raise


def _data_file(data: LiveFile, written: Fragment) -> DataFile | None:
    """The entry of a copy; None where no row was left."""
    if written.read_rows != data.file.record_count:
        promised = f"{data.path} holds {written.read_rows} rows where its manifest promises {data.file.record_count}"
        raise ProcessionError(ErrorCode.ICEBERG_BAD_DATA, f"Nothing was committed: {promised}")
    if written.path is None:
        return None
    return written_data_file(written, data.file.partition, data.file.spec_id, data.file.sort_order_id)


def _without_use(losing: Sequence[_Losing]) -> list[LiveFile]:
    """Deletes by position of the files that go, and of nothing else."""
    return [d for f in losing for d in f.candidate.deletes if d.is_position_delete and d.only_data_file is not None]

"""Rows that go with their data files: what is left of each is copied into a new one of its partition and spec.

Iceberg calls it copy-on-write. The kernel that packs files copies the rows, to the bit and with their lineage, without
those that deletes of the table took out before. Rows that come into the same partition go into the same file, as Spark
has it: otherwise each update of a row would add a small file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

import numpy as np
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.numbers import number_or
from coordinator.connectors.iceberg.rewrite.asked.output_specs import data_directory
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.rewrite.planning.outputs import Slice
from coordinator.connectors.iceberg.rewrite.planning.rewrite import written_data_file
from coordinator.connectors.iceberg.rewrite.planning.tasks import TaskFactory, position_delete
from coordinator.connectors.iceberg.snapshots.row_delta import Delta
from coordinator.connectors.iceberg.storage import delete_files
from coordinator.connectors.iceberg.tables.changed_rows import Positions
from coordinator.connectors.iceberg.tables.files_to_copy import FilesToCopy
from coordinator.kernels.deletes import read_positions
from coordinator.kernels.errors import KernelError
from coordinator.kernels.rewrite import copy
from coordinator.kernels.tasks import Fragment, Tag, WriteTask
from shared.errors import ErrorCode
from shared.spi.table_writes import LeftToEngineError

_AT_ONCE = threading.BoundedSemaphore(4)
"""Copies in this process, each of which holds a row group, whoever asks for them."""
_SIDE_BY_SIDE = 4
_ROW_GROUP_BYTES = 64 << 20
_TARGET_BYTES = 512 << 20
"""Of a file, where the table says nothing."""
_PAUSE_SECONDS = 0.1
_NONE: Positions = np.zeros(0, np.int64)


class _OverError(Exception):
    """Another copy of the statement failed."""


@dataclass(frozen=True, slots=True)
class _Losing:
    """A data file, the sorted positions of all its rows that go or went by position, and files of rows that join it."""

    candidate: Candidate
    positions: Positions
    joining: tuple[LiveFile, ...] = ()

    @property
    def has_rows(self) -> bool:
        count = self.candidate.data.file.record_count
        return len(self.positions) != count or int(self.positions[-1]) != count - 1

    @property
    def size(self) -> int:
        """About that of the new file: equality deletes may take more rows out."""
        data = self.candidate.data
        left = data.size - data.size * len(self.positions) // max(1, data.file.record_count)
        return left + sum(file.size for file in self.joining)


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
        losing = _joined(_losing(files, positions, storage), delta.rows, files.table)
        check()
        copies = _run(_tasks(files.table, losing, write_id, storage), check)
    except KernelError as error:
        raise LeftToEngineError(ErrorCode[error.name], error.message) from error
    except MemoryError as error:
        raise LeftToEngineError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, f"Copies of files: {error}") from error
    kept = [file for file in (_data_file(losing[found.output], found) for found in copies) if file is not None]
    joined = {file.path for each in losing for file in each.joining}
    delete_files(files.table.io, joined)
    rows = [*kept, *(file for file in delta.rows if file.file_path not in joined)]
    changed = [file.candidate.data for file in losing]
    return replace(delta, rows=rows, changed=changed, replaced=_without_use(losing), copied=True)


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


def _joined(losing: Sequence[_Losing], new: Sequence[DataFile], table: Table) -> list[_Losing]:
    """With each file of new rows at the first one of its partition that has room for it."""
    room = number_or(table.properties.get("write.target-file-size-bytes"), _TARGET_BYTES)
    found = list(losing)
    for file in new:
        coming = LiveFile(file, 0)
        for number, each in enumerate(found):
            same = each.candidate.data.partition == coming.partition
            if each.has_rows and same and each.size + coming.size <= room:
                found[number] = replace(each, joining=(*each.joining, coming))
                break
    return found


def _tasks(table: Table, losing: Sequence[_Losing], write_id: str, storage: Mapping[str, str]) -> list[WriteTask]:
    factory = TaskFactory.of(table, storage)
    return [_task(factory, file, number, write_id) for number, file in enumerate(losing) if file.has_rows]


def _task(factory: TaskFactory, file: _Losing, number: int, write_id: str) -> WriteTask:
    data = file.candidate.data
    equality = tuple(delete for delete in file.candidate.deletes if not delete.is_position_delete)
    name = f"{number:05d}-{write_id}-copies"
    directory = data_directory(factory.table, factory.table.specs()[data.file.spec_id], data.file.partition, name)
    slices = [Slice(Candidate(data, equality), data.size), *(Slice(Candidate(f, ()), f.size) for f in file.joining)]
    task = factory.write(slices, directory, name, Tag(number), final=True)
    first, *others = task.inputs
    bounded = min(task.output.row_group_bytes, _ROW_GROUP_BYTES)
    return replace(
        task,
        inputs=[replace(first, deleted=file.positions.astype("<i8").tobytes()), *others],
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


def _data_file(file: _Losing, written: Fragment) -> DataFile | None:
    """The entry of a copy; None where no row was left.

    Raises LeftToEngineError where a manifest tells of other rows than there are: Spark looks at no count.
    """
    data = file.candidate.data
    promised = sum(each.file.record_count for each in (data, *file.joining))
    if written.read_rows != promised:
        message = f"{data.path} holds {written.read_rows} rows, not the {promised} of its manifest"
        raise LeftToEngineError(ErrorCode.ICEBERG_BAD_DATA, message)
    if written.path is None:
        return None
    order = None if file.joining else data.file.sort_order_id
    return written_data_file(written, data.file.partition, data.file.spec_id, order)


def _without_use(losing: Sequence[_Losing]) -> list[LiveFile]:
    """Deletes by position of the files that go, and of nothing else."""
    return [d for f in losing for d in f.candidate.deletes if d.is_position_delete and d.only_data_file is not None]

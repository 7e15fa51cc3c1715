"""Equality delete files as positions: the data files they apply to, the tasks that compare rows, the new files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.manifests.reader import ManifestDataFile
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate
from coordinator.connectors.iceberg.rewrite.planning.outputs import Slice
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import delete_output
from coordinator.connectors.iceberg.rewrite.planning.tasks import TaskFactory
from coordinator.kernels.tasks import PositionFile, PositionFiles, PositionsTask
from shared.errors import ErrorCode, ProcessionError

_PATH, _POSITION = 2147483546, 2147483545
_TASKS_A_CORE = 4


@dataclass(frozen=True, slots=True)
class Conversion:
    """Every live equality delete file, and the data files that they apply to, with all their deletes."""

    table: Table
    equality: tuple[LiveFile, ...]
    candidates: tuple[Candidate, ...]

    @property
    def as_vectors(self) -> bool:
        return self.table.format_version > 2

    def data_files(self, delete: LiveFile) -> list[LiveFile]:
        """Those that one delete file applies to."""
        return [c.data for c in self.candidates if any(d.key == delete.key for d in c.deletes)]


def plan_conversion(table: Table, snapshot: Snapshot | None) -> Conversion:
    """What a snapshot holds; raises ProcessionError NOT_SUPPORTED for files that are no plain Parquet."""
    live = read_live(table, snapshot)
    equality = tuple(delete for delete in live.deletes if not delete.is_position_delete)
    index = DeleteIndex(equality, table.specs())
    every = DeleteIndex(live.deletes, table.specs())
    candidates = tuple(Candidate(data, every.of(data)) for data in live.data if index.of(data))
    for file in (*equality, *(candidate.data for candidate in candidates)):
        if file.file.key_metadata is not None or not file.is_parquet:
            what = "is encrypted" if file.file.key_metadata is not None else f"is {file.file.file_format}"
            raise ProcessionError(
                ErrorCode.NOT_SUPPORTED,
                f"convert_equality_deletes cannot convert this table: a file {what}: {file.path}",
            )
    return Conversion(table, equality, candidates)


def conversion_tasks(
    conversion: Conversion, call_id: str, storage: Mapping[str, str], parallelism: int
) -> list[PositionsTask]:
    """Tasks over about equal shares of the data files."""
    slices = [Slice(_readable(candidate, conversion), candidate.data.size) for candidate in conversion.candidates]
    slices.sort(key=lambda piece: -piece.size)
    count = min(len(slices), parallelism * _TASKS_A_CORE)
    factory = TaskFactory.of(conversion.table, storage)
    directory = directory_of(conversion.table)
    tasks = [factory.write(slices[n::count], directory, f"{n:05d}-{call_id}-deletes") for n in range(count)]
    properties = conversion.table.properties
    outputs = [delete_output(properties, task.output.directory, task.output.name) for task in tasks]
    written = (replace(task, fields=[], output=output) for task, output in zip(tasks, outputs, strict=True))
    return [PositionsTask(task, conversion.as_vectors) for task in written]


def directory_of(table: Table) -> str:
    """Where the new files go."""
    location: str = table.location_provider().new_data_location("x")
    return location.rpartition("/")[0]


def _readable(candidate: Candidate, conversion: Conversion) -> Candidate:
    """Without position deletes of other formats: rows that they take out too are then deleted twice, which is fine."""
    if conversion.as_vectors:
        return candidate
    return Candidate(candidate.data, tuple(d for d in candidate.deletes if d.is_parquet))


@dataclass(frozen=True, slots=True)
class NewDeletes:
    """What the tasks wrote: the files, the rows that they take out, and the vectors that they replace."""

    files: tuple[DataFile, ...]
    rows: int
    replaced: tuple[LiveFile, ...]
    data_files: frozenset[str]


def new_deletes(conversion: Conversion, answers: Iterable[PositionFiles]) -> NewDeletes:
    """The answers of all tasks."""
    by_key = {candidate.data.key: candidate for candidate in conversion.candidates}
    written = [file for answer in answers for file in answer.files]
    files, replaced = [], []
    for file in written:
        candidate = by_key[normalize(file.data_file)]
        files.append(position_delete_entry(file, candidate.data, vectors=conversion.as_vectors))
        if conversion.as_vectors:
            replaced += [d for d in candidate.deletes if d.file.file_format == FileFormat.PUFFIN]
    keys = frozenset(normalize(file.data_file) for file in written)
    return NewDeletes(tuple(files), sum(file.deleted_rows for file in written), tuple(replaced), keys)


def position_delete_entry(written: PositionFile, data: LiveFile, *, vectors: bool) -> DataFile:
    """The manifest's entry of a delete file about one data file."""
    common: dict[str, Any] = {
        "content": DataFileContent.POSITION_DELETES,
        "file_path": written.path,
        "partition": data.file.partition,
        "record_count": written.rows,
        "file_size_in_bytes": written.size,
    }
    if vectors:
        found = ManifestDataFile.from_args(file_format=FileFormat.PUFFIN, **common)
        found.__dict__["extras"] = {
            "referenced_data_file": data.path,
            "content_offset": written.offset,
            "content_size_in_bytes": written.length,
        }
    else:
        path = data.path.encode()
        assert written.bounds is not None, "a Parquet file has bounds"
        low, high = (value.to_bytes(8, "little") for value in written.bounds)
        found = ManifestDataFile.from_args(
            file_format=FileFormat.PARQUET,
            lower_bounds={_PATH: path, _POSITION: low},
            upper_bounds={_PATH: path, _POSITION: high},
            **common,
        )
        found.__dict__["extras"] = {"referenced_data_file": data.path}
    found.spec_id = data.file.spec_id
    return found


def rows_of_dry_run(conversion: Conversion) -> Sequence[Sequence[object]]:
    """One row an equality delete file."""
    rows = []
    for delete in conversion.equality:
        files = conversion.data_files(delete)
        columns = [conversion.table.schema().find_column_name(i) or str(i) for i in delete.file.equality_ids or ()]
        reason = f"applies to {len(files)} data files" if files else "applies to no data file: it is only removed"
        rows.append(
            (delete.path, columns, delete.file.record_count, len(files), sum(file.size for file in files), reason)
        )
    return rows

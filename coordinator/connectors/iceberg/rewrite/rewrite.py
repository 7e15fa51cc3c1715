"""The steps of a rewrite: plan and journal, write on the workers, commit, or undo."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.filters import file_filter, filtered_columns
from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, Partition, read_live
from coordinator.connectors.iceberg.manifests.reader import unhurried_garbage
from coordinator.connectors.iceberg.rewrite.copying import choose_ways
from coordinator.connectors.iceberg.rewrite.delegated import reason_of_properties
from coordinator.connectors.iceberg.rewrite.groups import Candidate, FileGroup, Skipped, Survey, survey
from coordinator.connectors.iceberg.rewrite.journal import Journal, JournalEntry
from coordinator.connectors.iceberg.rewrite.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.ordering import Ordering
from coordinator.connectors.iceberg.rewrite.output_specs import data_directory, reason_of_spec, scatters
from coordinator.connectors.iceberg.rewrite.outputs import OutputPlan, plan_outputs, plan_sorted_outputs
from coordinator.connectors.iceberg.rewrite.tasks import TaskFactory, equality_fields
from coordinator.kernels.tasks import Fragment
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import TableTarget
from shared.spi.workers import WorkerRuntime


@dataclass(slots=True)
class Rewrite:
    """One call under way; what ``begin`` planned, then what the tasks wrote."""

    call_id: str
    target: TableTarget
    table: Table
    base_snapshot_id: int
    base_sequence: int
    groups: list[FileGroup]
    outputs: list[OutputPlan]
    factory: TaskFactory
    options: RewriteOptions
    ordering: Ordering | None = None
    entry: JournalEntry | None = None
    journal: Journal | None = None
    parts: list[str] = field(default_factory=list)

    @property
    def spec(self) -> PartitionSpec:
        """What new files are written under."""
        return self.table.specs()[self.groups[0].partition[0]]

    @property
    def replaced(self) -> list[LiveFile]:
        return [candidate.data for group in self.groups for candidate in group.files]

    @property
    def applied(self) -> list[LiveFile]:
        found = {d.key: d for group in self.groups for c in group.files for d in c.deletes}
        return list(found.values())


@dataclass(frozen=True, slots=True)
class NotOurs:
    """There is work, but not for our kernels: the reason in words."""

    reason: str


@dataclass(frozen=True, slots=True)
class Looked:
    """The pinned snapshot and what the call makes of its files."""

    snapshot: Snapshot
    survey: Survey


def look(table: Table, target: TableTarget, options: RewriteOptions) -> Looked | None:
    """Read the manifests of the pinned snapshot of ``table``; None for a table without one. Raises ProcessionError."""
    snapshot = None if target.snapshot_id is None else table.snapshot_by_id(target.snapshot_id)
    if target.snapshot_id is not None and snapshot is None:
        raise ProcessionError(
            ErrorCode.TRANSACTION_CONFLICT,
            f"Snapshot {target.snapshot_id} of {target.schema}.{target.table} is gone: "
            "the table was replaced or the snapshot expired meanwhile",
            retriable=True,
        )
    if snapshot is None:
        return None
    with unhurried_garbage():
        return Looked(snapshot, _survey(table, snapshot, target, options))


def _survey(table: Table, snapshot: Snapshot, target: TableTarget, options: RewriteOptions) -> Survey:
    live = read_live(table, snapshot, statistics=filtered_columns(target.filter, table))
    matches = file_filter(target.filter, table)
    index = DeleteIndex(live.deletes, table.specs())
    chosen: list[Candidate] = []
    excluded: dict[Partition, list[Candidate]] = {}
    for data in live.data:
        candidate = Candidate(data, index.of(data))
        if matches(data):
            chosen.append(candidate)
        else:
            excluded.setdefault(data.partition, []).append(candidate)
    found = survey(chosen, options)
    reason = "no row of them can match the filter"
    found.skipped.extend(Skipped(partition, tuple(files), reason) for partition, files in excluded.items())
    return found


def plan_rewrite(
    catalog: TableCatalog,
    table: Table,
    target: TableTarget,
    options: RewriteOptions,
    workers: WorkerRuntime,
    ordering: Ordering | None = None,
) -> list[Rewrite] | NotOurs | None:
    """What to rewrite in the pinned snapshot of ``table``, of format version 2 at most; None when nothing is to do.

    One rewrite is one commit: several of them with partial progress, over different groups of the same snapshot.
    Raises ProcessionError NOT_SUPPORTED before any work for encrypted files.
    """
    looked = look(table, target, options)
    if looked is None or not looked.survey.groups:
        return None
    reason = reason_of_work(table, looked.survey.groups)
    if reason is not None:
        return NotOurs(reason)
    factory = TaskFactory.of(table, catalog.settings.storage, options.target_file_size)
    return [
        Rewrite(
            call_id=call_id,
            target=target,
            table=table,
            base_snapshot_id=looked.snapshot.snapshot_id,
            base_sequence=looked.snapshot.sequence_number or 0,
            groups=groups,
            outputs=_outputs(table, groups, call_id, options, factory, workers, ordering),
            factory=factory,
            options=options,
            ordering=ordering,
        )
        for groups in _commits(looked.survey.groups, options)
        for call_id in [uuid.uuid4().hex]
    ]


def _commits(groups: list[FileGroup], options: RewriteOptions) -> list[list[FileGroup]]:
    """The groups of each commit, in the order of work."""
    if not options.partial_progress:
        return [groups]
    each = -(-len(groups) // min(options.max_commits, len(groups)))
    return [groups[start : start + each] for start in range(0, len(groups), each)]


def _outputs(
    table: Table,
    groups: list[FileGroup],
    call_id: str,
    options: RewriteOptions,
    factory: TaskFactory,
    workers: WorkerRuntime,
    ordering: Ordering | None,
) -> list[OutputPlan]:
    directories = [_directory(table, group, call_id) for group in groups]
    scattered = [scatters(table, group) for group in groups]
    if ordering is not None:
        return plan_sorted_outputs(groups, directories, call_id, scattered)
    copies = [way.copies for way in choose_ways(table, groups, options, factory, workers)]
    return plan_outputs(groups, workers.parallelism, directories, call_id, options, copies, scattered)


def journal_begin(rewrite: Rewrite, journal: Journal, catalog: str, query_id: str) -> None:
    """Make the intent durable, before the first task can write a file."""
    directories = tuple(dict.fromkeys(output.directory for output in rewrite.outputs))
    rewrite.entry = JournalEntry(
        call_id=rewrite.call_id,
        catalog=catalog,
        schema=rewrite.target.schema,
        table=rewrite.target.table,
        query_id=query_id,
        base_snapshot_id=rewrite.base_snapshot_id,
        directories=directories,
        metadata_directory=rewrite.table.location_provider().new_metadata_location("x").rpartition("/")[0],
        begun_at=datetime.now(UTC),
    )
    journal.begin(rewrite.entry)
    rewrite.journal = journal


def journal_directories(rewrite: Rewrite, directories: Sequence[str]) -> None:
    """Make further directories of the call durable, before a task can write there."""
    if rewrite.entry is None or rewrite.journal is None:
        return
    known = tuple(dict.fromkeys((*rewrite.entry.directories, *directories)))
    rewrite.entry = replace(rewrite.entry, directories=known)
    rewrite.journal.extended(rewrite.call_id, known)


def new_data_files(rewrite: Rewrite, written: Sequence[Fragment]) -> list[DataFile]:
    """The files to commit; raises ProcessionError unless the tasks read every row that the manifests promise."""
    expected = sum(file.file.record_count for file in rewrite.replaced)
    found = sum(w.read_rows for w in written)
    outputs = {w.output for w in written}
    if found != expected or outputs != set(range(len(rewrite.outputs))):
        raise ProcessionError(
            ErrorCode.ICEBERG_BAD_DATA,
            f"Nothing was committed: the files hold {found} rows where their manifests promise {expected}",
        )
    return [_data_file(rewrite, w) for w in written if w.path is not None]


def _data_file(rewrite: Rewrite, written: Fragment) -> DataFile:
    plan = rewrite.outputs[written.output]
    group = rewrite.groups[plan.group]
    values = plan.partition or group.partition[1] or (None,) * len(rewrite.spec.fields)
    metrics = written.metrics
    assert metrics is not None, "final files carry metrics"
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=written.path,
        file_format=FileFormat.PARQUET,
        partition=Record(*values),
        record_count=written.rows,
        file_size_in_bytes=written.size,
        column_sizes=_by_id(metrics.column_sizes),
        value_counts=_by_id(metrics.value_counts),
        null_value_counts=_by_id(metrics.null_counts),
        nan_value_counts=_by_id(metrics.nan_counts),
        lower_bounds={int(k): bytes.fromhex(v) for k, v in metrics.lower_bounds.items()},
        upper_bounds={int(k): bytes.fromhex(v) for k, v in metrics.upper_bounds.items()},
        key_metadata=None,
        split_offsets=metrics.split_offsets,
        equality_ids=None,
        sort_order_id=None if rewrite.ordering is None else rewrite.ordering.sort_order_id,
    )
    file.spec_id = group.partition[0]
    return file


def _by_id(counts: dict[str, int]) -> dict[int, int]:
    return {int(key): count for key, count in counts.items()}


def reason_of_work(table: Table, groups: Sequence[FileGroup]) -> str | None:
    """Why these groups are not for our kernels, None when they are; raises ProcessionError for encrypted files."""
    moved = next((group.partition[0] for group in groups if scatters(table, group)), None)
    reason = None if moved is None else reason_of_spec(table, moved)
    return reason or reason_of_properties(table) or _reason_of_files(table, groups)


def _reason_of_files(table: Table, groups: Sequence[FileGroup]) -> str | None:
    """What the kernels cannot read or hold, before any work; raises ProcessionError for encrypted files."""
    files = [file for group in groups for c in group.files for file in (c.data, *c.deletes)]
    for file in files:
        if file.file.key_metadata is not None:
            raise ProcessionError(
                ErrorCode.NOT_SUPPORTED,
                f"rewrite_data_files cannot rewrite this table: the file is encrypted: {file.path}",
            )
    other = next((file for file in files if not file.is_parquet and file.vector is None), None)
    if other is not None:
        name = getattr(other.file.file_format, "value", str(other.file.file_format))
        return f"a file is {name}: {other.path}"
    equality = {d.path: d for g in groups for c in g.files for d in c.deletes if not d.is_position_delete}
    for delete in equality.values():
        equality_fields(table, delete)
    return None


def _directory(table: Table, group: FileGroup, call_id: str) -> str:
    spec = table.specs()[group.partition[0]]
    partition = None if group.moves else group.files[0].data.file.partition
    return data_directory(table, spec, partition, call_id)

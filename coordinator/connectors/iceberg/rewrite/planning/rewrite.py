"""One rewrite as it is planned: groups of files, the files to write instead, and the entry in the journal."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.asked.ordering import Ordering
from coordinator.connectors.iceberg.rewrite.asked.output_specs import data_directory, scatters
from coordinator.connectors.iceberg.rewrite.asked.sorted_runs import order_mark
from coordinator.connectors.iceberg.rewrite.committing.journal import Journal, JournalEntry
from coordinator.connectors.iceberg.rewrite.committing.journaled_call import JournaledCall
from coordinator.connectors.iceberg.rewrite.planning.groups import FileGroup
from coordinator.connectors.iceberg.rewrite.planning.methods import choose_methods
from coordinator.connectors.iceberg.rewrite.planning.outputs import (
    MixedCopy,
    OutputPlan,
    plan_outputs,
    plan_sorted_outputs,
)
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import check_codec
from coordinator.connectors.iceberg.rewrite.planning.selection import reason_of_work, select_files
from coordinator.connectors.iceberg.rewrite.planning.tasks import TaskFactory
from coordinator.kernels.tasks import Fragment
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import TableTarget
from shared.spi.workers import WorkerRuntime


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One commit's work as planned. ``call`` says how far it is.

    While it is written, ``outputs`` grow where rows go to further partitions, and ``parts`` are files to remove.
    """

    call: JournaledCall
    target: TableTarget
    table: Table
    base_snapshot_id: int
    base_sequence: int
    groups: list[FileGroup]
    outputs: list[OutputPlan]
    factory: TaskFactory
    options: RewriteOptions
    ordering: Ordering | None = None
    branch: str = MAIN_BRANCH
    parts: list[str] = field(default_factory=list)

    @property
    def call_id(self) -> str:
        return self.call.entry.call_id

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
class NothingToDo:
    """No file is rewritten, and no snapshot made."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """There is work that our kernels cannot do: the reason in words."""

    reason: str


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """A call with its table as of now, and what was settled from its arguments."""

    catalog: TableCatalog
    table: Table
    target: TableTarget
    options: RewriteOptions
    ordering: Ordering | None
    query_id: str
    branch: str = MAIN_BRANCH


def plan_rewrite(
    request: RewriteRequest, journal: Journal, workers: WorkerRuntime
) -> tuple[Rewrite, ...] | Unsupported | NothingToDo:
    """What to rewrite in the pinned snapshot of the table.

    One rewrite is one commit: several of them with partial progress, over different groups of the same snapshot.
    Raises ProcessionError NOT_SUPPORTED before any work for encrypted files.
    """
    selection = select_files(request.table, request.target, request.options, request.ordering)
    if selection is None or not selection.survey.groups:
        return NothingToDo()
    reason = reason_of_work(request.table, selection.survey.groups)
    if reason is not None:
        return Unsupported(reason)
    check_codec(request.table.properties)
    factory = TaskFactory.of(request.table, request.catalog.settings.storage, request.options.target_file_size)
    return tuple(
        _rewrite(request, selection.snapshot, groups, factory, journal, workers)
        for groups in _commits(selection.survey.groups, request.options)
    )


def _rewrite(
    request: RewriteRequest,
    snapshot: Snapshot,
    groups: list[FileGroup],
    factory: TaskFactory,
    journal: Journal,
    workers: WorkerRuntime,
) -> Rewrite:
    call_id = uuid.uuid4().hex
    outputs = _outputs(request, groups, call_id, factory, workers)
    return Rewrite(
        call=JournaledCall(journal, _entry(request, snapshot, call_id, outputs)),
        target=request.target,
        table=request.table,
        base_snapshot_id=snapshot.snapshot_id,
        base_sequence=snapshot.sequence_number or 0,
        groups=groups,
        outputs=outputs,
        factory=factory,
        options=request.options,
        ordering=request.ordering,
        branch=request.branch,
    )


def _entry(request: RewriteRequest, snapshot: Snapshot, call_id: str, outputs: Sequence[OutputPlan]) -> JournalEntry:
    return JournalEntry(
        call_id=call_id,
        catalog=request.catalog.settings.catalog,
        schema=request.target.schema,
        table=request.target.table,
        query_id=request.query_id,
        base_snapshot_id=snapshot.snapshot_id,
        directories=tuple(dict.fromkeys(output.directory for output in outputs)),
        metadata_directory=request.table.location_provider().new_metadata_location("x").rpartition("/")[0],
        begun_at=datetime.now(UTC),
    )


def _commits(groups: list[FileGroup], options: RewriteOptions) -> list[list[FileGroup]]:
    """The groups of each commit, in the order of work."""
    if not options.partial_progress:
        return [groups]
    each = -(-len(groups) // min(options.max_commits, len(groups)))
    return [groups[start : start + each] for start in range(0, len(groups), each)]


def _outputs(
    request: RewriteRequest, groups: list[FileGroup], call_id: str, factory: TaskFactory, workers: WorkerRuntime
) -> list[OutputPlan]:
    table, options = request.table, request.options
    directories = [_directory(table, group, call_id) for group in groups]
    scattered = [scatters(table, group) for group in groups]
    if request.ordering is not None:
        mark = order_mark(request.ordering.order)
        return plan_sorted_outputs(groups, directories, call_id, scattered, mark)
    methods = choose_methods(table, groups, options, factory, workers)
    copies = [method.copies for method in methods]
    mixed = {
        number: MixedCopy(method.row_groups, method.decimals)
        for number, method in enumerate(methods)
        if method.row_groups is not None
    }
    return plan_outputs(groups, workers.parallelism, directories, call_id, options, copies, scattered, mixed)


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
    order = None if rewrite.ordering is None else rewrite.ordering.sort_order_id
    return written_data_file(written, Record(*values), group.partition[0], order)


def written_data_file(written: Fragment, partition: Record, spec_id: int, sort_order_id: int | None) -> DataFile:
    """The manifest's entry of a final file with rows."""
    metrics = written.metrics
    assert metrics is not None, "final files carry metrics"
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=written.path,
        file_format=FileFormat.PARQUET,
        partition=partition,
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
        sort_order_id=sort_order_id,
    )
    file.spec_id = spec_id
    return file


def _by_id(counts: dict[str, int]) -> dict[int, int]:
    return {int(key): count for key, count in counts.items()}


def _directory(table: Table, group: FileGroup, call_id: str) -> str:
    spec = table.specs()[group.partition[0]]
    partition = None if group.moves else group.files[0].data.file.partition
    return data_directory(table, spec, partition, call_id)

"""Which files of the pinned snapshot a call is about, and whether our kernels can rewrite them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.filters import file_filter, filtered_columns
from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import Partition, read_live
from coordinator.connectors.iceberg.manifests.reader import unhurried_garbage
from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.asked.ordering import Ordering
from coordinator.connectors.iceberg.rewrite.asked.output_specs import reason_of_spec, scatters
from coordinator.connectors.iceberg.rewrite.delegated import reason_of_properties
from coordinator.connectors.iceberg.rewrite.planning.clustering import clustering_of
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate, FileGroup, Skipped, Survey, survey
from coordinator.connectors.iceberg.rewrite.planning.tasks import equality_fields
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import TableTarget


@dataclass(frozen=True, slots=True)
class Selection:
    """The pinned snapshot and what the call makes of its files."""

    snapshot: Snapshot
    survey: Survey


def select_files(
    table: Table,
    target: TableTarget,
    options: RewriteOptions,
    ordering: Ordering | None = None,
    *,
    shown: bool = False,
) -> Selection | None:
    """Read the manifests of the pinned snapshot of ``table``; None for a table without one. Raises ProcessionError.

    ``shown``: how far the files of a sort overlap is told, whether the options ask for it or not.
    """
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
        sorts = shown or options.rewrite_stale_sort_order or options.min_overlap_depth is not None
        return Selection(snapshot, _survey(table, snapshot, target, options, ordering if sorts else None))


def _survey(
    table: Table, snapshot: Snapshot, target: TableTarget, options: RewriteOptions, ordering: Ordering | None
) -> Survey:
    keys = frozenset[int]() if ordering is None else frozenset(column.id for column in ordering.order.columns)
    live = read_live(table, snapshot, statistics=filtered_columns(target.filter, table) | keys)
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
    clustering = None
    if ordering is not None:
        clustering = clustering_of((candidate.data for candidate in chosen), ordering, options, table.schema())
    found = survey(chosen, options, clustering)
    reason = "no row of them can match the filter"
    found.skipped.extend(Skipped(partition, tuple(files), reason) for partition, files in excluded.items())
    return found


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

"""What metadata alone tells of a table to a maintenance service: partitions, snapshots, manifests, who writes it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from statistics import median

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from coordinator.connectors.iceberg.instants import from_millis, to_millis
from coordinator.connectors.iceberg.maintenance.dangling import dangling_deletes
from coordinator.connectors.iceberg.maintenance.expiry import Limits, select
from coordinator.connectors.iceberg.maintenance.maintenance_plan import stale_share
from coordinator.connectors.iceberg.maintenance.partition_predicates import partition_predicate
from coordinator.connectors.iceberg.maintenance.time_partitions import time_fields
from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, LiveFiles, Partition, read_live
from coordinator.connectors.iceberg.partitions import partition_text
from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions, parse_options
from coordinator.connectors.iceberg.rewrite.asked.ordering import Ordering, row_order
from coordinator.connectors.iceberg.rewrite.planning.clustering import Clustering, clustering_of
from coordinator.connectors.iceberg.snapshots.changes import count, operation
from coordinator.connectors.iceberg.snapshots.references import history
from shared.spi.maintenance import CommitRates, PartitionState, RowChanges, SnapshotRetention, TableState

_WEEK = timedelta(days=7)
_SMALL_MANIFEST = 1 << 20
_OURS = "procession"
_NAMING_FILES = ("added-position-deletes", "deleted-data-files", "added-dvs")
_MOST_GAPS = 1000


def table_state(
    catalog: str, schema: str, name: str, table: Table, now: datetime, retention: SnapshotRetention
) -> TableState:
    """Raises what reading manifests raises. An encrypted table is described by its metadata file alone."""
    metadata = table.metadata
    options = parse_options(None, table.properties)
    head = TableState(
        catalog,
        schema,
        name,
        str(metadata.table_uuid),
        table.metadata_location,
        options.target_file_size,
        snapshots=len(metadata.snapshots),
        rates=_rates(history(table), now),
        sorted=not table.sort_order().is_unsorted,
        divided_by_time=any(time_fields(table).values()),
        properties=dict(table.properties),
        obstacle=_obstacle(table),
        keeps_files="gc.enabled is false" if table.properties.get("gc.enabled", "true").lower() == "false" else None,
    )
    if head.obstacle is not None:
        return head
    limits = _limits(table, now, retention)
    return _with_files(head, table, options, limits)


def _with_files(head: TableState, table: Table, options: RewriteOptions, limits: Limits) -> TableState:
    current = table.current_snapshot()
    found = row_order(table, None, options) if head.sorted else ""
    ordering = found if isinstance(found, Ordering) else None  # else our kernels cannot sort so
    keys = frozenset[int]() if ordering is None else frozenset(column.id for column in ordering.order.columns)
    live = read_live(table, current, statistics=keys)
    clustering = Clustering()
    if ordering is not None:
        asked = replace(options, rewrite_stale_sort_order=True, output_spec_id=table.spec().spec_id)
        clustering = clustering_of(live.data, ordering, asked, table.schema())
    manifests = [] if current is None else [m.manifest_length for m in manifests_of(table.io, current)]
    small = [size for size in manifests if size < _SMALL_MANIFEST]
    return replace(
        head,
        partitions=_partitions(table, live, options.min_file_size, clustering),
        expirable_snapshots=len(select(table.metadata, limits).snapshots),
        manifests=len(manifests),
        small_manifests=len(small),
        small_manifest_size=sum(small),
        dangling_deletes=len(dangling_deletes(table, current)) if live.deletes else 0,
        stale_statistics=_stale(table, current),
    )


def _limits(table: Table, now: datetime, retention: SnapshotRetention) -> Limits:
    """The table's own properties say more than a policy."""
    age = None if "history.expire.max-snapshot-age-ms" in table.properties else retention.max_age
    kept = None if "history.expire.min-snapshots-to-keep" in table.properties else retention.min_kept
    return Limits(to_millis(now), None if age is None else to_millis(now - age), kept)


@dataclass(slots=True)
class _Sums:
    files: list[LiveFile] = field(default_factory=list)
    deletes: list[LiveFile] = field(default_factory=list)


def _partitions(table: Table, live: LiveFiles, least: int, clustering: Clustering) -> tuple[PartitionState, ...]:
    found: dict[Partition, _Sums] = {}
    for file in live.data:
        found.setdefault(file.partition, _Sums()).files.append(file)
    for delete in live.deletes:
        found.setdefault(delete.partition, _Sums()).deletes.append(delete)
    instants = {s.sequence_number: s.timestamp_ms for s in table.metadata.snapshots if s.sequence_number}
    return tuple(
        _sorted(_partition(table, key, sums, least, instants), key, sums, clustering)
        for key, sums in found.items()
        if sums.files
    )


def _sorted(state: PartitionState, key: Partition, sums: _Sums, clustering: Clustering) -> PartitionState:
    """With what is known of its order."""
    depth = clustering.depths.get(key)
    if depth is None:
        return state
    stale = [file.size for file in sums.files if file in clustering.stale]
    return replace(
        state,
        overlap_depth=depth.greatest,
        average_depth=depth.average,
        overlap_size=depth.shared_size,
        stale_files=len(stale),
        stale_size=sum(stale),
    )


def _partition(table: Table, key: Partition, sums: _Sums, least: int, instants: Mapping[int, int]) -> PartitionState:
    spec_id, values = key
    spec, schema = table.specs()[spec_id], table.schema()
    small = [file.size for file in sums.files if file.size < least]
    positions = [file for file in sums.deletes if file.is_position_delete]
    equality = [file for file in sums.deletes if not file.is_position_delete]
    changed = [instants[n] for f in (*sums.files, *sums.deletes) if (n := f.sequence_number) in instants]
    return PartitionState(
        partition_text(sums.files[0].file, spec, schema),
        len(sums.files),
        sum(file.size for file in sums.files),
        sum(file.file.record_count for file in sums.files),
        len(small),
        sum(small),
        sum(file.file.record_count for file in positions),
        sum(file.file.record_count for file in equality),
        len(positions),
        len(equality),
        from_millis(max(changed)) if changed else None,
        partition_predicate(spec, schema, values),
    )


def _rates(line: Sequence[Snapshot], now: datetime) -> CommitRates:
    recent = [s for s in line if from_millis(s.timestamp_ms) >= now - _WEEK]
    written = [s for s in recent if operation(s) != Operation.REPLACE.value]
    instants = sorted(s.timestamp_ms for s in written[:_MOST_GAPS])
    gaps = [(later - earlier) / 1000 for earlier, later in itertools.pairwise(instants)]
    rewrites = [s for s in recent if operation(s) == Operation.REPLACE.value]
    return CommitRates(
        len(written),
        sum(count(s, "added-files-size") for s in written),
        sum(count(s, "added-files-size") for s in rewrites),
        median(gaps) if gaps else None,
        _foreign_rewriter(rewrites, now),
        _row_changes([s for s in written if _names_files(s)]),
    )


def _names_files(snapshot: Snapshot) -> bool:
    """Whether another program's; ours is run again by itself where it lost."""
    return any(count(snapshot, name) for name in _NAMING_FILES) and _program(snapshot) != _OURS


def _row_changes(changes: Sequence[Snapshot]) -> RowChanges | None:
    """``changes``: the newest first."""
    instants = sorted(s.timestamp_ms for s in changes[:_MOST_GAPS])
    gaps = sorted((later - earlier) / 1000 for earlier, later in itertools.pairwise(instants))
    return RowChanges(from_millis(instants[-1]), median(gaps), gaps[len(gaps) // 20]) if gaps else None


def _foreign_rewriter(rewrites: Sequence[Snapshot], now: datetime) -> str | None:
    """Who else compacts the table, by what the summaries say: Iceberg on Spark for us says so by our query's id."""
    names = Counter(
        name
        for snapshot in rewrites
        if from_millis(snapshot.timestamp_ms) >= now - timedelta(days=1) and (name := _program(snapshot)) != _OURS
    )
    name, times = names.most_common(1)[0] if names else ("", 0)
    return name if times >= 2 else None


def _program(snapshot: Snapshot) -> str:
    properties: Mapping[str, object] = {} if snapshot.summary is None else snapshot.summary.additional_properties
    if any(key.startswith("procession.") for key in properties) or properties.get("engine-name") == _OURS:
        return _OURS
    return str(properties.get("engine-name") or properties.get("app-id") or "another program")[:100]


def _stale(table: Table, current: Snapshot | None) -> dict[str, float]:
    if current is None:
        return {}
    shares = {
        "compute_partition_stats": stale_share(table, current, table.metadata.partition_statistics),
        "compute_table_stats": stale_share(table, current, table.metadata.statistics),
    }
    return {name: share for name, share in shares.items() if share is not None}


def _obstacle(table: Table) -> str | None:
    if table.properties.get("encryption.key-id"):
        return "the table is encrypted"
    return None

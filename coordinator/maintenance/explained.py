"""All that a decision rests on, in words: for ``explain_maintenance``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from coordinator.maintenance.health import health_of
from coordinator.maintenance.inspection import Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.policies import TYPES, TablePolicy
from coordinator.maintenance.questions import Past
from coordinator.maintenance.records import TableKey
from coordinator.maintenance.store import MaintenanceStore
from shared.spi.maintenance import TableState

_PARTITIONS = 10
Line = tuple[str, str, str]


def explained(
    key: TableKey, inspector: Inspector, lake: Lake, store: MaintenanceStore, now: datetime
) -> Iterator[Line]:
    """Nothing for a table that is no more. Raises ProcessionError."""
    policy = inspector.policy(key)
    state = lake.state(key, policy, now)
    looked = inspector.examine(key, now, store.look(key))
    if state is None or looked is None:
        return
    yield from _health(state)
    yield from _table(state)
    yield from _policy(inspector.spoken(key, state).policy)
    yield from _past(store.past(key, now))
    for decision in looked.decisions:
        yield "decision", decision.step, f"{decision.verdict}: {decision.reason}"
    worst = sorted(state.partitions, key=lambda partition: -partition.small_files)[:_PARTITIONS]
    for partition in worst:
        text = f"{partition.small_files} small files of {partition.files}, {partition.size} bytes"
        deleted = f", {partition.position_deletes} position deletes, {partition.equality_deletes} equality deletes"
        text += f", up to {partition.overlap_depth} files share keys" if partition.overlap_depth else ""
        instant = "" if partition.last_change is None else f", changed at {partition.last_change:%Y-%m-%d %H:%M:%S} UTC"
        yield "partition", partition.name or "(all)", f"{text}{deleted}{instant}"


def _health(state: TableState) -> Iterator[Line]:
    health = health_of(state)
    yield "health", "score", f"{health.score} of 100"
    yield "health", "file sizes", f"{health.sizes} of 40"
    yield "health", "equality deletes", f"{health.equality_deletes} of 40"
    yield "health", "position deletes", f"{health.position_deletes} of 20"
    yield "health", "worst partition", f"{health.worst} of 100: {health.worst_partition or '(all)'}"


def _table(state: TableState) -> Iterator[Line]:
    yield "table", "files", f"{state.files}, of the target size {health_of(state).files_needed} would do"
    yield "table", "bytes", str(state.size)
    yield "table", "target file size", str(state.target_size)
    yield "table", "snapshots", f"{state.snapshots}, of which {state.expirable_snapshots} may go"
    yield "table", "manifests", f"{state.manifests}, of which {state.small_manifests} are small"
    rates = state.rates
    gap = "" if rates.median_gap_seconds is None else f", every {rates.median_gap_seconds:g} s at the median"
    yield "table", "commits of 7 days", f"{rates.commits}{gap}"
    changes = rates.row_changes
    if changes is not None:
        often = (
            f"every {changes.median_gap_seconds:g} s at the median, one in twenty after {changes.short_gap_seconds:g} s"
        )
        yield "table", "row changes by others", f"the last at {changes.last:%Y-%m-%d %H:%M:%S} UTC, {often}"
    yield "table", "bytes of 7 days", f"{rates.appended} written by writers, {rates.rewritten} by rewrites"
    for name, value in (("left alone", state.obstacle), ("no file is deleted", state.keeps_files)):
        if value is not None:
            yield "table", name, value


def _policy(policy: TablePolicy) -> Iterator[Line]:
    for name in TYPES:
        content = getattr(policy, name)
        if content is not None:
            yield "policy", f"{name} ({policy.sources.get(name, 'table')})", content.model_dump_json(by_alias=True)


def _past(past: Past) -> Iterator[Line]:
    scans = "not counted yet" if past.scans_per_day is None else f"{past.scans_per_day:.1f}"
    yield "past", "scans a day", scans
    known = "by rewrites of this catalog" if past.measured else "assumed"
    yield "past", "bytes a second", f"{past.bytes_per_second:.0f}, {known}"
    yield "past", "tries in a row that came to nothing", str(past.setbacks)
    for name, instant in (("last rewrite", past.last_rewrite), ("last look for orphans", past.last_orphans)):
        if instant is not None:
            yield "past", name, f"{instant:%Y-%m-%d %H:%M:%S} UTC"

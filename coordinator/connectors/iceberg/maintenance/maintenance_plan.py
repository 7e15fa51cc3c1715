"""What a table needs, why, and what it costs: the plan of ``auto_maintain``, the most useful step first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import accumulate, takewhile
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.statistics import PartitionStatisticsFile, StatisticsFile

from coordinator.connectors.iceberg.maintenance.dangling import dangling_deletes
from coordinator.connectors.iceberg.maintenance.expiry import Limits, select
from coordinator.connectors.iceberg.manifests.lists import manifests_of
from coordinator.connectors.iceberg.numbers import number_or
from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions, parse_options
from coordinator.connectors.iceberg.rewrite.asked.output_specs import with_output_spec
from coordinator.connectors.iceberg.rewrite.planning.groups import FileGroup, limited
from coordinator.connectors.iceberg.rewrite.planning.selection import select_files
from coordinator.connectors.iceberg.snapshots.changes import count
from coordinator.connectors.iceberg.snapshots.references import history
from shared.spi.procedure import TableTarget

_BYTES_A_SECOND = 30 << 20
"""What one core rewrites or reads; an estimate on purpose on the slow side."""
_START_SECONDS = 1.0
_MANY_MANIFESTS = 20
_SMALL_MANIFEST = 1 << 20
_STALE_SHARE = 0.1
_MAIN_ALONE = "it works on the branch main alone"


@dataclass(frozen=True, slots=True)
class Step:
    """One procedure that would help, or why it would not (``arguments`` is None then)."""

    procedure: str
    reason: str
    arguments: Mapping[str, Any] | None = None
    size: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent; None is no limit."""

    seconds: float | None = None
    size: int | None = None
    cores: int = 1

    def bytes_left(self) -> int | None:
        """How many bytes can be rewritten within both limits."""
        by_time = None
        if self.seconds is not None:
            by_time = int(max(0.0, self.seconds - _START_SECONDS) * _BYTES_A_SECOND * self.cores)
        limits = [limit for limit in (by_time, self.size) if limit is not None]
        return min(limits) if limits else None

    def seconds_for(self, size: int) -> float:
        """How long it takes to rewrite so many bytes."""
        return round(_START_SECONDS + size / (_BYTES_A_SECOND * self.cores), 1)


@dataclass(frozen=True, slots=True)
class Need:
    """A table as the plan looks at it."""

    table: Table
    target: TableTarget
    now: datetime
    budget: Budget
    options: Mapping[str, str] = field(default_factory=dict)
    branch: str | None = None
    """Whose files are merged where it is not main."""

    @property
    def of_branch(self) -> Mapping[str, str]:
        """The argument for calls."""
        return {} if self.branch is None else {"branch": self.branch}

    @property
    def head(self) -> Snapshot | None:
        """Of the branch."""
        return self.table.current_snapshot() if self.branch is None else self.table.snapshot_by_name(self.branch)


def rewrite_step(need: Need) -> Step:
    """Merging data files, the partitions with the most files first, as far as the budget goes."""
    name, given = "rewrite_data_files", {**need.options, "rewrite-job-order": "files-desc"}
    options = with_output_spec(parse_options(given, need.table.properties, "BIN-PACK"), need.table)
    selected = select_files(need.table, need.target, options)
    groups = [] if selected is None else selected.survey.groups
    if not groups:
        return Step(name, "every data file has the right size or is alone in its partition")
    taken, most = _affordable(groups, options, need.budget.bytes_left())
    files = sum(len(group.files) for group in taken)
    if not taken:
        least = sum(candidate.data.size for candidate in groups[0].files[:2])
        return Step(name, f"the first step needs {least} bytes, more than the budget: {groups[0].reason}")
    reason = f"{files} data files become {sum(group.output_files for group in taken)}: {groups[0].reason}"
    if most is not None:
        reason += f"; {sum(len(group.files) for group in groups) - files} more are over the budget"
        given["max-files-to-rewrite"] = str(most)
    size = sum(group.size for group in taken)
    return Step(name, reason, {"options": given, **need.of_branch}, size, need.budget.seconds_for(size))


def _affordable(
    groups: list[FileGroup], options: RewriteOptions, size: int | None
) -> tuple[list[FileGroup], int | None]:
    """What a rewrite does with so many bytes, and the limit of files that makes it do so; None where all goes."""
    if size is None or sum(group.size for group in groups) <= size:
        return groups, None
    sums = accumulate(candidate.data.size for group in groups for candidate in group.files)
    count = sum(1 for _ in takewhile(lambda total: total <= size, sums))
    while count > 0:
        taken, _ = limited(groups, replace(options, max_files=count))
        if sum(group.size for group in taken) <= size:
            return taken, count
        count -= 1
    return [], None


def dangling_step(need: Need) -> Step:
    """Dropping delete files that apply to no data file."""
    dangling = dangling_deletes(need.table, need.head)
    if not dangling:
        return Step("remove_dangling_deletes", "every delete file applies to some data file")
    return Step(
        "remove_dangling_deletes", f"{len(dangling)} delete files apply to no data file", need.of_branch, 0, 1.0
    )


def manifests_step(need: Need) -> Step:
    """Merging small manifests."""
    snapshot = need.head
    sizes = [] if snapshot is None else [manifest.manifest_length for manifest in manifests_of(need.table.io, snapshot)]
    small = [size for size in sizes if size < _SMALL_MANIFEST]
    if len(small) < _MANY_MANIFESTS:
        return Step("rewrite_manifests", f"small manifests: {len(small)}, fewer than {_MANY_MANIFESTS}")
    reason = f"{len(small)} manifests are smaller than {_SMALL_MANIFEST} bytes"
    return Step("rewrite_manifests", reason, need.of_branch, sum(small), 1.0)


def expire_step(need: Need) -> Step:
    """Forgetting snapshots that are past the age and number that the table, or their branch, keeps."""
    age = timedelta(milliseconds=_number(need.table, "history.expire.max-snapshot-age-ms", 5 * 24 * 3_600_000))
    keep = _number(need.table, "history.expire.min-snapshots-to-keep", 1)
    old = select(need.table.metadata, Limits(round(need.now.timestamp() * 1000))).snapshots
    text = str(age).removesuffix(", 0:00:00")
    if not old:
        return Step("expire_snapshots", f"beside the newest {keep}, no snapshot is older than {text}")
    return Step("expire_snapshots", f"{len(old)} snapshots are older than {text}", {}, 0, 2.0)


def statistics_steps(need: Need) -> Sequence[Step]:
    """Bringing statistics up to date, where the table has some."""
    if need.branch is not None:
        return [Step("compute_table_stats", _MAIN_ALONE)]
    steps = []
    current, metadata = need.table.current_snapshot(), need.table.metadata
    for name, files, read in (
        ("compute_partition_stats", metadata.partition_statistics, False),
        ("compute_table_stats", metadata.statistics, True),
    ):
        share = None if current is None else stale_share(need.table, current, files)
        if current is None or share is None:
            steps.append(Step(name, "the table has none, which is taken for a choice"))
            continue
        size = count(current, "total-files-size") if read else 0
        most = need.budget.bytes_left()
        if share == 0 or (read and share < _STALE_SHARE):
            steps.append(Step(name, f"{share:.0%} of the rows changed since"))
        elif most is not None and size > most:
            steps.append(Step(name, f"reading {size} bytes is over the budget"))
        else:
            steps.append(Step(name, f"{share:.0%} of the rows changed since", {}, size, need.budget.seconds_for(size)))
    return steps


def stale_share(
    table: Table, current: Snapshot, files: Iterable[StatisticsFile | PartitionStatisticsFile]
) -> float | None:
    """The share of rows that changed since statistics were written; None where there are none."""
    known = {file.snapshot_id for file in files}
    if not known:
        return None
    line = history(table)
    last = next((s for s in line if s.snapshot_id in known), None)
    if last is None:
        return 1.0
    changed = sum(count(s, "added-records") + count(s, "deleted-records") for s in line[: line.index(last)])
    return changed / max(1, count(current, "total-records"))


def _number(table: Table, name: str, default: int) -> int:
    return number_or(table.properties.get(name), default)

"""What a table needs, decided from its state, its policy and its past: pure, and every answer with its reason.

A rewrite has to pay: the time that its result saves to the scans of the coming days against the time that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from coordinator.maintenance.health import needed_files
from coordinator.maintenance.policies import Compaction, TablePolicy
from shared.spi.maintenance import PartitionState, TableState

OPEN_SECONDS = 0.02
"""To open one file of an object store."""
_PROBE_SECONDS = 1e-6
"""To compare a row with one deleted key."""
_SKIPPED_IN_ORDER = 0.1
"""The share of a file that a scan is taken to skip once its rows are in order."""
START_SECONDS = 1.0
ASSUMED_RATE: float = 30 << 20
"""Bytes a second, until own rewrites tell better."""
_HOT_GAPS = 2.0
_FAR_TOO_MANY = 12
_AMPLIFICATION = 3.0
_MOST_PARTITIONS = 50
_LONGEST_PAUSE = timedelta(days=1)
_MORE_EQUALITY_FILES = 2
_PARTITIONS_EVERY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Past:
    """What is remembered of a table. ``setbacks``: conflicts, failures and runs without effect since a good one.

    ``bytes_per_second`` is that of the catalog's rewrites where it was ``measured``.
    """

    scans_per_day: float | None = None
    last_rewrite: datetime | None = None
    last_orphans: datetime | None = None
    last_partitions: datetime | None = None
    last_setback: datetime | None = None
    setbacks: int = 0
    bytes_per_second: float = ASSUMED_RATE
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One call that would help (``arguments`` beside schema and table), or why there is none.

    ``kind`` is its procedure.
    """

    kind: str
    reason: str
    arguments: Mapping[str, object] | None = None
    size: int = 0
    seconds: float = 0.0
    priority: float = 0.0

    @property
    def wanted(self) -> bool:
        return self.arguments is not None


@dataclass(frozen=True, slots=True)
class Question:
    """All that a decision looks at. ``most_bytes``: what one call may rewrite."""

    state: TableState
    policy: TablePolicy
    past: Past
    now: datetime
    horizon_days: float = 7.0
    most_bytes: int = 10 << 30


def decide(asked: Question) -> tuple[Step, ...]:
    """Every step in the order of the work. Steps that are not wanted say why."""
    whole = _left_alone(asked)
    if whole is not None:
        return (Step("maintain", whole),)
    return tuple(step for step in (decided(asked) for decided in _STEPS) if step is not None)


def backed_off(asked: Question) -> str | None:
    """Why the next try has to wait: after n setbacks in a row, 2^n times the gap between commits has to pass."""
    past = asked.past
    if not past.setbacks or past.last_setback is None:
        return None
    gap = timedelta(seconds=max(60.0, asked.state.rates.median_gap_seconds or 0.0))
    until = past.last_setback + min(_LONGEST_PAUSE, gap * 2 ** min(past.setbacks, 12))
    if until <= asked.now:
        return None
    return f"{past.setbacks} tries in a row came to nothing, the next is due at {until:%Y-%m-%d %H:%M:%S} UTC"


def _left_alone(asked: Question) -> str | None:
    state, policy = asked.state, asked.policy
    if state.obstacle is not None:
        return state.obstacle
    if not policy.enabled:
        return "the table's properties switch maintenance off"
    if state.rates.foreign_rewriter is not None:
        return f"{state.rates.foreign_rewriter} rewrote the table twice within a day: one maintainer is enough"
    return None


def _equality(asked: Question) -> Step:
    name, compaction = "convert_equality_deletes", asked.policy.compaction
    files = sum(partition.equality_files for partition in asked.state.partitions)
    if not compaction.enable:
        return Step(name, _disabled(asked, "compaction"))
    if files < _MORE_EQUALITY_FILES:
        return Step(name, f"equality delete files: {files}, fewer than {_MORE_EQUALITY_FILES}")
    size = sum(partition.size for partition in asked.state.partitions if partition.equality_files)
    keys = sum(partition.equality_deletes for partition in asked.state.partitions)
    reason = f"{files} equality delete files with {keys} keys are probed for every row of {size} bytes"
    return Step(name, reason, {}, size, _seconds(asked, size, files), 1.0)


def _rewrite(asked: Question) -> Step:
    name, policy = "rewrite_data_files", asked.policy.compaction
    if not policy.enable:
        return Step(name, _disabled(asked, "compaction"))
    recently = asked.past.last_rewrite
    if recently is not None and (asked.now - recently).total_seconds() < policy.config.min_interval:
        return Step(name, f"the last rewrite is less than {policy.config.min_interval:g} s ago")
    due = [partition for partition in asked.state.partitions if _due(partition, asked.state, policy)]
    if not due:
        return Step(name, _nothing_due(asked.state, policy))
    cold = [partition for partition in due if not _hot(partition, asked)]
    if not cold:
        return Step(name, f"{len(due)} partitions would be due, but are being written just now")
    worth = sorted(((_priority(partition, asked), partition) for partition in cold), key=lambda pair: -pair[0])
    bar = 2.0 if _amplified(asked.state) else 1.0
    paying = [(priority, partition) for priority, partition in worth if priority >= bar]
    if not paying:
        best = worth[0]
        return Step(name, f"{_described(best[1])} saves {best[0]:.2f} of what its rewrite costs, wanted is {bar:g}")
    return _chosen(asked, paying, len(due) - len(cold))


def _due(partition: PartitionState, state: TableState, policy: Compaction) -> bool:
    if partition.small_files >= policy.config.min_input_files:
        return True
    if partition.small_files > 1 and partition.small_size >= state.target_size:
        return True
    if _overlaps(partition, state, policy) or _is_stale(partition, state, policy):
        return True
    deleted = partition.position_deletes / max(1, partition.records)
    return deleted > policy.config.deleted_ratio or partition.delete_files >= policy.config.min_input_files


def _sorts(state: TableState, policy: Compaction) -> bool:
    return state.sorted and policy.config.strategy in ("auto", "sort")


def _overlaps(partition: PartitionState, state: TableState, policy: Compaction) -> bool:
    """Whether too many of its files have the same keys."""
    least = policy.config.min_overlap_depth
    return least is not None and _sorts(state, policy) and partition.overlap_depth >= least


def _is_stale(partition: PartitionState, state: TableState, policy: Compaction) -> bool:
    return policy.config.rewrite_stale_sort_order and _sorts(state, policy) and partition.stale_files > 0


def _nothing_due(state: TableState, policy: Compaction) -> str:
    small = max((partition.small_files for partition in state.partitions), default=0)
    deepest = max((partition.overlap_depth for partition in state.partitions), default=0)
    least = policy.config.min_overlap_depth
    sharing = f", nor keys that {least} files share (most: {deepest})" if least and _sorts(state, policy) else ""
    return (
        f"no partition has {policy.config.min_input_files} small files (most: {small}), nor more than "
        f"{policy.config.deleted_ratio:.0%} of its rows deleted{sharing}"
    )


def _hot(partition: PartitionState, asked: Question) -> bool:
    """Written a moment ago, so that the next commit would undo the work; not if it has far too many files."""
    gap, changed = asked.state.rates.median_gap_seconds, partition.last_change
    if gap is None or changed is None:
        return False
    if partition.files > _FAR_TOO_MANY * needed_files(partition, asked.state.target_size):
        return False
    return (asked.now - changed).total_seconds() < _HOT_GAPS * gap


def _priority(partition: PartitionState, asked: Question) -> float:
    """Seconds that a rewrite saves within the horizon, for each that it takes."""
    saved_files = partition.files + partition.delete_files - needed_files(partition, asked.state.target_size)
    saved = saved_files * OPEN_SECONDS + (partition.equality_deletes + partition.position_deletes) * _PROBE_SECONDS
    if _overlaps(partition, asked.state, asked.policy.compaction):
        # A scan of a range of keys reads the edge of one file of each run.
        edge = OPEN_SECONDS + partition.size / partition.files / asked.past.bytes_per_second
        saved += (partition.average_depth - 1) * edge
    if _is_stale(partition, asked.state, asked.policy.compaction):
        saved += _SKIPPED_IN_ORDER * partition.stale_size / asked.past.bytes_per_second
    return _scans(asked) * saved * asked.horizon_days / _cost(asked, partition)


def _cost(asked: Question, partition: PartitionState) -> float:
    return _seconds(asked, _work(asked, partition), partition.files)


def _work(asked: Question, partition: PartitionState) -> int:
    """A rewrite reads and writes the small files, and those out of order; with deletes, all files of the partition."""
    state, policy = asked.state, asked.policy.compaction
    if partition.position_deletes or partition.equality_deletes:
        return partition.size
    size = partition.overlap_size if _overlaps(partition, state, policy) else 0
    size += partition.stale_size if _is_stale(partition, state, policy) else 0
    return min(partition.size, max(size, partition.small_size))


def _seconds(asked: Question, size: int, files: int) -> float:
    return round(START_SECONDS + 2 * size / asked.past.bytes_per_second + files * OPEN_SECONDS, 1)


def _scans(asked: Question) -> float:
    """A day, as counted here; other engines' are unknown, so that each commit stands for one too."""
    return max(1.0, asked.past.scans_per_day or 0.0, asked.state.rates.commits / 7)


def _amplified(state: TableState) -> bool:
    return state.rates.rewritten > _AMPLIFICATION * max(1, state.rates.appended)


def _chosen(asked: Question, paying: Sequence[tuple[float, PartitionState]], hot: int) -> Step:
    name, taken, size = "rewrite_data_files", list[PartitionState](), 0
    for _, partition in paying:
        own = _work(asked, partition)
        if taken and size + own > asked.most_bytes:
            break
        taken.append(partition)
        size += own
        if len(taken) == _MOST_PARTITIONS:
            break
    some = len(taken) < len(asked.state.partitions)
    predicates = [partition.predicate for partition in taken]
    narrowed = some and all(predicate is not None for predicate in predicates)
    arguments = _rewrite_arguments(asked)
    if narrowed:
        chosen = " OR ".join(f"({predicate})" for predicate in predicates)
        given = arguments.get("filter")
        arguments["filter"] = chosen if given is None else f"({given}) AND ({chosen})"
    elif some and hot:
        arguments["options"] = {**_options(arguments), "max-files-to-rewrite": str(_files(taken))}
    files, reason = _files(taken), _described(taken[0])
    reason += f", {len(taken)} partitions with {files} files in all" if len(taken) > 1 else ""
    reason += f"; {len(paying) - len(taken)} partitions are left for the next call" if len(paying) > len(taken) else ""
    reason += f"; {hot} partitions that are being written are left alone" if hot else ""
    reason += f"; saves {paying[0][0]:.1f} times what it costs within {asked.horizon_days:g} days"
    return Step(name, reason, arguments, size, _seconds(asked, size, files), paying[0][0])


def _rewrite_arguments(asked: Question) -> dict[str, object]:
    config = asked.policy.compaction.config
    options = {
        "min-input-files": "2",
        "delete-ratio-threshold": f"{config.deleted_ratio:g}",
        "partial-progress.enabled": "true",
        "rewrite-job-order": "files-desc",
    }
    if config.target_file_size_bytes is not None:
        options["target-file-size-bytes"] = str(config.target_file_size_bytes)
    arguments: dict[str, object] = {"options": options}
    if config.strategy == "sort" or (config.strategy == "auto" and asked.state.sorted):
        arguments["strategy"] = "sort"
    if _sorts(asked.state, asked.policy.compaction):
        if config.min_overlap_depth is not None:
            options["min-overlap-depth"] = str(config.min_overlap_depth)
        if config.rewrite_stale_sort_order:
            options["rewrite-stale-sort-order"] = "true"
    if config.filter is not None:
        arguments["filter"] = config.filter
    return arguments


def _options(arguments: Mapping[str, object]) -> Mapping[str, str]:
    options = arguments["options"]
    assert isinstance(options, dict), "made above"
    return options


def _files(partitions: Sequence[PartitionState]) -> int:
    return sum(partition.files for partition in partitions)


def _described(partition: PartitionState) -> str:
    where = f"partition {partition.name}" if partition.name else "the table"
    text = f"{where} has {partition.small_files} small files of {partition.files}"
    text += f", up to {partition.overlap_depth} that share keys" if partition.overlap_depth > 1 else ""
    deleted = partition.position_deletes / max(1, partition.records)
    return f"{text}, and {deleted:.0%} of its rows are deleted" if deleted else text


def _dangling(asked: Question) -> Step:
    name, count = "remove_dangling_deletes", asked.state.dangling_deletes
    if not asked.policy.compaction.enable:
        return Step(name, _disabled(asked, "compaction"))
    if not count:
        return Step(name, "every delete file applies to some data file")
    return Step(name, f"{count} delete files apply to no data file", {}, 0, 1.0, 1.0)


def _manifests(asked: Question) -> Step:
    name, policy, state = "rewrite_manifests", asked.policy.metadata, asked.state
    if not policy.enable:
        return Step(name, _disabled(asked, "metadata"))
    if state.small_manifests < policy.config.min_manifests:
        return Step(name, f"small manifests: {state.small_manifests}, fewer than {policy.config.min_manifests}")
    size = state.small_manifest_size
    return Step(name, f"{state.small_manifests} manifests are small", {}, size, 1.0, 1.0)


def _expiry(asked: Question) -> Step:
    name, policy, state = "expire_snapshots", asked.policy.expiry, asked.state
    if not policy.enable:
        return Step(name, _disabled(asked, "expiry"))
    if state.keeps_files is not None:
        return Step(name, state.keeps_files)
    least = policy.config.min_snapshots_to_expire
    if state.expirable_snapshots < least:
        return Step(name, f"snapshots that may go: {state.expirable_snapshots}, fewer than {least}")
    arguments: dict[str, object] = {}
    age, kept = asked.policy.snapshot_age, policy.config.min_snapshot_to_keep
    if age is not None and "history.expire.max-snapshot-age-ms" not in state.properties:
        arguments["older_than"] = asked.now - age
    if kept is not None and "history.expire.min-snapshots-to-keep" not in state.properties:
        arguments["retain_last"] = kept
    return Step(name, f"{state.expirable_snapshots} snapshots are past their age", arguments, 0, 2.0, 1.0)


def _orphans(asked: Question) -> Step:
    name, policy, state = "remove_orphan_files", asked.policy.orphans, asked.state
    if not policy.enable:
        return Step(name, _disabled(asked, "orphans"))
    if state.keeps_files is not None:
        return Step(name, state.keeps_files)
    last, wait = asked.past.last_orphans, timedelta(seconds=policy.config.interval)
    if last is not None and asked.now - last < wait:
        return Step(name, f"the last look for orphan files was at {last:%Y-%m-%d %H:%M} UTC, the next is {wait} later")
    if asked.past.setbacks:
        return Step(name, "never right after a failure, which may have left files that are still needed")
    older = asked.now - timedelta(days=policy.max_orphan_file_age_in_days)
    return Step(name, "the interval has passed", {"older_than": older}, 0, 5.0, 0.5)


def _statistics(asked: Question) -> Step | None:
    """The stalest; None for a table that has none, which is taken for a choice."""
    policy, stale = asked.policy.statistics, asked.state.stale_statistics
    if not stale:
        return None
    name, share = max(stale.items(), key=lambda item: item[1])
    if not policy.enable:
        return Step(name, _disabled(asked, "statistics"))
    reason = f"{share:.0%} of the rows changed since"
    if share < policy.config.stale_ratio:
        return Step(name, reason)
    size = asked.state.size if name == "compute_table_stats" else 0
    return Step(name, reason, {}, size, _seconds(asked, size // 2, asked.state.files), 0.5)


def _partitions(asked: Question) -> Step | None:
    policy, state, name = asked.policy.partitions, asked.state, "expire_partitions"
    if policy is None:
        return None
    if not policy.enable:
        return Step(name, _disabled(asked, "partitions"))
    if not state.divided_by_time:
        return Step(name, "the table is not partitioned by time")
    last = asked.past.last_partitions
    if last is not None and asked.now - last < _PARTITIONS_EVERY:
        return Step(name, f"the last look for old partitions was at {last:%Y-%m-%d %H:%M} UTC, the next is a day later")
    older = asked.now - timedelta(seconds=policy.config.expire_after)
    return Step(name, f"partitions older than {older:%Y-%m-%d %H:%M} UTC go", {"older_than": older}, 0, 2.0, 0.5)


def _disabled(asked: Question, part: str) -> str:
    return f"switched off by {asked.policy.sources.get(part, 'the table')}"


_STEPS: tuple[Callable[[Question], Step | None], ...] = (
    _partitions,
    _equality,
    _rewrite,
    _dangling,
    _manifests,
    _expiry,
    _orphans,
    _statistics,
)
"""In the order of the work: expiry before orphans, and statistics of what is left."""

"""Which partitions of a table are rewritten: those that are due, are not being written just now, and pay.

A rewrite has to pay: the time that its result saves to the scans of the coming days against the time that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from coordinator.maintenance.health import needed_files
from coordinator.maintenance.policies import Compaction
from coordinator.maintenance.questions import OPEN_SECONDS, Question, Step, disabled, seconds_of
from shared.spi.maintenance import PartitionState, TableState

_PROBE_SECONDS = 1e-6
"""To compare a row with one deleted key."""
_SKIPPED_IN_ORDER = 0.1
"""The share of a file that a scan is taken to skip once its rows are in order."""
_HOT_GAPS = 2.0
_FAR_TOO_MANY = 12
_VERY_MANY = 100
_PAUSE_GAPS = 8.0
_AMPLIFICATION = 3.0
_MOST_PARTITIONS = 50


def rewrite_step(asked: Question) -> Step:
    """The rewrite of the partitions that gain most, or why there is none."""
    name, policy = "rewrite_data_files", asked.policy.compaction
    if not policy.enable:
        return Step(name, disabled(asked, "compaction"))
    recently = asked.past.last_rewrite
    if recently is not None and (asked.now - recently).total_seconds() < policy.config.min_interval:
        again = recently + timedelta(seconds=policy.config.min_interval)
        return Step(name, f"the last rewrite is less than {policy.config.min_interval:g} s ago", due=again)
    due = [partition for partition in asked.state.partitions if _due(partition, asked.state, policy)]
    if not due:
        return Step(name, _nothing_due(asked.state, policy))
    cold = [partition for partition in due if not _hot(partition, asked)]
    if not cold:
        reason = f"{len(due)} partitions would be due, but are being written just now"
        return Step(name, reason, due=min(cold_from for p in due if (cold_from := _cold_from(p, asked)) is not None))
    worth = sorted(((_priority(partition, asked), partition) for partition in cold), key=lambda pair: -pair[0])
    bar = 2.0 if _amplified(asked.state) else 1.0
    paying = [(priority, partition) for priority, partition in worth if priority >= bar]
    if not paying:
        best = worth[0]
        return Step(name, f"{_described(best[1])} saves {best[0]:.2f} of what its rewrite costs, wanted is {bar:g}")
    taken = [(priority, partition) for priority, partition in paying if not _in_the_way(partition, asked)]
    if not taken:
        reason = f"{_described(paying[0][1])}; writers that change rows are at work, and would lose to a rewrite"
        return Step(name, reason, due=_pause_from(asked))
    return _chosen(asked, taken, len(due) - len(cold))


def applies_all_deletes(step: Step) -> bool:
    """Whether no delete file of the table applies to any row after a rewrite."""
    if step.arguments is None or "filter" in step.arguments:
        return False
    options = _options(step.arguments)
    return "delete-file-threshold" in options and "max-files-to-rewrite" not in options


def _due(partition: PartitionState, state: TableState, policy: Compaction) -> bool:
    if partition.small_files >= policy.config.min_input_files or _due_by_deletes(partition, policy):
        return True
    if partition.small_files > 1 and partition.small_size >= state.target_size:
        return True
    if _overlaps(partition, state, policy) or _is_stale(partition, state, policy):
        return True
    deleted = partition.position_deletes / max(1, partition.records)
    return deleted > policy.config.deleted_ratio


def _due_by_deletes(partition: PartitionState, policy: Compaction) -> bool:
    """Whether its delete files, which a scan opens as it does small files, make it as many as are too many."""
    deletes = partition.delete_files + partition.equality_files
    return deletes > 0 and partition.small_files + deletes >= policy.config.min_input_files


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
        f"no partition has {policy.config.min_input_files} small and delete files (small: {small}), nor more than "
        f"{policy.config.deleted_ratio:.0%} of its rows deleted{sharing}"
    )


def _hot(partition: PartitionState, asked: Question) -> bool:
    """Written a moment ago, so that the next commit would undo the work; not if it has far too many files."""
    if partition.files > _FAR_TOO_MANY * needed_files(partition, asked.state.target_size):
        return False
    cold_from = _cold_from(partition, asked)
    return cold_from is not None and asked.now < cold_from


def _in_the_way(partition: PartitionState, asked: Question) -> bool:
    """Whether a writer that changes rows may lose: where the rewrite comes between its reading and its commit.

    Such a writer is taken to be done in the second half of the gap between two commits, so that a rewrite that fits
    into the first half of a short gap is in nobody's way. Others wait for a pause, or until there are very many files.
    """
    changes = asked.state.rates.row_changes
    if changes is None or partition.files > _VERY_MANY * needed_files(partition, asked.state.target_size):
        return False
    passed = (asked.now - changes.last).total_seconds()
    if passed >= _PAUSE_GAPS * changes.median_gap_seconds:
        return False
    return passed + _cost(asked, partition) > changes.short_gap_seconds / 2


def _pause_from(asked: Question) -> datetime | None:
    changes = asked.state.rates.row_changes
    return None if changes is None else changes.last + timedelta(seconds=_PAUSE_GAPS * changes.median_gap_seconds)


def _cold_from(partition: PartitionState, asked: Question) -> datetime | None:
    gap, changed = asked.state.rates.median_gap_seconds, partition.last_change
    return None if gap is None or changed is None else changed + timedelta(seconds=_HOT_GAPS * gap)


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
    return seconds_of(asked, _work(asked, partition), partition.files)


def _work(asked: Question, partition: PartitionState) -> int:
    """A rewrite reads and writes the small files, and those out of order; with deletes, all files of the partition."""
    state, policy = asked.state, asked.policy.compaction
    if partition.position_deletes or partition.equality_deletes:
        return partition.size
    size = partition.overlap_size if _overlaps(partition, state, policy) else 0
    size += partition.stale_size if _is_stale(partition, state, policy) else 0
    return min(partition.size, max(size, partition.small_size))


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
    if any(_due_by_deletes(partition, asked.policy.compaction) for partition in taken):
        # Of files that are large enough, and of which few rows are deleted, nothing would be rewritten without it.
        arguments["options"] = {**_options(arguments), "delete-file-threshold": "1"}
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
    return Step(name, reason, arguments, size, seconds_of(asked, size, files), paying[0][0])


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
    deletes = partition.delete_files + partition.equality_files
    text += f", {deletes} delete files" if deletes else ""
    return f"{text}, and {deleted:.0%} of its rows are deleted" if deleted else text

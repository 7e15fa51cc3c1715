"""What a table needs, decided from its state, its policy and its past: pure, and every answer with its reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from coordinator.maintenance.questions import Question, Step, disabled, seconds_of
from coordinator.maintenance.rewriting import applies_all_deletes, rewrite_step

_LONGEST_PAUSE = timedelta(days=1)
_MORE_EQUALITY_FILES = 2
_PARTITIONS_EVERY = timedelta(days=1)


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
        return Step(name, disabled(asked, "compaction"))
    if files < _MORE_EQUALITY_FILES:
        return Step(name, f"equality delete files: {files}, fewer than {_MORE_EQUALITY_FILES}")
    if applies_all_deletes(rewrite_step(asked)):
        return Step(name, f"the rewrite applies the {files} equality delete files")
    recently, interval = asked.past.last_conversion, compaction.config.min_interval
    if recently is not None and (asked.now - recently).total_seconds() < interval:
        again = recently + timedelta(seconds=interval)
        return Step(name, f"the last conversion is less than {interval:g} s ago", due=again)
    size = sum(partition.size for partition in asked.state.partitions if partition.equality_files)
    keys = sum(partition.equality_deletes for partition in asked.state.partitions)
    reason = f"{files} equality delete files with {keys} keys are probed for every row of {size} bytes"
    return Step(name, reason, {}, size, seconds_of(asked, size, files), 1.0)


def _dangling(asked: Question) -> Step:
    name, count = "remove_dangling_deletes", asked.state.dangling_deletes
    if not asked.policy.compaction.enable:
        return Step(name, disabled(asked, "compaction"))
    if not count:
        return Step(name, "every delete file applies to some data file")
    return Step(name, f"{count} delete files apply to no data file", {}, 0, 1.0, 1.0)


def _manifests(asked: Question) -> Step:
    name, policy, state = "rewrite_manifests", asked.policy.metadata, asked.state
    if not policy.enable:
        return Step(name, disabled(asked, "metadata"))
    if state.small_manifests < policy.config.min_manifests:
        return Step(name, f"small manifests: {state.small_manifests}, fewer than {policy.config.min_manifests}")
    size = state.small_manifest_size
    return Step(name, f"{state.small_manifests} manifests are small", {}, size, 1.0, 1.0)


def _expiry(asked: Question) -> Step:
    name, policy, state = "expire_snapshots", asked.policy.expiry, asked.state
    if not policy.enable:
        return Step(name, disabled(asked, "expiry"))
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
        return Step(name, disabled(asked, "orphans"))
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
        return Step(name, disabled(asked, "statistics"))
    reason = f"{share:.0%} of the rows changed since"
    if share < policy.config.stale_ratio:
        return Step(name, reason)
    size = asked.state.size if name == "compute_table_stats" else 0
    return Step(name, reason, {}, size, seconds_of(asked, size // 2, asked.state.files), 0.5)


def _partitions(asked: Question) -> Step | None:
    policy, state, name = asked.policy.partitions, asked.state, "expire_partitions"
    if policy is None:
        return None
    if not policy.enable:
        return Step(name, disabled(asked, "partitions"))
    if not state.divided_by_time:
        return Step(name, "the table is not partitioned by time")
    last = asked.past.last_partitions
    if last is not None and asked.now - last < _PARTITIONS_EVERY:
        return Step(name, f"the last look for old partitions was at {last:%Y-%m-%d %H:%M} UTC, the next is a day later")
    older = asked.now - timedelta(seconds=policy.config.expire_after)
    return Step(name, f"partitions older than {older:%Y-%m-%d %H:%M} UTC go", {"older_than": older}, 0, 2.0, 0.5)


_STEPS: tuple[Callable[[Question], Step | None], ...] = (
    _partitions,
    _equality,
    rewrite_step,
    _dangling,
    _manifests,
    _expiry,
    _orphans,
    _statistics,
)
"""In the order of the work: expiry before orphans, and statistics of what is left."""

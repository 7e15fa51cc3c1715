"""One look at one table: its state, its policy, what is decided, and what stands in the way. Blocks."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from coordinator.maintenance.decisions import backed_off, decide
from coordinator.maintenance.health import health_of
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.policies import Policy, TablePolicy, policy_of
from coordinator.maintenance.questions import START_SECONDS, Question, Step
from coordinator.maintenance.records import Decision, Look, Pause, Spent, TableKey, Verdict
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.store import MaintenanceStore
from coordinator.maintenance.table_words import Spoken, spoken
from coordinator.maintenance.windows import open_until
from shared.errors import ProcessionError
from shared.spi.maintenance import TableState

_DAY = timedelta(days=1)
_AFTER_FAULT = timedelta(seconds=60)
_AGAIN = timedelta(seconds=1)
_SAID_FOR = timedelta(hours=1)
_NUMBER = re.compile(r"[0-9][0-9.,e+]*")
NOTHING_SPENT = Spent()


@dataclass(frozen=True, slots=True)
class _Said:
    """The last decisions of a table that were written down; ``words`` are they without their numbers."""

    said: tuple[tuple[str, str, str], ...]
    words: tuple[tuple[str, str, str], ...]
    moment: datetime


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a look found. ``runnable`` are the steps that may run now; ``group`` shares time with other groups."""

    look: Look
    decisions: tuple[Decision, ...]
    runnable: tuple[Step, ...] = ()
    group: str = "default"

    @property
    def next_step(self) -> Step | None:
        return next(iter(self.runnable), None)


class Inspector:
    """Thread-safe; keeps what it saw in the store."""

    def __init__(
        self,
        settings: MaintenanceSettings,
        policies: Callable[[], tuple[Policy, ...]],
        lake: Lake,
        store: MaintenanceStore,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = settings
        self._policies = policies
        self._lake = lake
        self._store = store
        self._now = now
        self._said: dict[TableKey, _Said] = {}
        self._attached: dict[TableKey, tuple[Policy, ...]] = {}
        self._lock = threading.Lock()

    def gone(self, keys: Collection[TableKey], listed: Collection[str]) -> list[TableKey]:
        """Tables that were looked at before and are no more, of catalogs that could be listed; they are forgotten."""
        known = set(keys)
        gone = [key for key in self._store.marks() if key.catalog in listed and key not in known]
        for key in gone:
            self._store.forget_table(key)
            with self._lock:
                self._said.pop(key, None)
                self._attached.pop(key, None)
        return gone

    def due(self, keys: Sequence[TableKey]) -> list[TableKey]:
        """Those of ``keys`` to look at: new ones, then those that changed or may have, then those whose time has come.

        One question for all looks, and one for each schema whose catalog tells of all of its tables.
        """
        now, marks, markers = self._now(), self._store.marks(), self._lake.markers(keys)
        nothing_starts = self._nothing_starts(now)
        new, changed, later = list[TableKey](), list[TableKey](), list[TableKey]()
        for key in keys:
            mark, marker = marks.get(key), markers.get(key)
            if mark is None:
                new.append(key)
            elif mark.state != "FAILED" and marker != mark.marker:
                changed.append(key)
            elif nothing_starts and mark.state == "WAIT":
                continue
            elif now >= mark.next_look or (mark.state == "DRY RUN" and not self._settings.dry_run):
                later.append(key)
        return [*new, *changed, *later]

    def _nothing_starts(self, now: datetime) -> bool:
        """Whether work waits for the same reason as at the last look, whatever a table needs."""
        settings = self._settings
        if open_until(settings.window, now) is None or any(pause.scope == "*" for pause in self._store.pauses()):
            return True
        if settings.seconds_per_day is None:
            return False
        return self._store.spent(now - _DAY).seconds + START_SECONDS > settings.seconds_per_day

    def policy(self, key: TableKey) -> TablePolicy:
        """What the policies say of a table, before it speaks itself."""
        with self._lock:
            attached = self._attached.get(key, ())
        return policy_of(self._policies(), key.catalog, key.schema, key.table, attached)

    def attached(self) -> list[tuple[TableKey, Policy]]:
        """Policies of catalogs' servers as the last looks at their tables found them."""
        with self._lock:
            return [(key, policy) for key, found in sorted(self._attached.items()) for policy in found]

    def _ask_for_policies(self, key: TableKey) -> None:
        if not self._settings.catalog_policies:
            return
        found = self._lake.attached(key)
        with self._lock:
            if found:
                self._attached[key] = found
            else:
                self._attached.pop(key, None)

    def spoken(self, key: TableKey, state: TableState) -> Spoken:
        """The policy after the table's own word."""
        return spoken(self.policy(key), state.properties)

    def group_of(self, key: TableKey) -> str:
        """The policy that says how its files are compacted."""
        return self.policy(key).sources["compaction"]

    def look(
        self,
        key: TableKey,
        *,
        forced: bool = False,
        began: datetime | None = None,
        reserved: Spent = NOTHING_SPENT,
    ) -> Inspection | None:
        """Look at a table that changed or is due; None for one that is not, or is no more.

        ``began``: when work on the table began, for the limit of one run; ``reserved`` is what calls will take that
        are about to begin.
        """
        now, before = self._now(), self._store.look(key)
        try:
            if not forced and before is not None and self._is_not_due(before, now):
                return None
            looked = self.examine(key, now, before, began, reserved)
        except ProcessionError as error:
            self._failed(key, before, now, error.message)
            return None
        except Exception as error:  # a table that breaks what reads it must not keep the others waiting
            self._failed(key, before, now, f"{type(error).__name__}: {error}")
            return None
        if looked is None:
            self._store.forget_table(key)
            return None
        self._store.save_look(looked.look, self._news(key, looked.decisions, now))
        return looked

    def _news(self, key: TableKey, decisions: Sequence[Decision], now: datetime) -> Sequence[Decision]:
        """What is wanted, or one line where nothing is; nothing where a look said the same before.

        Of work that does not begin, other numbers alone are news once an hour: a budget that shrinks with each call
        changes them for all tables that wait.
        """
        wanted = [decision for decision in decisions if decision.verdict != "SKIP"]
        if not wanted:
            wanted = [Decision(now, key, "look", "SKIP", "; ".join(f"{d.step}: {d.reason}" for d in decisions)[:1000])]
        said = tuple((each.step, each.verdict, each.reason) for each in wanted)
        words = tuple((step, verdict, _NUMBER.sub("", reason)) for step, verdict, reason in said)
        with self._lock:
            known = self._said.get(key)
            if known is not None and known.said == said:
                return ()
            idle = all(each.verdict != "RUN" for each in wanted)
            if known is not None and idle and known.words == words and now < known.moment + _SAID_FOR:
                return ()
            self._said[key] = _Said(said, words, now)
        return wanted

    def examine(
        self,
        key: TableKey,
        now: datetime,
        before: Look | None = None,
        began: datetime | None = None,
        reserved: Spent = NOTHING_SPENT,
    ) -> Inspection | None:
        """As ``look`` without writing anything down; None when there is no such table. Raises ProcessionError."""
        self._ask_for_policies(key)
        state = self._lake.state(key, self.policy(key), now)
        if state is None:
            return None
        words = self.spoken(key, state)
        past = self._store.past(key, now)
        asked = Question(state, words.policy, past, now, self._settings.horizon_days, self._settings.job_bytes)
        steps = decide(asked)
        waits = backed_off(asked)
        hindrances = [
            (waits or self._hindrance(key, step, now, began, reserved)) if step.wanted else None for step in steps
        ]
        dry = self._settings.dry_run or words.policy.dry_run
        decisions = tuple(
            _decision(now, key, step, hindrance, dry=dry) for step, hindrance in zip(steps, hindrances, strict=True)
        )
        runnable = tuple(
            step for step, decision in zip(steps, decisions, strict=True) if decision.verdict in ("RUN", "DRY RUN")
        )
        look = self._look_record(key, state, words, decisions, now, before, _soonest(steps))
        return Inspection(look, decisions, () if dry else runnable, words.policy.sources["compaction"])

    def _is_not_due(self, before: Look, now: datetime) -> bool:
        """A table that could not be read waits in any case; an unchanged one until its next look."""
        if before.state == "DRY RUN" and not self._settings.dry_run:
            return False
        return now < before.next_look and (before.state == "FAILED" or self._lake.marker(before.key) == before.marker)

    def _look_record(
        self,
        key: TableKey,
        state: TableState,
        words: Spoken,
        decisions: Sequence[Decision],
        now: datetime,
        before: Look | None,
        later: tuple[datetime, str] | None,
    ) -> Look:
        """``later``: when a step may be wanted that is not yet, and why it is not."""
        health = health_of(state)
        waiting = [each for each in decisions if each.verdict in ("RUN", "DRY RUN", "WAIT")]
        since = now if before is None or before.waiting_since is None else before.waiting_since
        reason = waiting[0].reason if waiting else "nothing is to be done" if later is None else later[1]
        if not waiting and len(decisions) == 1:
            reason = decisions[0].reason
        if words.ignored:
            reason = f"{reason}; ignored properties: {', '.join(words.ignored)}"
        idle = not waiting or waiting[0].verdict == "DRY RUN"
        again = timedelta(seconds=self._settings.unchanged_interval if idle else self._settings.scan_interval) - _AGAIN
        if later is not None:
            again = min(again, max(_AGAIN, later[0] - now))
        rows = sum(partition.records for partition in state.partitions)
        deleted = sum(partition.position_deletes for partition in state.partitions)
        return Look(
            key, state.uuid, state.marker, health.score, health.worst, health.worst_partition, state.files,
            health.files_needed, sum(partition.small_files for partition in state.partitions),
            sum(partition.delete_files + partition.equality_files for partition in state.partitions),
            deleted / rows if rows else 0.0, state.size, state.snapshots, state.manifests, state.rates.appended,
            state.rates.rewritten, ", ".join(sorted(set(words.policy.sources.values()))),
            waiting[0].verdict if waiting else "HEALTHY", reason[:1000], now, now + again,
            since if waiting else None, max((p.overlap_depth for p in state.partitions), default=0),
        )  # fmt: skip

    def _failed(self, key: TableKey, before: Look | None, now: datetime, message: str) -> None:
        """A table that cannot be read waits twice as long after each try."""
        pause = _AFTER_FAULT
        if before is not None and before.state == "FAILED":
            pause = min(_DAY, max(_AFTER_FAULT, 2 * (before.next_look - before.looked)))
        empty = (0,) * 2
        look = Look(
            key, "" if before is None else before.uuid, "", *empty, "", 0, 0, 0, 0, 0.0, 0, 0, 0, 0, 0, "",
            "FAILED", message[:1000], now, now + pause,
        )  # fmt: skip
        self._store.save_look(look, (Decision(now, key, "look", "FAILED", message[:1000]),))

    def _hindrance(
        self, key: TableKey, step: Step, now: datetime, began: datetime | None, reserved: Spent
    ) -> str | None:
        """Why a wanted step has to wait; None when it may run."""
        pause = next((pause for pause in self._store.pauses() if _covers(pause, key)), None)
        if pause is not None:
            return f"paused for {pause.scope} by {pause.by}: {pause.reason}"
        until = open_until(self._settings.window, now)
        if until is None:
            return "outside of the maintenance window"
        if until.year < datetime.max.year and now + timedelta(seconds=step.seconds) > until:
            return f"takes {step.seconds:g} s, but the window closes at {until:%H:%M:%S} UTC"
        return self._over_budget(key, step, now, began, reserved)

    def _over_budget(
        self, key: TableKey, step: Step, now: datetime, began: datetime | None, reserved: Spent
    ) -> str | None:
        settings = self._settings
        spent, of_table = self._store.spent(now - _DAY), self._store.spent(now - _DAY, key)
        run = 0.0 if began is None else (now - began).total_seconds()
        limits = (
            ("bytes of a day", spent.size + reserved.size, step.size, settings.bytes_per_day),
            ("seconds of a day", spent.seconds + reserved.seconds, step.seconds, settings.seconds_per_day),
            ("bytes of the table for a day", of_table.size, step.size, settings.bytes_per_table),
            ("seconds of one run", run, step.seconds, settings.seconds_per_run),
        )
        for name, used, wanted, most in limits:
            if most is not None and used + wanted > most:
                return f"needs {wanted:g} of the {name}, of which {max(0.0, most - used):g} of {most:g} are left"
        return None


def _soonest(steps: Sequence[Step]) -> tuple[datetime, str] | None:
    return min(((step.due, step.reason) for step in steps if step.due is not None), default=None)


def _covers(pause: Pause, key: TableKey) -> bool:
    """Scopes are in small letters, names of other programs' tables need not be."""
    return pause.scope == "*" or f"{key}.".lower().startswith(f"{pause.scope}.")


def _decision(now: datetime, key: TableKey, step: Step, hindrance: str | None, *, dry: bool) -> Decision:
    verdict: Verdict = "SKIP" if not step.wanted else "DRY RUN" if dry else "RUN"
    reason = step.reason
    if hindrance is not None:
        verdict, reason = "WAIT", f"{step.reason}; {hindrance}"
    return Decision(now, key, step.kind, verdict, reason[:1000], step.priority, step.size, step.seconds)

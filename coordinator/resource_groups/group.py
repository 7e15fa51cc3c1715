"""ResourceGroup: one node of the tree that decides which statements run and which wait.

Statements enter leaves and count in every group above. A group that has room starts its own waiting statement first,
then one of a sub-group, chosen by its policy. Source: Presto's InternalResourceGroup.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from time import monotonic
from typing import Literal, assert_never

from coordinator.resource_groups.queue import Ticket, TicketQueue
from coordinator.resource_groups.shares import NOTHING_USED, Asked, Demand, Share, Usage
from coordinator.resource_groups.specification import GroupSpec
from shared.errors import ErrorCode, ProcessionError

GroupState = Literal["CAN_RUN", "CAN_QUEUE", "FULL"]
_BELOW_SOFT_LIMIT = (1 << 31) - 1
_MOST = 1_000_000_000
"""What several coordinators divide."""


def _bounded(count: int) -> int:
    return min(count, _MOST)


def queue_full(path: tuple[str, ...]) -> ProcessionError:
    """With Presto's text."""
    return ProcessionError(ErrorCode.QUERY_QUEUE_FULL, f'Too many queued queries for "{".".join(path)}"')


class ResourceGroup:
    """Belongs to one event loop. ``quota_rate``: CPU seconds that the group may spend each second, or infinity."""

    def __init__(
        self,
        name: str,
        spec: GroupSpec,
        parent: ResourceGroup | None,
        random: Random,
        quota_period: float | None = None,
    ) -> None:
        self.spec = spec
        self.name = name
        self.id: tuple[str, ...] = (*parent.id, name) if parent is not None else (name,)
        self.parent = parent
        self.children: dict[str, ResourceGroup] = {}
        self.running_total = self.queued_total = 0
        self.cpu_usage = self.memory_usage = 0.0
        self.others = NOTHING_USED
        """Of limits that are those of all coordinators; refilled here as well, for when these cannot be asked."""
        self.workers = 1
        self.share: Share | None = None
        """What this coordinator may have of the limits that it has in common with others; None without others."""
        self.asking = 0
        """Statements that wait for an answer of the others, before they run, wait or are refused."""
        self.used = monotonic()
        self._random = random
        self._quota_period = quota_period
        self._running: dict[str, None] = {}
        self._paused: set[str] = set()
        self._queue = TicketQueue(random)
        # Sub-groups in which statements wait; who was served last stands at the end.
        self._line: dict[str, ResourceGroup] = {}

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the statements that hold a slot of this very group."""
        return tuple(self._running)

    @property
    def queued(self) -> tuple[str, ...]:
        """Ids of the statements that wait in this very group, in order of arrival."""
        return tuple(ticket.query_id for ticket in self._queue)

    @property
    def static(self) -> bool:
        """Named in the file as it is, all the way up."""
        return self.name == self.spec.name and (self.parent is None or self.parent.static)

    @property
    def idle(self) -> bool:
        """Nothing would be lost with it."""
        return not (self.running_total or self.queued_total or self.cpu_usage or self._paused or self.asking)

    @property
    def state(self) -> GroupState:
        if self.can_run_more():
            return "CAN_RUN"
        return "CAN_QUEUE" if self.can_queue_more() else "FULL"

    def configure(self, spec: GroupSpec, quota_period: float | None) -> None:
        """Take a changed specification; what runs and waits stays."""
        self.spec, self._quota_period = spec, quota_period

    def path_to_root(self) -> Iterator[ResourceGroup]:
        """This group, its parent, and so on."""
        group: ResourceGroup | None = self
        while group is not None:
            yield group
            group = group.parent

    def walk(self) -> Iterator[ResourceGroup]:
        """This group and everything below."""
        yield self
        for child in tuple(self.children.values()):
            yield from child.walk()

    def can_queue_more(self) -> bool:
        most = self.spec.max_queued if self.share is None else min(self.spec.max_queued, self.share.queued)
        return self.queued_total < most

    def can_run_more(self) -> bool:
        """By the limits of this very group."""
        return (
            self.cpu_of_all < self.spec.hard_cpu_limit
            and self.running_total < self.concurrency_limit
            and self.memory_of_all <= self.spec.soft_memory_limit
            and self.running_total * self.spec.workers_per_query_limit <= self.workers
        )

    @property
    def cpu_of_all(self) -> float:
        """What counts against the CPU limits."""
        return self.cpu_usage + self.others.cpu_seconds

    @property
    def memory_of_all(self) -> float:
        """What counts against the memory limit."""
        return self.memory_usage + self.others.memory_bytes

    @property
    def concurrency_limit(self) -> int:
        """What the specification allows, as far as other coordinators do not use it."""
        return self._own_limit if self.share is None else min(self._own_limit, self.share.running)

    @property
    def asked(self) -> Asked:
        """What it could use of limits that are those of all coordinators."""
        waiting = self.queued_total + self.asking
        demand = Demand(self.running_total, self._wanted(), self.queued_total, waiting)
        limits = _bounded(self._own_limit), _bounded(self.spec.max_queued)
        in_force = (0, 0) if self.share is None else (_bounded(self.share.running), _bounded(self.share.queued))
        cpu = self.cpu_usage if self.quota_rate is not None else 0.0
        memory = self.memory_usage if self.spec.memory_is_shared else 0.0
        return Asked(*limits, demand, *in_force, Usage(cpu, memory))

    def _wanted(self) -> int:
        """Statements that run and that would, if this group and those above had room for all."""
        below = self.children.values()
        of_children = sum(min(child._wanted(), child.spec.hard_concurrency_limit) for child in below)
        own = len(self._running) + len(self._queue) + self.asking - sum(child.asking for child in below)
        return max(self.running_total, _bounded(own + of_children))

    @property
    def _own_limit(self) -> int:
        """The hard limit, lowered in proportion between the soft and the hard CPU limit, but never below one."""
        spec = self.spec
        if self.cpu_of_all < spec.soft_cpu_limit or spec.soft_cpu_limit >= spec.hard_cpu_limit:
            return spec.hard_concurrency_limit
        penalty = (self.cpu_of_all - spec.soft_cpu_limit) / (spec.hard_cpu_limit - spec.soft_cpu_limit)
        lowered = min(int(spec.hard_concurrency_limit * (1 - penalty)), spec.hard_concurrency_limit - 1)
        return max(1, lowered)

    def admission(self) -> GroupState:
        """What ``submit`` would do now: run, queue, or refuse."""
        groups = tuple(self.path_to_root())
        if not self._queue and all(group.can_run_more() for group in groups):
            return "CAN_RUN"
        return "CAN_QUEUE" if all(group.can_queue_more() for group in groups) else "FULL"

    def only_busy(self) -> bool:
        """A statement would queue now, and for no other reason than that others run or wait."""
        if self.admission() != "CAN_QUEUE":
            return False
        return all(
            group.spec.hard_concurrency_limit > 0
            and group.cpu_of_all < group.spec.hard_cpu_limit
            and group.memory_of_all <= group.spec.soft_memory_limit
            for group in self.path_to_root()
        )

    def submit(self, ticket: Ticket) -> None:
        """Start at once or stand in line. Raises QUERY_QUEUE_FULL when neither this group nor one above has room."""
        self._touch()
        match self.admission():
            case "CAN_RUN":
                self._start(ticket)
            case "CAN_QUEUE":
                self._queue.put(ticket)
                self._count_queued(1)
            case "FULL":
                raise queue_full(self.id)
            case never:
                assert_never(never)

    def pause(self, query_id: str) -> bool:
        """Lend the slot to others until ``resume``; of as many statements as may run, not of more."""
        if query_id not in self._running or len(self._paused) >= self.spec.hard_concurrency_limit:
            return False
        self.remove(query_id)
        self._paused.add(query_id)
        return True

    def resume(self, query_id: str) -> None:
        """Take the slot back, in any case; of a statement that has one, nothing changes."""
        if query_id in self._paused:
            self._paused.discard(query_id)
            self._occupy(query_id)

    def remove(self, query_id: str) -> None:
        """Give back the slot or leave the line; unknown ids change nothing."""
        self._paused.discard(query_id)
        self._touch()
        if query_id in self._running:
            del self._running[query_id]
            for group in self.path_to_root():
                group.running_total -= 1
        elif query_id in self._queue:
            self._queue.discard(query_id)
            self._count_queued(-1)

    def _touch(self) -> None:
        for group in self.path_to_root():
            group.used = monotonic()

    def charge(self, cpu_seconds: float) -> None:
        """Count what a statement of this group has used, here and above."""
        for group in self.path_to_root():
            if group.quota_rate is not None:
                group.cpu_usage += cpu_seconds

    @property
    def quota_rate(self) -> float | None:
        """CPU seconds that a second gives back; None for a group without CPU limit."""
        limit = self.spec.hard_cpu_limit
        if self._quota_period is None or limit == float("inf"):
            return None
        return max(limit / self._quota_period, 0.001)

    def refill(self, seconds: float) -> None:
        """Time has passed: forgive CPU usage, to each coordinator in proportion to its own."""
        rate, used = self.quota_rate, self.cpu_of_all
        kept = 0.0 if rate is None or used <= 0.0 else max(0.0, 1.0 - seconds * rate / used)
        self.cpu_usage *= kept
        self.others = replace(self.others, cpu_seconds=self.others.cpu_seconds * kept)

    def start_next(self) -> bool:
        """Start one waiting statement of this group or below; False when none may start."""
        if not self.can_run_more():
            return False
        if self._queue:
            ticket = self._queue.pop(self.spec.scheduling_policy)
            self._count_queued(-1)
            self._start(ticket)
            return True
        eligible = [group for group in self._line.values() if group.eligible()]
        if not eligible:
            return False
        chosen = self._choose(eligible)
        del self._line[chosen.name]
        self._line[chosen.name] = chosen  # to the end, before its own counts may take it out
        return chosen.start_next()

    def eligible(self) -> bool:
        """``start_next`` would start a statement."""
        return self.can_run_more() and (bool(self._queue) or any(g.eligible() for g in self._line.values()))

    def eligible_children(self) -> int:
        return sum(group.eligible() for group in self._line.values())

    def highest_priority(self) -> int:
        """Of the statements that wait here and below."""
        return max((self._queue.highest_priority(), *(g.highest_priority() for g in self._line.values())))

    def _choose(self, groups: list[ResourceGroup]) -> ResourceGroup:
        """Of ``groups``, in whose order the least recently served is first."""
        policy = self.spec.scheduling_policy
        match policy:
            case "fair":
                return groups[0]
            case "weighted":
                return self._random.choices(groups, [group._weight() for group in groups])[0]
            case "weighted_fair":
                return min(groups, key=lambda group: group.running_total / group.spec.scheduling_weight)
            case "query_priority":
                return max(groups, key=lambda group: group.highest_priority())
            case _:
                assert_never(policy)

    def _weight(self) -> int:
        if self.running_total >= self.spec.soft_concurrency_limit:
            return self.spec.scheduling_weight
        return _BELOW_SOFT_LIMIT * self.spec.scheduling_weight

    def _start(self, ticket: Ticket) -> None:
        self._occupy(ticket.query_id)
        ticket.start()

    def _occupy(self, query_id: str) -> None:
        self._running[query_id] = None
        for group in self.path_to_root():
            group.running_total += 1

    def _count_queued(self, change: int) -> None:
        for group in self.path_to_root():
            group.queued_total += change
            if group.parent is None:
                continue
            if group.queued_total:
                group.parent._line.setdefault(group.name, group)
            else:
                group.parent._line.pop(group.name, None)

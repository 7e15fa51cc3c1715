"""ResourceGroups: all groups of one coordinator, made as statements come, reconfigured while they run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from time import monotonic
from typing import Protocol

from coordinator.resource_groups.group import ResourceGroup
from coordinator.resource_groups.queue import Ticket
from coordinator.resource_groups.selection import GroupSelection, SelectionCriteria, select
from coordinator.resource_groups.shares import Asked, Path, Share
from coordinator.resource_groups.specification import GroupSpec, ManagerSpec, global_group, variables_of
from shared.errors import ProcessionError

_UNKNOWN = Share(0, 0)
"""Of a group for which the other coordinators were not asked yet."""
_AGAIN_SECONDS = 0.1
_KEPT_SECONDS = 60.0


class SlotSharing(Protocol):
    """The other coordinators, with whom limits are had in common."""

    @property
    def coordinators(self) -> int:
        """How many there are."""

    @property
    def patience(self) -> float:
        """Within so many seconds all others give back what they do not need."""

    async def ask(self) -> None:
        """Until shares are known that take account of what is wanted now, or for a moment where that cannot be."""

    def wake(self) -> None:
        """Somebody else may use what came free."""


class ResourceGroups:
    """Belongs to one event loop; every method is called on it. ``random`` decides under the weighted policy."""

    def __init__(self, spec: ManagerSpec | None = None, random: Random | None = None) -> None:
        self._random = random if random is not None else Random()  # noqa: S311 - no secret depends on it
        self._roots: dict[str, ResourceGroup] = {}
        self._groups: dict[str, ResourceGroup] = {}
        self._spec = spec if spec is not None else global_group()
        self._sharing: SlotSharing | None = None
        self._open_static()

    @property
    def spec(self) -> ManagerSpec:
        """What is configured now."""
        return self._spec

    @property
    def roots(self) -> tuple[ResourceGroup, ...]:
        return tuple(self._roots.values())

    def walk(self) -> Iterator[ResourceGroup]:
        """Every group, parents before their children."""
        for root in self.roots:
            yield from root.walk()

    def share_with(self, sharing: SlotSharing) -> None:
        """From now on limits are those of all coordinators together."""
        self._sharing = sharing
        for group in self.walk():
            group.share = _UNKNOWN

    def asked(self) -> dict[Path, Asked]:
        """What this coordinator could use of each group."""
        return {group.id: group.asked for group in self.walk()}

    def allow(self, shares: Mapping[Path, Share]) -> None:
        """Take what the others leave, and start what may start then."""
        for path, share in shares.items():
            group = self.find(path)
            if group is not None:
                group.share, group.others = share, share.others
        self.process()

    def lose_others(self) -> None:
        """They cannot be asked: what they use of memory now is not known. Their CPU is forgiven as time passes."""
        for group in self.walk():
            group.others = replace(group.others, memory_bytes=0.0)
        self.process()

    def find(self, path: tuple[str, ...]) -> ResourceGroup | None:
        """The group of that path, if it exists now."""
        group = self._roots.get(path[0]) if path else None
        for name in path[1:]:
            group = group.children.get(name) if group is not None else None
        return group

    def select(self, criteria: SelectionCriteria) -> GroupSelection:
        """Raises MISSING_RESOURCE_GROUP_SELECTOR or INVALID_RESOURCE_GROUP."""
        return select(self._spec, criteria)

    def admission(self, selection: GroupSelection) -> str:
        """CAN_RUN, CAN_QUEUE or FULL: what would become of a statement now. Makes no group."""
        group: ResourceGroup | None = None
        for depth in range(len(selection.path), 0, -1):
            group = self.find(selection.path[:depth])
            if group is not None:
                break
        missing = selection.specs[0 if group is None else len(group.id) :]
        above = "CAN_RUN" if group is None else group.admission()
        if above == "CAN_RUN" and all(spec.hard_concurrency_limit for spec in missing):
            return "CAN_RUN"
        return "FULL" if above == "FULL" or not all(spec.max_queued for spec in missing) else "CAN_QUEUE"

    async def acquire(
        self, selection: GroupSelection, query_id: str, *, priority: int = 1, retry: bool = False, done: bool = False
    ) -> ResourceGroup:
        """Return once ``query_id`` holds a slot; cancelling the wait leaves the line.

        A statement whose rows are known (``done``) needs none where others would have to wait for one to come free.
        Raises QUERY_QUEUE_FULL at once when the line is full.
        """
        group = self._open(selection)
        if done and group.only_busy():
            return group
        await self._ask(group)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            group.submit(Ticket(query_id, lambda: _wake(turn), priority, retry))
        except ProcessionError:
            self._forget(group)
            raise
        self._groups[query_id] = group
        try:
            await turn
        except asyncio.CancelledError:
            self.release(query_id)
            raise
        return group

    async def _ask(self, group: ResourceGroup) -> None:
        """Let the others give back what they do not need, before a statement has to wait or is refused."""
        sharing, path = self._sharing, tuple(group.path_to_root())
        if sharing is None or group.admission() == "CAN_RUN":
            return
        for each in path:
            each.asking += 1
        try:
            limit = monotonic() + sharing.patience
            while True:
                await sharing.ask()
                for each in path:
                    if each.share is _UNKNOWN:
                        each.share = _alone(each.spec, sharing.coordinators)
                if group.admission() != "FULL" or _is_full(path) or monotonic() > limit:
                    return
                await asyncio.sleep(_AGAIN_SECONDS)
        finally:
            for each in path:
                each.asking -= 1

    def release(self, query_id: str, cpu_seconds: float = 0.0) -> None:
        """Give back the slot, or leave the line; unknown ids change nothing."""
        group = self._groups.pop(query_id, None)
        if group is None:
            return
        group.charge(cpu_seconds)
        group.remove(query_id)
        if self._sharing is not None and any(each.share and each.share.contended for each in group.path_to_root()):
            self._sharing.wake()
        self._forget(group)
        self.process()

    def pause(self, query_id: str) -> None:
        """Lend the slot of a statement that waits for its client to others; unknown ids change nothing."""
        group = self._groups.get(query_id)
        if group is not None and group.pause(query_id):
            self.process()

    def resume(self, query_id: str) -> None:
        """It goes on: its slot is its own again, even if that makes one too many for a while."""
        group = self._groups.get(query_id)
        if group is not None:
            group.resume(query_id)

    def process(self) -> None:
        """Start everything that may start."""
        for root in self.roots:
            while root.start_next():
                pass

    def tick(self, seconds: float, memory_of: Callable[[str], float], workers: int = 1) -> None:
        """``seconds`` have passed: refill CPU quotas, add up the memory of running statements, go on."""
        for root in self.roots:
            _measure(root, memory_of, workers)
            for group in root.walk():
                group.refill(seconds)
                self._forget(group)
        self.process()

    def configure(self, spec: ManagerSpec) -> None:
        """Take a changed configuration.

        Groups that are gone from it take no new statement; those that run or wait in one end under its old limits.
        """
        self._spec = spec
        for name, root in self._roots.items():
            _configure(root, _spec_for(spec.root_groups, name, root.spec), spec)
        self._open_static()
        for group in list(self.walk())[::-1]:
            self._forget(group)
        self.process()

    def _open_static(self) -> None:
        for spec in self._spec.root_groups:
            self._open_below((), spec)

    def _open_below(self, above: tuple[GroupSpec, ...], spec: GroupSpec) -> None:
        """Groups without templates exist from the start, so that they can be looked at."""
        if variables_of(spec.name):
            return
        specs = (*above, spec)
        self._open(GroupSelection(tuple(s.name for s in specs), specs))
        for child in spec.sub_groups:
            self._open_below(specs, child)

    def _open(self, selection: GroupSelection) -> ResourceGroup:
        group: ResourceGroup | None = None
        for name, spec in zip(selection.path, selection.specs, strict=True):
            level = self._roots if group is None else group.children
            if name not in level:
                level[name] = ResourceGroup(name, spec, group, self._random, self._spec.cpu_quota_period)
                level[name].share = None if self._sharing is None else _UNKNOWN
            group = level[name]
        assert group is not None
        return group

    def _forget(self, group: ResourceGroup) -> None:
        """Drop groups of templates that nobody uses: user names must not fill the memory."""
        for each in tuple(group.path_to_root()):
            configured = each.static and _configured(self._spec.root_groups, each.id)
            if self._sharing is not None and monotonic() - each.used < _KEPT_SECONDS:
                return  # to ask for its share takes longer than many a statement
            if each.children or not each.idle or configured:
                return
            level = self._roots if each.parent is None else each.parent.children
            level.pop(each.name, None)


def _alone(spec: GroupSpec, coordinators: int) -> Share:
    """Of a group that the others could not be asked for: its part, and one at least."""
    running, queued = spec.hard_concurrency_limit, spec.max_queued
    return Share(min(running, max(1, running // coordinators)), min(queued, max(1, queued // coordinators)))


def _is_full(path: tuple[ResourceGroup, ...]) -> bool:
    """Nobody has places that he could give back."""
    return any(
        (group.share is not None and group.share.full) or group.queued_total >= group.spec.max_queued for group in path
    )


def _configured(groups: tuple[GroupSpec, ...], path: tuple[str, ...]) -> bool:
    for name in path:
        found = next((group for group in groups if group.name == name), None)
        if found is None:
            return False
        groups = found.sub_groups
    return True


def _configure(group: ResourceGroup, spec: GroupSpec | None, manager: ManagerSpec) -> None:
    if spec is not None:
        group.configure(spec, manager.cpu_quota_period)
    for name, child in group.children.items():
        _configure(child, None if spec is None else _spec_for(spec.sub_groups, name, child.spec), manager)


def _spec_for(groups: tuple[GroupSpec, ...], name: str, old: GroupSpec) -> GroupSpec | None:
    """The specification that made the group, or one that is written out under its name."""
    by_name = {group.name: group for group in groups}
    return by_name.get(name) or by_name.get(old.name)


def _measure(group: ResourceGroup, memory_of: Callable[[str], float], workers: int) -> float:
    own = sum(memory_of(query_id) for query_id in group.running)
    group.workers = workers
    group.memory_usage = own + sum(_measure(child, memory_of, workers) for child in group.children.values())
    return group.memory_usage


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)

"""``/ui/groups`` and ``/ui/node``: who waits for whom, this process, and its settings."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf

from fastapi import Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.resource_groups.group import ResourceGroup
from coordinator.server.lifecycle import NodeLifecycle
from coordinator.server.query_access import QueryAccess
from coordinator.server.settings import NodeInfo
from coordinator.server.ui.activity import resident_memory
from coordinator.server.ui.page import Context, Pages
from coordinator.server.ui.parts import Part, ShownSetting, parts_for
from coordinator.server.ui.words import size

_MOST_CHILDREN = 200
_EVERY = 3


@dataclass(frozen=True, slots=True)
class GroupNode:
    """A group with those below it that are there."""

    path: str
    name: str
    state: str
    running: int
    queued: int
    most_running: int
    most_queued: int
    memory: str
    policy: str
    children: tuple[GroupNode, ...]


@dataclass(frozen=True, slots=True)
class GroupsPage:
    dispatcher: Dispatcher
    pages: Pages

    async def show(self, request: Request) -> Response:
        async def begin() -> Callable[[], Context]:
            made = {"groups": [_group(root) for root in self.dispatcher.groups.roots]}
            return lambda: made

        return await self.pages.live(request, "groups.html", "groups", _EVERY, begin)


def _group(group: ResourceGroup) -> GroupNode:
    spec = group.spec
    limit = "" if spec.soft_memory_limit == inf else f" of {size(spec.soft_memory_limit)}"
    return GroupNode(
        ".".join(group.id),
        group.id[-1],
        group.state,
        group.running_total,
        group.queued_total,
        spec.hard_concurrency_limit,
        spec.max_queued,
        f"{size(group.memory_usage)}{limit}",
        spec.scheduling_policy,
        tuple(_group(child) for child in islice(group.children.values(), _MOST_CHILDREN)),
    )


@dataclass(frozen=True, slots=True)
class NodePage:
    node: NodeInfo
    lifecycle: NodeLifecycle
    access: QueryAccess
    parts: Callable[[], Sequence[Part]]
    settings: Callable[[], Sequence[ShownSetting]]
    pages: Pages

    async def show(self, request: Request) -> Response:
        """Settings are for those who may read system information."""
        allowed = await self.access.may_read_information(request)

        def make() -> dict[str, object]:
            return {
                "facts": {
                    "Node": self.node.node_id,
                    "Version": self.node.version,
                    "Environment": self.node.environment,
                    "State": self.lifecycle.state.value,
                    "Python": platform.python_version(),
                    "Processors": str(os.cpu_count()),
                    "Load": " ".join(f"{each:.1f}" for each in os.getloadavg()),
                    "Memory of this process": size(resident_memory()),
                },
                "uptime": self.lifecycle.uptime,
                "parts": parts_for(self.parts(), allowed),
                "settings": self.settings() if allowed else None,
            }

        return await self.pages.show(request, "node.html", "node", make)

"""Resource groups: a slot for each running statement, a bounded FIFO line in front.

Today there is the root group ``global``; selectors and sub-groups will choose among more in ``ResourceGroups.select``.
Source: Presto's InternalResourceGroup.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

GroupState = Literal["CAN_RUN", "CAN_QUEUE", "FULL"]


@dataclass(frozen=True, slots=True)
class ResourceGroupSettings:
    """One group: ``hard_concurrency_limit`` statements run, ``max_queued`` wait."""

    name: str = "global"
    hard_concurrency_limit: int = 100
    max_queued: int = 1000


class ResourceGroup:
    """Belongs to one event loop; every method is called on it."""

    def __init__(self, settings: ResourceGroupSettings) -> None:
        self.settings = settings
        self._running: dict[str, None] = {}
        self._waiting: OrderedDict[str, asyncio.Future[None]] = OrderedDict()

    @property
    def id(self) -> tuple[str, ...]:
        """The path from the root."""
        return tuple(self.settings.name.split("."))

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the queries that hold a slot."""
        return tuple(self._running)

    @property
    def queued(self) -> tuple[str, ...]:
        """Ids of the queries in line, next first."""
        return tuple(self._waiting)

    @property
    def state(self) -> GroupState:
        if len(self._running) < self.settings.hard_concurrency_limit:
            return "CAN_RUN"
        return "CAN_QUEUE" if len(self._waiting) < self.settings.max_queued else "FULL"

    async def acquire(self, query_id: str) -> None:
        """Return once ``query_id`` holds a slot; cancelling the wait leaves the line.

        Raises QUERY_QUEUE_FULL at once when the line is full.
        """
        match self.state:
            case "CAN_RUN":
                self._running[query_id] = None
            case "FULL":
                raise ProcessionError(ErrorCode.QUERY_QUEUE_FULL, f'Too many queued queries for "{self.settings.name}"')
            case "CAN_QUEUE":
                turn = asyncio.get_running_loop().create_future()
                self._waiting[query_id] = turn
                try:
                    await turn
                except asyncio.CancelledError:
                    self.release(query_id)
                    raise

    def release(self, query_id: str) -> None:
        """Give back the slot, or leave the line; unknown ids change nothing."""
        self._waiting.pop(query_id, None)
        self._running.pop(query_id, None)
        while self._waiting and len(self._running) < self.settings.hard_concurrency_limit:
            next_id, turn = self._waiting.popitem(last=False)
            if not turn.done():
                self._running[next_id] = None
                turn.set_result(None)


class ResourceGroups:
    """The groups of one coordinator."""

    def __init__(self, settings: ResourceGroupSettings) -> None:
        self._root = ResourceGroup(settings)

    def select(self, session: Session) -> ResourceGroup:  # noqa: ARG002 - selectors will read it
        """The group that a statement of ``session`` is admitted by."""
        return self._root

    def find(self, name: str) -> ResourceGroup | None:
        """The group of that dotted name."""
        return self._root if name == self._root.settings.name else None

    @property
    def roots(self) -> tuple[ResourceGroup, ...]:
        return (self._root,)

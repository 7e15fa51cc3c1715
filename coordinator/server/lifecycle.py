"""The node's own life: active, drained, shutting down. Source: Presto's GracefulShutdownHandler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from time import monotonic

from coordinator.dispatch.dispatcher import Dispatcher
from shared.errors import ErrorCode, ProcessionError


class NodeState(Enum):
    ACTIVE = "ACTIVE"
    INACTIVE = "INACTIVE"
    SHUTTING_DOWN = "SHUTTING_DOWN"


class NodeLifecycle:
    """Refuses new statements unless ACTIVE; once SHUTTING_DOWN there is no way back."""

    def __init__(self, dispatcher: Dispatcher, grace_period: float, stop: Callable[[], None] | None) -> None:
        self._dispatcher = dispatcher
        self._grace_period = grace_period
        self._stop = stop
        self._started = monotonic()
        self._shutdown: asyncio.Task[None] | None = None
        self.state = NodeState.ACTIVE
        self.starting = True

    @property
    def uptime(self) -> float:
        """Seconds."""
        return monotonic() - self._started

    def change(self, new: NodeState) -> bool:
        """Step to ``new``; False when the node is already shutting down and cannot."""
        if self.state is NodeState.SHUTTING_DOWN:
            return new is NodeState.SHUTTING_DOWN
        self.state = new
        match new:
            case NodeState.ACTIVE:
                self._dispatcher.refusal = None
            case NodeState.INACTIVE:
                self._dispatcher.refusal = _refusal("Server is inactive and takes no new statements")
            case NodeState.SHUTTING_DOWN:
                self._dispatcher.refusal = _refusal("Server is shutting down")
                self._shutdown = asyncio.create_task(self._shut_down(), name="graceful-shutdown")
        return True

    async def _shut_down(self) -> None:
        await asyncio.sleep(self._grace_period)
        await self._dispatcher.drained()
        if self._stop is not None:
            self._stop()


def _refusal(text: str) -> ProcessionError:
    # Retriable: another coordinator will take the statement.
    return ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, text, retriable=True)

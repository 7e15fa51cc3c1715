"""What pages need while the server runs: samples of the last hour, and threads of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.server.ui.activity import Activity

_THREADS = 2


class UiLife:
    """``threads`` make pages alone: who asks for many keeps no statement waiting."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.activity = Activity(dispatcher)
        self.threads = ThreadPoolExecutor(_THREADS, "ui")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.activity.running():
            yield
        self.threads.shutdown(wait=False, cancel_futures=True)

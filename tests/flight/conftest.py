"""A Flight SQL server over fakes of the dispatcher's ports, without an HTTP server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.settings import DispatchSettings
from coordinator.flight.callers import Callers
from coordinator.flight.server import FlightServer
from coordinator.flight.settings import FlightSettings
from coordinator.flight.statements import Statements
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.server.settings import ServerSettings
from tests.protocol.conftest import ANSWERS, FakeChecker, FakeExecutor, FakePlanner, MovableClock


@dataclass
class Flight:
    uri: str
    dispatcher: Dispatcher
    planner: FakePlanner
    loop: asyncio.AbstractEventLoop

    def newest(self) -> Any:
        return list(self.dispatcher.registry)[-1]


@contextmanager
def running_flight(
    answers: dict[str, Callable[[], Any]] | None = None,
    settings: DispatchSettings | None = None,
    server_settings: ServerSettings | None = None,
    credentials: Any = None,
    results_folder: Path | None = None,
    groups: ResourceGroups | None = None,
    **options: Any,
) -> Iterator[Flight]:
    known = ANSWERS | (answers or {})
    planner, found, stop = FakePlanner(known), list[Flight](), list[Any]()
    ready = threading.Event()

    async def serve() -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        stop.append(lambda: loop.call_soon_threadsafe(ended.set))
        clock = MovableClock()
        chosen = settings or DispatchSettings(sweep_interval=0.05)
        dispatcher = Dispatcher(
            planner,
            FakeChecker(),
            FakeExecutor(known),
            groups or ResourceGroups(None),
            chosen,
            clock,
            results_folder=results_folder,
        )
        made = FlightServer(
            Callers(server_settings or ServerSettings(), clock),
            Statements(dispatcher, planner),
            FlightSettings.model_validate({"port": 0} | options),
            "127.0.0.1",
            "0.1.0",
            credentials,
            lambda uri: found.append(Flight(uri, dispatcher, planner, loop)),
        )
        async with dispatcher.running(), made.running():
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield found[0]
    finally:
        stop[0]()
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def flight() -> Iterator[Flight]:
    with running_flight() as running:
        yield running

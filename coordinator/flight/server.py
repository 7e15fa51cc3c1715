"""The Flight SQL server: a thread with an event loop of its own beside the coordinator's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
import structlog

from coordinator.flight.backend import Backend
from coordinator.flight.callers import Callers
from coordinator.flight.crossing import Crossing
from coordinator.flight.prepared import PreparedStatements
from coordinator.flight.service import FlightService
from coordinator.flight.settings import FlightSettings
from coordinator.flight.sql_info import sql_info
from coordinator.flight.statements import Statements
from shared.properties import ConfigurationError

_log = structlog.get_logger(__name__)
_GRACE = 1.0
_METADATA = 64 << 10
_AROUND_ROWS = 1 << 20
"""What a message with rows has besides their bytes."""
Credentials = Callable[[], grpc.ServerCredentials]


@dataclass(frozen=True, slots=True)
class FlightServer:
    """``credentials`` are those of TLS, None without it. ``ready`` is called with the address."""

    callers: Callers
    statements: Statements
    settings: FlightSettings
    host: str
    version: str
    credentials: Credentials | None = None
    ready: Callable[[str], None] = lambda _: None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve meanwhile. Raises ConfigurationError where the port cannot be had."""
        if self.settings.port is None:
            yield
            return
        begun: asyncio.Future[_Serving] = asyncio.get_running_loop().create_future()
        crossing = Crossing(asyncio.get_running_loop())
        thread = threading.Thread(target=self._serve, args=(crossing, begun), name="flight-sql", daemon=True)
        thread.start()
        serving = await begun
        try:
            yield
        finally:
            serving.stop()
            await asyncio.to_thread(thread.join, 10 * _GRACE)

    def _serve(self, crossing: Crossing, begun: asyncio.Future[_Serving]) -> None:
        """Whatever fails, ``begun`` says it: the coordinator's start waits for that."""
        try:
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._until_stopped(crossing, begun))
        except BaseException as error:
            failure = error
            crossing.soon(lambda: _failed(begun, failure))

    async def _until_stopped(self, crossing: Crossing, begun: asyncio.Future[_Serving]) -> None:
        server, port = await self._started(crossing)
        try:
            stopped = asyncio.Event()
            serving = _Serving(asyncio.get_running_loop(), stopped)
            scheme = "grpc" if self.credentials is None else "grpc+tls"
            address = f"{scheme}://{self.host}:{port}"
            _log.info("serving Flight SQL", address=address)
            self.ready(address)
            crossing.soon(lambda: _succeeded(begun, serving))
            await stopped.wait()
        finally:
            await server.stop(_GRACE)

    async def _started(self, crossing: Crossing) -> tuple[grpc.aio.Server, int]:
        settings = self.settings
        prepared = PreparedStatements(settings.prepared_of_user, settings.prepared_idle)
        info = sql_info(self.version, settings.prepared_idle)
        backend = Backend(self.callers, self.statements, crossing, prepared, settings, info)
        server = grpc.aio.server(
            handlers=(FlightService(backend, secure=self.credentials is not None),),
            options=_options(settings),
            maximum_concurrent_rpcs=settings.max_calls,
        )
        address = f"{self.host}:{settings.port}"
        try:
            if self.credentials is None:
                port = server.add_insecure_port(address)
            else:
                port = server.add_secure_port(address, self.credentials())
        except RuntimeError as error:
            raise ConfigurationError(f"cannot listen on {address} for Flight SQL: the port is in use") from error
        await server.start()
        return server, port


@dataclass(frozen=True, slots=True)
class _Serving:
    loop: asyncio.AbstractEventLoop
    stopped: asyncio.Event

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.stopped.set)


def _succeeded(begun: asyncio.Future[_Serving], serving: _Serving) -> None:
    """On the coordinator's loop, whose start may have been given up."""
    if begun.done():
        serving.stop()
    else:
        begun.set_result(serving)


def _failed(begun: asyncio.Future[_Serving], failure: BaseException) -> None:
    """On the coordinator's loop."""
    if begun.done():
        _log.error("Flight SQL has ended", exc_info=failure)
    else:
        begun.set_exception(failure)


def _options(settings: FlightSettings) -> list[tuple[str, int]]:
    """A client that is gone without a word is noticed, and nobody's messages are larger than a statement."""
    return [
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", max(settings.message_size, settings.rows_size + _AROUND_ROWS)),
        ("grpc.max_metadata_size", _METADATA),
        ("grpc.absolute_max_metadata_size", 2 * _METADATA),
        ("grpc.max_concurrent_streams", settings.max_calls),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.max_ping_strikes", 0),
    ]

"""uvicorn over one application: plain HTTP, TLS, or both."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from traceback import format_exception
from types import FrameType
from typing import Protocol

import structlog
import uvicorn
from fastapi import FastAPI

from coordinator.config import CoordinatorConfig
from coordinator.room_settings import request_limits
from coordinator.server.request_limits import LimitedProtocol
from coordinator.server.tls import load_tls
from shared.errors import ProcessionError
from shared.properties import ConfigurationError

_log = structlog.get_logger("coordinator")
_BACKLOG = 2048
_HANDSHAKE_SECONDS = 10.0
_LINGER_SECONDS = 0.25
"""A request may be on its way over a connection that would be closed without an answer."""


class MakeApp(Protocol):
    """``create_app`` of one configuration."""

    def __call__(
        self, *, stop: Callable[[], None], address: str, start_failed: Callable[[Exception], None]
    ) -> FastAPI: ...


class HttpServer(uvicorn.Server):
    """Tells its addresses when it serves; its app can ask it to stop. ``run`` wants ``plain`` as its sockets."""

    def __init__(self, config: CoordinatorConfig, make_app: MakeApp, ready: Callable[[str], None]) -> None:
        """Raises ConfigurationError."""
        settings = config.coordinator
        self._tls: ssl.SSLContext | None = load_tls(config.etc, config.https)
        self.plain = [_listen(settings.http_host, settings.http_port)] if config.https.http_enabled else []
        self._secure = [] if self._tls is None else [_listen(settings.http_host, config.https.port)]
        self._addresses = [_address("http", each) for each in self.plain]
        self._addresses += [_address("https", each) for each in self._secure]
        self.failure: str | None = None
        app = make_app(stop=self._stop, address=self._addresses[0], start_failed=self._failed)
        # Statement bodies are small and pages are encoded already; uvloop and httptools carry the rest.
        super().__init__(
            uvicorn.Config(
                app,
                http=partial(LimitedProtocol, request_limits(config)),  # type: ignore[arg-type]
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # whether they count is a setting of ours
                timeout_graceful_shutdown=10,
            )
        )
        self._ready = ready
        self._drains = settings.drain_on_sigterm
        self._drain: Callable[[], None] = app.state.drain
        self._loop: asyncio.AbstractEventLoop | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Of a signal: the first SIGTERM may only ask for an end."""
        if sig == signal.SIGTERM and self._drains and self._loop is not None:
            self._drains = False
            self._loop.call_soon_threadsafe(self._drain)
            return
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, after a moment in which no connection is taken and those that are open may still ask."""
        for listener in self.servers:
            listener.close()
        for each in sockets or []:
            each.close()
        if self.server_state.connections:
            await asyncio.sleep(_LINGER_SECONDS)
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = loop = asyncio.get_running_loop()
        for listener in self._secure:
            server = await loop.create_server(
                self._protocol, sock=listener, ssl=self._tls, backlog=_BACKLOG, ssl_handshake_timeout=_HANDSHAKE_SECONDS
            )
            self.servers.append(server)
        if self.started:
            for address in self._addresses:
                self._ready(address)

    def _protocol(self) -> asyncio.Protocol:
        """As uvicorn makes them for the sockets that it knows."""
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, without raising the signals again at the end: a stop that was asked for is a clean one."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self) -> None:
        self.should_exit = True

    def _failed(self, error: Exception) -> None:
        """What a person reads is one line; the stack is for the log at level DEBUG."""
        _log.debug("start failed", stack="".join(format_exception(error)))
        reason = error.message if isinstance(error, ProcessionError) else f"{type(error).__name__}: {error}"
        self.failure = " ".join(reason.split())
        # It would write the stack of what was told just now.
        logging.getLogger("uvicorn.error").disabled = True


def _address(scheme: str, listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"{scheme}://{host}:{port}"


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=_BACKLOG)
    except OSError as error:
        reason = "the port is in use" if error.errno == 98 else error.strerror
        raise ConfigurationError(f"cannot listen on {host}:{port}: {reason}") from error

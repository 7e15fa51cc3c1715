"""Requests with too large headers, or that do not arrive: ended at the connection, before any route sees them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from coordinator.server.joined_writes import JoinedWrites
from coordinator.server.tls import client_subject


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Bytes of request line and headers; seconds from the first byte of a request to its last."""

    header_size: int
    receive_seconds: float


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol; answers 431 and 408, and closes. Names the client's certificate in the scope."""

    def __init__(self, limits: RequestLimits, **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._in_headers = self._arriving = False
        self._header_size = 0
        self._too_large = self._asked = False
        self._tls: dict[str, str | None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(JoinedWrites(transport, self.loop))
        if self.scheme == "https":
            self._tls = {"client_cert_name": client_subject(transport.get_extra_info("ssl_object"))}
        # A connection that never says anything is a request that does not arrive.
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._asked = True
        self._arriving = self.cycle is None or not self.cycle.more_body
        before = self._header_size
        super().data_received(data)
        # Most requests have arrived by now, for which no clock need be set.
        if self._arriving and self._timer is None:
            self._begin()
        if self._in_headers:
            # A header that is not complete is known to the parser alone.
            self._header_size = before + len(data)
            if self._header_size > self._limits.header_size and not self.transport.is_closing():
                self._refuse(431, "Request header is too large")

    def on_message_begin(self) -> None:
        self._in_headers, self._header_size = True, 0
        self._arriving = True
        super().on_message_begin()
        if self._tls is not None:
            self.scope["extensions"] = {"tls": self._tls}  # type: ignore[dict-item]

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_headers = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._end()
        self._arriving = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._too_large:
            self._refuse(431, "Request header is too large")
        else:
            super().send_400_response(msg)

    def _count(self, size: int) -> None:
        self._header_size += size
        if self._header_size > self._limits.header_size:
            self._too_large = True
            raise ValueError  # the parser ends, and asks for a response

    def _begin(self) -> None:
        self._timer = self.loop.call_later(self._limits.receive_seconds, self._late)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self._asked:
            # An answer to no request would be taken for that to the first one.
            self.transport.close()
        elif not self.transport.is_closing():
            self._refuse(408, "The request did not arrive in time")

    def _refuse(self, status: int, message: str) -> None:
        self._end()
        self._in_headers = False
        head = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(message)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head.encode() + message.encode())
        self.transport.close()

"""A transport that sends the head of an answer together with its body.

A call of the kernel, which wakes up the client, costs a tenth of an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

_BEGIN, _END = b"HTTP/1.1 ", b"\r\n\r\n"


class JoinedWrites(asyncio.Transport):
    """Holds back what looks like a head until the next write, but no longer than the loop's turn lasts."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop, self._held = transport, loop, b""

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.writelines((held, data) if data else (held,))
        elif isinstance(data, bytes) and data.startswith(_BEGIN) and data.endswith(_END):
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview[int]]) -> None:
        self._flush()
        self._transport.writelines(list_of_data)

    def write_eof(self) -> None:
        self._flush()
        self._transport.write_eof()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    # What follows is the other transport's own.

    def abort(self) -> None:
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._transport.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def can_write_eof(self) -> bool:
        return self._transport.can_write_eof()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._transport.get_write_buffer_limits()

"""One call of a client: what it sends, what it gets, and within which time."""

from __future__ import annotations

import asyncio
from typing import Protocol

import grpc

from coordinator.flight.failures import CallError, invalid

_UNTIL_BROKEN = 0.2
"""Seconds until a call whose client went away has been cancelled: a few thousandths, and more on a busy machine."""


class Wire(Protocol):
    """The part of ``grpc.aio.ServicerContext`` that calls use."""

    async def read(self) -> object: ...

    async def write(self, message: bytes) -> None: ...

    async def send_initial_metadata(self, metadata: tuple[tuple[str, str], ...], /) -> None: ...


class Call:
    """Messages of one call. A client may take ``receiving`` seconds to send all, and ``patience`` to take one.

    ``most_bytes``: of one message, where the call does not say otherwise.
    """

    def __init__(self, wire: Wire, receiving: float, patience: float, most_bytes: int = 8 << 20) -> None:
        self._wire, self._receiving, self._patience, self._most_bytes = wire, receiving, patience, most_bytes
        self._until: float | None = None

    async def message(self) -> bytes:
        """The next message of the client. Raises CallError where it sends none."""
        found = await self.next()
        if found is None:
            raise invalid("The call brings no message")
        return found

    async def next(self) -> bytes | None:
        """The next message, None behind the last one. Raises TimeoutError."""
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + self._receiving
        async with asyncio.timeout_at(self._until):
            found = await self._wire.read()
        if isinstance(found, bytes) and len(found) > self._most_bytes:
            raise CallError(grpc.StatusCode.RESOURCE_EXHAUSTED, f"A message of more than {self._most_bytes} bytes")
        return found if isinstance(found, bytes) else None

    async def next_of_many(self) -> bytes | None:
        """The next of messages that are as large as the server takes any, and as many as the client likes.

        None behind the last one. Raises TimeoutError when nothing comes for ``patience`` seconds.
        """
        async with asyncio.timeout(self._patience):
            found = await self._wire.read()
        if isinstance(found, bytes):
            return found
        # A connection that breaks looks like an end for a moment: of 120 calls that were cancelled behind their last
        # message, five were taken for whole.
        await asyncio.sleep(_UNTIL_BROKEN)
        return None

    async def set_cookie(self, value: str) -> None:
        """Before anything is sent."""
        await self._wire.send_initial_metadata((("set-cookie", value),))

    async def send(self, message: bytes) -> None:
        """Returns when the client has room for more. Raises TimeoutError."""
        async with asyncio.timeout(self._patience):
            await self._wire.write(message)

"""An answer's head waits for its body, but for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from coordinator.server.joined_writes import JoinedWrites

pytestmark = pytest.mark.anyio
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"


class Recorded(asyncio.Transport):
    """What is sent, one entry for each call."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def write(self, data: Any) -> None:
        self.sent.append(bytes(data))

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.sent.append(b"".join(list_of_data))

    def close(self) -> None:
        self.sent.append(b"closed")


def joined() -> tuple[JoinedWrites, list[bytes]]:
    recorded = Recorded()
    return JoinedWrites(recorded, asyncio.get_running_loop()), recorded.sent


async def test_head_and_body_are_sent_at_once() -> None:
    transport, sent = joined()
    transport.write(HEAD)
    assert sent == []
    transport.write(b"body")
    transport.write(b"more")
    await asyncio.sleep(0)
    assert sent == [HEAD + b"body", b"more"]


async def test_a_head_alone_is_sent_within_the_turn() -> None:
    transport, sent = joined()
    transport.write(HEAD)
    await asyncio.sleep(0)
    assert sent == [HEAD]
    transport.write(b"later")
    assert sent == [HEAD, b"later"]


async def test_a_head_goes_before_the_end() -> None:
    transport, sent = joined()
    transport.write(HEAD)
    transport.close()
    await asyncio.sleep(0)
    assert sent == [HEAD, b"closed"]


async def test_what_follows_a_head_keeps_its_place() -> None:
    transport, sent = joined()
    transport.write(HEAD)
    transport.write(HEAD)
    transport.write(HEAD)
    transport.writelines((b"a", b"b"))
    transport.write(b"")
    await asyncio.sleep(0)
    assert b"".join(sent) == 3 * HEAD + b"ab"

"""A scripted HTTP server in the place of the sidecar, for every way in which a peer can misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class FakeSidecar:
    """Answers with ``answers`` in turn, the last one for ever. An answer is (status, content type, body) or a word:
    ``reset`` closes without answering, ``hang`` never answers, ``truncate`` stops in the middle of the body."""

    url: str = ""
    answers: list[tuple[int, str, bytes] | str] = field(default_factory=lambda: [(200, "application/json", b"{}")])
    delay: float = 0.0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    most_at_once: int = 0
    _at_once: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._answer(head.decode(), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request_line, *lines = head.strip().split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
        self.requests.append(Request(request_line.split()[1], headers, body))
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        await asyncio.sleep(3600 if answer == "hang" else self.delay)
        self._at_once -= 1
        if answer == "reset":
            writer.transport.abort()
            return
        status, content_type, content = (200, "text/plain", b"half of it") if isinstance(answer, str) else answer
        shown = len(content) + (100 if answer == "truncate" else 0)
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\nContent-Length: {shown}\r\n\r\n".encode())
        writer.write(content)
        await writer.drain()
        if answer == "truncate":
            writer.close()


@asynccontextmanager
async def fake_sidecar() -> AsyncIterator[FakeSidecar]:
    fake = FakeSidecar()
    handlers: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handler = asyncio.create_task(fake.serve(reader, writer))
        handlers.add(handler)
        handler.add_done_callback(handlers.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield fake
    finally:
        server.close()
        for handler in tuple(handlers):
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)

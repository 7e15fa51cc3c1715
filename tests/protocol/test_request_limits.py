"""Requests that do not arrive, and headers without an end: answered and closed, while others are served."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import uvicorn

from coordinator.server.request_limits import LimitedProtocol, RequestLimits

pytestmark = pytest.mark.slow
SHORT, LONG = (RequestLimits(header_size=20_000, receive_seconds=seconds) for seconds in (1.0, 60.0))


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the number of bytes in the body, after a while longer than requests may take to arrive."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    if scope["path"] == "/slowly":
        await asyncio.sleep(1.5)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]})
    await send({"type": "http.response.body", "body": f"{size:06}".encode()})


@contextmanager
def serving(limits: RequestLimits) -> Iterator[int]:
    http: Any = partial(LimitedProtocol, limits)
    server = uvicorn.Server(uvicorn.Config(echo, http=http, lifespan="off", log_config=None))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(60)


@pytest.fixture(scope="module")
def short() -> Iterator[int]:
    """Waits a second for a request."""
    with serving(SHORT) as port:
        yield port


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Waits as long as a busy machine may need for a request."""
    with serving(LONG) as port:
        yield port


def conversation(port: int, *parts: bytes, pause: float = 0.0, seconds: float = 60.0) -> bytes:
    """What comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as client:
        for part in parts:
            try:
                client.sendall(part)
            except OSError:  # closed already
                break
            time.sleep(pause)
        answer = b""
        while True:
            try:
                read = client.recv(65536)
            except ConnectionResetError:
                return answer
            if not read:
                return answer
            answer += read


def request(path: str = "/", body: bytes = b"", *, headers: bytes = b"", close: bool = True) -> bytes:
    last = b"Connection: close\r\n" if close else b""
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n".encode() + headers + last + b"\r\n" + body
    )


def test_an_ordinary_request_passes(port: int) -> None:
    assert conversation(port, request(body=b"x" * 500_000)).endswith(b"500000")


def test_an_answer_may_take_longer_than_a_request(short: int) -> None:
    assert conversation(short, request("/slowly", b"abc")).endswith(b"000003")


def test_several_requests_of_one_connection(port: int) -> None:
    answer = conversation(port, request("/slowly", b"abc", close=False), request(body=b"de"))
    assert answer.endswith(b"000002")
    assert answer.count(b"200 OK") == 2


def test_parts_that_arrive_in_time(port: int) -> None:
    whole = request(body=b"abcdef")
    assert conversation(port, whole[:20], whole[20:-3], whole[-3:], pause=0.1).endswith(b"000006")


def test_a_connection_that_asks_nothing_is_closed_without_a_word(short: int) -> None:
    assert conversation(short) == b""


@pytest.mark.parametrize("sent", [b"POST / HTT", request(body=b"abcdef")[:-3]], ids=["head", "body"])
def test_a_request_that_does_not_arrive_is_closed(short: int, sent: bytes) -> None:
    assert conversation(short, sent).startswith(b"HTTP/1.1 408")


def test_headers_of_megabytes_are_refused(port: int) -> None:
    assert conversation(port, request(headers=b"X-A: " + b"a" * 30_000 + b"\r\n")).startswith(b"HTTP/1.1 431")


def test_a_header_without_an_end_is_refused_early(port: int) -> None:
    parts = (b"POST / HTTP/1.1\r\nX-A: ", *(b"a" * 10_000 for _ in range(20)))
    assert conversation(port, *parts, pause=0.01).startswith(b"HTTP/1.1 431")


def test_many_small_headers_are_refused(port: int) -> None:
    headers = b"".join(b"X-%d: %s\r\n" % (i, b"a" * 50) for i in range(1000))
    assert conversation(port, request(headers=headers)).startswith(b"HTTP/1.1 431")

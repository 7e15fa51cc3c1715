"""Commands of ``procession`` as forks of one process that has imported it (tests/warm_server.py)."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]


class WarmProcess:
    """What tests use of a ``subprocess.Popen`` whose standard output is a pipe of text."""

    stdout: IO[str]

    def __init__(self, pid: int, code: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._code = code

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._code], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("procession", timeout or 0)
            self.returncode = int(os.read(self._code, 16))
            os.close(self._code)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start_cold(arguments: Sequence[str], errors: IO[str]) -> subprocess.Popen[str]:
    """The same by an interpreter of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "coordinator", *arguments],
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )


def start(arguments: Sequence[str], errors: int) -> WarmProcess:
    """``procession`` with these arguments; its standard error goes to the descriptor ``errors``."""
    ours, theirs = os.pipe()
    request: dict[str, Any] = {
        "arguments": list(arguments),
        "environment": os.environ | {"PYTHONUNBUFFERED": "1"},
        "folder": str(ROOT),
    }
    process = forked(_server(), request, (theirs, errors))
    os.close(theirs)
    process.stdout = os.fdopen(ours, encoding="utf-8")
    return process


def forked(
    connection: socket.socket, request: dict[str, Any], output: Sequence[int], more: Sequence[int] = ()
) -> WarmProcess:
    """A fork of the process at the other end; ``output`` and ``more`` are descriptors that it gets."""
    code, telling = os.pipe()
    socket.send_fds(connection, [json.dumps(request).encode()], [*output, telling, *more])
    os.close(telling)
    return WarmProcess(int(connection.recv(32)), code)


def run(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself; ``folder`` takes its standard error meanwhile."""
    said = folder / f"errors-{os.urandom(4).hex()}"
    with said.open("w") as errors:
        process = start(arguments, errors.fileno())
    with process.stdout:
        output = process.stdout.read()
    code = process.wait(120)
    return subprocess.CompletedProcess(list(arguments), code, output, said.read_text())


@cache
def _server() -> socket.socket:
    """One for each worker of pytest; it ends with the socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.warm_server", str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), cwd=ROOT)

    def end() -> None:
        ours.close()
        process.wait(60)

    atexit.register(end)
    return ours

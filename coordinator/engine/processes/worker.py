"""What every process that runs SQL does: frames, and its end with the coordinator's."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from coordinator.engine.processes.process import LENGTH, Buffer

_NICENESS = 3
"""Below planners and the server's process, whose event loop must not wait."""


def serve(name: str, arguments: Sequence[int], work: Callable[[BinaryIO, BinaryIO], None]) -> None:
    """Run ``work`` until it returns, which it does when the coordinator closes the socket; never returns.

    ``name`` is what lists of processes show; ``arguments`` are descriptors of the socket and of a pipe that ends with
    the coordinator.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name, encoding="ascii")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # these reach the whole group; the coordinator ends us in its order
    threading.Thread(target=_end_with_parent, args=(arguments[1],), daemon=True).start()
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    with socket.socket(fileno=arguments[0]) as connection:
        work(connection.makefile("rb"), connection.makefile("wb"))
    os._exit(0)


def received(requests: BinaryIO) -> bytes | None:
    """The next frame; None when the coordinator has closed the socket."""
    head = requests.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    return requests.read(length)


def send(answers: BinaryIO, *parts: Buffer) -> None:
    """One frame of these bytes."""
    views = [memoryview(part).cast("B") for part in parts]
    answers.write(LENGTH.pack(sum(map(len, views))))
    for view in views:
        answers.write(view)
    answers.flush()


def _end_with_parent(pipe: int) -> None:
    os.read(pipe, 1)  # nothing is ever written: the end of the pipe is the end of the coordinator
    os._exit(1)

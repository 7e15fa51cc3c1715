"""A process that has imported the program, and is forked for each command: ``python -m tests.warm_server FD``.

A request is JSON on the socket ``FD``, with the descriptors of standard output, standard error and of a pipe for the
exit code. What a fork does is what ``python -m coordinator`` does, but for the two seconds of imports.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

REQUEST_BYTES = 1 << 20
_PR_SET_PDEATHSIG = 1
IMPORTED = (
    "coordinator.cli.up",
    "coordinator.connectors.iceberg.connector",
    "coordinator.connectors.tpch.connector",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
    "uvicorn.lifespan.on",
)


def serve(connection: socket.socket, main: Callable[[], None]) -> None:
    """Until the other end is closed; ``main`` runs in each fork."""
    codes: dict[int, int] = {}
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == woken:
                    os.read(woken, 512)
                    _tell_ends(codes)
                    continue
                request, descriptors, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 3)
                if not request:
                    return
                process = os.fork()
                if process == 0:
                    signal.set_wakeup_fd(-1)
                    for other in (connection.fileno(), woken, waker, *codes.values(), descriptors[2]):
                        os.close(other)
                    selector.close()
                    _become(json.loads(request), descriptors[:2], main)
                os.close(descriptors[0])
                os.close(descriptors[1])
                codes[process] = descriptors[2]
                connection.sendall(f"{process}\n".encode())


def _tell_ends(codes: dict[int, int]) -> None:
    while codes:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process == 0:
            return
        answer = codes.pop(process)
        os.write(answer, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(answer)


def _become(request: Mapping[str, Any], descriptors: Sequence[int], main: Callable[[], None]) -> None:
    """Never returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # A test that fails may leave it behind: it ends with this run.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    for number, given in enumerate(descriptors, start=1):
        os.dup2(given, number)
        os.close(given)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.argv[1:] = request["arguments"]
    code = 1
    try:
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _warm() -> Callable[[], None]:
    gc.disable()
    for name in IMPORTED:
        import_module(name)
    from coordinator.cli.main import main

    # Pages with what was imported stay shared with the forks.
    gc.collect()
    gc.freeze()
    gc.enable()
    return main


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as ours:
        program = _warm()
        sys.argv[:] = ["procession"]
        serve(ours, program)
    os._exit(0)  # not by the end of native libraries, which report leaks

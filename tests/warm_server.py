"""A process that has imported the program, and is forked for each command: ``python -m tests.warm_server FD``.

A request is JSON on the socket ``FD``, with the descriptors of standard output, standard error and of a pipe for the
exit code. What a fork does is what ``python -m coordinator`` does, but for the two seconds of imports; its planners
and embedded engines are forked in the same way, by a process that it has beside it (``_children``).
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from coordinator.engine.processes import nursery
from coordinator.validation import planner_process, worker
from tests.warm import forked

REQUEST_BYTES = 1 << 20
_PR_SET_PDEATHSIG = 1
IMPORTED = (
    "coordinator.cli.up",
    "coordinator.connectors.iceberg.connector",
    "coordinator.connectors.tpch.connector",
    "coordinator.planner_factory",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
    "uvicorn.lifespan.on",
)


def serve(connection: socket.socket, main: Callable[[Sequence[int]], None]) -> None:
    """Until the other end is closed; ``main`` runs in each fork, with the descriptors beyond the first three."""
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
                request, descriptors, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 5)
                if not request:
                    return
                process = os.fork()
                if process == 0:
                    signal.set_wakeup_fd(-1)
                    for other in (connection.fileno(), woken, waker, *codes.values(), descriptors[2]):
                        os.close(other)
                    selector.close()
                    _become(json.loads(request), descriptors[:2], lambda more=descriptors[3:]: main(more))
                for given in (*descriptors[:2], *descriptors[3:]):
                    os.close(given)
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


def _command(main: Callable[[], None]) -> None:
    """``procession`` itself, or a script where the first argument is one."""
    if sys.argv[1].endswith(".py"):
        del sys.argv[0]
        runpy.run_path(sys.argv[0], run_name="__main__")
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        _children(theirs)
    theirs.close()
    planner_process.subprocess = nursery.subprocess = _Forks(ours)  # type: ignore[attr-defined]
    main()


def _children(connection: socket.socket) -> None:
    """Never returns. It ends with its coordinator, and the planners and embedded engines with it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    serve(connection, _child)
    os._exit(0)


def _child(given: Sequence[int]) -> None:
    """What the engines are forked from, or a planner."""
    numbers = [str(number) for number in given]
    if "nursery" in sys.argv:
        nursery.main(numbers)
    worker.main([*numbers, str(os.getppid())])


class _Forks:
    """What a coordinator's children are started with instead of the module ``subprocess``."""

    DEVNULL, TimeoutExpired = subprocess.DEVNULL, subprocess.TimeoutExpired

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def Popen(self, command: Sequence[str], *, pass_fds: Sequence[int], env: Mapping[str, str], **_: Any) -> Any:
        """Standard output and error are the coordinator's."""
        request = {"arguments": list(command[3:]), "environment": dict(env), "folder": str(Path.cwd())}
        with self._lock:
            return forked(self._connection, request, (1, 2), pass_fds)


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
        serve(ours, lambda _: _command(program))
    os._exit(0)  # not by the end of native libraries, which report leaks

"""A process that has imported the engines and is forked for each process that runs one: some milliseconds, not 500.

It has one thread and no database. It is the parent of what it forks and keeps the number of an ended process until the
coordinator has forgotten it, so that no signal reaches a stranger.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

_COMMAND = "import gc, sys; gc.disable(); from coordinator.engine.processes.nursery import main; main(sys.argv[1:])"
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "MALLOC_ARENA_MAX")
_REQUEST = struct.Struct("<cQ")
_ANSWER = struct.Struct("<Q")
_FORK, _REAP = b"F", b"R"
_START_SECONDS = 60.0
WORKERS: Mapping[int, str] = {
    1: "coordinator.engine.embedded.worker",
    2: "coordinator.engine.processes.local_worker",
}
"""The modules whose ``main`` a fork runs, by the number that a request names."""
EMBEDDED, LOCAL = 1, 2


class NurseryEndedError(Exception):
    """The process went away, or could not be started."""


class Nursery:
    """Starts its process when the first fork is asked for, and again when it has died. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None

    def fork(self, worker: int, descriptors: Sequence[int]) -> int:
        """The number of a new process that runs ``WORKERS[worker]`` with ``descriptors``. Raises NurseryEndedError."""
        with self._lock:
            for attempt in (1, 2):
                try:
                    return self._ask(_FORK, worker, descriptors)
                except OSError as error:
                    self._end()
                    if attempt == 2:
                        raise NurseryEndedError(str(error)) from error
        raise AssertionError

    def end(self, pid: int) -> None:
        """Kill what ``fork`` made, and forget it; once a process."""
        with self._lock:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            if self._connection is not None:
                with contextlib.suppress(OSError):
                    self._ask(_REAP, pid, ())

    def close(self) -> None:
        """Ends the process; what it forked ends with the coordinator's end of its pipe."""
        with self._lock:
            self._end()

    def _ask(self, what: bytes, number: int, descriptors: Sequence[int]) -> int:
        connection = self._connection or self._start()
        socket.send_fds(connection, [_REQUEST.pack(what, number)], list(descriptors))
        answer = connection.recv(_ANSWER.size, socket.MSG_WAITALL)
        if len(answer) < _ANSWER.size:
            raise ConnectionResetError("the process that forks engines has ended")
        return int(_ANSWER.unpack(answer)[0])

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and text
                [sys.executable, "-c", _COMMAND, str(theirs.fileno()), "nursery"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # the coordinator's may be a pipe that nobody reads, where writers wait
                pass_fds=(theirs.fileno(),),
                env={name: os.environ[name] for name in _KEPT if name in os.environ} | {"PYTHONPATH": _path()},
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.settimeout(_START_SECONDS)
        self._connection = ours
        return ours

    def _end(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def main(arguments: Sequence[str]) -> None:
    """Fork for the coordinator until it closes the socket whose descriptor is the first argument; never returns."""
    import gc

    gc.disable()
    mains: dict[int, Callable[[Sequence[int]], None]] = {n: import_module(name).main for n, name in WORKERS.items()}
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # these reach the whole group; the coordinator ends us in its order
    gc.collect()
    gc.freeze()  # pages with what was imported stay shared with the forks
    gc.enable()
    connection = socket.socket(fileno=int(arguments[0]))
    try:
        _serve(connection, mains)
    finally:
        os._exit(0)  # not by the end of native libraries, which report leaks


def _serve(connection: socket.socket, mains: Mapping[int, Callable[[Sequence[int]], None]]) -> None:
    with contextlib.suppress(OSError):  # the coordinator has gone
        while _served(connection, mains):
            pass


def _served(connection: socket.socket, mains: Mapping[int, Callable[[Sequence[int]], None]]) -> bool:
    """Answer one request; False when there are no more."""
    request, descriptors, _, _ = socket.recv_fds(connection, _REQUEST.size, 4)
    if len(request) < _REQUEST.size:
        return False
    what, number = _REQUEST.unpack(request)
    answer = _reaped(number) if what == _REAP else os.fork()
    if what == _FORK and answer == 0:
        connection.close()
        _become(mains[number], descriptors)
    for given in descriptors:
        os.close(given)
    connection.sendall(_ANSWER.pack(answer))
    return True


def _become(main: Callable[[Sequence[int]], None], descriptors: Sequence[int]) -> None:
    try:
        main(descriptors)
    except OSError:
        os._exit(1)  # the coordinator has gone
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _reaped(pid: int) -> int:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    return pid


def _path() -> str:
    return os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)

"""Runs one command and makes sure that nothing of it outlives the process that asked for it.

Started as ``python -I -S guard.py COMMAND…`` with a pipe as standard input whose other end the asking process holds.
When that pipe closes (the asker ended, even by ``kill -9``), or on SIGTERM, the command gets SIGTERM and, after a grace
period, every descendant gets SIGKILL: the guard is a subreaper, so orphaned grandchildren stay its own. When the
command ends by itself the rest of its family is ended too and its exit code is passed on. Standard library only.

With ``--silence=SECONDS`` before the command the asker says all the time through the pipe that it is at work. When it
says nothing for so long (it was suspended) everything gets SIGKILL: others take the asker's work over.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from types import FrameType

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 5.0


def main(arguments: list[str]) -> int:
    """The command's exit code, 128 + signal when a signal ended it."""
    timed = arguments[0].startswith("--silence=")
    silence = float(arguments[0].partition("=")[2]) if timed else None
    return _guard(arguments[1:] if timed else arguments, silence)


def _guard(command: list[str], silence: float | None) -> int:
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write)
    stopping = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    child, asker = _start(command), os.getppid()
    watched = [0, wake_read]
    deadline: float | None = None
    heard = time.monotonic()
    while (code := _reap(child)) is None:
        ready = select.select(watched, [], [], 0.5)[0]
        if wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_read, 4096)
        if 0 in ready:
            heard = time.monotonic()
            if not os.read(0, 4096):
                watched, stopping = [wake_read], True
        if silence is not None and time.monotonic() - heard > silence:
            stopping, deadline = True, time.monotonic()
        stopping = stopping or os.getppid() != asker
        if stopping and deadline is None:
            deadline = time.monotonic() + GRACE_SECONDS
            _kill(child, signal.SIGTERM)
        if deadline is not None and time.monotonic() >= deadline:
            _kill(child, signal.SIGKILL)
    _end_family()
    return code


def _start(command: list[str]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.execvp(command[0], command)  # noqa: S606 the command comes from our own code
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr, flush=True)  # noqa: T201
    os._exit(127)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _reap(child: int) -> int | None:
    """Collect every ended descendant; the exit code of ``child`` once it is among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 1
        if pid == 0:
            return None
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _end_family() -> None:
    """SIGKILL to everything that still descends from the guard, until nothing does."""
    for _ in range(200):
        pids = _descendants()
        if not pids:
            return
        for pid in pids:
            _kill(pid, signal.SIGKILL)
        time.sleep(0.01)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc") if sys.platform == "linux" else ():  # noqa: PTH208 no pathlib: start-up time
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                fields = stat.read().rpartition(b")")[2].split()
                if fields[0] != b"Z":
                    parents[int(name)] = int(fields[1])
    family, grown = {os.getpid()}, True
    while grown:
        new = {pid for pid, parent in parents.items() if parent in family} - family
        family, grown = family | new, bool(new)
    return sorted(family - {os.getpid()})


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Where there is plenty of memory, the files of tests are kept in it.

A run writes some 100,000 small files, and each commit to a SQLite catalog waits for the disk: on a disk that takes a
tenth of the CPU time, and as much time again in waiting.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

ROOM = Path("/dev/shm")
_ROOM_BYTES = 8 << 30
"""A whole run needs about three of them."""
_MEMORY_BYTES = 16 << 30
"""For these files, and for what tests start beside them."""
_PREFIX = "pt-"


def begin() -> Path | None:
    """The folder that files of this process and its children go to from now on; None for that of the system.

    A folder that a run left which failed, or which was killed, is removed.
    """
    if "TMPDIR" in os.environ or not os.access(ROOM, os.W_OK):
        return None
    for left in ROOM.glob(f"{_PREFIX}*"):
        number = left.name.removeprefix(_PREFIX)
        if number.isdigit() and left.owner() == Path("/proc/self").owner() and not Path("/proc", number).exists():
            shutil.rmtree(left, ignore_errors=True)
    if shutil.disk_usage(ROOM).free < _ROOM_BYTES or _available_memory() < _MEMORY_BYTES:
        return None
    made = ROOM / f"{_PREFIX}{os.getpid()}"
    made.mkdir()
    made.chmod(0o711)  # the PostgreSQL of the tests is another user
    os.environ["TMPDIR"], tempfile.tempdir = str(made), None
    return made


def end(made: Path, *, failed: bool) -> None:
    """The files of a run that failed stay until the next one."""
    del os.environ["TMPDIR"]
    tempfile.tempdir = None
    if not failed:
        shutil.rmtree(made, ignore_errors=True)


def _available_memory() -> int:
    with suppress(OSError, StopIteration), Path("/proc/meminfo").open() as lines:
        return 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    return 0

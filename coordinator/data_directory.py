"""The data directory of one coordinator: two on one directory would remove each other's scratch files and results."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shared.properties import ConfigurationError

_LOCK = "coordinator.lock"
_HELD = (errno.EACCES, errno.EAGAIN)


def check_writable(data_dir: Path) -> None:
    """Raises ConfigurationError when journals, logs and scratch files cannot be written there."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data_dir):
            pass
    except OSError as error:
        reason = "it is a file" if data_dir.is_file() else error.strerror
        raise ConfigurationError(f"cannot write to the data directory {data_dir}: {reason}") from error


@contextmanager
def held(data_dir: Path, patience: float = 10.0) -> Iterator[None]:
    """While the block runs no other process holds the directory; one that is about to end is waited for.

    The lock is the process's (POSIX), not its children's: it ends with the process however that ends. Where the file
    system has no locks there is none. Raises ConfigurationError.
    """
    try:
        file = os.open(data_dir / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigurationError(f"cannot open {data_dir / _LOCK}: {error.strerror}") from error
    try:
        _lock(file, data_dir, time.monotonic() + patience)
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


def _lock(file: int, data_dir: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _HELD:
                return
            if time.monotonic() > deadline:
                holder = os.pread(file, 20, 0).decode("ascii", "replace").strip()
                message = (
                    f"the data directory {data_dir} is used by another coordinator (process {holder or 'unknown'})"
                )
                raise ConfigurationError(f"{message}; each needs one of its own") from error
            time.sleep(0.1)
        else:
            return

"""Files that arrive after their table was taken away: a task that outlived its statement may go on writing.

Spark interrupts a task once when its statement ends, and what runs at that moment may swallow it (Hadoop does, while it
runs ``chmod`` on a local file): such a task writes on until its input is at an end, which may take hours.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.io import FileIO

from coordinator.connectors.iceberg.background import Background
from coordinator.connectors.iceberg.maintenance.file_deletion import delete_all
from coordinator.connectors.iceberg.maintenance.listing import walk
from coordinator.connectors.iceberg.paths import local_path
from coordinator.connectors.iceberg.tables.unfinished import UnfinishedTables

_LOG = logging.getLogger(__name__)
_SOON_SECONDS, _LATER_SECONDS = 0.5, 5.0
"""Between two looks: first, and once nothing came for a while."""
_FIRST_BARRIER_SECONDS = 5.0
_DELETES_AT_ONCE = 8


@dataclass(slots=True)
class _Watched:
    io: FileIO
    schema: str
    name: str
    location: str
    quiet_since: float
    barrier: float
    barred_until: float | None = None
    files: int = 0


class LateFiles:
    """Looks at the folders of tables that are gone until nothing came for ``quiet_seconds``; thread-safe.

    Their records stay open until then, so that the next start goes on where this process ended.
    """

    def __init__(
        self, unfinished: UnfinishedTables, quiet_seconds: float, background: Background | None = None
    ) -> None:
        self._unfinished = unfinished
        self._quiet_seconds = quiet_seconds
        self._first_barrier = min(_FIRST_BARRIER_SECONDS, quiet_seconds)
        self._watched: list[_Watched] = []
        self._attempts: list[Callable[[], bool]] = []
        self._background = background or Background()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def remove(self, io: FileIO, schema: str, name: str, location: str) -> int:
        """Empty ``location``, a folder that was made for this table alone, and watch it; files removed so far.

        Raises OSError; then the record stays open and nothing watches.
        """
        removed = remove_folder(io, location)
        with self._lock:
            self._watched.append(_Watched(io, schema, name, location, time.monotonic(), self._first_barrier))
            self._begin()
        return removed

    def watches(self, schema: str, name: str) -> bool:
        """Whether the table was taken away by this process, and its folder is still looked at."""
        with self._lock:
            return any((one.schema, one.name) == (schema, name) for one in self._watched)

    def again(self, attempt: Callable[[], bool]) -> None:
        """Try what did not work just now every few seconds until it tells True. Returns at once."""
        with self._lock:
            self._attempts.append(attempt)
            self._begin()

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = self._background.begin("late-files", self._run)

    def _run(self) -> None:
        tried = time.monotonic()
        while True:
            with self._lock:
                watched, attempts = list(self._watched), list(self._attempts)
                if not watched and not attempts:
                    self._thread = None
                    return
            if time.monotonic() - tried >= min(_LATER_SECONDS, self._quiet_seconds):
                tried = time.monotonic()
                self._forget([], [attempt for attempt in attempts if attempt()])
            self._forget([one for one in watched if self._look(one)], [])
            fresh = any(time.monotonic() - one.quiet_since < self._quiet_seconds / 6 for one in watched)
            if self._background.wait(_SOON_SECONDS if fresh else min(_LATER_SECONDS, self._quiet_seconds / 6)):
                return

    def _forget(self, watched: list[_Watched], attempts: list[Callable[[], bool]]) -> None:
        with self._lock:
            for one in watched:
                self._watched.remove(one)
            for attempt in attempts:
                self._attempts.remove(attempt)

    def _look(self, one: _Watched) -> bool:
        """Remove what came; whether nothing more is expected."""
        now = time.monotonic()
        try:
            if one.barred_until is not None and now >= one.barred_until:
                remove_folder(one.io, one.location)
                one.barred_until = None
            found = 0 if one.barred_until is not None else sum(1 for _ in walk(one.io, one.location))
            if found:
                one.files += found
                one.quiet_since = now
                self._remove(one, now)
            elif one.barred_until is None and now - one.quiet_since >= self._quiet_seconds:
                self._unfinished.close(one.schema, one.name)
                if one.files:
                    _LOG.warning("%s: removed %d files that came after its end", one.location, one.files)
                return True
        except Exception as error:
            # The storage may be gone for a while; the record stays open, and so does the watch.
            _LOG.warning("%s: what its statement left could not be removed yet: %s", one.location, error)
            one.quiet_since = now
        return False

    def _remove(self, one: _Watched, now: float) -> None:
        folder = local_path(one.location)
        if folder is None or not bar_folder(Path(folder)):
            remove_folder(one.io, one.location)
            return
        # Each time longer: a task may take a while from one file to the next.
        one.barred_until = now + one.barrier
        one.barrier = min(2 * one.barrier, self._quiet_seconds)


def remove_folder(io: FileIO, location: str) -> int:
    """Everything under a folder that was made for one table; how many files that were. Raises OSError."""
    folder = local_path(location)
    if folder is not None and Path(folder).is_file():
        Path(folder).unlink()
        return 0
    files = [file.location for file in walk(io, location)]
    left = sum(batch.count(False) for batch in delete_all(io, files, _DELETES_AT_ONCE))
    if left:
        raise OSError(f"{left} of {len(files)} files cannot be deleted")
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    return len(files)


def bar_folder(folder: Path) -> bool:
    """Put an empty file in the place of a local folder and all that is in it; False when that cannot be done.

    Whoever still writes there fails with the next file that it makes, and ends.
    """
    aside = folder.with_name(f"{folder.name}.removed")
    for _ in range(100):
        shutil.rmtree(aside, ignore_errors=True)
        with suppress(FileNotFoundError):
            folder.rename(aside)
        try:
            os.close(os.open(folder, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue  # made again in between
        except OSError:
            break
        shutil.rmtree(aside, ignore_errors=True)
        return True
    shutil.rmtree(aside, ignore_errors=True)
    return False

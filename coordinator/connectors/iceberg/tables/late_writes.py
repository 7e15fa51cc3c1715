"""What writes leave when they fail: removed as soon as they cannot commit any more, and watched for what comes later.

A task that outlives its statement may end a file after the first look (``late_files``); the record of a write stays
open until nothing came for a while, so that the next start goes on where this process ended.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pyiceberg.io import FileIO
from pyiceberg.table import Table

from coordinator.connectors.iceberg.background import Background
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError, NotCommittedError
from coordinator.connectors.iceberg.tables.open_writes import OpenWrite, OpenWrites
from coordinator.connectors.iceberg.tables.write_leftovers import remove_all, remove_leftovers
from shared.errors import ErrorCode, ProcessionError

_LOG = logging.getLogger(__name__)
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 30.0
_LONGEST_PAUSE_AFTER_A_FAILURE = 600.0
"""Metadata that cannot be read may stay so."""
_PAUSE_PER_LOOK = 10
"""A pause is at least so many times as long as the look before it: a large table is not listed all the time."""
LOST_AFTER_SECONDS = 10.0
"""A catalog may still carry out what an engine asked it for in its last moment."""
DEAD_AFTER_SECONDS = 12.0
"""The Spark of a coordinator that was killed is ended by its guard, which gives it five seconds."""


@dataclass(slots=True, eq=False)
class _Failed:
    write: OpenWrite
    end: Callable[[], bool]
    next_look: float
    ended: bool = False
    quiet_since: float = 0.0
    pause: float = _FIRST_PAUSE_SECONDS
    files: int = 0


class LateWrites:
    """Thread-safe; its thread lives while something is watched.

    ``find`` gives a table at its newest metadata, or raises ProcessionError; ``io`` what reads and writes a location.
    Names of tables that nobody sees begin with ``unseen``.
    """

    def __init__(
        self,
        records: OpenWrites,
        quiet_seconds: float,
        find: Callable[[str, str], Table],
        io: Callable[[str], FileIO],
        unseen: str,
        background: Background | None = None,
    ) -> None:
        self._records = records
        self._quiet_seconds = quiet_seconds
        self._find = find
        self._io = io
        self._unseen = unseen
        self.renamed: Callable[[OpenWrite], Table | None] = lambda _write: None
        """The table of a write that has not its name any more."""
        self.dropped: Callable[[Sequence[OpenWrite]], int | None] = lambda _writes: None
        """Removes what writes left in a table that the catalog has not; None where it may be a table elsewhere."""
        self._told_to_stay: set[str] = set()
        self._failed: list[_Failed] = []
        self._working: dict[str, Callable[[], bool]] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._background = background or Background()
        self._background.wake_at_end(self._wake.set)

    @contextlib.contextmanager
    def recorded(self, write: OpenWrite, end: Callable[[], bool]) -> Iterator[None]:
        """Around the work of the engine. When that fails, what it left is removed in the background.

        ``end`` tells whether the write commits nothing from now on; it may block, and is asked again.
        """
        self._records.begin(write)
        with self._lock:
            self._working[write.id] = end
        try:
            yield
        except BaseException as error:
            self._over(write)
            lost = isinstance(error, ProcessionError) and error.code is ErrorCode.REMOTE_HOST_GONE
            self._watch([_Failed(write, end, time.monotonic() + (LOST_AFTER_SECONDS if lost else 0.0))])
            raise
        self._over(write)
        self._check_still_ours(write)
        try:
            self._records.close(write.id)
        except Exception as error:
            # It is committed; the next start finds its files named by a snapshot, and closes the record.
            _LOG.warning("The record of a write to %s stays open: %s", write.table, error)

    def _check_still_ours(self, write: OpenWrite) -> None:
        """Raises ProcessionError for a write that another coordinator took over: its files may be gone."""
        try:
            if self._records.is_mine(write.id):
                return
        except NotCommittedError as error:  # it is committed; the record is closed later
            _LOG.warning("Whether a write to %s was taken over cannot be told: %s", write.table, error.message)
            return
        message = (
            f"The write to {write.schema}.{write.table} was committed, but other coordinators took this one for gone "
            "meanwhile and may have removed its files: look at the table before it is sent again"
        )
        raise CommitOutcomeUnknownError(ErrorCode.ICEBERG_COMMIT_ERROR, message)

    def _over(self, write: OpenWrite) -> None:
        with self._lock:
            self._working.pop(write.id, None)

    def refuse_commits(self) -> bool:
        """Let the engine commit nothing of the writes that are under way, which then fail; False: ask again. Blocks."""
        with self._lock:
            working = list(self._working.items())
        refused = True
        for write_id, end in working:
            try:
                refused = end() and refused
            except Exception as error:
                _LOG.warning("The write %s cannot be ended yet: %s", write_id, error)
                refused = False
        return refused

    def recover(
        self, end: Callable[[str], bool] = lambda _id: True, after_seconds: float | None = None
    ) -> Sequence[OpenWrite]:
        """Take up what an earlier process left open; to be called before this one writes anything.

        ``end`` is as that of ``recorded``, for the write of an id. Nothing is looked at before ``after_seconds``, or
        DEAD_AFTER_SECONDS.
        """
        after = DEAD_AFTER_SECONDS if after_seconds is None else after_seconds
        left = self._records.open_entries()
        with self._lock:
            known = {one.write.id for one in self._failed}
        left = [write for write in left if write.id not in known]
        self._watch([_Failed(write, partial(end, write.id), time.monotonic() + after) for write in left])
        return left

    def _watch(self, failed: Sequence[_Failed]) -> None:
        with self._lock:
            self._failed += failed
            if self._failed and self._thread is None:
                self._thread = self._background.begin("late-writes", self._run)
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.clear()
            with self._lock:
                if not self._failed or self._background.ended:
                    self._thread = None
                    return
                waiting = list(self._failed)
            now = time.monotonic()
            due: dict[tuple[str, str, str], list[_Failed]] = {}
            for one in waiting:
                if one.next_look <= now:
                    key = (one.write.schema, one.write.table, one.write.table_uuid)
                    due.setdefault(key, []).append(one)
            done = [one for of_table in due.values() for one in self._look(of_table)]
            with self._lock:
                self._failed = [one for one in self._failed if one not in done]
                soonest = min((one.next_look for one in self._failed), default=0.0)
            self._wake.wait(max(0.0, soonest - time.monotonic()))

    def _look(self, failed: Sequence[_Failed]) -> list[_Failed]:
        """Remove what these writes of one table left; those of which nothing more is expected."""
        begun, found, longest = time.monotonic(), 0, _LONGEST_PAUSE_SECONDS
        try:
            # Another coordinator may have taken some over, and settles them.
            gone = [one for one in failed if self._records.taken_over(one.write.id)]
            ended = [one for one in failed if one not in gone and (one.ended or self._end(one))]
            if ended:
                found = self._remove([one.write for one in ended])
            over = [one for one in ended if not found and begun - one.quiet_since >= self._quiet_seconds]
            for one in over:
                self._records.close(one.write.id)
        except Exception as error:
            # The catalog or the storage may be gone for a while; the records stay open, and so does the watch.
            _LOG.warning("What failed writes to %s left cannot be removed yet: %s", failed[0].write.table, error)
            gone, over, longest = [], [], _LONGEST_PAUSE_AFTER_A_FAILURE
        now = time.monotonic()
        for one in failed:
            if found:
                one.quiet_since, one.pause = now, _FIRST_PAUSE_SECONDS
            pause = max(one.pause, _PAUSE_PER_LOOK * (now - begun))
            one.next_look = now + pause
            one.pause = min(2 * one.pause, longest)
        return [*gone, *over]

    def _end(self, one: _Failed) -> bool:
        one.ended, one.quiet_since = one.end(), time.monotonic()
        return one.ended

    def _remove(self, writes: Sequence[OpenWrite]) -> int:
        """Files removed. A table of that name which was made anew is another one."""
        try:
            table: Table | None = self._find(writes[0].schema, writes[0].table)
        except ProcessionError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
            if writes[0].table.startswith(self._unseen):  # a write into it is open only while it has no other name
                return _told(writes, remove_all(self._io(writes[0].directories[0]), writes))
            table = None
        if table is None or str(table.metadata.table_uuid) != writes[0].table_uuid:
            table = self.renamed(writes[0])
        if table is not None:
            return _told(writes, remove_leftovers(table, writes))
        removed = self.dropped(writes)
        if removed is None and writes[0].table_uuid not in self._told_to_stay:
            self._told_to_stay.add(writes[0].table_uuid)
            message = "%s.%s was dropped, and what failed writes left there stays: its metadata may be in use elsewhere"
            _LOG.warning(message, writes[0].schema, writes[0].table)
        return _told(writes, removed or 0)


def _told(writes: Sequence[OpenWrite], removed: int) -> int:
    if removed:
        _LOG.warning("%s: removed %d files that failed writes left", writes[0].table, removed)
    return removed

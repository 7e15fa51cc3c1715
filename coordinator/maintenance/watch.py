"""Commits of other programs as a trigger: catalogs that can be asked cheaply are asked every few seconds what changed.

A SQL catalog tells of all of its tables by one question. Others are asked table by table, in turns, for a tenth of the
time; of REST servers those with ETags, which answer with nothing where a table did not change. What a table changed in
is not read for this: it is looked at as after a statement of this coordinator.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from coordinator.maintenance.lake import Lake
from coordinator.maintenance.records import Mark, TableKey

_LOG = logging.getLogger(__name__)
_SHARE = 0.1


class CommitWatch:
    """``interval`` in seconds, 0 for never; ``marks`` tells how the last looks found the tables."""

    def __init__(self, lake: Lake, interval: float, marks: Callable[[], Mapping[TableKey, Mark]]) -> None:
        self._lake = lake
        self._interval = interval
        self._marks = marks
        self._seen: dict[TableKey, str] = {}
        self._turn = 0

    async def watch_forever(
        self, tables: Callable[[], Collection[TableKey]], committed: Callable[[TableKey], None]
    ) -> None:
        """Call ``committed`` for each of ``tables`` that changed since it was last asked for."""
        while self._interval:
            await asyncio.sleep(self._interval)
            try:
                for key in await asyncio.to_thread(self.changed, tables()):
                    committed(key)
            except Exception:
                _LOG.exception("maintenance failed to ask which tables changed")

    def changed(self, keys: Collection[TableKey]) -> list[TableKey]:
        """Those of ``keys`` that changed, in their order; of one seen for the first time, since the last look at it."""
        markers, catalogs = self._lake.markers_at_once({key.catalog for key in keys})
        found = markers | self._asked([key for key in keys if key.catalog not in catalogs])
        self._seen = {key: self._seen[key] for key in keys if key in self._seen}
        if any(key in found and key not in self._seen for key in keys):
            marks = self._marks()
            self._seen = {key: marks[key].marker for key in keys if key in marks} | self._seen
        changed = [key for key in keys if key in found and self._seen.get(key, found[key]) != found[key]]
        self._seen.update((key, found[key]) for key in keys if key in found)
        return changed

    def _asked(self, keys: Sequence[TableKey]) -> dict[TableKey, str]:
        """The markers of as many of ``keys`` as there is time for; the next time others come first."""
        found: dict[TableKey, str] = {}
        end, first = time.monotonic() + _SHARE * self._interval, self._turn % max(1, len(keys))
        for key in (*keys[first:], *keys[:first]):
            if time.monotonic() >= end:
                break
            self._turn = (self._turn + 1) % len(keys)
            marker = self._lake.marker_if_cheap(key)
            if marker is not None:
                found[key] = marker
        return found

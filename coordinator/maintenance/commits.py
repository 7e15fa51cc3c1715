"""Commits as a trigger: tables that statements of this coordinator or other programs changed are looked at soon.

A table is looked at once in each delay at most, however often it is written, and all looks together take at most a
tenth of the time: what does not get its look so gets it in the next round.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from coordinator.maintenance.records import TableKey

_LOG = logging.getLogger(__name__)
_REST = 9.0
"""Pause after a look, as a multiple of what it took."""


class CommitFollower:
    """Belongs to one event loop. ``delay`` in seconds, 0 for never; ``look`` looks at a table if it changed."""

    def __init__(self, delay: float, look: Callable[[TableKey], Awaitable[None]]) -> None:
        self._delay = delay
        self._look = look
        self._known: dict[TableKey, TableKey] = {}
        self._due: dict[TableKey, float] = {}
        self._committed = asyncio.Event()

    def known(self, keys: Iterable[TableKey]) -> None:
        """The tables of the last round: a statement may name them in other letters than their catalog."""
        self._known = {_folded(key): key for key in keys}

    @property
    def tables(self) -> Sequence[TableKey]:
        """Those of the last round."""
        return tuple(self._known.values())

    def committed(self, table: TableKey) -> None:
        """A table was changed. One that no round has seen yet is new to the next one."""
        key = self._known.get(_folded(table))
        if self._delay and key is not None and key not in self._due:
            self._due[key] = asyncio.get_running_loop().time() + self._delay
            self._committed.set()

    async def follow_forever(self) -> None:
        """Look at what was changed, in the order of the commits."""
        loop = asyncio.get_running_loop()
        while True:
            if not self._due:
                self._committed.clear()
                await self._committed.wait()
            key, due = next(iter(self._due.items()))
            await asyncio.sleep(max(0.0, due - loop.time()))
            del self._due[key]  # before the look: a commit that comes meanwhile is for another one
            begun = loop.time()
            try:
                await self._look(key)
            except Exception:
                _LOG.exception("maintenance failed to look at %s after a commit", key)
            await asyncio.sleep(_REST * (loop.time() - begun))


def _folded(key: TableKey) -> TableKey:
    return TableKey(key.catalog, key.schema.lower(), key.table.lower())

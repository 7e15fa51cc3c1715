"""How much memory results may hold over all queries, beyond the bounded buffer of each running one."""

from __future__ import annotations

from collections.abc import Iterable

from coordinator.dispatch.settings import DispatchSettings


class ResultBudget:
    """Sampled by the sweeper, so that no page pays for it.

    While ``exceeded``, ended queries keep their slots until their rows are read: submitting without reading runs
    into the resource group's limits instead of into the memory's.
    """

    def __init__(self, settings: DispatchSettings) -> None:
        self._limit = settings.max_unread_size
        self.exceeded = False

    def sample(self, unread_sizes: Iterable[int]) -> None:
        """Take the bytes that wait in each buffer."""
        self.exceeded = sum(unread_sizes) > self._limit

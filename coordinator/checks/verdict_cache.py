"""Fragments that were accepted lately, by canonical form: bounded in number and age."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable


class VerdictCache:
    """Remembers acceptances only: a refusal's text and location belong to the statement that got it."""

    def __init__(self, max_entries: int, ttl_seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._max_entries = max_entries
        self._ttl_seconds = ttl_seconds
        self._now = now
        self._accepted: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._accepted)

    def is_accepted(self, key: bytes) -> bool:
        """Whether a fragment of this form was accepted within the time to live."""
        accepted_at = self._accepted.get(key)
        if accepted_at is None:
            return False
        if self._now() - accepted_at > self._ttl_seconds:
            del self._accepted[key]
            return False
        self._accepted.move_to_end(key)
        return True

    def accept(self, key: bytes) -> None:
        """Remember an acceptance; the one longest unused makes room."""
        if self._max_entries == 0:
            return
        self._accepted[key] = self._now()
        self._accepted.move_to_end(key)
        if len(self._accepted) > self._max_entries:
            self._accepted.popitem(last=False)

    def clear(self) -> None:
        """Forget everything: whoever answered before may have been replaced by another version."""
        self._accepted.clear()

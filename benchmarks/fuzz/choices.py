"""Decisions of a generator: drawn by a seed, written down, and played again with fewer of them.

A generator takes the simplest way at 0, so that a shorter or smaller list of decisions gives a simpler statement: that
is all that shrinking needs to know.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Decisions of a seed, or those of a list and 0 after its end."""

    def __init__(self, seed: int = 0, played: Sequence[int] | None = None) -> None:
        self._random = random.Random(seed)
        self._played = played
        self.taken: list[int] = []
        self._names = 0

    def below(self, limit: int) -> int:
        """A number from 0 to ``limit`` - 1."""
        if self._played is None:
            drawn = self._random.randrange(limit)
        else:
            at = len(self.taken)
            drawn = self._played[at] % limit if at < len(self._played) else 0
        self.taken.append(drawn)
        return drawn

    def pick(self, options: Sequence[T]) -> T:
        """One of them; the first is the simplest."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.below(100) >= 100 - percent

    def name(self, prefix: str) -> str:
        """A name that is not given twice."""
        self._names += 1
        return f"{prefix}{self._names}"


def shrink(taken: Sequence[int], fails: Callable[[Sequence[int]], bool], attempts: int = 300) -> list[int]:
    """Fewer and smaller decisions with which it still fails."""
    best = list(taken)

    def better(candidate: list[int]) -> bool:
        nonlocal best, attempts
        attempts -= 1
        if candidate == best or attempts < 0 or not fails(candidate):
            return False
        best = candidate
        return True

    before: list[int] | None = None
    while best != before and attempts > 0:
        before = list(best)
        size = max(len(best) // 2, 1)
        while size and attempts > 0:
            at = 0
            while at < len(best) and attempts > 0:
                if not better(best[:at] + best[at + size :]):
                    at += size
            size //= 2
        for at, value in enumerate(before):
            smaller = [*best[:at], 0, *best[at + 1 :]]
            if at < len(best) and value and not better(smaller):
                better([*best[:at], best[at] // 2, *best[at + 1 :]])
    return best

"""Answers that are kept for short arguments alone: strangers send long ones, each of them another."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def kept(maxsize: int, longest: int = 1000) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """As ``lru_cache(maxsize)``, unless an argument is longer than ``longest``: characters, bytes, parts of a type.

    What is kept is then bounded by bytes, not only by number. ``__wrapped__`` is the function itself.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        remembered = lru_cache(maxsize)(function)

        @wraps(function)
        def call(*args: Any, **named: Any) -> R:
            for argument in args:
                if _length(argument) > longest:
                    return function(*args, **named)
            return remembered(*args, **named)

        call.cache_clear = remembered.cache_clear  # type: ignore[attr-defined]
        return call

    return decorate


def _length(value: object) -> int:
    """Of texts, bytes and tuples of them, and of what says its ``length``; other arguments are small."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, tuple):
        return sum(map(_length, value)) + len(value)
    found = getattr(value, "length", 0)
    return found if isinstance(found, int) else 0

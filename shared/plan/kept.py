"""Answers that are kept for short arguments alone: strangers send long ones, each of them another."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_MISSING = object()


def kept(maxsize: int, longest: int = 1000) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """As ``lru_cache``, unless the arguments are longer than ``longest``: characters, bytes, parts of a type.

    What is kept is then bounded by bytes, not only by number. Beyond ``maxsize`` answers all are forgotten.
    ``__wrapped__`` is the function itself.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        answers: dict[tuple[Any, ...], Any] = {}

        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            if not named and (found := answers.get(args, _MISSING)) is not _MISSING:
                return found
            answer = function(*args, **named)
            if not named and _length(args) <= longest:
                if len(answers) >= maxsize:
                    answers.clear()
                answers[args] = answer
            return answer

        call.forget = answers.clear  # type: ignore[attr-defined]
        return call

    return decorate


def _length(value: object) -> int:
    """Of texts, bytes and tuples of them, and of what says its ``length``; other arguments are small."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, tuple):
        return sum(map(_length, value))
    found = getattr(value, "length", 0)
    return found if isinstance(found, int) else 0

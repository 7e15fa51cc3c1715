"""Presto's equality and order of values: NaN equals itself and is the largest; NULLs inside make the answer unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cmp_to_key
from typing import Any

from .failures import unsupported


def equal(a: object, b: object) -> bool | None:
    """``a = b`` of two values that are not NULL; None when a NULL inside decides."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            return False
        unknown = False
        for x, y in zip(a, b, strict=True):
            if x is None or y is None:
                unknown = True
                continue
            found = equal(x, y)
            if found is False:
                return False
            unknown |= found is None
        return None if unknown else True
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return False
        return equal(tuple(a.values()), tuple(b[k] for k in a))
    return _same(a, b)


def instant(value: object) -> Any:
    """An instant with a zone in UTC: of one zone Python compares the clocks, which show an hour of autumn twice."""
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value


def _same(a: object, b: object) -> bool:
    return bool(instant(a) == instant(b) or (a != a and b != b))


def identical(a: object, b: object) -> bool:
    """``a IS NOT DISTINCT FROM b``."""
    if a is None or b is None:
        return a is b
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(identical(v, b[k]) for k, v in a.items())
    return _same(a, b)


def compare(a: object, b: Any, *, rows: bool = False) -> int:
    """-1, 0 or 1 for two values of one orderable type, ``rows`` where that is a row. NULLs inside are NOT_SUPPORTED."""
    if isinstance(a, tuple):
        for x, y in zip(a, b, strict=False):
            if x is None or y is None:
                kind, parts = ("ROW", "fields") if rows else ("ARRAY", "arrays")
                raise unsupported(f"{kind} comparison not supported for {parts} with null elements")
            found = compare(x, y)
            if found:
                return found
        return (len(a) > len(b)) - (len(a) < len(b))
    if a != a or b != b:
        return int(a != a) - int(b != b)
    a, b = instant(a), instant(b)
    return int(a > b) - int(a < b)


ascending: Callable[[Any], Any] = cmp_to_key(compare)


def key(value: object) -> object:
    """A hashable stand-in: equal for values that are not distinct."""
    if isinstance(value, tuple):
        return ("t", *map(key, value))
    if isinstance(value, dict):
        return ("m", frozenset((key(k), key(v)) for k, v in value.items()))
    if isinstance(value, float) and value != value:
        return "NaN"
    return instant(value) if not isinstance(value, bool) else ("b", value)


def holds_null(value: object) -> bool:
    """Whether the value is NULL or an array or row with one inside."""
    return value is None or (isinstance(value, tuple) and any(map(holds_null, value)))


def distinct(values: Iterable[object]) -> list[object]:
    """The first of each."""
    seen: dict[object, object] = {}
    for value in values:
        seen.setdefault(key(value), value)
    return list(seen.values())

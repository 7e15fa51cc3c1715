"""No value larger than a bound, whatever a statement asks for: what would be is refused before it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import KernelError
from .failures import check

VALUE_BYTES = 32 << 20
"""The longest text or bytes that a function makes."""
KEPT_BYTES = 256 << 20
"""The most that an array or map holds which a function makes of others."""
_POINTER, _OBJECT = 8, 60
_PAIRS = 1_000_000
_KEPT_PARTS = 1 << 20
_KEEPING = frozenset({"transform", "transform_keys", "transform_values", "zip_with", "map_zip_with"})


def watched(name: str, values: Sequence[object]) -> Sequence[object]:
    """The arguments of a function that may be called with them; raises KernelError."""
    growing = _GROWING.get(name)
    if growing is not None:
        growing(*values)
    return [_counted(name, v) for v in values] if name in _KEEPING else values


def check_text(size: int, name: str) -> None:
    """Whether a text of this length may be made; raises INVALID_FUNCTION_ARGUMENT."""
    check(
        size <= VALUE_BYTES, f"Result of {name} is too large: it would have {size} characters (at most {VALUE_BYTES})"
    )


def weight(value: object) -> int:
    """About how many bytes a value has."""
    match value:
        case str() | bytes():
            return _POINTER + len(value)
        case tuple() | list():
            return _POINTER + sum(map(weight, value))
        case dict():
            return _POINTER + sum(map(weight, value)) + sum(map(weight, value.values()))
        case _:
            return _POINTER


def _check_kept(size: int, name: str) -> None:
    if size > KEPT_BYTES:
        message = f"Result of {name} exceeds the memory limit of {KEPT_BYTES >> 20}MB for one value"
        raise KernelError("EXCEEDED_LOCAL_MEMORY_LIMIT", message)


def _counted(name: str, value: object) -> object:
    """The lambda, whose results are kept."""
    if not callable(value):
        return value
    kept = 0

    def function(*arguments: object) -> object:
        nonlocal kept
        result = value(*arguments)
        kept += weight(result)
        _check_kept(kept, name)
        return result

    function.width = getattr(value, "width", None)  # type: ignore[attr-defined]
    return function


def _pad(name: str) -> Callable[..., None]:
    def growing(_text: object, size: int, _fill: object) -> None:
        if 0 <= size < 1 << 31:  # others have errors of their own
            check_text(size, name)

    return growing


def _replace(text: str, search: str, new: str = "") -> None:
    grown = len(new) - len(search)
    if grown > 0:
        check_text(len(text) + grown * (text.count(search) if search else len(text) + 1), "replace")


def _concat(*parts: Any) -> None:
    if all(isinstance(part, str | bytes) for part in parts):
        check_text(sum(map(len, parts)), "concat")
    else:
        _check_kept(_POINTER * sum(len(part) if isinstance(part, tuple) else 1 for part in parts), "concat")


def _join(values: Any, delimiter: str, null: str | None = None) -> None:
    empty = 0 if null is None else len(null)
    sizes = (len(v) if isinstance(v, str) else empty if v is None else _POINTER for v in values)
    check_text(sum(sizes) + len(delimiter) * len(values), "array_join")


def _repeat(element: object, count: int | None) -> None:
    if count is not None and 0 <= count <= 10_000:
        _check_kept(count * weight(element), "repeat")


def _ngrams(values: Any, size: int) -> None:
    if size > 0:
        _check_kept(_POINTER * min(size, len(values)) * max(len(values) - size + 1, 1), "ngrams")


def _levenshtein(left: str, right: str) -> None:
    check(len(left) * (len(right) - 1) <= 1_000_000, "The combined inputs for Levenshtein distance are too large")


def _jaro(left: str, right: str) -> None:
    check(len(left) * len(right) <= _PAIRS, "The combined inputs for Jaro-Winkler similarity are too large")


def _split_to_map(text: str, entries: str, *_rest: object) -> None:
    _split(text, entries)


def _split(text: str, delimiter: str, _limit: object = None) -> None:
    """Each part is a text of its own, which takes far more than its characters."""
    if len(text) > _KEPT_PARTS:
        parts = text.count(delimiter) if delimiter else len(text)
        _check_kept(len(text) + _OBJECT * parts, "split")


_GROWING: dict[str, Callable[..., None]] = {
    "rpad": _pad("rpad"), "lpad": _pad("lpad"), "replace": _replace, "concat": _concat, "array_join": _join,
    "repeat": _repeat, "ngrams": _ngrams, "levenshtein_distance": _levenshtein, "jarowinkler_similarity": _jaro,
    "split": _split, "split_to_map": _split_to_map, "split_to_multimap": _split_to_map,
}  # fmt: skip

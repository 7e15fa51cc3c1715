"""Regular expressions whose time Python does not bound, by RE2 in pyarrow: time grows with the text alone.

Python goes back over what it tried: ``(a+)+$`` over thirty letters takes minutes, and nothing else runs meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .failures import unsupported

_MANY = 10
_STEPS = 50_000_000
_MOST_MATCHES = 10_000
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


class BoundedPattern:
    """As far as it is used, a pattern of ``re``."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.groups, self.groupindex = pattern.groups, pattern.groupindex
        self._nested, self._repeats, self._looks_back = _shape(
            _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
        )

    def search(self, text: str) -> Any:
        """The first match, or None."""
        return next(self.finditer(text), None)

    def finditer(self, text: str) -> Iterator[Any]:
        """Every match, from left to right."""
        if self._is_quick(len(text)):
            return self._pattern.finditer(text)
        return self._by_re2(text)

    def sub(self, replacement: Callable[[object], str], text: str) -> str:
        """The text with every match replaced."""
        parts, position = [], 0
        for match in self.finditer(text):
            parts += [text[position : match.start()], replacement(match)]
            position = match.end()
        return "".join(parts) + text[position:]

    def _is_quick(self, length: int) -> bool:
        if self._nested:
            return length <= 16
        return self._repeats < 2 or (length + 1) ** (self._repeats + 1) <= _STEPS

    def _by_re2(self, text: str) -> Iterator[object]:
        position = 0
        for _ in range(_MOST_MATCHES):
            found = self._first(text, position)
            if found is None:
                return
            yield found
            position = found.end() if found.end() > found.start() else found.end() + 1
            if position > len(text):
                return
            if self._looks_back:  # at what a rest of the text does not have
                raise self._refused()
        raise self._refused()

    def _first(self, text: str, position: int) -> _Match | None:
        flags, body = _named(self._pattern.pattern)
        try:
            spans = pc.extract_regex_span(pa.array([text[position:]]), f"{flags}(?P<g0>{body})")[0]
        except (pa.ArrowException, ValueError) as error:
            raise self._refused() from error
        if not spans.is_valid:
            return None
        found = [spans[f"g{i}"].as_py() for i in range(self.groups + 1)]
        return _Match(text, position, found)

    def _refused(self) -> Exception:
        return unsupported(f"Regular expression may take exponential time: {self._pattern.pattern}")


def _named(source: str) -> tuple[str, str]:
    """Leading flags, and the rest with every group named: only those are told."""
    flags = re.match(r"(?:\(\?[imsx]+\))?", source)
    start = 0 if flags is None else flags.end()
    made, number, inside = "", 0, False
    for piece in re.findall(r"\\.|\(\?P<\w+>|\(\?|[\s\S]", source[start:]):
        inside = piece == "[" or (inside and piece != "]")
        if not inside and (piece == "(" or piece.startswith("(?P<")):
            number += 1
            made += f"(?P<g{number}>"
        else:
            made += r"\z" if piece == r"\Z" else piece
    return source[:start], made


def _shape(tree: Any) -> tuple[bool, int, bool]:
    """Whether repeats stand in repeats (or choices do), how many there are, and whether it looks at what was before."""
    nested, repeats, back = False, 0, False
    for code, value in tree:
        parts = _parts(code, value)
        shapes = [_shape(part) for part in parts]
        inner = sum(count for _, count, _ in shapes)
        nested |= any(shape[0] for shape in shapes)
        back |= any(shape[2] for shape in shapes) or (code is ops.AT and value not in (ops.AT_END, ops.AT_END_STRING))
        repeats += inner
        if code in _REPEATS and value[1] >= _MANY:
            repeats += 1
            nested |= inner > 0 or any(_chooses(part) for part in parts)
        elif code in (ops.GROUPREF, ops.GROUPREF_EXISTS, ops.ASSERT, ops.ASSERT_NOT):
            nested |= repeats > 0
    return nested, repeats, back


def _chooses(tree: Any) -> bool:
    return any(
        code is ops.BRANCH or (code in _REPEATS and value[0] != value[1]) or any(map(_chooses, _parts(code, value)))
        for code, value in tree
    )


def _parts(code: object, value: Any) -> list[Any]:
    """The patterns inside a step of a pattern."""
    if code is ops.BRANCH:
        return list(value[1])
    if code in _REPEATS:
        return [value[2]]
    if code is ops.SUBPATTERN or code in (ops.ASSERT, ops.ASSERT_NOT):
        return [value[-1]]
    if code is ops.ATOMIC_GROUP:
        return [value]
    if code is ops.GROUPREF_EXISTS:
        return [part for part in value[1:] if part is not None]
    return []


class _Match:
    """As far as it is used, a match of ``re``; RE2 counts bytes."""

    def __init__(self, text: str, position: int, spans: list[Any]) -> None:
        encoded = text[position:].encode()
        self._spans = [None if s is None else self._characters(encoded, position, *s) for s in spans]
        self._whole = self._spans[0] or (position, position)
        self._text = text

    @staticmethod
    def _characters(encoded: bytes, position: int, start: int, length: int) -> tuple[int, int]:
        first = position + len(encoded[:start].decode())
        return first, first + len(encoded[start : start + length].decode())

    def __getitem__(self, group: int) -> str | None:
        span = self._spans[group]
        return None if span is None else self._text[span[0] : span[1]]

    def groups(self) -> tuple[str | None, ...]:
        return tuple(self[i] for i in range(1, len(self._spans)))

    def start(self) -> int:
        return self._whole[0]

    def end(self) -> int:
        return self._whole[1]

"""Regular expressions whose time Python does not bound, by RE2 in pyarrow: time grows with the text alone.

Python goes back over what it tried: ``(a+)+$`` over thirty letters takes minutes, and nothing else runs meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .failures import unsupported
from .regexp_cost import shape_of

_STEPS = 10_000_000
"""As many take Python some tenths of a second."""
_THREADS = 300_000_000
"""Threads of RE2 times bytes: seconds."""
_STEEP = 3
_MOST_MATCHES, _MOST_COMPILED = 20_000, 2_000_000
"""Of which each is searched for by itself, and characters of the pattern that RE2 reads anew for each."""
_MARKS = [chr(code) for code in (*range(1, 9), *range(14, 32))]


class BoundedPattern:
    """As far as it is used, a pattern of ``re``; raises RecursionError for one that is nested too deeply."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.groups, self.groupindex = pattern.groups, pattern.groupindex
        self._shape = shape_of(pattern)
        flags, body = _named(pattern.pattern)
        self._re2 = f"{flags}(?P<g0>{body})"
        self._most_matches = min(_MOST_MATCHES, _MOST_COMPILED // len(self._re2))

    @property
    def is_steep(self) -> bool:
        """Whether who goes back over what was tried may take for ever, even over a short text."""
        return self._shape.cost.degree > _STEEP or self._shape.cost.ways > _STEPS

    @property
    def is_never_empty(self) -> bool:
        """Whether every match has a character."""
        return self._shape.never_empty

    def search(self, text: str) -> Any:
        """The first match, or None."""
        if self._is_quick(len(text)):
            return self._pattern.search(text)
        return self._first(_Encoded(text), 0, 0)

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
        return length <= 16 or self._shape.steps(length) <= _STEPS

    def _by_re2(self, text: str) -> Iterator[Any]:
        mark = next((m for m in _MARKS if m not in text), None) if self._shape.never_empty else None
        return self._one_by_one(text) if mark is None else self._at_once(text, mark)

    def _at_once(self, text: str, mark: str) -> Iterator[_Match]:
        """What is no match and what is one take turns in the text with marks around each match."""
        encoded = _Encoded(text)
        marked = self._asked(
            lambda: pc.replace_substring_regex(encoded.rest(0), self._re2, f"{mark}\\0{mark}"), encoded
        )
        position = byte = 0
        for number, part in enumerate(marked[0].as_py().split(mark)):
            size = len(part.encode())
            if number % 2:
                yield _Match(text, (position, position + len(part)), self._groups_at(encoded, position, byte, number))
            position, byte = position + len(part), byte + size

    def _groups_at(self, encoded: _Encoded, position: int, byte: int, number: int) -> Callable[[int], _Spans]:
        """The groups of a match, when they are asked for."""

        def groups(end: int) -> _Spans:
            if not self._shape.asserts and self._is_quick(end - position):
                found = self._pattern.fullmatch(encoded.text, position, end)
                if found is not None:
                    return [found.span(i) if found[i] is not None else None for i in range(self.groups + 1)]
            if number > 2 * self._most_matches or (self._shape.looks_back and number > 1):
                raise self._refused()
            again = self._first(encoded, *((0, 0) if number == 1 else (position, byte)))
            if again is None:
                raise self._refused()
            return again.spans()

        return groups

    def _one_by_one(self, text: str) -> Iterator[_Match]:
        encoded = _Encoded(text)
        position = byte = 0
        for _ in range(self._most_matches):
            found = self._first(encoded, position, byte)
            if found is None:
                return
            yield found
            end = found.end() if found.end() > found.start() else found.end() + 1
            if end > len(text):
                return
            position, byte = end, byte + len(text[position:end].encode())
            if self._shape.looks_back:  # at what a rest of the text does not have
                raise self._refused()
        raise self._refused()

    def _first(self, encoded: _Encoded, position: int, byte: int) -> _Match | None:
        """The first from a position on, which is also told in bytes."""
        spans = self._asked(lambda: pc.extract_regex_span(encoded.rest(byte), self._re2), encoded)[0]
        if not spans.is_valid:
            return None
        found = [spans[f"g{i}"].as_py() for i in range(self.groups + 1)]
        made = [None if s is None else encoded.characters(position, byte, *s) for s in found]
        return _Match(encoded.text, made[0] or (position, position), lambda _: made)

    def _asked(self, ask: Callable[[], pa.Array], encoded: _Encoded) -> pa.Array:
        if self._shape.cost.threads * (1 + self.groups / 8) * encoded.size > _THREADS:
            raise unsupported("Regular expression takes too long over a text of this length")
        try:
            return ask()
        except (pa.ArrowException, ValueError) as error:
            raise self._refused() from error

    def _refused(self) -> Exception:
        return unsupported(f"Regular expression may take exponential time: {self._pattern.pattern}")


def _named(source: str) -> tuple[str, str]:
    """Leading flags, and the rest with every group named: only those are told."""
    flags = re.match(r"(?:\(\?[imsx]+\))?", source)
    start = 0 if flags is None else flags.end()
    made, number, inside = [], 0, False
    for piece in re.findall(r"\\.|\(\?P<\w+>|\(\?|[\s\S]", source[start:]):
        inside = piece == "[" or (inside and piece != "]")
        if not inside and (piece == "(" or piece.startswith("(?P<")):
            number += 1
            made.append(f"(?P<g{number}>")
        else:
            made.append(r"\z" if piece == r"\Z" else piece)
    return source[:start], "".join(made)


_Span = tuple[int, int]
_Spans = list[_Span | None]


class _Encoded:
    """A text with its bytes, of which rests are taken without copying."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._bytes = text.encode()
        self.size = len(self._bytes)
        self._buffer = pa.py_buffer(self._bytes)

    def rest(self, byte: int) -> pa.Array:
        """An array of the one text from there."""
        offsets = pa.py_buffer(byte.to_bytes(4, "little") + self.size.to_bytes(4, "little"))
        return pa.Array.from_buffers(pa.string(), 1, [None, offsets, self._buffer])

    def characters(self, position: int, byte: int, start: int, length: int) -> _Span:
        """A span behind ``position`` that RE2 counts in bytes."""
        first = position + len(self._bytes[byte : byte + start].decode())
        return first, first + len(self._bytes[byte + start : byte + start + length].decode())


class _Match:
    """As far as it is used, a match of ``re``."""

    def __init__(self, text: str, whole: _Span, groups: Callable[[int], _Spans]) -> None:
        self._text, self._whole, self._groups = text, whole, groups

    def __getitem__(self, group: int) -> str | None:
        span = self._whole if group == 0 else self.spans()[group]
        return None if span is None else self._text[span[0] : span[1]]

    def spans(self) -> _Spans:
        """Of the match and its groups."""
        found = self._groups(self._whole[1])
        self._groups = lambda _: found
        return found

    def groups(self) -> tuple[str | None, ...]:
        return tuple(self[i] for i in range(1, len(self.spans())))

    def start(self) -> int:
        return self._whole[0]

    def end(self) -> int:
        return self._whole[1]

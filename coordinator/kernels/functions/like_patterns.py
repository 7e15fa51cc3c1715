"""LIKE without going back: what stands between two % is found where it comes first."""

from __future__ import annotations

from typing import NamedTuple

from ..kept import kept
from .failures import invalid

_MOST_STEPS = 20_000_000
"""Some seconds. Only patterns with many pieces between underscores over long texts take as many."""


class Segment(NamedTuple):
    """What stands between two %: texts at their places, and ``size`` characters in all."""

    pieces: tuple[tuple[int, str], ...]
    size: int


class LikePattern(NamedTuple):
    """A pattern's segments; the first begins a text and the last ends it, one alone is the whole of it."""

    segments: tuple[Segment, ...]

    def matches(self, text: str) -> bool:
        """Whether the whole text is like the pattern; raises INVALID_FUNCTION_ARGUMENT for what takes too long."""
        first, *rest = self.segments
        if not rest:
            return len(text) == first.size and _is_at(text, first, 0)
        last = rest.pop()
        end = len(text) - last.size
        if end < first.size or not _is_at(text, first, 0) or not _is_at(text, last, end):
            return False
        position, steps = first.size, _Steps()
        for segment in rest:
            found = _found(text, segment, position, end, steps)
            if found is None:
                return False
            position = found + segment.size
        return True


class _Steps:
    """How much has been tried."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise invalid("LIKE pattern has too many parts between underscores for a text of this length")


def _is_at(text: str, segment: Segment, position: int) -> bool:
    return all(text.startswith(piece, position + at) for at, piece in segment.pieces)


def _found(text: str, segment: Segment, position: int, end: int, steps: _Steps) -> int | None:
    """Where it comes first between the two places, by its longest piece."""
    if not segment.pieces:
        return position if position + segment.size <= end else None
    offset, longest = max(segment.pieces, key=lambda piece: len(piece[1]))
    while True:
        found = text.find(longest, position + offset, max(end - segment.size + offset + len(longest), 0)) - offset
        if found < position:
            return None
        tried = 0
        for at, piece in segment.pieces:
            tried += 1
            if not text.startswith(piece, found + at):
                break
        else:
            return found
        steps.take(tried)
        position = found + 1


@kept(512, longest=10_000)
def like_pattern_of(pattern: str, escape: str | None) -> LikePattern:
    """The pattern, read; raises INVALID_FUNCTION_ARGUMENT."""
    if escape is not None and len(escape) != 1:
        raise invalid("Escape string must be a single character")
    segments: list[Segment] = []
    pieces: list[tuple[int, str]] = []
    letters: list[str] = []
    size = 0
    characters = iter(pattern)

    def end_piece() -> None:
        if letters:
            pieces.append((size - len(letters), "".join(letters)))
            letters.clear()

    for character in characters:
        if character == escape:
            following = next(characters, "")
            if following not in ("%", "_", escape):
                raise invalid("Escape character must be followed by '%', '_' or the escape character itself")
            letters.append(following)
            size += 1
        elif character == "%":
            end_piece()
            if size or not segments:  # several % are as one
                segments.append(Segment(tuple(pieces), size))
            pieces, size = [], 0
        else:
            if character == "_":
                end_piece()
            else:
                letters.append(character)
            size += 1
    end_piece()
    return LikePattern((*segments, Segment(tuple(pieces), size)))

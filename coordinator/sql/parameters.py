"""Puts the values of EXECUTE … USING in place of the question marks of a prepared statement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from coordinator.sql.lexer import Tokens, location_of
from shared.errors import ErrorCode, ErrorLocation, ProcessionError


@dataclass(frozen=True, slots=True)
class Substituted:
    """A statement with its parameters put in, and where in the prepared text its places are.

    ``pieces`` are ``(start in text, end in text, start in prepared text)`` of what was put in, in order.
    """

    prepared: str
    text: str
    pieces: tuple[tuple[int, int, int], ...]

    def original(self, location: ErrorLocation) -> ErrorLocation:
        """The place in the prepared text; inside a value it is that of its question mark."""
        lines = self.text.split("\n")
        offset = sum(len(line) + 1 for line in lines[: location.line - 1]) + location.column - 1
        shift = 0
        for start, end, mark in self.pieces:
            if offset < start:
                break
            if offset < end:
                return location_of(self.prepared, mark)
            shift = end - (mark + 1)
        return location_of(self.prepared, offset - shift)


_COUNTED = ("LIMIT", "OFFSET", "FIRST", "NEXT")
"""What stands before a number of rows; the grammar has no expression there."""
_NUMBER = re.compile(r"\s*(?:(?:TINY|SMALL|BIG)?INT(?:EGER)?\s*'(\d+)'|(\d+))\s*", re.ASCII | re.IGNORECASE)


def placeholders(text: str) -> list[int]:
    """Where the question marks of a statement stand, in the order of the parameters."""
    if "?" not in text:
        return []
    tokens = Tokens(text)
    return [start for start, word in zip(tokens.starts, tokens.words, strict=True) if word == "?"]


def substitute(prepared: str, parameters: Sequence[str], location: ErrorLocation) -> Substituted:
    """The prepared text with each ``?`` replaced by the expression text of its place.

    Raises SYNTAX_ERROR at ``location`` for a wrong number of parameters.
    """
    marks = placeholders(prepared)
    if len(marks) != len(parameters):
        message = f"Incorrect number of parameters: expected {len(marks)} but found {len(parameters)}"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    counted = _after_count_words(prepared) if marks else frozenset()
    parts: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    done = length = 0
    for mark, parameter in zip(marks, parameters, strict=True):
        before = prepared[done:mark]
        value = _put(parameter, counted=mark in counted)
        parts.extend((before, value))
        length += len(before)
        pieces.append((length, length + len(value), mark))
        length += len(value)
        done = mark + 1
    parts.append(prepared[done:])
    return Substituted(prepared, "".join(parts), tuple(pieces))


def _after_count_words(prepared: str) -> frozenset[int]:
    """Where the question marks stand that are numbers of rows."""
    tokens = Tokens(prepared)
    pairs = zip(tokens.words, tokens.words[1:], tokens.starts[1:], strict=False)
    return frozenset(start for before, word, start in pairs if word == "?" and before in _COUNTED)


def _put(parameter: str, *, counted: bool) -> str:
    """A value as the text that takes the place of its question mark: in parentheses, but for single words.

    The JDBC drivers write an ``int`` as ``INTEGER '2'``; as a number of rows only the number is put in.
    """
    number = _NUMBER.fullmatch(parameter) if counted else None
    if number:
        return number[1] or number[2]
    return parameter if len(Tokens(parameter).words) == 2 else f"({parameter})"

"""Puts the values of EXECUTE … USING in place of the question marks of a prepared statement."""

from __future__ import annotations

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
    parts: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    done = length = 0
    for mark, parameter in zip(marks, parameters, strict=True):
        before = prepared[done:mark]
        # In parentheses only where it matters: LIMIT takes a bare number.
        value = parameter if len(Tokens(parameter).words) == 2 else f"({parameter})"
        parts.extend((before, value))
        length += len(before)
        pieces.append((length, length + len(value), mark))
        length += len(value)
        done = mark + 1
    parts.append(prepared[done:])
    return Substituted(prepared, "".join(parts), tuple(pieces))

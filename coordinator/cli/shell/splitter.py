"""What a typed or piped text holds: statements up to a ``;`` outside quotes and comments, and backslash commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from coordinator.sql.blanks import BLANKS

# Quotes and block comments that are still open run to the end of the text.
_QUOTED = r"'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)|`(?:[^`]|``)*(?:`|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)"
_END = r";|\\G|\\g(?![A-Za-z])|\\watch(?:[ \t]+[0-9.]+)?"
_PIECE = re.compile(rf"(?P<end>{_END})|{_QUOTED}|.", re.DOTALL)
_BLANK = re.compile(BLANKS)


@dataclass(frozen=True, slots=True)
class Typed:
    """A statement with what ends it, or a backslash command, whose ``end`` is empty."""

    text: str
    end: str = ";"

    @property
    def is_command(self) -> bool:
        return not self.end


def inputs(text: str) -> tuple[list[Typed], str]:
    r"""What is complete, and the text that is not; a command is a line that begins with a backslash.

    >>> inputs("\\d t\nSELECT ';'; SELECT 2")
    ([Typed(text='\\d t', end=''), Typed(text="SELECT ';'", end=';')], 'SELECT 2')
    """
    found, rest = _read(text)
    return found, rest.strip()


def unfinished(text: str) -> str:
    """The last statement as it stands, when it has no end; the blanks behind it are kept."""
    return _read(text)[1]


def _read(text: str) -> tuple[list[Typed], str]:
    found: list[Typed] = []
    while True:
        text = text.lstrip()
        if text.startswith("\\") and not _PIECE.match(text)["end"]:  # type: ignore[index]
            line, _, text = text.partition("\n")
            found.append(Typed(line.strip(), ""))
            continue
        end = _first_end(text)
        if end is None:
            return found, text
        statement = text[: end.start()].strip()
        if not is_blank(statement) or end[0] != ";":
            found.append(Typed(statement, end[0]))
        text = text[end.end() :]


def _first_end(text: str) -> re.Match[str] | None:
    return next((piece for piece in _PIECE.finditer(text) if piece["end"]), None)


def split_statements(text: str) -> tuple[list[str], str]:
    """The complete statements without their ``;``, and what follows the last one."""
    found, rest = inputs(text)
    return [typed.text for typed in found if not typed.is_command], rest


def is_blank(text: str) -> bool:
    """Nothing but white space and comments."""
    return _BLANK.fullmatch(text) is not None


def code_pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is code: neither quoted nor a comment."""
    last = 0
    for quoted in re.finditer(_QUOTED, text, re.DOTALL):
        yield text[last : quoted.start()], True
        yield quoted[0], False
        last = quoted.end()
    yield text[last:], True

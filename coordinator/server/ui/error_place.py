"""The text of a statement around the place of its error."""

from __future__ import annotations

import re
from dataclasses import dataclass

_AROUND = 3
_LONGEST = 400
_WORD = re.compile(r"\w+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """``mark`` is empty in all lines but that of the error."""

    number: int
    before: str
    mark: str = ""
    after: str = ""


def marked_lines(text: str, line: int | None, column: int | None) -> list[MarkedLine]:
    """The line of the error with those around it; nothing where the text has no such place.

    >>> [(each.before, each.mark) for each in marked_lines("SELECT a\\nFROM nowhere x", 2, 6)]
    [('SELECT a', ''), ('FROM ', 'nowhere')]
    """
    lines = text.split("\n")
    if line is None or column is None or not 1 <= line <= len(lines) or column < 1:
        return []
    first = max(1, line - _AROUND)
    found = []
    for number in range(first, min(len(lines), line + _AROUND) + 1):
        content = lines[number - 1].rstrip("\r")
        found.append(_marked(number, content, column) if number == line else MarkedLine(number, content[:_LONGEST]))
    return found


def _marked(number: int, content: str, column: int) -> MarkedLine:
    start = min(column - 1, len(content))
    word = _WORD.match(content, start)
    end = start if word is None else word.end()
    before = content[max(0, start - _LONGEST) : start]
    mark = content[start:end][:_LONGEST] or " "
    return MarkedLine(number, before, mark, content[end : end + _LONGEST])

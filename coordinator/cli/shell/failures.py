"""Errors of statements: the server's message, and the line with a caret under the place that it names."""

from __future__ import annotations

from itertools import accumulate

from rich.cells import cell_len

from coordinator.cli.client import StatementError
from coordinator.cli.shell.values import visible
from shared.protocol.statement import Location

_BEFORE = 30
_TAB = "    "


def failure_text(statement: str, error: StatementError, width: int) -> str:
    """What a person reads, with a line end."""
    head = f"Query {error.query_id} failed: {error}" if error.query_id else str(error)
    place = "" if error.location is None else marked(statement, error.location, width)
    return f"{visible(head)}\n{place}"


def marked(statement: str, location: Location, width: int) -> str:
    """Two lines: the one with the error, cut to ``width``, and the caret; empty for a place outside."""
    lines = statement.split("\n")
    if not 1 <= location.lineNumber <= len(lines) or location.columnNumber < 1:
        return ""
    line = lines[location.lineNumber - 1].rstrip("\r")
    label = f"LINE {location.lineNumber}: "
    before, after = line[: location.columnNumber - 1], line[location.columnNumber - 1 :]
    if not after.strip() and location.lineNumber == len(lines):
        after = " <EOF>" if before else "<EOF>"
    before, after = (visible(part.replace("\t", _TAB)) for part in (before, after))
    room = max(width - len(label) - 1, 2 * _BEFORE)
    if cell_len(before) + cell_len(after) > room and cell_len(before) > _BEFORE:
        before = "..." + _cut(before[::-1], _BEFORE - 3, "")[::-1]
    after = _cut(after, room - cell_len(before))
    return f"{label}{before}{after}\n{' ' * (len(label) + cell_len(before))}^\n"


def _cut(text: str, width: int, mark: str = "...") -> str:
    """As many characters as the cells of the screen have room for: some take two, and some none."""
    if cell_len(text) <= width:
        return text
    room = max(1, width - len(mark))
    used = accumulate(map(cell_len, text))
    return text[: max(1, sum(cells <= room for cells in used))] + mark

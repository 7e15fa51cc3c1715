"""Forms that need the width of what they print: tables, records one below the other, Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from coordinator.cli.answers import Column
from coordinator.cli.shell.values import is_numeric, renderer, visible

Row = Sequence[object]
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|])")


def cells_of(columns: Sequence[Column], rows: Sequence[Row]) -> list[list[str]]:
    """Every value as text that a terminal can be given."""
    renders = [renderer(column.typeSignature) for column in columns]
    return [[visible(render(value)) for render, value in zip(renders, row, strict=True)] for row in rows]


def widths_of(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    """The cells that each column takes on the screen."""
    named = [[visible(column.name) for column in columns], *cells]
    return [max(1, *(line_width(row[i]) for row in named)) for i in range(len(columns))]


def line_width(text: str) -> int:
    """The width of the widest line."""
    return max(map(cell_len, text.split("\n")))


def aligned(columns: Sequence[Column], rows: Sequence[Row], *, header: bool) -> Iterator[str]:
    """Lines of a table; a cell of several lines has ``+`` behind all but its last."""
    cells = cells_of(columns, rows)
    widths = widths_of(columns, cells)
    if header:
        yield "|".join(_centered(visible(c.name), w) for c, w in zip(columns, widths, strict=True))
        yield "+".join("-" * (width + 2) for width in widths)
    right = [is_numeric(column) for column in columns]
    for row in cells:
        parts = [cell.split("\n") for cell in row]
        for at in range(max(map(len, parts), default=0)):
            made = (_line(part, at, w, r) for part, w, r in zip(parts, widths, right, strict=True))
            yield "|".join(made)


def _line(part: Sequence[str], at: int, width: int, right: bool) -> str:
    text = _placed(part[at] if at < len(part) else "", width, right)
    return text[:-1] + "+" if at + 1 < len(part) else text


def _placed(text: str, width: int, right: bool) -> str:
    gap = " " * (width - cell_len(text))
    return f" {gap}{text} " if right else f" {text}{gap} "


def _centered(text: str, width: int) -> str:
    left = (width - cell_len(text)) // 2
    return " " * (left + 1) + text + " " * (width - cell_len(text) - left + 1)


def vertical(columns: Sequence[Column], rows: Sequence[Row], first: int) -> Iterator[str]:
    """One line a value. ``first`` is the number of the first record."""
    cells = cells_of(columns, rows)
    names = [visible(column.name) for column in columns]
    name_width = max(map(cell_len, names), default=0)
    value_width = max((line_width(cell) for row in cells for cell in row), default=0)
    for number, row in enumerate(cells, first):
        head = f"-[ RECORD {number} ]"
        if name_width + 1 >= len(head):
            head += "-" * (name_width + 1 - len(head)) + "+"
        yield head.ljust(name_width + value_width + 3, "-")
        for name, cell in zip(names, row, strict=True):
            for at, line in enumerate(cell.split("\n")):
                label = name if at == 0 else ""
                yield f"{label}{' ' * (name_width - cell_len(label))} | {line}"


def markdown(columns: Sequence[Column], rows: Sequence[Row], *, header: bool) -> Iterator[str]:
    """A table of GitHub's Markdown."""
    cells = [[_MARKDOWN.sub(r"\\\1", cell).replace("\n", "<br>") for cell in row] for row in cells_of(columns, rows)]
    widths = widths_of(columns, cells)
    right = [is_numeric(column) for column in columns]
    named = [_MARKDOWN.sub(r"\\\1", visible(column.name)) for column in columns]
    if header:
        widths = [max(width, cell_len(name)) for width, name in zip(widths, named, strict=True)]
        yield _markdown_line(named, widths, right)
        rules = (f"| {'-' * width}{':' if r else ' '}" for width, r in zip(widths, right, strict=True))
        yield "".join(rules) + "|"
    for row in cells:
        yield _markdown_line(row, widths, right)


def _markdown_line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return "|" + "|".join(_placed(c, w, r) for c, w, r in zip(cells, widths, right, strict=True)) + "|"

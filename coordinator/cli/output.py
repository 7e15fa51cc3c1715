"""Rows of a statement as text: an aligned table, CSV, or one JSON object a line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from enum import StrEnum
from typing import TextIO, assert_never

_TABLE_ROWS = 1000


class OutputFormat(StrEnum):
    """``--output-format``"""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class RowPrinter:
    """Prints rows as they come; ``finish`` prints what is left. A table is aligned over 1000 rows at a time."""

    def __init__(self, output: TextIO, form: OutputFormat) -> None:
        self._output = output
        self._form = form
        self._columns: Sequence[str] = ()
        self._waiting: list[Sequence[object]] = []
        self._headed = False
        self.count = 0

    def add(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """``rows`` of the statement whose result has ``columns``."""
        self._columns = columns or self._columns
        self.count += len(rows)
        match self._form:
            case OutputFormat.TABLE:
                self._waiting.extend(rows)
                if len(self._waiting) >= _TABLE_ROWS:
                    self._flush()
            case OutputFormat.CSV:
                self._csv(rows)
            case OutputFormat.JSON:
                for row in rows:
                    self._line(json.dumps(dict(zip(self._columns, row, strict=True)), ensure_ascii=False))
            case _:
                assert_never(self._form)

    def finish(self) -> None:
        """The statement is done."""
        if self._form is OutputFormat.TABLE and self._columns:
            self._flush()
            self._line(f"({self.count} row{'' if self.count == 1 else 's'})")
        if self._form is OutputFormat.CSV:
            self._csv(())
        self._output.flush()

    def _csv(self, rows: Sequence[Sequence[object]]) -> None:
        if not self._headed and self._columns:
            self._headed = True
            rows = [self._columns, *rows]
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([_cell(v, null="") for v in row] for row in rows)
        self._output.write(buffer.getvalue())

    def _flush(self) -> None:
        cells = [[_cell(value, null="NULL") for value in row] for row in self._waiting]
        widths = [
            max(_width(line) for cell in [name, *(row[i] for row in cells)] for line in cell.split("\n"))
            for i, name in enumerate(self._columns)
        ]
        if not self._headed:
            self._headed = True
            self._line(" " + " | ".join(_padded(n, w) for n, w in zip(self._columns, widths, strict=True)))
            self._line("-" + "-+-".join("-" * width for width in widths) + "-")
        for row in cells:
            for line in _lines(row):
                self._line(" " + " | ".join(_padded(c, w) for c, w in zip(line, widths, strict=True)))
        self._waiting = []

    def _line(self, text: str) -> None:
        self._output.write(text.rstrip() + "\n")


def _cell(value: object, *, null: str) -> str:
    match value:
        case None:
            return null
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def _lines(row: Sequence[str]) -> list[list[str]]:
    """A row whose cells hold line ends, as several printed lines."""
    parts = [cell.split("\n") for cell in row]
    height = max((len(part) for part in parts), default=1)
    return [[part[i] if i < len(part) else "" for part in parts] for i in range(height)]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)

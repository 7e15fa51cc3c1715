"""``--output-format``: every form that presto-cli and trino-cli print rows in."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from typing import Protocol, assert_never

from coordinator.cli.answers import Column
from coordinator.cli.shell.grid import Row, aligned, cells_of, markdown, vertical, widths_of
from coordinator.cli.shell.output_format import OutputFormat
from coordinator.cli.shell.values import Render, renderer, visible

_BUFFERED = 1000
_TSV = str.maketrans({"\0": "\\0", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"})


class Output(Protocol):
    """What rows are written to."""

    def write(self, text: str, /) -> int: ...
    def flush(self) -> None: ...
    def isatty(self) -> bool: ...


class RowPrinter:
    """Prints rows as they come; ``finish`` prints what is left. Widths are those of 1,000 rows at a time."""

    def __init__(self, output: Output, form: OutputFormat, width: int = 80) -> None:
        self._output = output
        self._form = form
        self._width = width
        self._columns: Sequence[Column] = ()
        self._waiting: list[Row] = []
        self._headed = False
        self._render: Sequence[Render] = ()
        self.count = 0

    def add(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """``rows`` of the statement whose result has ``columns``."""
        if columns and not self._columns:
            self._columns = columns
            self._render = [renderer(c.typeSignature, null="", bytes_a_line=0) for c in columns]
        self._waiting.extend(rows)
        if len(self._waiting) >= _BUFFERED:
            self._flush()

    def finish(self) -> None:
        """The statement is done."""
        if self._columns:
            self._flush()
            match self._form:
                case OutputFormat.ALIGNED:
                    self._lines([f"({self.count} row{'' if self.count == 1 else 's'})"])
                case OutputFormat.VERTICAL if not self.count:
                    self._lines(["(no rows)"])
                case _:
                    pass
        self._output.flush()

    def _flush(self) -> None:
        rows, self._waiting = self._waiting, []
        if self._form is OutputFormat.AUTO:
            self._form = self._fitting(rows)
        self._lines(self._text(rows))
        self._headed = True
        self.count += len(rows)

    def _fitting(self, rows: Sequence[Row]) -> OutputFormat:
        """A table, unless it is wider than the screen."""
        widths = widths_of(self._columns, cells_of(self._columns, rows))
        fits = sum(widths) + 3 * len(widths) - 1 <= self._width
        return OutputFormat.ALIGNED if fits or not rows else OutputFormat.VERTICAL

    def _text(self, rows: Sequence[Row]) -> Iterable[str]:
        columns, header = self._columns, not self._headed
        match self._form:
            case OutputFormat.ALIGNED | OutputFormat.AUTO:
                return aligned(columns, rows, header=header)
            case OutputFormat.VERTICAL:
                return vertical(columns, rows, self.count + 1)
            case OutputFormat.MARKDOWN:
                return markdown(columns, rows, header=header)
            case OutputFormat.CSV:
                return self._csv(rows, header=False)
            case OutputFormat.CSV_HEADER:
                return self._csv(rows, header=header)
            case OutputFormat.CSV_UNQUOTED:
                return self._joined(rows, ",", header=False)
            case OutputFormat.CSV_HEADER_UNQUOTED:
                return self._joined(rows, ",", header=header)
            case OutputFormat.TSV:
                return self._joined(rows, "\t", header=False)
            case OutputFormat.TSV_HEADER:
                return self._joined(rows, "\t", header=header)
            case OutputFormat.JSON:
                return map(self._json, rows)
            case OutputFormat.NULL:
                return ()
            case _:
                assert_never(self._form)

    def _texts(self, rows: Sequence[Row], *, header: bool) -> Iterable[list[str]]:
        if header:
            yield [column.name for column in self._columns]
        for row in rows:
            yield [render(value) for render, value in zip(self._render, row, strict=True)]

    def _csv(self, rows: Sequence[Row], *, header: bool) -> Iterable[str]:
        lines: list[str] = []
        writer = csv.writer(_Lines(lines), quoting=csv.QUOTE_ALL, lineterminator="")
        writer.writerows(self._texts(rows, header=header))
        return lines

    def _joined(self, rows: Sequence[Row], separator: str, *, header: bool) -> Iterable[str]:
        escapes = _TSV if separator == "\t" else {}
        for row in self._texts(rows, header=header):
            yield separator.join(cell.translate(escapes) for cell in row)

    def _json(self, row: Row) -> str:
        named = dict(zip((column.name for column in self._columns), row, strict=True))
        return json.dumps(named, ensure_ascii=False, separators=(",", ":"))

    def _lines(self, lines: Iterable[str]) -> None:
        """Tables are safe for a terminal already; values that go to a file stay as they are."""
        shown = self._output.isatty()
        for line in lines:
            self._output.write(("\t".join(map(visible, line.split("\t"))) if shown else line) + "\n")


class _Lines:
    """What csv writes to."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def write(self, text: str) -> None:
        self._lines.append(text)

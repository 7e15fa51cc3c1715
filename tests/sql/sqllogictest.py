"""Reads and writes ``.slt`` files: SQL statements with the rows, or the error, that they must give.

The format is sqllogictest's: blank lines separate records; ``query nosort`` or ``query rowsort`` before the SQL,
``----`` and the rows after it, cells separated by a tab; ``statement error NAME`` with the message after ``----``.
``prelude`` gives WITH queries that every query of the file begins with. ``#`` begins a comment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Record:
    """One statement. ``error`` is the name of the error whose text ``lines`` holds; otherwise they are rows."""

    sql: str
    lines: tuple[str, ...]
    sort: bool = False
    error: str | None = None
    line: int = 0


def read(path: Path) -> list[Record]:
    """The records of a file; raises ValueError, with the line, for one that it does not understand."""
    records: list[Record] = []
    prelude, block, start = "", [], 1
    for number, line in enumerate([*path.read_text().split("\n"), ""], 1):
        if line.strip():
            start = start if block else number
            if not line.startswith("#"):
                block.append(line)
            continue
        if block and block[0] == "prelude":
            prelude = "\n".join(block[1:])
        elif block:
            records.append(_record(block, prelude, f"{path.name}:{start}", start))
        block = []
    return records


def _record(block: Sequence[str], prelude: str, where: str, number: int) -> Record:
    words = block[0].split()
    if "----" not in block or words[0] not in ("query", "statement"):
        raise ValueError(f"{where}: neither query nor statement: {block[0]}")
    middle = block.index("----")
    sql, lines = "\n".join(block[1:middle]), tuple(block[middle + 1 :])
    if words[0] == "statement":
        if words[1:2] != ["error"] or len(words) != 3:
            raise ValueError(f"{where}: expected 'statement error NAME'")
        return Record(sql, lines, error=words[2], line=number)
    if words[1:] not in (["nosort"], ["rowsort"]):
        raise ValueError(f"{where}: expected 'query nosort' or 'query rowsort'")
    return Record(with_prelude(sql, prelude), lines, words[1] == "rowsort", line=number)


def with_prelude(sql: str, prelude: str) -> str:
    """The query with the WITH queries of its file before its own."""
    if not prelude:
        return sql
    if sql.upper().startswith("WITH "):
        return f"WITH {prelude},\n{sql[5:]}"
    return f"WITH {prelude}\n{sql}"


def rows_of(rows: Iterable[Sequence[Any]], *, sort: bool) -> tuple[str, ...]:
    """Rows as lines of a file; doubles to nine digits."""
    lines = ["\t".join(cell(value) for value in row) for row in rows]
    return tuple(sorted(lines) if sort else lines)


def cell(value: Any) -> str:
    """A cell's text: of a Python value from DuckDB or of a JSON value from us."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return "NaN" if math.isnan(value) else f"{value:.9g}"
        case Decimal():
            return f"{value:f}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03d}"
        case date():
            return value.isoformat()
        case timedelta():
            raise ValueError("an interval has no text here")
        case list() | tuple():
            return f"[{', '.join(cell(v) for v in value)}]"
        case dict():
            return "{" + ", ".join(f"{cell(k)}={cell(v)}" for k, v in sorted(value.items(), key=str)) + "}"
        case str():
            return (value or "(empty)").replace("\t", "\\t").replace("\n", "\\n")
        case _:
            return str(value)


def write(path: Path, comment: str, prelude: str, records: Iterable[Record]) -> None:
    """Writes a file; the prelude is taken off the statements again by the caller."""
    parts = ["\n".join(f"# {line}" for line in comment.split("\n"))]
    if prelude:
        parts.append(f"prelude\n{prelude}")
    for record in records:
        kind = f"statement error {record.error}" if record.error else f"query {'rowsort' if record.sort else 'nosort'}"
        parts.append("\n".join([kind, record.sql, "----", *record.lines]))
    path.write_text("\n\n".join(parts) + "\n")

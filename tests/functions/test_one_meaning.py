"""The recorded expressions of a real Presto once more, their literals as columns: the answer is that of the constants.

``test_recorded_functions`` asks for them as constants, which are folded while planning. Here the same expressions read
columns of VALUES, which the embedded engine and Spark compute with what they have themselves and with the kernels.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coordinator.engine.local import LocalEngine
from shared.errors import ProcessionError
from tests.execution import FakeExecution as Execution
from tests.functions.hoisting import Hoisted, hoisted
from tests.functions.recorded import alike_cells, exceptions, recorded
from tests.functions.runner import Run, answer

pytestmark = pytest.mark.slow

FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
_AT_ONCE = 50
_PART = 80
"""One expression of so many is asked of Spark when not all are."""
_PART_HERE = 4
"""And of the embedded engine; as constants it is asked all of them (test_recorded_functions)."""
_EXCEPTIONS = Path(__file__).parents[1] / "data" / "presto_spark_exceptions.json"
_ZONE = re.compile(r"'[^']*([0-9]\s*[+-][0-9]{1,2}:?[0-9]{2}|[A-Z][a-z]+/[A-Z][a-z]+)[^']*'")
"""Columns hold moments in UTC: the zone of a row is lost (docs/status.md)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A recorded expression over columns; ``cell`` is Presto's answer, an error by name and text."""

    sql: str
    over: Hoisted
    cell: Any


def _asked() -> list[Asked]:
    excepted, found = exceptions(), []
    for number, line in enumerate(recorded()):
        over = None if line["sql"] in excepted else hoisted(line["sql"], f"l{number}_")
        if over is None:
            continue
        if "error" not in line:
            found.append(Asked(line["sql"], over, line["data"][0][0]))
        elif line["error"][2] is None and not line["error"][1].startswith("Invalid INTERVAL"):
            found.append(Asked(line["sql"], over, tuple(line["error"][:2])))
    return found


def _statement(asked: Sequence[Asked]) -> str:
    cells = ", ".join(f"{a.over.expression} AS c{i}" for i, a in enumerate(asked))
    literals = ", ".join(literal for a in asked for literal in a.over.literals)
    names = ", ".join(name for a in asked for name in a.over.names)
    return f"SELECT {cells} FROM (VALUES ({literals})) AS t({names})"


def _answers(asked: Sequence[Asked], dialect: str, run: Run) -> Iterator[Any]:
    """The cell of each; a statement that fails is asked in halves."""
    try:
        rows = answer(_statement(asked), dialect, run)
    except ProcessionError as error:
        rows = (error.code.name, error.wire_message)
    if not isinstance(rows, tuple):
        yield from rows[0]
    elif len(asked) == 1:
        yield rows
    else:
        half = len(asked) // 2
        yield from _answers(asked[:half], dialect, run)
        yield from _answers(asked[half:], dialect, run)


def _wrong(asked: Sequence[Asked], dialect: str, run: Run) -> dict[str, str]:
    """The statements that answer otherwise, each with what a reader wants to know."""
    fails = [a for a in asked if isinstance(a.cell, tuple)]
    rest = [a for a in asked if not isinstance(a.cell, tuple)]
    batches = [[a] for a in fails] + [rest[i : i + _AT_ONCE] for i in range(0, len(rest), _AT_ONCE)]
    wrong = {}
    for batch in batches:
        for a, cell in zip(batch, _answers(batch, dialect, run), strict=True):
            if not alike_cells(cell, a.cell) and not _ZONE.search(a.sql):
                wrong[a.sql] = f"{_statement([a])}\n  ours   {cell!r}\n  Presto {a.cell!r}"
    return wrong


def test_the_embedded_engine_over_columns() -> None:
    asked, engine = _asked(), LocalEngine()
    assert len(asked) > 7000
    asked = [a for a in asked if FULL or zlib.crc32(a.sql.encode()) % _PART_HERE == 0]
    assert len(asked) > 1500
    wrong = _wrong(asked, "duckdb", lambda sql: engine.run(sql, Execution()))
    engine.close()
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong.values())


@pytest.mark.spark
def test_spark_over_columns(spark_engine: Any) -> None:
    asked = [a for a in _asked() if FULL or zlib.crc32(a.sql.encode()) % _PART == 0]
    wrong = _wrong(asked, "spark", lambda sql: spark_engine.run(sql, Execution()))
    known = _spark_exceptions()
    unknown = [text for sql, text in wrong.items() if sql not in known]
    assert not unknown, f"{len(unknown)} differ\n" + "\n".join(unknown)
    if FULL:
        # What has come right leaves the list.
        assert known - wrong.keys() == set()


def _spark_exceptions() -> set[str]:
    """What Spark answers otherwise over columns, though not over constants; by reason in the file."""
    return {sql for statements in json.loads(_EXCEPTIONS.read_text("utf-8")).values() for sql in statements}

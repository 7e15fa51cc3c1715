"""docs/functions.md: the functions of Presto that each engine runs (``python -m coordinator.unparser.coverage``)."""

from __future__ import annotations

import sys

from coordinator.analyzer.registry import registry
from coordinator.kernels.functions.aggregates import PREFIX
from coordinator.unparser.functions import AGGREGATES, SCALARS, WINDOWS
from coordinator.unparser.programs import runs_in_python

_SPECIAL = {"concat", "current_date", "current_timestamp", "current_time", "current_timezone", "localtime", "typeof"}
_SPECIAL |= {"localtimestamp", "now", "like_pattern"}


def coverage() -> str:
    """The page as Markdown."""
    lines = [
        "# Functions",
        "",
        "Generated from Presto's registry and the unparser's tables. A function without any mark is refused by",
        "name; a query over values that calls one without the mark *local* runs on Spark.",
        "",
        "| function | kind | Spark | local |",
        "|---|---|---|---|",
    ]
    for name, signatures in sorted(registry().items()):
        kind = signatures[0].kind
        marks = ["yes" if _runs(name, kind, dialect) else "" for dialect in ("spark", "duckdb")]
        lines.append(f"| `{name}` | {kind} | {marks[0]} | {marks[1]} |")
    return "\n".join(lines) + "\n"


def _runs(name: str, kind: str, dialect: str) -> bool:
    if kind == "aggregate":
        return name in AGGREGATES[dialect] or runs_in_python(PREFIX + name)
    return name in WINDOWS if kind == "window" else name in SCALARS[dialect] or name in _SPECIAL or runs_in_python(name)


if __name__ == "__main__":
    sys.stdout.write(coverage())

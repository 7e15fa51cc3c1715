"""docs/functions.md: the functions of Presto that each engine runs (``make bless``)."""

from __future__ import annotations

from pathlib import Path

from coordinator.analyzer.registry import registry
from coordinator.kernels.functions.aggregates import PREFIX
from coordinator.unparser.functions import AGGREGATES, SCALARS, WINDOWS
from coordinator.unparser.programs import runs_in_python
from coordinator.unparser.vectorised import RULES

PAGE = Path(__file__).parents[1] / "docs" / "functions.md"
_SPECIAL = {"concat", "current_date", "current_timestamp", "current_time", "current_timezone", "localtime", "typeof"}
_SPECIAL |= {"localtimestamp", "now", "like_pattern"}


def function_reference() -> str:
    """The page as Markdown."""
    lines = [
        "# Functions",
        "",
        "Generated from Presto's registry and the unparser's tables. A function without any mark is refused by",
        "name; a query over values that calls one without a mark under *embedded* runs on Spark.",
        "",
        "*vectorised*: the engine's own over whole batches, on the embedded engine for the rows where that is Presto's",
        "answer, with some overloads or values left to programs (`docs/engines.md`). *program*: row by row in Python.",
        "",
        "| function | kind | Spark | embedded |",
        "|---|---|---|---|",
    ]
    for name, signatures in sorted(registry().items()):
        kind = signatures[0].kind
        marks = [_mark(name, kind, dialect) for dialect in ("spark", "duckdb")]
        lines.append(f"| `{name}` | {kind} | {marks[0]} | {marks[1]} |")
    return "\n".join(lines) + "\n"


def _mark(name: str, kind: str, dialect: str) -> str:
    if kind == "aggregate":
        own, program = name in AGGREGATES[dialect], runs_in_python(PREFIX + name)
    elif kind == "window":
        own, program = name in WINDOWS, False
    else:
        own = name in SCALARS[dialect] or name in _SPECIAL or (dialect == "duckdb" and name in RULES)
        program = runs_in_python(name)
    return "vectorised" if own else "program" if program else ""


if __name__ == "__main__":
    PAGE.write_text(function_reference(), encoding="utf-8")

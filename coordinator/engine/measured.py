"""EXPLAIN ANALYZE: the statement runs, its rows are counted and dropped, and what was measured is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from coordinator.planner.planned_statement import ExplainAnalyze, FetchRows, RunOnSpark
from shared.units import format_data_size, format_duration


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the engine's plan, ``depth`` below its root, with its counters by name."""

    name: str
    depth: int
    metrics: Mapping[str, int]


Run = Callable[[list[Operator]], Iterator[pa.RecordBatch]]
"""Runs the explained statement; operators are added at its end where the engine measures them."""


def explain_analyze(work: ExplainAnalyze, run: Run) -> str:
    """The text of EXPLAIN ANALYZE. Raises what the statement raises."""
    operators: list[Operator] = []
    begun = time.perf_counter()
    rows = size = 0
    for batch in run(operators):
        rows += batch.num_rows
        size += batch.nbytes
    seconds = time.perf_counter() - begun
    engine = "Spark" if isinstance(work.work, RunOnSpark | FetchRows) else "the coordinator"
    planning = ", ".join(f"{verb} {format_duration(taken)}" for verb, taken in work.verb_seconds.items())
    head = (
        f"Ran on {engine} in {format_duration(seconds)}. Output: {rows} rows ({format_data_size(size)}). {planning}\n\n"
    )
    return head + work.text + "".join(_lines(operators))


def _lines(operators: Sequence[Operator]) -> Iterator[str]:
    if operators:
        yield "Spark operators\n"
    for operator in operators:
        shown = ", ".join(f"{name}: {value}" for name, value in operator.metrics.items() if value)
        yield f"{'    ' * (operator.depth + 1)}- {operator.name}{f' [{shown}]' if shown else ''}\n"

"""EXPLAIN ANALYZE: the statement runs, its rows are counted and dropped, and what was measured is told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from coordinator.explain.json_format import pretty
from coordinator.vocabulary.planned_statement import ExplainAnalyze, FetchRows, RunOnSpark
from shared.units import format_data_size, format_duration


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the engine's plan, ``depth`` below its root, with its counters by name."""

    name: str
    depth: int
    metrics: Mapping[str, int]


Run = Callable[[list[Operator]], Iterator[pa.RecordBatch]]
"""Runs the explained statement; operators are added at its end where the engine measures them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What running the statement showed; ``operators`` in the order of a walk from the root."""

    on_spark: bool
    seconds: float
    rows: int
    size: int
    operators: Sequence[Operator]


def explain_analyze(work: ExplainAnalyze, run: Run) -> str:
    """The text of EXPLAIN ANALYZE. Raises what the statement raises."""
    operators: list[Operator] = []
    begun = time.perf_counter()
    rows = size = 0
    for batch in run(operators):
        rows += batch.num_rows
        size += batch.nbytes
    on_spark = isinstance(work.work, RunOnSpark | FetchRows)
    measured = Measured(on_spark, time.perf_counter() - begun, rows, size, operators)
    return _as_json(work, measured) if work.json else _as_text(work, measured)


def _as_text(work: ExplainAnalyze, measured: Measured) -> str:
    engine = "Spark" if measured.on_spark else "the coordinator"
    planning = ", ".join(f"{verb} {format_duration(taken)}" for verb, taken in work.verb_seconds.items())
    output = f"Output: {measured.rows} rows ({format_data_size(measured.size)})"
    head = f"Ran on {engine} in {format_duration(measured.seconds)}. {output}. {planning}\n\n"
    return head + work.text + "".join(_lines(measured.operators))


def _as_json(work: ExplainAnalyze, measured: Measured) -> str:
    """The plan by fragments as without ANALYZE. Its output fragment has what was measured: the ``stats`` of its root,
    named as Presto's, and beside its plan the engine's own operators, which are not the plan's."""
    plan = json.loads(work.text)
    output = plan[min(plan, key=int)]
    output["plan"]["stats"] = {
        "planNodeId": output["plan"]["id"],
        "planNodeOutputPositions": measured.rows,
        "planNodeOutputDataSize": format_data_size(measured.size),
    }
    output["stats"] = {
        "engine": "spark" if measured.on_spark else "coordinator",
        "executionTime": format_duration(measured.seconds),
        **{f"{verb}Time": format_duration(taken) for verb, taken in work.verb_seconds.items()},
    }
    output["operators"] = _trees(measured.operators)
    return pretty(plan)


def _trees(operators: Sequence[Operator]) -> list[dict[str, object]]:
    roots: list[dict[str, object]] = []
    path: list[tuple[int, list[dict[str, object]]]] = [(-1, roots)]
    for operator in operators:
        while path[-1][0] >= operator.depth:
            path.pop()
        children: list[dict[str, object]] = []
        path[-1][1].append({"name": operator.name, "metrics": dict(operator.metrics), "children": children})
        path.append((operator.depth, children))
    return roots


def _lines(operators: Sequence[Operator]) -> Iterator[str]:
    if operators:
        yield "Spark operators\n"
    for operator in operators:
        shown = ", ".join(f"{name}: {value}" for name, value in operator.metrics.items() if value)
        yield f"{'    ' * (operator.depth + 1)}- {operator.name}{f' [{shown}]' if shown else ''}\n"

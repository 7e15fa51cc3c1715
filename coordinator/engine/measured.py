"""EXPLAIN ANALYZE: the statement runs, its rows are counted and dropped, and what was measured is told."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from coordinator.explain.analyzed import Run, analyzed_json, analyzed_text
from coordinator.explain.operators import Operator
from coordinator.explain.table import table_of
from coordinator.kernels.file_scan import FileScan
from coordinator.vocabulary.planned_statement import ExplainAnalyze, FetchRows, RunOnSpark
from shared.spi.relation import Input, RowsRelation

Running = Callable[[list[Operator]], Iterator[pa.RecordBatch]]
"""Runs the explained statement; operators are added at its end where the engine measures them."""


def explain_analyze(work: ExplainAnalyze, run: Running) -> tuple[str, list[Operator]]:
    """The text of EXPLAIN ANALYZE, and the operators. Raises what the statement raises."""
    operators: list[Operator] = []
    begun = time.perf_counter()
    rows = size = 0
    for batch in run(operators):
        rows += batch.num_rows
        size += batch.nbytes
    on_spark = isinstance(work.work, RunOnSpark | FetchRows) or any(each.engine == "Spark" for each in operators)
    engine = "Spark" if on_spark else "the coordinator"
    measured = Run(engine, time.perf_counter() - begun, rows, size, work.verb_seconds, operators)
    if work.json:
        return analyzed_json(work.subplan, measured), operators
    return analyzed_text(work.subplan, measured, verbose=work.verbose), operators


def with_tables(
    operators: Sequence[Operator], inputs: Sequence[Input], scans: Mapping[str, FileScan]
) -> list[Operator]:
    """Scans under the names of their tables, with the rows of their files, where an engine knows an input's name."""
    tables = {made.name: table_of(made.relation.handle) for made in inputs if isinstance(made.relation, RowsRelation)}
    times = Counter(tables.values())
    return [_with_table(operator, tables, times, scans) for operator in operators]


def _with_table(
    operator: Operator, tables: Mapping[str, str], times: Mapping[str, int], scans: Mapping[str, FileScan]
) -> Operator:
    if operator.table is None or operator.table not in tables:
        return operator
    table = tables[operator.table]
    # Of a table that is read twice nobody knows which of the scans it is.
    read = scans[operator.table].rows if operator.table in scans and times[table] == 1 else None
    return replace(operator, table=table, read_rows=read)

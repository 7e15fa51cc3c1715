"""Random expressions over columns of plain and odd values, as an engine computes them, beside the kernels.

``python -m benchmarks.fuzz.columns [embedded|spark] [--seed 1] [--statements 300] [--rows 500] [--zone UTC] [--seconds
480]``. The kernels say what Presto does, row by row; where they fail the row is left out. What differs is a JSON line,
with some rows; the last line is the summary. The exit code is 1 when something differed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.fuzz.choices import Choices
from benchmarks.fuzz.column_grammar import KINDS, written
from coordinator.engine.local import LocalEngine
from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import SparkSettings
from coordinator.unparser.session_zone import in_session_zone
from coordinator.values.python_functions import runs_programs
from shared.errors import ProcessionError
from tests.execution import FakeExecution
from tests.functions.test_vectorised import embedded_sql, program
from tests.functions.vectorised_cases import TYPES, table
from tests.spark.test_column_expressions import SPARK_RULES, same, spark_sql

Run = Callable[[str, pa.Table], list[Any]]


@contextmanager
def embedded() -> Iterator[Run]:
    local = LocalEngine()

    def run(sql: str, rows: pa.Table) -> list[Any]:
        query = f"SELECT {sql} AS c FROM rows"
        batches = local.run(query, FakeExecution(), [ArrowInput("rows", rows)])
        return [cell for batch in batches for cell in batch.column(0).to_pylist()]

    try:
        yield run
    finally:
        local.close()


@contextmanager
def spark() -> Iterator[Run]:
    naive = ", ".join(f"CAST({c} AS TIMESTAMP_NTZ) AS {c}" if kind == "timestamp" else c for c, kind in TYPES.items())
    with tempfile.TemporaryDirectory() as folder:
        settings = SparkSettings(work_dir=Path(folder) / "spark", driver_memory="2g", master="local[1]")
        engine = SparkEngine(settings, {})

        def run(sql: str, rows: pa.Table) -> list[Any]:
            values = ArrowInput("rows_0", rows.append_column("row_number", pa.array(range(len(rows)), pa.int64())))
            query = f"SELECT {sql} AS c FROM (SELECT {naive}, row_number FROM rows_0) ORDER BY row_number"
            batches = engine.run(query, FakeExecution(), (values,))
            return [cell for batch in batches for cell in batch.column(0).to_pylist()]

        try:
            list(engine.run(SPARK_RULES, FakeExecution(), ()))
            yield run
        finally:
            engine.stop()


def check(text: str, rows: pa.Table, unparse: Callable[[str], str], run: Run, oracle: Run) -> tuple[str, Any]:
    """What came of an expression, and what to show of it."""
    try:
        own, by_kernels = unparse(text), program(text)
    except ProcessionError as error:
        return "refused", str(error)
    if runs_programs(own) and own == by_kernels:
        return "a program", None
    wanted = oracle(by_kernels, rows)
    try:
        found = run(own, rows)
    except ProcessionError:
        kept = [n for n, cell in enumerate(wanted) if cell is not None]
        if not kept:
            return "failed", None
        rows, wanted = rows.take(pa.array(kept)), [wanted[n] for n in kept]
        try:
            found = run(own, rows)
        except ProcessionError as error:
            return "failed alone", error.message
    read = [name for name in TYPES if re.search(rf"\b{name}\b", re.sub("'[^']*'", "", text))]
    wrong = [
        (rows.select(read).slice(n, 1).to_pylist(), str(ours), str(cell))
        for n, (ours, cell) in enumerate(zip(found, wanted, strict=True))
        if not same(ours, cell)
    ]
    return ("differ", wrong[:3]) if wrong else ("same", None)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", nargs="?", choices=("embedded", "spark"), default="embedded")
    for name, default in (("seed", 1), ("statements", 300), ("rows", 500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--zone", default="UTC")
    parser.add_argument("--seconds", type=float, default=480)
    options = parser.parse_args()
    on_spark, counts = options.engine == "spark", Counter[str]()
    unparse, deadline = spark_sql if on_spark else embedded_sql, time.monotonic() + options.seconds
    rows = table(options.rows, options.seed)
    with in_session_zone(options.zone), embedded() as oracle, (spark if on_spark else embedded)() as run:
        for number in range(options.statements):
            if time.monotonic() > deadline:
                break
            text = written(Choices(options.seed * 1_000_003 + number), KINDS[number % len(KINDS)])
            found, shown = check(text, rows, unparse, run, oracle)
            counts[found] += 1
            if found in ("differ", "failed alone"):
                print(
                    json.dumps({"what": found, "number": number, "sql": text, "rows": shown}, default=str), flush=True
                )
    print(
        json.dumps(
            {"bench": "fuzz.columns", "engine": options.engine, "seed": options.seed, "zone": options.zone, **counts}
        )
    )
    return 1 if counts["differ"] + counts["failed alone"] else 0


if __name__ == "__main__":
    sys.exit(main())

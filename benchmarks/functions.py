"""CPU time of the most used functions, casts and aggregates on an engine, beside the engine's own nearest function.

``python -m benchmarks.functions [embedded|spark] [ROWS] [ROUNDS]`` (2,000,000 rows, 3 rounds by default, one thread): a
table with plain values, one NULL in a hundred and, in texts and doubles, one odd value in a thousand. A JSON line an
expression: nanoseconds of CPU a row of Presto's expression as it is unparsed, of the engine's function that is nearest
to it, their ratio (1 and more: as fast), and whether ours is vectorised, computed by columns, in Spark's JVM, or a
program. What a pass costs that computes nothing is taken away. Ours and the nearest run by turns, the best round
counts. The last line is the summary: ``ratio_min`` and ``slowest``, and the ``programs``. Aims of issue 19: at least a
third of the engine's, and 5 million rows a second.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psutil

from benchmarks.function_cases import AGGREGATES, CASES, TABLE, TYPES
from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.engine.local_functions import register_functions
from coordinator.engine.local_macros import MACROS
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.functions import sql_frame
from coordinator.engine.spark.settings import SparkSettings
from coordinator.expressions.builders import function_call
from coordinator.sql.parser import parse_expression
from coordinator.unparser.aggregates import aggregate_call
from coordinator.unparser.expressions import expression
from coordinator.values.program_names import programs
from coordinator.values.python_functions import PythonFunction, runs_programs
from shared.plan.expressions import Variable
from shared.plan.nodes import Aggregation
from shared.plan.types import parse_type
from shared.spi.session import Session

PROGRAM_ROWS = 500_000
"""As many are enough to time a program."""
Run = Callable[[str, int], float]
"""CPU seconds of one pass of an expression over so many rows."""


def unparsed(text: str, dialect: str) -> str:
    """Presto's expression in an engine's SQL."""
    fields = tuple(ScopeField(name, Variable(name=name, type=kind)) for name, kind in TYPES.items())
    context, tree = Context(Session(user="bench"), Scope(fields)), parse_expression(text)
    if text not in AGGREGATES:
        return str(expression(analyze_expression(tree, context), dialect).sql(dialect=dialect))
    given = [analyze_expression(argument, context) for argument in tree.arguments]  # type: ignore[union-attr]
    result = parse_type(AGGREGATES[text][0])
    call = function_call(text.partition("(")[0], given, result, kind="AGGREGATE")
    return str(aggregate_call(Aggregation(call=call), f"c<{result}>", dialect)[0].sql(dialect=dialect))


def form_of(sql: str, dialect: str) -> str:
    """How the expression is computed."""
    if not runs_programs(sql):
        return "vectorised"
    if programs(sql, dialect):
        return "program"
    return "columns" if dialect == "duckdb" else "JVM or columns"


@contextmanager
def embedded(rows: int) -> Iterator[Run]:
    """DuckDB as the embedded engine has it, in one thread."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    for macro in MACROS:
        connection.execute(macro)
    connection.execute(TABLE.format(rows=rows))
    known: set[PythonFunction] = set()

    def run(sql: str, count: int) -> float:
        register_functions(connection, sql, known)
        start = time.process_time()
        source = "rows" if count == rows else f"(SELECT * FROM rows LIMIT {count})"
        connection.execute(f"SELECT count(c), any_value(c) FROM (SELECT {sql} AS c FROM {source})").fetchall()
        return time.process_time() - start

    yield run


@contextmanager
def spark(rows: int) -> Iterator[Run]:
    """A Spark of one task at once, with its Python workers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(TABLE.format(rows=rows))
            connection.execute(f"COPY rows TO '{file}'")
        settings = SparkSettings(work_dir=Path(folder) / "spark", driver_memory="4g", master="local[1]")
        engine = SparkEngine(settings, {})
        try:
            opened = engine.connect()
            session, server = opened.session, opened.server
            assert server is not None
            columns = ", ".join(f"CAST({n} AS TIMESTAMP_NTZ) AS {n}" if n == "m" else n for n in TYPES)
            for name, limit in (("rows", rows), ("few", PROGRAM_ROWS)):
                source = f"SELECT {columns} FROM parquet.`{file}` LIMIT {limit}"
                session.sql(f"CREATE OR REPLACE TEMP VIEW {name} AS {source}").collect()
                session.sql(f"CACHE TABLE {name}").collect()
            java = psutil.Process(server.child.pid)

            def run(sql: str, count: int) -> float:
                frame = sql_frame(session, f"SELECT {sql} AS c FROM {'rows' if count == rows else 'few'}")
                start = _cpu([java, *java.children(recursive=True)])
                frame.write.format("noop").mode("overwrite").save()
                return _cpu([java, *java.children(recursive=True)]) - start

            yield run
        finally:
            engine.stop()


def _cpu(processes: list[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.Error:  # a Python worker that has ended
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def measured(run: Run, dialect: str, text: str, rows: int, rounds: int, base: float) -> dict[str, Any]:
    """One case."""
    own, nearest = unparsed(text, dialect), {**CASES, **AGGREGATES}[text][-2 if dialect == "duckdb" else -1]
    form = form_of(own, dialect)
    count = min(rows, PROGRAM_ROWS) if form == "program" else rows
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for i, (sql, many) in enumerate(((own, count), (nearest, rows))):
            best[i] = min(best[i], (run(sql, many) - base * many / rows) / many)
    ours, theirs = (max(seconds * 1e9, 0.5) for seconds in best)
    return {
        "bench": "functions", "engine": dialect, "expression": text, "form": form, "ns_a_row": round(ours, 1),
        "nearest_ns_a_row": round(theirs, 1), "ratio": round(theirs / ours, 2),
    }  # fmt: skip


def main(engine: str = "embedded", rows: int = 2_000_000, rounds: int = 3) -> None:
    """Run and print."""
    dialect = "spark" if engine == "spark" else "duckdb"
    lines = []
    with (spark if engine == "spark" else embedded)(rows) as run:
        for _ in range(3):  # the JVM compiles
            run("concat(t, u, j)", rows)
        base = min(run("i", rows) for _ in range(4))
        for text in (*CASES, *AGGREGATES):
            lines.append(measured(run, dialect, text, rows, rounds, 0.0 if text in AGGREGATES else base))
            print(json.dumps(lines[-1]), flush=True)
    summary = {
        "bench": "functions", "engine": dialect, "rows": rows, "expressions": len(lines),
        "at_least_a_third": sum(line["ratio"] >= 0.33 for line in lines),
        "below_a_third": {v["expression"]: v["ratio"] for v in lines if v["ratio"] < 0.33},
        "below_5_million": {v["expression"]: round(1000 / v["ns_a_row"], 2) for v in lines if v["ns_a_row"] > 200},
        "programs": [v["expression"] for v in lines if v["form"] == "program"],
    }  # fmt: skip
    print(json.dumps(summary))


if __name__ == "__main__":
    chosen, *numbers = sys.argv[1:] or ["embedded"]
    main(chosen, *(int(number) for number in numbers))

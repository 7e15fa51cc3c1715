"""Rows a second of the most used functions and casts on the embedded engine, beside DuckDB's own nearest function.

``python -m benchmarks.functions [ROWS] [ROUNDS]`` (2,000,000 rows, 3 rounds by default, one thread): a table of DuckDB
with plain values, one NULL in a hundred and, in texts and doubles, one odd value in a thousand. A JSON line an
expression: millions of rows a second of Presto's expression as it is unparsed, of DuckDB's function that is nearest to
it, their ratio, and whether ours is vectorised or a program. Ours and DuckDB's run by turns, the best round counts. The
last line is the summary: ``ratio_min`` and ``slowest`` over what is vectorised, and the ``programs``. Aims of issue 19:
at least a third of DuckDB's, and 5 million rows a second.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import duckdb

from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.engine.local_functions import register_functions
from coordinator.engine.local_macros import MACROS
from coordinator.sql.parser import parse_expression
from coordinator.unparser.expressions import expression
from coordinator.values.python_functions import PythonFunction, runs_programs
from shared.plan.expressions import Variable
from shared.spi.session import Session

PROGRAM_ROWS = 50_000
"""As many are enough to time a program."""
TABLE = """CREATE TABLE rows AS SELECT
    CASE WHEN i % 100 = 7 THEN NULL WHEN i % 1000 = 3 THEN ' 12' ELSE CAST(i * 7919 % 1000003 AS VARCHAR) END AS n,
    CASE WHEN i % 100 = 7 THEN NULL ELSE CAST(DATE '2015-01-01' + CAST(i % 3650 AS INTEGER) AS VARCHAR) END AS s,
    CASE WHEN i % 100 = 7 THEN NULL WHEN i % 1000 = 3 THEN 'été, b' ELSE 'word ' || i || ',Bar foo' END AS t,
    CASE WHEN i % 100 = 7 THEN NULL ELSE CAST(i * 7919 % 1000003 AS BIGINT) END AS i,
    CASE WHEN i % 100 = 7 THEN NULL WHEN i % 1000 = 3 THEN 1e20 ELSE (i * 7919 % 1000003) / 97.0 END::DOUBLE AS d,
    CASE WHEN i % 100 = 7 THEN NULL ELSE ((i * 7919 % 1000003) / 100)::DECIMAL(12, 2) END AS p,
    CASE WHEN i % 100 = 7 THEN NULL ELSE ((i % 97 + 1) / 10)::DECIMAL(6, 2) END AS q,
    CASE WHEN i % 100 = 7 THEN NULL ELSE DATE '2015-01-01' + CAST(i % 3650 AS INTEGER) END AS x,
    CASE WHEN i % 100 = 7 THEN NULL ELSE 'https://host' || i % 97 || '.example.com/a/b?q=' || i END AS u,
    CASE WHEN i % 100 = 7 THEN NULL ELSE '{{"a": ' || i || ', "b": {{"c": "word ' || i % 97 || '"}}}}' END AS j,
    CASE WHEN i % 100 = 7 THEN NULL ELSE TIMESTAMP '2015-01-01' + to_seconds(i * 7919 % 300000000) END AS m,
    CASE WHEN i % 100 = 7 THEN NULL ELSE TIMESTAMPTZ '2015-01-01' + to_seconds(i * 7919 % 300000000) END AS z
    FROM range({rows}) r(i)"""
TYPES = {
    "n": "varchar", "s": "varchar", "t": "varchar", "u": "varchar", "j": "varchar", "i": "bigint", "d": "double",
    "p": "decimal(12,2)", "q": "decimal(6,2)", "x": "date", "m": "timestamp", "z": "timestamp with time zone",
}  # fmt: skip
CASES = {
    "CAST(n AS bigint)": "CAST(n AS BIGINT)",
    "try_cast(n AS integer)": "TRY_CAST(n AS INTEGER)",
    "try_cast(n AS double)": "TRY_CAST(n AS DOUBLE)",
    "try_cast(n AS decimal(12,2))": "TRY_CAST(n AS DECIMAL(12, 2))",
    "CAST(s AS date)": "CAST(s AS DATE)",
    "CAST(s AS timestamp)": "CAST(s AS TIMESTAMP)",
    "CAST(i AS varchar)": "CAST(i AS VARCHAR)",
    "CAST(d AS varchar)": "CAST(d AS VARCHAR)",
    "CAST(p AS varchar)": "CAST(p AS VARCHAR)",
    "CAST(x AS varchar)": "CAST(x AS VARCHAR)",
    "CAST(m AS varchar)": "strftime(m, '%Y-%m-%d %H:%M:%S.%g')",
    "CAST(m AS date)": "CAST(m AS DATE)",
    "CAST(x AS timestamp)": "CAST(x AS TIMESTAMP)",
    "CAST(z AS date)": "CAST(z AS DATE)",
    "try_cast(d AS bigint)": "TRY_CAST(d AS BIGINT)",
    "try_cast(d AS decimal(18,2))": "TRY_CAST(d AS DECIMAL(18, 2))",
    "CAST(p AS bigint)": "CAST(p AS BIGINT)",
    "CAST(p AS double)": "CAST(p AS DOUBLE)",
    "CAST(i AS double)": "CAST(i AS DOUBLE)",
    "CAST(i AS decimal(12,2))": "CAST(i AS DECIMAL(12, 2))",
    "date_trunc('month', x)": "date_trunc('month', x)",
    "date_trunc('hour', m)": "date_trunc('hour', m)",
    "date_trunc('day', z)": "date_trunc('day', z)",
    "date_format(m, '%Y-%m-%d')": "strftime(m, '%Y-%m-%d')",
    "date_format(m, '%Y-%m')": "strftime(m, '%Y-%m')",
    "date_format(m, '%Y-%m-%d %H:%i')": "strftime(m, '%Y-%m-%d %H:%M')",
    "date_parse(s, '%Y-%m-%d')": "strptime(s, '%Y-%m-%d')",
    "format_datetime(m, 'yyyy-MM-dd')": "strftime(m, '%Y-%m-%d')",
    "year(x)": "year(x)",
    "month(m)": "month(m)",
    "day(x)": "day(x)",
    "hour(m)": "hour(m)",
    "week(x)": "week(x)",
    "day_of_week(x)": "isodow(x)",
    "quarter(m)": "quarter(m)",
    "date_diff('day', x, CAST(m AS date))": "date_diff('day', x, CAST(m AS DATE))",
    "date_diff('month', x, CAST(m AS date))": "date_sub('month', x, CAST(m AS DATE))",
    "date_add('day', 7, x)": "x + 7",
    "date_add('month', 1, m)": "m + to_months(1)",
    "x - INTERVAL '7' DAY": "x - 7",
    "to_unixtime(m)": "epoch(m)",
    "from_unixtime(i)": "make_timestamp(i * 1000000)",
    "round(d)": "round(d)",
    "round(d, 2)": "round(d, 2)",
    "round(p, 1)": "round(p, 1)",
    "floor(d)": "floor(d)",
    "ceil(p)": "ceil(p)",
    "abs(i)": "abs(i)",
    "mod(i, 7)": "i % 7",
    "i / 7": "i // 7",
    "p / q": "p / q",
    "sqrt(d)": "sqrt(d)",
    "ln(d + 1)": "ln(d + 1)",
    "power(d, 2)": "pow(d, 2)",
    "greatest(i, 7)": "greatest(i, 7)",
    "substr(t, 1, 4)": "substring(t, 1, 4)",
    "lower(t)": "lower(t)",
    "upper(t)": "upper(t)",
    "trim(t)": "trim(t)",
    "replace(t, 'o', '0')": "replace(t, 'o', '0')",
    "split_part(t, ',', 2)": "split_part(t, ',', 2)",
    "strpos(t, ',')": "strpos(t, ',')",
    "length(t)": "length(t)",
    "concat(t, '-', n)": "t || '-' || n",
    "lpad(n, 8, '0')": "lpad(n, 8, '0')",
    "reverse(n)": "reverse(n)",
    "regexp_like(t, 'foo|bar')": "regexp_matches(t, 'foo|bar')",
    "regexp_like(t, '^word [0-9]+')": "regexp_matches(t, '^word [0-9]+')",
    "regexp_extract(t, '[0-9]+')": "regexp_extract(t, '[0-9]+')",
    "t LIKE '%foo%'": "t LIKE '%foo%'",
    "coalesce(try_cast(n AS bigint), 0)": "coalesce(TRY_CAST(n AS BIGINT), 0)",
    "if(d > 100, 'high', 'low')": "CASE WHEN d > 100 THEN 'high' ELSE 'low' END",
    "json_extract_scalar(j, '$.a')": "json_extract_string(j, '$.a')",
    "json_extract_scalar(j, '$.b.c')": "json_extract_string(j, '$.b.c')",
    "url_extract_host(u)": "regexp_extract(u, '//([^/]+)', 1)",
}


def unparsed(text: str) -> str:
    """Presto's expression in DuckDB's SQL."""
    fields = tuple(ScopeField(name, Variable(name=name, type=kind)) for name, kind in TYPES.items())
    node = analyze_expression(parse_expression(text), Context(Session(user="bench"), Scope(fields)))
    return str(expression(node, "duckdb").sql(dialect="duckdb"))


def seconds(connection: Any, sql: str, source: str) -> float:
    """CPU seconds of one pass, in one thread: others on the machine count little."""
    start = time.process_time()
    connection.execute(f"SELECT count(c) FROM (SELECT {sql} AS c FROM {source})").fetchall()
    return time.process_time() - start


def measured(connection: Any, text: str, nearest: str, rows: int, rounds: int) -> dict[str, Any]:
    """One case."""
    own = unparsed(text)
    register_functions(connection, own, _KNOWN)
    program = runs_programs(own)
    count = min(rows, PROGRAM_ROWS) if program else rows
    source = f"(SELECT * FROM rows LIMIT {count})" if program else "rows"
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for i, (sql, read) in enumerate(((own, source), (nearest, "rows"))):
            best[i] = min(best[i], seconds(connection, sql, read))
    speeds = [count / best[0] / 1e6, rows / best[1] / 1e6]
    return {
        "bench": "functions", "expression": text, "form": "program" if program else "vectorised",
        "million_rows_s": round(speeds[0], 2), "duckdb_million_rows_s": round(speeds[1], 2),
        "ratio": round(speeds[0] / speeds[1], 3),
    }  # fmt: skip


_KNOWN: set[PythonFunction] = set()


def main(rows: int = 2_000_000, rounds: int = 3) -> None:
    """Run and print."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    for macro in MACROS:
        connection.execute(macro)
    connection.execute(TABLE.format(rows=rows))
    lines = []
    for text, nearest in CASES.items():
        lines.append(measured(connection, text, nearest, rows, rounds))
        print(json.dumps(lines[-1]), flush=True)
    own = [line for line in lines if line["form"] == "vectorised"]
    least, slowest = min(own, key=lambda line: line["ratio"]), min(own, key=lambda line: line["million_rows_s"])
    summary = {
        "bench": "functions", "rows": rows, "expressions": len(lines), "ratio_min": least["ratio"],
        "ratio_min_of": least["expression"], "below_a_third": [v["expression"] for v in own if v["ratio"] < 1 / 3],
        "slowest_million_rows_s": slowest["million_rows_s"], "slowest": slowest["expression"],
        "below_5_million": [v["expression"] for v in own if v["million_rows_s"] < 5],
        "programs": [v["expression"] for v in lines if v["form"] == "program"],
    }  # fmt: skip
    print(json.dumps(summary))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))

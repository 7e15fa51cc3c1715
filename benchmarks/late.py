"""Late materialization off and on in the same run: the three queries of StarRocks' announcement, on SSB's tables.

``python -m benchmarks.late [SCALE] [ROUNDS] [FOLDER] [QUERY or TABLE…]`` (scale 1 and 3 rounds by default, everything)
starts a service of its own, derives SSB from TPC-H, writes ``lineorder`` three times (by PyIceberg, by Spark through
CTAS, by our ``rewrite_data_files``) and so, up to scale 1, a table of 200 columns. It prints one JSON line a query and
table: median seconds off and on, their ratio, CPU seconds and bytes read of the service and its Spark off and on
(``rchar`` of /proc). FOLDER keeps the tables for the next run, also what a run that was ended left. Rounds alternate
off and on, after one of each to warm up; with 0 rounds that one is measured, on first. Both must give as many rows.

``join_filter``, ``deep_offset`` and ``join_top`` are the announcement's, word for word but for OFFSET (the first one
finds nothing, there as here: no part is that large); ``join_filter_rows`` is the same with rows all over the table.
``every_row``, ``every_row_guessed`` and ``every_row_large`` are queries that all rows survive, the first so that column
bounds tell; in the last one only running tells, as a guess has to do and the table is large. On may take 5 % longer
than off. The last line is the summary. Run it on a quiet machine.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Set
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.connectors.iceberg.sample import create_sample
from tests.data_sets import ssb as ssb_data
from tests.data_sets.ssb import generate_tpch
from tests.e2e.service import Service, start_service, write_etc

SEED = {
    "join_filter": "SELECT * FROM {lineorder} JOIN part ON lo_partkey = p_partkey WHERE (p_size + lo_linenumber) > 60",
    "deep_offset": "SELECT * FROM {lineorder} ORDER BY lo_partkey OFFSET 100000 LIMIT 5",
    "join_top": "SELECT * FROM {lineorder}, customer WHERE lo_custkey = c_custkey ORDER BY lo_custkey LIMIT 10",
}
AIMS = {"join_filter": 3.7, "deep_offset": 5.3, "join_top": 3.5}
MORE = {"join_filter_rows": SEED["join_filter"].replace("60", "56")}
WIDE = {"wide_top": "SELECT * FROM {wide} ORDER BY c0 LIMIT 10"}
EVERY = {
    "every_row": "SELECT * FROM {small} WHERE lo_quantity + lo_discount >= 0",
    "every_row_guessed": "SELECT * FROM {small} WHERE length(lo_shipmode) * lo_linenumber > 0",
    "every_row_large": "SELECT * FROM {large} WHERE length(lo_shipmode) * lo_linenumber > 0",
}
QUERIES = SEED | MORE | WIDE | EVERY
TABLES = {
    "lineorder": ("lineorder", "by_spark", "rewritten"),
    "wide": ("wide", "wide_by_spark", "wide_rewritten"),
    "small": ("small",),
    "large": ("lineorder",),
}
SMALL_ROWS = 900_000
"""More than the 16 MB below which nothing is fetched later."""
WAREHOUSE = Path("iceberg", "warehouse", "ssb")
SWITCH = "enable_global_late_materialization"
OPTIONS = {"catalog": "iceberg", "schema": "ssb"}


@dataclass(frozen=True, slots=True)
class Used:
    """What one execution took: wall and CPU seconds, bytes read, and the rows that it gave."""

    seconds: float
    cpu: float
    size: int
    rows: int


def run(service: Service, query: str, on: str) -> Used:
    """One execution; rows are drained, not kept."""
    cursor = service.cursor(session_properties={SWITCH: on}, **OPTIONS)
    before, start = _used(service), time.perf_counter()
    cursor.execute(query)
    rows = 0
    while batch := cursor.fetchmany(10_000):
        rows += len(batch)
    seconds = time.perf_counter() - start
    # Workers that ended meanwhile are left out, and new ones count from their beginning.
    used = [(now, before.get(pid, (0.0, 0))) for pid, now in _used(service).items()]
    return Used(seconds, sum(now[0] - then[0] for now, then in used), sum(now[1] - then[1] for now, then in used), rows)


def _used(service: Service) -> dict[int, tuple[float, int]]:
    """CPU seconds and bytes read so far by process.

    Spark counts no bytes that Parquet's reader reads in threads of its own, so the processes are asked.
    """
    root, found = psutil.Process(service.process.pid), {}
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            found[process.pid] = (times.user + times.system, int(process.io_counters().read_chars))
    return found


def compare(service: Service, name: str, table: str, query: str, rounds: int) -> dict[str, Any]:
    """One JSON line: off and on by turns."""
    used: dict[str, list[Used]] = {"false": [], "true": []}
    for _ in range(rounds + 1):
        # Where nothing warms up, the first is at a disadvantage.
        for on in ("false", "true") if rounds else ("true", "false"):
            used[on].append(run(service, query, on))
    counts = {one.rows for several in used.values() for one in several}
    assert len(counts) == 1, f"{query}: {counts} rows"
    # The first of each warms up where more follow.
    off, late = ((several[1:] or several) for several in used.values())
    seconds = [statistics.median(one.seconds for one in several) for several in (off, late)]
    cpu = [statistics.median(one.cpu for one in several) for several in (off, late)]
    line = {
        "query": name,
        "table": table,
        "rows": counts.pop(),
        "off_seconds": round(seconds[0], 3),
        "on_seconds": round(seconds[1], 3),
        "ratio": round(seconds[0] / seconds[1], 2),
        "off_cpu": round(cpu[0], 2),
        "on_cpu": round(cpu[1], 2),
        "off_bytes": off[-1].size,
        "on_bytes": late[-1].size,
    }
    print(json.dumps(line), flush=True)
    return line


def wide_table(rows: int) -> pa.Table:
    """200 columns, half of them text."""
    random = np.random.default_rng(7)
    numbers = {f"c{i}": random.integers(0, 1 << 40, rows) for i in range(100)}
    texts = {f"t{i}": pa.array([f"{n:012d}-{i}" for n in random.integers(0, 1 << 40, rows)]) for i in range(100)}
    return pa.table({**numbers, **texts})


def generate(home: Path, scale: float) -> None:
    """The tables that PyIceberg and pyarrow write, as far as they are not there."""
    tpch, ssb, data = home / "tpch", home / "ssb", home / "data"
    parts = max(1, int(4 * scale))
    wide = partial(wide_table, int(200_000 * scale))
    made = [("wide", wide, 2), ("wide_rewritten", wide, 2)] if scale <= 1 else []
    if not (data / WAREHOUSE / "small").exists():
        for file in _ssb_files(scale, tpch, ssb):
            made.append((file.stem, partial(pq.read_table, file), parts if file.stem == "lineorder" else 1))
        lineorder = ssb / "lineorder.parquet"
        made.append(("rewritten", partial(pq.read_table, lineorder), parts))
        made.append(("small", lambda: duckdb.sql(f"FROM '{lineorder}' LIMIT {SMALL_ROWS}").to_arrow_table(), 2))
    for name, rows, files in made:
        if not (data / WAREHOUSE / name).exists():
            create_sample("iceberg", data, "ssb", name, rows(), files)
    for folder in (tpch, ssb):
        shutil.rmtree(folder, ignore_errors=True)


def _ssb_files(scale: float, tpch: Path, ssb: Path) -> list[Path]:
    """SSB's tables; those that a run which was ended left, if it had made all."""
    files = [ssb / f"{name}.parquet" for name in ssb_data.TABLES]
    if files[-1].exists():
        return files
    for folder in (tpch, ssb):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    generate_tpch(scale, tpch)
    return ssb_data.derive_ssb(tpch, ssb)


def complete(service: Service, kept: Path, chosen: Set[str]) -> None:
    """The chosen tables that Spark and our rewrite write, as far as they are not there."""
    kept.mkdir(exist_ok=True)
    options = "options => map(array['rewrite-all'], array['true'])"
    there = {row[0] for row in service.execute("SHOW TABLES", **OPTIONS)}
    for tables in TABLES.values():
        if len(tables) == 1 or tables[0] not in there:
            continue
        plain, by_spark, rewritten = tables
        call = f"CALL iceberg.system.rewrite_data_files(schema => 'ssb', table_name => '{rewritten}', {options})"
        statements = {by_spark: f"CREATE TABLE {by_spark} AS SELECT * FROM {plain}", rewritten: call}
        for name, statement in statements.items():
            if name in chosen and not (kept / name).exists():
                service.execute(statement, **OPTIONS)
                (kept / name).touch()


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with nullcontext(sys.argv[3]) if len(sys.argv) > 3 else tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.mkdir(exist_ok=True)
        generate(home, scale)
        etc = home / "etc"
        if not etc.exists():
            write_etc(etc)
        # With less than the default of 2 GB, Spark has no room to sort 200 columns.
        (etc / "config.properties").write_text("spark.warm-up=true\nspark.driver-memory=2g\n")
        service = start_service(etc, home / "data", home / "log")
        try:
            tables = {table for several in TABLES.values() for table in several}
            chosen = set(sys.argv[4:]) & tables or tables
            complete(service, home / "made", chosen)
            measure(service, scale, rounds, chosen, set(sys.argv[4:]) & QUERIES.keys() or QUERIES.keys())
        finally:
            service.stop()


def measure(service: Service, scale: float, rounds: int, chosen: Set[str], queries: Set[str]) -> None:
    """The chosen queries of the chosen tables, and the summary."""
    lines = []
    there = {row[0] for row in service.execute("SHOW TABLES", **OPTIONS)} & chosen
    for kind, tables in TABLES.items():
        for table in [table for table in tables if table in there]:
            for name in [n for n, query in QUERIES.items() if n in queries and f"{{{kind}}}" in query]:
                lines.append(compare(service, name, table, QUERIES[name].format(**{kind: table}), rounds))
    least = {}
    for line in lines:
        least[line["query"]] = min(line["ratio"], least.get(line["query"], line["ratio"]))
    reached = all(least[name] >= aim for name, aim in AIMS.items() if name in least)
    print(json.dumps({"scale": scale, "least_ratio": least, "aims": AIMS, "reached": reached}))


if __name__ == "__main__":
    main()

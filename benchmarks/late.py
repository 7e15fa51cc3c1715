"""Late materialization off and on in the same run: the three queries of StarRocks' announcement, on SSB's tables.

``python -m benchmarks.late [SCALE] [ROUNDS] [FOLDER] [QUERY…]`` (scale 1 and 3 rounds by default, all queries) starts
a service of its own, derives SSB from TPC-H, writes ``lineorder`` three times (by PyIceberg, by Spark through CTAS, by
our ``rewrite_data_files``) and a table of 200 columns, and prints one JSON line a query and table: median seconds off
and on, their ratio, and bytes that the service and its Spark read off and on (``rchar`` of /proc). FOLDER keeps the
tables for the next run. Rounds alternate off and on, after one of each to warm up; both must give as many rows.

``join_filter``, ``deep_offset`` and ``join_top`` are the announcement's, word for word but for OFFSET (the first one
finds nothing, there as here: no part is that large); ``join_filter_rows`` is the same with rows all over the table.
``every_row`` and ``every_row_guessed`` are queries that all rows survive, the first so that column bounds tell, the
second so that only running tells: on may take 5 % longer than off. The last line is the summary. Run it on a quiet
machine.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Set
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.connectors.iceberg.sample import create_sample
from tests.data_sets.ssb import derive_ssb, generate_tpch
from tests.e2e.service import Service, start_service, write_etc

SEED = {
    "join_filter": "SELECT * FROM {lineorder} JOIN part ON lo_partkey = p_partkey WHERE (p_size + lo_linenumber) > 60",
    "deep_offset": "SELECT * FROM {lineorder} ORDER BY lo_partkey OFFSET 100000 LIMIT 5",
    "join_top": "SELECT * FROM {lineorder}, customer WHERE lo_custkey = c_custkey ORDER BY lo_custkey LIMIT 10",
}
AIMS = {"join_filter": 3.7, "deep_offset": 5.3, "join_top": 3.5}
MORE = {"join_filter_rows": SEED["join_filter"].replace("60", "56")}
WIDE = {"wide_top": "SELECT * FROM wide ORDER BY c0 LIMIT 10"}
EVERY = {
    "every_row": "SELECT * FROM small WHERE lo_quantity + lo_discount >= 0",
    "every_row_guessed": "SELECT * FROM small WHERE length(lo_shipmode) * lo_linenumber > 0",
}
QUERIES = SEED | MORE | WIDE | EVERY
LINEORDERS = ("lineorder", "by_spark", "rewritten")
SMALL_ROWS = 900_000
"""More than the 16 MB below which nothing is fetched later."""
SWITCH = "enable_global_late_materialization"
OPTIONS = {"catalog": "iceberg", "schema": "ssb"}


def run(service: Service, query: str, on: str) -> tuple[float, int, int]:
    """Seconds, bytes read and rows of one execution; rows are drained, not kept."""
    cursor = service.cursor(session_properties={SWITCH: on}, **OPTIONS)
    before, start = _read_bytes(service), time.perf_counter()
    cursor.execute(query)
    rows = 0
    while batch := cursor.fetchmany(10_000):
        rows += len(batch)
    return time.perf_counter() - start, _read_bytes(service) - before, rows


def _read_bytes(service: Service) -> int:
    """Spark counts no bytes that Parquet's reader reads in threads of its own, so the processes are asked."""
    root = psutil.Process(service.process.pid)
    return sum(int(child.io_counters().read_chars) for child in (root, *root.children(recursive=True)))


def compare(service: Service, name: str, table: str, query: str, rounds: int) -> dict[str, Any]:
    """One JSON line: off and on by turns."""
    seconds: dict[str, list[float]] = {"false": [], "true": []}
    size: dict[str, int] = {}
    counts = set()
    for number in range(rounds + 1):
        for on in ("false", "true"):
            taken, read, rows = run(service, query, on)
            size[on] = read
            counts.add(rows)
            if number:
                seconds[on].append(taken)
    assert len(counts) == 1, f"{query}: {counts} rows"
    off, late = (statistics.median(seconds[on]) for on in ("false", "true"))
    line = {
        "query": name,
        "table": table,
        "rows": counts.pop(),
        "off_seconds": round(off, 3),
        "on_seconds": round(late, 3),
        "ratio": round(off / late, 2),
        "off_bytes": size["false"],
        "on_bytes": size["true"],
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
    """The tables that PyIceberg and pyarrow write."""
    tpch, ssb, data = home / "tpch", home / "ssb", home / "data"
    tpch.mkdir()
    ssb.mkdir()
    generate_tpch(scale, tpch)
    for file in derive_ssb(tpch, ssb):
        parts = max(1, int(4 * scale)) if file.stem == "lineorder" else 1
        create_sample("iceberg", data, "ssb", file.stem, _rows(file), parts)
    create_sample("iceberg", data, "ssb", "wide", wide_table(int(200_000 * scale)), 2)
    create_sample("iceberg", data, "ssb", "rewritten", _rows(ssb / "lineorder.parquet"), max(1, int(4 * scale)))
    create_sample("iceberg", data, "ssb", "small", _rows(ssb / "lineorder.parquet", f"LIMIT {SMALL_ROWS}"), 2)
    for folder in (tpch, ssb):
        shutil.rmtree(folder)


def _rows(file: Path, limit: str = "") -> pa.Table:
    return pq.read_table(file) if not limit else duckdb.sql(f"FROM '{file}' {limit}").to_arrow_table()


def complete(service: Service) -> None:
    """The tables that Spark and our rewrite write."""
    service.execute("CREATE TABLE by_spark AS SELECT * FROM lineorder", **OPTIONS)
    options = "map(array['rewrite-all'], array['true'])"
    call = f"CALL iceberg.system.rewrite_data_files(schema => 'ssb', table_name => 'rewritten', options => {options})"
    service.execute(call)


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with nullcontext(sys.argv[3]) if len(sys.argv) > 3 else tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.mkdir(exist_ok=True)
        kept = home / "complete"
        if not kept.exists():
            generate(home, scale)
        etc = home / "etc"
        if not etc.exists():
            write_etc(etc)
        # With less than the default of 2 GB, Spark has no room to sort 200 columns.
        (etc / "config.properties").write_text("spark.warm-up=true\nspark.driver-memory=2g\n")
        service = start_service(etc, home / "data", home / "log")
        try:
            if not kept.exists():
                complete(service)
                kept.touch()
            measure(service, scale, rounds, set(sys.argv[4:]) or QUERIES.keys())
        finally:
            service.stop()


def measure(service: Service, scale: float, rounds: int, chosen: Set[str]) -> None:
    """The chosen queries, and the summary."""
    lines = []
    for table in ("lineorder", "by_spark", "rewritten", "wide", "small"):
        for name in [name for name in QUERIES if name in chosen and (name in SEED | MORE) == (table in LINEORDERS)]:
            if table in LINEORDERS or f" {table} " in QUERIES[name]:
                lines.append(compare(service, name, table, QUERIES[name].format(lineorder=table), rounds))
    least = {name: min(line["ratio"] for line in lines if line["query"] == name) for name in QUERIES if name in chosen}
    reached = all(least[name] >= aim for name, aim in AIMS.items() if name in least)
    print(json.dumps({"scale": scale, "least_ratio": least, "aims": AIMS, "reached": reached}))


if __name__ == "__main__":
    main()

"""Late materialization off and on in the same run: the three queries of StarRocks' announcement, on SSB's tables.

``python -m benchmarks.late [SCALE] [ROUNDS]`` (scale 1 and 3 rounds by default) starts a service of its own, derives
SSB from TPC-H, writes ``lineorder`` three times (by PyIceberg, by Spark through CTAS, by our ``rewrite_data_files``)
and a table of 200 columns, and prints one JSON line a query and table: median seconds off and on, their ratio, and
bytes read off and on as the service counts them. Rounds alternate off and on, after one of each to warm up.
``every_row`` is a query that all rows survive: its ratio must be at least 0.95. The last line is the summary. Run it
on a quiet machine.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.connectors.iceberg.sample import create_sample
from tests.data_sets.ssb import derive_ssb, generate_tpch
from tests.e2e.service import Service, start_service, write_etc

QUERIES = {
    "join_filter": "SELECT * FROM {lineorder} JOIN part ON lo_partkey = p_partkey WHERE (p_size + lo_linenumber) > 56",
    "deep_offset": "SELECT * FROM {lineorder} ORDER BY lo_partkey OFFSET 100000 LIMIT 5",
    "join_top": "SELECT * FROM {lineorder}, customer WHERE lo_custkey = c_custkey ORDER BY lo_custkey LIMIT 10",
    "every_row": "SELECT * FROM {lineorder} WHERE lo_quantity + lo_discount >= 0",
}
WIDE = {"wide_top": "SELECT * FROM wide ORDER BY c0 LIMIT 10"}
SWITCH = "enable_global_late_materialization"
OPTIONS = {"catalog": "iceberg", "schema": "ssb"}


def run(service: Service, query: str, on: str) -> tuple[float, int, int]:
    """Seconds, bytes read and rows of one execution; rows are drained, not kept."""
    cursor = service.cursor(session_properties={SWITCH: on}, **OPTIONS)
    start = time.perf_counter()
    cursor.execute(query)
    rows = 0
    while batch := cursor.fetchmany(10_000):
        rows += len(batch)
    taken = time.perf_counter() - start
    info = service.get(f"/v1/query/{cursor.query_id}")
    return taken, _read_bytes(info), rows


def _read_bytes(info: Any) -> int:
    text = str(info["queryStats"].get("rawInputDataSize") or info["queryStats"].get("processedInputDataSize") or "0B")
    number = text.rstrip("BkKMGT")
    scale = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[text[len(number) :] or "B"]
    return int(float(number) * scale)


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
    return {
        "query": name,
        "table": table,
        "rows": counts.pop(),
        "off_seconds": round(off, 3),
        "on_seconds": round(late, 3),
        "ratio": round(off / late, 2),
        "off_bytes": size["false"],
        "on_bytes": size["true"],
    }


def wide_table(rows: int) -> pa.Table:
    """200 columns, half of them text."""
    random = np.random.default_rng(7)
    numbers = {f"c{i}": random.integers(0, 1 << 40, rows) for i in range(100)}
    texts = {f"t{i}": pa.array([f"{n:012d}-{i}" for n in random.integers(0, 1 << 40, rows)]) for i in range(100)}
    return pa.table({**numbers, **texts})


def load(service: Service, home: Path, scale: float) -> list[str]:
    """The tables; names of the copies of lineorder."""
    tpch, ssb = home / "tpch", home / "ssb"
    tpch.mkdir()
    ssb.mkdir()
    generate_tpch(scale, tpch)
    for file in derive_ssb(tpch, ssb):
        parts = max(1, int(4 * scale)) if file.stem == "lineorder" else 1
        create_sample("iceberg", service.data_dir, "ssb", file.stem, pq.read_table(file), parts)
    create_sample("iceberg", service.data_dir, "ssb", "wide", wide_table(int(200_000 * scale)), 2)
    create_sample("iceberg", service.data_dir, "ssb", "rewritten", pq.read_table(ssb / "lineorder.parquet"), 4)
    service.execute("CREATE TABLE by_spark AS SELECT * FROM lineorder", **OPTIONS)
    options = "map(array['rewrite-all'], array['true'])"
    call = f"CALL iceberg.system.rewrite_data_files(schema => 'ssb', table_name => 'rewritten', options => {options})"
    service.execute(call)
    return ["lineorder", "by_spark", "rewritten"]


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        service = start_service(write_etc(home / "etc"), home / "data", home / "log")
        try:
            for table in load(service, home, scale):
                for name, query in QUERIES.items():
                    lines.append(compare(service, name, table, query.format(lineorder=table), rounds))
                    print(json.dumps(lines[-1]), flush=True)
            for name, query in WIDE.items():
                lines.append(compare(service, name, "wide", query, rounds))
                print(json.dumps(lines[-1]), flush=True)
        finally:
            service.stop()
    pays = [line["ratio"] for line in lines if line["query"] != "every_row"]
    costs = [line["ratio"] for line in lines if line["query"] == "every_row"]
    print(json.dumps({"scale": scale, "least_ratio": min(pays), "every_row_ratio": min(costs)}))


if __name__ == "__main__":
    main()

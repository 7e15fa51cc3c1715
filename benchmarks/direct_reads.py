"""Tables with equality deletes and nested columns on the embedded engine, whose database reads their files itself.

``python -m benchmarks.direct_reads [SCALE] [ROUNDS]`` (scale 1, 3 rounds): TPC-H over a lineitem that lost one
order in a thousand by an equality delete file, beside the same tables without it; and queries over 2,000,000 events
with nested columns, beside DuckDB over the same files. All over HTTP with a real client, warm. A JSON line a query:
seconds (medians) of ours and of the peer; ``first`` is the first time a deleted key is looked for. The last line has
the geometric means of both ratios.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.queries import tpch_queries
from coordinator.connectors.iceberg.sample import create_sample
from tests.data_sets.ssb import generate_tpch
from tests.e2e.service import Service, start_service, write_etc
from tests.iceberg import foreign_writer

_EVENTS = 2_000_000
_NESTED = (
    ("SELECT count(*), sum(who.id) FROM events", "SELECT count(*), sum(who.id) FROM events"),
    (
        "SELECT who.name, count(*) FROM events GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
        "SELECT who.name, count(*) FROM events GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
    ),
    (
        "SELECT tag, count(*) FROM events CROSS JOIN UNNEST(tags) AS u (tag) GROUP BY 1",
        "SELECT tag, count(*) FROM (SELECT unnest(tags) AS tag FROM events) GROUP BY 1",
    ),
    ("SELECT count(*) FROM events WHERE contains(tags, 't3')", "SELECT count(*) FROM events WHERE 't3' IN tags"),
    ("SELECT sum(element_at(counts, 'k3')) FROM events", "SELECT sum(counts['k3']) FROM events"),
    ("SELECT * FROM events WHERE id = 777777", "SELECT * FROM events WHERE id = 777777"),
    (
        "SELECT id, who, tags FROM events WHERE who.id = 7 ORDER BY id LIMIT 3",
        "SELECT id, who, tags FROM events WHERE who.id = 7 ORDER BY id LIMIT 3",
    ),
)


def events() -> pa.Table:
    """An id in order, a row, an array and a map."""
    draw = np.random.default_rng(28)
    ids, offsets = draw.integers(0, 1000, _EVENTS), np.concatenate([[0], np.cumsum(draw.integers(0, 5, _EVENTS))])
    total, starts = int(offsets[-1]), pa.array(offsets, pa.int32())
    names = pa.DictionaryArray.from_arrays(pa.array(ids), [f"u{i}" for i in range(1000)]).cast(pa.string())
    words = pa.DictionaryArray.from_arrays(draw.integers(0, 50, total), [f"t{i}" for i in range(50)]).cast(pa.string())
    keys = pa.DictionaryArray.from_arrays(np.arange(total) % 7, [f"k{i}" for i in range(7)]).cast(pa.string())
    counts = pa.MapArray.from_arrays(starts, keys, pa.array(draw.integers(0, 9, total)))
    who = pa.StructArray.from_arrays([pa.array(ids), names], ["id", "name"])
    tags = pa.ListArray.from_arrays(starts, words)
    return pa.table({"id": np.arange(_EVENTS), "who": who, "tags": tags, "counts": counts})


def load(service: Service, scale: float, folder: Path) -> duckdb.DuckDBPyConnection:
    """``whole`` and ``keys`` with TPC-H, the second after the delete, ``nested.events``; DuckDB over the latter."""
    generate_tpch(scale, folder)
    for file in sorted(folder.glob("*.parquet")):
        for schema in ("whole", "keys"):
            create_sample("iceberg", service.data_dir, schema, file.stem, pq.read_table(file), 2)
    keys = pa.table({"l_orderkey": pa.array(range(7, int(6_000_000 * scale), 1000), pa.int64())})
    foreign_writer.delete_equal(service.lake().load_table("keys.lineitem"), keys)
    create_sample("iceberg", service.data_dir, "nested", "events", events(), 4)
    connection = duckdb.connect(config={"threads": 2})
    tasks = service.lake().load_table("nested.events").scan().plan_files()
    files = [task.file.file_path.removeprefix("file://") for task in tasks]
    connection.execute(f"CREATE VIEW events AS SELECT * FROM read_parquet({files!r})")
    return connection


def seconds(run: Callable[[], object], rounds: int) -> list[float]:
    """Of each round."""
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return found


def main() -> int:
    scale, rounds = float((sys.argv[1:] or ["1"])[0]), int((sys.argv[2:] or ["3"])[0])
    ratios: dict[str, list[float]] = {"keys": [], "nested": []}

    def tell(kind: str, name: str, ours: list[float], peer: list[float]) -> None:
        line = {"kind": kind, "query": name, "first": ours[0]}
        line |= {"ours": statistics.median(ours[1:]), "peer": statistics.median(peer[1:])}
        line["ratio"] = line["ours"] / line["peer"]
        ratios[kind].append(line["ratio"])
        print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in line.items()}), flush=True)

    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        service = start_service(write_etc(home / "etc", spark=False), home / "data", home / "log", cold=True)
        try:
            connection = load(service, scale, home / "tpch")
            for name, query in tpch_queries([]).items():
                ours, peer = (
                    seconds(lambda s=schema, q=query: service.execute(q, catalog="iceberg", schema=s), rounds + 1)
                    for schema in ("keys", "whole")
                )
                tell("keys", name, ours, peer)
            for query, theirs in _NESTED:
                ours = seconds(lambda q=query: service.execute(q, catalog="iceberg", schema="nested"), rounds + 1)
                tell("nested", query, ours, seconds(lambda q=theirs: connection.execute(q).fetchall(), rounds + 1))
        finally:
            service.stop()
    means = {f"ratio_{kind}": round(statistics.geometric_mean(found), 2) for kind, found in ratios.items()}
    print(json.dumps({"bench": "direct_reads", "scale": scale, **means}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""TPC-H through the whole coordinator beside the same queries sent to the same Spark directly, by turns.

``python -m benchmarks.queries [SCALE] [ROUNDS] [QUERY …]`` (scale 1, 3 rounds, all 22 by default) starts one Spark
Connect server, loads the tables into Iceberg, and runs each query once on each side to warm up. Ours is the time from
the POST to the last page over HTTP, with planning, the native checker and page encoding; the peer is
``session.sql(…).toArrow()`` of the query in Spark's dialect. A JSON line a query: median seconds of both, their ratio,
and the milliseconds of our verbs before Spark is asked. The last line is the summary; the aim is a median ratio of at
most 1.05 at scale 1, on a quiet machine.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot
from pyspark.sql.connect.session import SparkSession

from coordinator.connectors.iceberg.properties import read_settings, spark_properties
from coordinator.connectors.iceberg.sample import create_sample
from coordinator.engine.spark.our_classes import OUR_RULE
from coordinator.engine.spark.passed_settings import SESSION_CONF
from coordinator.engine.spark.server import EmbeddedServer, start_server
from coordinator.engine.spark.settings import SparkSettings
from tests.data_sets.ssb import generate_tpch
from tests.e2e.service import ROOT, Service, start_service, write_etc

HEADERS = {
    "X-Presto-User": "benchmark", "X-Presto-Catalog": "iceberg", "X-Presto-Schema": "tpch",
    "X-Presto-Session": "engine=SPARK",
}  # fmt: skip
_IN_MEMORY = 2.0
_ROWS_A_FILE, _BATCH_ROWS = 5_000_000, 1 << 17
STATEMENTS = ROOT / "tests" / "unparser" / "data" / "statements.json.gz"
BEFORE_SPARK = ("parse", "analyze", "plan", "optimize", "fragment", "check", "queue")


def tpch_queries(wanted: list[str]) -> dict[str, str]:
    """TPC-H in Presto's dialect, by name: q01 to q22."""
    known: dict[str, str] = json.loads(gzip.decompress(STATEMENTS.read_bytes()))
    return {n: q for n, q in known.items() if n[0] == "q" and n[1:].isdigit() and (not wanted or n in wanted)}


def direct_session(server: EmbeddedServer, conf: dict[str, str]) -> SparkSession:
    """A session of the peer's own on the same server, with the settings that our sessions have, without our rules."""
    session = SparkSession.builder.remote(server.url).create()
    for name, value in {**conf, **SESSION_CONF, "spark.sql.optimizer.excludedRules": OUR_RULE}.items():
        session.conf.set(name, value)
    session.sql("USE iceberg.tpch").collect()
    return session


def ours(client: httpx.Client, query: str) -> tuple[float, int, str]:
    """Seconds, rows and the query's id."""
    start, rows = time.perf_counter(), 0
    page: dict[str, Any] = client.post("/v1/statement", content=query).json()
    while "nextUri" in page:
        page = client.get(page["nextUri"]).json()
        rows += len(page.get("data", ()))
    assert "error" not in page, page["error"]
    return time.perf_counter() - start, rows, page["id"]


def direct(session: SparkSession, query: str) -> tuple[float, int]:
    """Seconds and rows."""
    start = time.perf_counter()
    rows = session.sql(query).toArrow().num_rows
    return time.perf_counter() - start, rows


def verbs(client: httpx.Client, query_id: str) -> dict[str, float]:
    """Milliseconds of each verb before Spark is asked."""
    timeline = client.get(f"/v1/query/{query_id}").json().get("timeline", {})
    return {verb: round(float(timeline[verb]) * 1000, 1) for verb in BEFORE_SPARK if verb in timeline}


def compare(client: httpx.Client, session: SparkSession, name: str, query: str, rounds: int) -> dict[str, Any]:
    """One JSON line."""
    translated = sqlglot.transpile(query, read="presto", write="spark")[0]
    taken: dict[str, list[float]] = {"ours": [], "direct": []}
    spent: dict[str, float] = {}
    for number in range(rounds + 1):
        seconds, rows, query_id = ours(client, query)
        peer_seconds, peer_rows = direct(session, translated)
        assert rows == peer_rows, f"{name}: {rows} rows, {peer_rows} of Spark"
        if number:
            taken["ours"].append(seconds)
            taken["direct"].append(peer_seconds)
            spent = verbs(client, query_id)
    mine, peer = (statistics.median(taken[side]) for side in ("ours", "direct"))
    figures = {"ours_seconds": round(mine, 3), "direct_seconds": round(peer, 3), "ratio": round(mine / peer, 3)}
    return {"query": name, **figures, "verbs_ms": spent}


def load(service: Service, home: Path, scale: float) -> None:
    """The eight tables, two data files each; beyond scale 2 by appends of five million rows, which fit into memory."""
    (home / "tpch").mkdir()
    generate_tpch(scale, home / "tpch")
    for file in sorted((home / "tpch").glob("*.parquet")):
        if scale <= _IN_MEMORY:
            create_sample("iceberg", service.data_dir, "tpch", file.stem, pq.read_table(file), 2)
        else:
            _appended(service, file)
        file.unlink()


def _appended(service: Service, file: Path) -> None:
    source, catalog = pq.ParquetFile(file), service.lake()
    catalog.create_namespace_if_not_exists("tpch")
    texts = [f.with_type(pa.string()) if pa.types.is_string_view(f.type) else f for f in source.schema_arrow]
    table = catalog.create_table(f"tpch.{file.stem}", schema=pa.schema(texts))
    batches: list[pa.RecordBatch] = []
    for batch in source.iter_batches(_BATCH_ROWS):
        batches.append(batch)
        if sum(part.num_rows for part in batches) >= _ROWS_A_FILE:
            table.append(pa.Table.from_batches(batches).cast(pa.schema(texts)))
            batches = []
    if batches:
        table.append(pa.Table.from_batches(batches).cast(pa.schema(texts)))


def run(home: Path, scale: float, rounds: int, wanted: list[str]) -> list[float]:
    """The ratio of each query, printed as they come."""
    conf = spark_properties(read_settings("iceberg", {}, home / "data"))
    server = start_server(SparkSettings(work_dir=home / "spark", driver_memory="3g"), conf)
    etc = write_etc(home / "etc", spark=False)
    with (etc / "config.properties").open("a") as settings:
        settings.write(f"spark.remote={server.url}\n")
    service = start_service(etc, home / "data", home / "log")
    try:
        load(service, home, scale)
        session = direct_session(server, conf)
        ratios = []
        with httpx.Client(base_url=service.url, timeout=600, headers=HEADERS) as client:
            for name, query in sorted(tpch_queries(wanted).items()):
                line = compare(client, session, name, query, rounds)
                ratios.append(line["ratio"])
                print(json.dumps(line), flush=True)
        session.stop()
        return ratios
    finally:
        service.stop()
        server.stop()


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        ratios = run(Path(folder), scale, rounds, sys.argv[3:])
    figures = {"median_ratio": round(statistics.median(ratios), 3), "worst_ratio": max(ratios)}
    print(json.dumps({"bench": "queries", "scale": scale, "rounds": rounds, **figures}))


if __name__ == "__main__":
    main()

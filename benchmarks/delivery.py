"""Rows a second of a large result, from Spark through the coordinator to presto-python-client, and whose time it is.

``python -m benchmarks.delivery [THOUSANDS]`` (2,000 by default) reads six columns of an Iceberg table: through the
coordinator with presto-python-client, through the coordinator with a client that only looks for the next page, and from
the same Spark directly as Arrow. JSON lines: seconds, rows a second, CPU seconds of this process (the client), of the
coordinator with its planners, and of Spark. The last line is the summary: ``ours_share`` is the coordinator's part of
all CPU seconds of the first way, ``client_share`` the client's.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import prestodb
import psutil

from benchmarks.queries import HEADERS, direct_session, load
from benchmarks.rewrite import cpu_seconds
from coordinator.connectors.iceberg.properties import read_settings, spark_properties
from coordinator.engine.spark.server import start_server
from coordinator.engine.spark.settings import SparkSettings
from tests.e2e.service import Service, start_service, write_etc

QUERY = "SELECT l_orderkey, l_partkey, l_extendedprice, l_shipdate, l_shipmode, l_comment FROM iceberg.tpch.lineitem"
ROWS_OF_SCALE = 6_000_000
"""Lines at scale 1, about."""


def family(pid: int) -> list[psutil.Process]:
    """A process and everything under it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def through_client(service: Service) -> int:
    """Rows that presto-python-client gives."""
    host, port = service.url.removeprefix("http://").split(":")
    connection = prestodb.dbapi.connect(host=host, port=int(port), user="benchmark", catalog="iceberg", schema="tpch")
    cursor = connection.cursor()
    cursor.execute(QUERY)
    rows = sum(1 for _ in iter(cursor.fetchone, None))
    connection.close()
    return rows


def through_pages(service: Service, rows: int) -> int:
    """Asks for page after page and decodes none; ``rows`` is what it would find."""
    with httpx.Client(base_url=service.url, timeout=600, headers={**HEADERS, "Accept-Encoding": "identity"}) as client:
        body = client.post("/v1/statement", content=QUERY).content
        while tail := body[:1000].partition(b'"nextUri":"')[2]:
            body = client.get(tail.partition(b'"')[0].decode()).content
    assert b'"error":' not in body[:2000], body[:2000]
    return rows


def measured(name: str, run: Callable[[], int], coordinator: int, spark: int) -> dict[str, Any]:
    """One line."""
    before = [cpu_seconds(family(pid)) for pid in (coordinator, spark)]
    start, own = time.perf_counter(), time.process_time()
    rows = run()
    seconds, client = time.perf_counter() - start, time.process_time() - own
    ours, theirs = (cpu_seconds(family(pid)) - was for pid, was in zip((coordinator, spark), before, strict=True))
    line = {"bench": "delivery", "who": name, "rows": rows, "wall_s": round(seconds, 2)}
    cpu = {"client_cpu_s": round(client, 2), "coordinator_cpu_s": round(ours, 2), "spark_cpu_s": round(theirs, 2)}
    print(json.dumps({**line, "rows_per_second": round(rows / seconds), **cpu}), flush=True)
    return line | cpu


def run(home: Path, rows: int) -> None:
    """Print the lines."""
    conf = spark_properties(read_settings("iceberg", {}, home / "data"))
    server = start_server(SparkSettings(work_dir=home / "spark", driver_memory="3g"), conf)
    (spark,) = psutil.Process().children()
    etc = write_etc(home / "etc", spark=False)
    with (etc / "config.properties").open("a") as settings:
        settings.write(f"spark.remote={server.url}\n")
    service = start_service(etc, home / "data", home / "log")
    try:
        load(service, home, rows / ROWS_OF_SCALE)
        ((rows,),) = service.execute("SELECT count(*) FROM iceberg.tpch.lineitem")
        session = direct_session(server, conf)
        ways: dict[str, Callable[[], int]] = {
            "spark, as Arrow": lambda: session.sql(QUERY).toArrow().num_rows,
            "coordinator, pages undecoded": lambda: through_pages(service, rows),
            "coordinator, presto-python-client": lambda: through_client(service),
        }
        for way in ways.values():
            way()
        ids = service.process.pid, spark.pid
        direct, _, client = [measured(name, way, *ids) for name, way in ways.items()]
        session.stop()
    finally:
        service.stop()
        server.stop()
    total = sum(client[f"{who}_cpu_s"] for who in ("client", "coordinator", "spark"))
    parts = (("ours", "coordinator"), ("client", "client"))
    shares = {f"{who}_share": round(client[f"{of}_cpu_s"] / total, 2) for who, of in parts}
    ratio = {"of_spark_directly": round(client["wall_s"] / direct["wall_s"], 2)}
    print(json.dumps({"bench": "delivery", "rows_per_second": round(rows / client["wall_s"]), **shares, **ratio}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        run(Path(scratch), 1000 * int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)

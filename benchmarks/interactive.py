"""Small queries over Iceberg tables: the embedded engine, the same on Spark, and DuckDB over the same files, by turns.

``python -m benchmarks.interactive [SCALE] [ROUNDS]`` (scale 0.1, 7 rounds by default) loads TPC-H into Iceberg and
asks, warm and over HTTP with one client: a point look-up, ``count(*)``, a filtered aggregate, the first ten of an
order, a join with a dimension, and TPC-H's 22 queries. A JSON line a query: milliseconds (medians) of the engine that
the service chooses, of the embedded engine and of Spark through the same service (``engine=spark``), and of DuckDB in
this process over the tables' files. The last line is the summary: ``ratio_wall_min`` is the least of Spark / embedded,
``ratio_duckdb_max`` the largest of embedded / DuckDB over TPC-H, with their geometric means, ``ratio_choice_max`` the
largest of the choice / the faster engine. Aims of issue 19: at least 10, at most 2 and at most 1.1.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import httpx
import sqlglot

from benchmarks.queries import HEADERS, load, ours, tpch_queries
from tests.e2e.service import Service, start_service, write_etc

SMALL = {
    "look-up": "SELECT * FROM orders WHERE o_orderkey = 32067",
    "count": "SELECT count(*) FROM lineitem",
    "filtered aggregate": "SELECT sum(l_extendedprice * l_discount) FROM lineitem "
    "WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_quantity < 24",
    "top 10": "SELECT * FROM orders ORDER BY o_totalprice DESC, o_orderkey LIMIT 10",
    "join": "SELECT n_name, count(*), sum(c_acctbal) FROM customer JOIN nation ON c_nationkey = n_nationkey "
    "GROUP BY n_name ORDER BY n_name",
}


def through_service(client: httpx.Client, query: str, engine: str) -> tuple[float, int]:
    """Seconds and rows."""
    client.headers["X-Presto-Session"] = f"engine={engine}"
    seconds, rows, _ = ours(client, query)
    return seconds, rows


def duckdb_over(service: Service) -> duckdb.DuckDBPyConnection:
    """DuckDB with a view over the files of each table."""
    connection = duckdb.connect()
    catalog = service.lake()
    for _, name in catalog.list_tables("tpch"):
        files = [
            task.file.file_path.removeprefix("file://")
            for task in catalog.load_table(f"tpch.{name}").scan().plan_files()
        ]
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files!r})")
    return connection


def timed(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[float, int]:
    """Seconds and rows."""
    start = time.perf_counter()
    rows = len(connection.execute(query).fetchall())
    return time.perf_counter() - start, rows


def compare(client: httpx.Client, connection: Any, name: str, query: str, rounds: int) -> dict[str, Any]:
    """One JSON line."""
    translated = sqlglot.transpile(query, read="presto", write="duckdb")[0]
    taken: dict[str, list[float]] = {"auto": [], "embedded": [], "spark": [], "duckdb": []}
    for number in range(rounds + 1):
        ours = [through_service(client, query, engine) for engine in ("AUTO", "EMBEDDED", "SPARK")]
        both = [*ours, timed(connection, translated)]
        assert len({rows for _, rows in both}) == 1, f"{name}: {[rows for _, rows in both]} rows"
        if number:
            for side, (seconds, _) in zip(taken, both, strict=True):
                taken[side].append(seconds)
    found = {side: statistics.median(seconds) * 1000 for side, seconds in taken.items()}
    choice = found["auto"] / min(found["embedded"], found["spark"])
    spark, direct = found["spark"] / found["embedded"], found["embedded"] / found["duckdb"]
    ratios = {"choice_ratio": choice, "spark_ratio": spark, "duckdb_ratio": direct}
    return {"query": name, **{k: round(v, 2) for k, v in (found | ratios).items()}}


def run(home: Path, scale: float, rounds: int) -> dict[str, list[dict[str, Any]]]:
    """The lines of both kinds, printed as they come."""
    etc = write_etc(home / "etc")
    settings = etc / "config.properties"
    settings.write_text(settings.read_text().replace("spark.driver-memory=1g", "spark.driver-memory=3g"))
    service = start_service(etc, home / "data", home / "log")
    lines: dict[str, list[dict[str, Any]]] = {"small": [], "tpch": []}
    try:
        load(service, home, scale)
        connection = duckdb_over(service)
        with httpx.Client(base_url=service.url, timeout=600, headers=HEADERS) as client:
            for kind, queries in (("small", SMALL), ("tpch", tpch_queries([]))):
                for name, query in queries.items():
                    lines[kind].append(compare(client, connection, name, query, rounds if kind == "small" else 3))
                    print(json.dumps(lines[kind][-1]), flush=True)
        return lines
    finally:
        service.stop()


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 0.1
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as folder:
        lines = run(Path(folder), scale, rounds)
    figures = {
        "slowest_small_ms": max(line["embedded"] for line in lines["small"]),
        "ratio_wall_min": min(line["spark_ratio"] for line in [*lines["small"], *lines["tpch"]]),
        "spark_geomean": round(statistics.geometric_mean([line["spark_ratio"] for line in lines["tpch"]]), 2),
        "ratio_choice_max": max(line["choice_ratio"] for line in [*lines["small"], *lines["tpch"]]),
        "ratio_duckdb_max": max(line["duckdb_ratio"] for line in lines["tpch"]),
        "duckdb_geomean": round(statistics.geometric_mean([line["duckdb_ratio"] for line in lines["tpch"]]), 2),
    }
    print(json.dumps({"bench": "interactive", "scale": scale, "rounds": rounds, **figures}))


if __name__ == "__main__":
    main()

"""TPC-DS over Iceberg through the whole service, beside DuckDB over the same files.

``python -m benchmarks.tpcds [--scale 1] [--engine AUTO|EMBEDDED|SPARK] [--rounds 2] [--folder FOLDER] [QUERY …]``. Each
query is asked over HTTP from POST to the last page, with planning and the native checker, then of DuckDB in this
process; its rows are compared with DuckDB's, without order. Averages and quotients of decimals are decimals in Presto
and doubles in DuckDB, so that only ``--doubles`` compares them all. The first round warms up. A JSON line a query:
seconds of both, their ratio, the engine, the milliseconds of planning and checking, and rows that differ. The last line
is the summary. FOLDER keeps generated files from run to run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import httpx

from tests.data_sets.tpcds import counted, generate_tpcds, load_tables, with_doubles
from tests.e2e.service import Service, start_service, write_etc

HEADERS = {"X-Presto-User": "benchmark", "X-Presto-Catalog": "iceberg", "X-Presto-Schema": "tpcds"}
_BEFORE = ("parse", "analyze", "plan", "optimize", "fragment", "check", "queue")


def over_files(service: Service, threads: int = 2) -> duckdb.DuckDBPyConnection:
    """DuckDB with a view over the files of each table."""
    connection, lake = duckdb.connect(config={"threads": threads}), service.lake()
    for _, name in lake.list_tables("tpcds"):
        tasks = lake.load_table(f"tpcds.{name}").scan().plan_files()
        files = [task.file.file_path.removeprefix("file://") for task in tasks]
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files!r})")
    return connection


def asked(client: httpx.Client, query: str) -> tuple[list[list[Any]], str]:
    """Rows and the query's id; raises RuntimeError with the error of one that failed."""
    page: dict[str, Any] = client.post("/v1/statement", content=query).json()
    rows: list[list[Any]] = []
    while "nextUri" in page:
        page = client.get(page["nextUri"]).json()
        rows += page.get("data", [])
    if "error" in page:
        raise RuntimeError(f"{page['error']['errorName']}: {page['error']['message']}")
    return rows, page["id"]


def ended(client: httpx.Client, query_id: str) -> dict[str, Any]:
    """What the history has of a query, which comes to it half a second later."""
    while True:
        answer = client.get(f"/v1/history/{query_id}")
        if answer.status_code == 200 and "endTime" in answer.json():
            found: dict[str, Any] = answer.json()
            return found
        time.sleep(0.05)


def compare(client: httpx.Client, connection: Any, number: int, query: str, rounds: int) -> dict[str, Any]:
    """One JSON line."""
    line: dict[str, Any] = {"query": number}
    ours, direct = list[float](), list[float]()
    try:
        for turn in range(rounds + 1):
            start = time.perf_counter()
            rows, query_id = asked(client, query)
            middle = time.perf_counter()
            wanted = connection.execute(query).fetchall()
            if turn or not rounds:
                ours.append(middle - start)
                direct.append(time.perf_counter() - middle)
    except RuntimeError as error:
        return line | {"wrong": str(error)[:300]}
    info = ended(client, query_id)
    verbs: Mapping[str, float] = info["timeline"]
    line |= {"ours": round(statistics.median(ours), 3), "duckdb": round(statistics.median(direct), 3)}
    line |= {"ratio": round(line["ours"] / line["duckdb"], 2), "rows": len(rows), "engine": info.get("engine")}
    line["planned_ms"] = round(1000 * sum(verbs.get(verb, 0.0) for verb in _BEFORE))
    found, right = counted(rows), counted(wanted)
    if found != right:
        line["differs"] = f"{(found - right).total()} of {len(rows)} rows; {next(iter(right - found), None)!s:.200}"
    return line


@contextmanager
def loaded(scale: float, folder: Path | None, *, doubles: bool) -> Iterator[tuple[Service, dict[int, str]]]:
    """A service with the tables, and the queries."""
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        files = home / "files" if folder is None else folder
        known = files / "queries.json"
        if known.exists():
            queries = {int(number): text for number, text in json.loads(known.read_text()).items()}
        else:
            queries = generate_tpcds(files, scale)
        etc = write_etc(home / "etc", spark=False)
        settings = etc / "config.properties"
        settings.write_text(settings.read_text().replace("spark.driver-memory=1g", "spark.driver-memory=4g"))
        service = start_service(etc, home / "data", home / "log", cold=True)
        try:
            load_tables(service.lake(), files, doubles=doubles)
            yield service, {n: with_doubles(text) if doubles else text for n, text in queries.items()}
        finally:
            service.stop()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--engine", default="AUTO")
    parser.add_argument("--rounds", type=int, default=2, help="0: the first one counts")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--doubles", action="store_true", help="decimals as doubles, which mean the same to both")
    parser.add_argument("queries", type=int, nargs="*")
    options = parser.parse_args()
    lines = []
    with loaded(options.scale, options.folder, doubles=options.doubles) as (service, queries):
        connection = over_files(service)
        session = {"X-Presto-Session": f"engine={options.engine}"}
        with httpx.Client(base_url=service.url, timeout=900, headers=HEADERS | session) as client:
            for number in options.queries or sorted(queries):
                lines.append(compare(client, connection, number, queries[number], options.rounds))
                print(json.dumps(lines[-1]), flush=True)
    told = [line for line in lines if "ours" in line]
    figures = {
        "ours_seconds": round(sum(line["ours"] for line in told), 1),
        "duckdb_seconds": round(sum(line["duckdb"] for line in told), 1),
        "ratio_geomean": round(statistics.geometric_mean([line["ratio"] for line in told]), 2),
        "slowest": max((line["ours"], line["query"]) for line in told),
        "differs": [line["query"] for line in lines if "differs" in line],
        "wrong": [line["query"] for line in lines if "wrong" in line],
    }
    print(json.dumps({"bench": "tpcds", "scale": options.scale, "engine": options.engine, **figures}))
    return 1 if figures["wrong"] or (options.doubles and figures["differs"]) else 0


if __name__ == "__main__":
    sys.exit(main())

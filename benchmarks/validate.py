"""Statement text to checked plan, over HTTP and through the real sidecar: latency, capacity, lag of the loop, CPU.

Every statement has literals of its own; queries are sent as EXPLAIN (TYPE DISTRIBUTED), which is checked like the query
itself and is what the peer, a Presto server, can be asked as well. Then bad statements over the statement
protocol, while the queue is full and Spark is down. Prints JSON lines; the last one is the summary.
The client is aiohttp's, on the same two cores: httpx alone takes 3 to 4 ms of CPU a request.
``python benchmarks/validate.py [statements]``; the peer runs when PRESTO_URL names one. With VALIDATE_RULES=200 the
cases are none and so many rules of access control, of the system and of the catalog, over a catalog of 1,000 tables,
each twice: without, with, with, without, so that a machine that gets slower or faster is fair to both.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

ROOT = Path(__file__).parent.parent
EXPLAIN = "EXPLAIN (TYPE DISTRIBUTED) "
FULL_QUEUE = 20
CROWD = {"X-Presto-Source": "crowd"}
QUERIES = Path(__file__).parent / "data" / "tpch_queries.sql"
HEADERS = {"X-Presto-User": "bench", "X-Presto-Catalog": "iceberg", "X-Presto-Schema": "tpch"}
TABLES = {
    "region": "r_regionkey bigint, r_name string, r_comment string",
    "nation": "n_nationkey bigint, n_name string, n_regionkey bigint, n_comment string",
    "supplier": "s_suppkey bigint, s_name string, s_address string, s_nationkey bigint, s_phone string, "
    "s_acctbal double, s_comment string",
    "customer": "c_custkey bigint, c_name string, c_address string, c_nationkey bigint, c_phone string, "
    "c_acctbal double, c_mktsegment string, c_comment string",
    "part": "p_partkey bigint, p_name string, p_mfgr string, p_brand string, p_type string, p_size int, "
    "p_container string, p_retailprice double, p_comment string",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost double, ps_comment string",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus string, o_totalprice double, o_orderdate date, "
    "o_orderpriority string, o_clerk string, o_shippriority int, o_comment string",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity double, "
    "l_extendedprice double, l_discount double, l_tax double, l_returnflag string, l_linestatus string, "
    "l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string, "
    "l_comment string",
}


def make_lake(directory: Path) -> Path:
    """``etc`` of a coordinator whose catalog ``iceberg`` has the eight TPC-H tables, without rows."""
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog

    etc = directory / "etc"
    (etc / "catalog").mkdir(parents=True)
    (etc / "plan-checker-providers").mkdir()
    database, warehouse = f"sqlite:///{directory}/catalog.db", f"file://{directory}/warehouse"
    (etc / "catalog" / "iceberg.properties").write_text(
        f"connector.name=iceberg\niceberg.catalog.type=sql\niceberg.catalog.uri={database}\n"
        f"iceberg.catalog.warehouse={warehouse}\niceberg.journal.file={directory}/journal.db\n"
    )
    catalog = SqlCatalog("iceberg", uri=database, warehouse=warehouse)
    catalog.create_namespace("tpch")
    types = {
        "bigint": pa.int64(),
        "int": pa.int32(),
        "double": pa.float64(),
        "string": pa.string(),
        "date": pa.date32(),
    }
    for table, columns in TABLES.items():
        fields = [(name, types[kind]) for name, kind in (column.split() for column in columns.split(", "))]
        catalog.create_table(f"tpch.{table}", schema=pa.schema(fields))
    return etc


def configure(etc: Path, sidecar: str, cache_entries: str) -> None:
    """A whole coordinator without limits on pre-checks, whose Spark is down and whose queue lets nothing run."""
    (etc / "config.properties").write_text(
        f"sidecar.uri={sidecar}\nspark.remote=sc://127.0.0.1:1\nprecheck.max-requests-per-second=1000000\n"
        "precheck.max-concurrent-requests=10000\nquery.client.timeout=1h\n"
    )
    (etc / "node.properties").write_text(f"node.environment=bench\nnode.data-dir={etc.parent}/data\n")
    (etc / "plan-checker-providers" / "native.properties").write_text(
        f"plan-checker-provider.name=native\nnative-plan-checker.verdict-cache.max-entries={cache_entries}\n"
    )
    closed = {"name": "closed", "softMemoryLimit": "1GB", "hardConcurrencyLimit": 0, "maxQueued": FULL_QUEUE}
    checks = {"name": "open", "softMemoryLimit": "1GB", "hardConcurrencyLimit": 9, "maxQueued": 9}
    selectors = [{"source": "crowd", "group": "closed"}, {"group": "open"}]
    groups = json.dumps({"rootGroups": [closed, checks], "selectors": selectors})
    (etc / "resource-groups.json").write_text(groups)
    (etc / "resource-groups.properties").write_text("resource-groups.config-file=etc/resource-groups.json\n")


def make_tables(directory: Path, count: int) -> None:
    """So many more, which no statement names."""
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("iceberg", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}/warehouse")
    catalog.create_namespace("others")
    for number in range(count):
        catalog.create_table(f"others.t{number}", schema=pa.schema([("id", pa.int64()), ("name", pa.string())]))


def write_rules(etc: Path, count: int) -> None:
    """So many rules of the system and as many of the catalog; those that let the benchmark in come last."""
    privileges = ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP"]
    others = [
        {"user": f"user_{n}|group_{n}.*", "schema": "others", "table": f"t{n}.*", "privileges": ["SELECT"]}
        for n in range(count - 1)
    ]
    tables = [*others, {"user": "bench", "schema": ".*", "table": ".*", "privileges": privileges}]
    procedures = [{"user": "bench", "privileges": ["EXECUTE"]}]
    system = {
        "catalogs": [{"user": "bench", "allow": "all"}],
        "tables": [{"catalog": "iceberg", **rule} for rule in tables],
        "procedures": [{"catalog": ".*", **rule} for rule in procedures],
    }
    (etc / "rules.json").write_text(json.dumps(system))
    (etc / "lake.json").write_text(json.dumps({"tables": tables, "procedures": procedures}))
    (etc / "access-control.properties").write_text(
        "access-control.name=file\nsecurity.config-file=rules.json\nsecurity.refresh-period=5s\n"
    )
    with (etc / "catalog" / "iceberg.properties").open("a") as catalog:
        catalog.write("iceberg.security=file\nsecurity.config-file=lake.json\nsecurity.refresh-period=5s\n")


def remove_rules(etc: Path) -> None:
    (etc / "access-control.properties").unlink()
    catalog = etc / "catalog" / "iceberg.properties"
    kept = [line for line in catalog.read_text().splitlines() if ".security" not in line and "security." not in line]
    catalog.write_text("\n".join(kept) + "\n")


def tpch_queries() -> list[str]:
    text = re.sub(r"^--.*\n", "", QUERIES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [query.strip() for query in text.split("\n;") if query.strip()]


def with_new_literals(query: str, rng: random.Random) -> str:
    """The query with other dates and other numbers on the right of its comparisons."""
    query = re.sub(
        r"DATE '\d{4}-\d\d-\d\d'",
        lambda _: f"DATE '{rng.randint(1992, 1998)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}'",
        query,
    )
    return re.sub(r"([<>=]\s*)\d+\b(?![.'])", lambda m: f"{m[1]}{rng.randint(1, 2**31 - 1)}", query)


def call_statement(rng: random.Random) -> str:
    arguments = f"schema => 'tpch', table_name => 'lineitem', filter => 'l_orderkey > {rng.randint(1, 2**31 - 1)}'"
    return f"CALL iceberg.system.rewrite_data_files({arguments})"


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1000, 2)


def children_of(pid: int) -> list[int]:
    """Of all threads of the process: each child is listed with the thread that made it."""
    return [int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()]


def cpu_seconds(pid: int, *, children: bool) -> float:
    """User and system time so far of a process, or of its live children."""
    if children:
        return sum(cpu_seconds(child, children=False) for child in children_of(pid))
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class CpuMeter:
    """CPU milliseconds a statement, by who spent them."""

    def __init__(self, server: int, sidecar: int) -> None:
        self._parts = {
            "server": (server, False),
            "planners": (server, True),
            "sidecar": (sidecar, False),
            "converters": (sidecar, True),
        }
        self._start = self._read()

    def _read(self) -> dict[str, float]:
        return {name: cpu_seconds(pid, children=children) for name, (pid, children) in self._parts.items()}

    def per_statement(self, count: int) -> dict[str, float]:
        return {name: round((now - self._start[name]) / count * 1000, 1) for name, now in self._read().items()}


_PROBE = """
import http.client, sys, time
connection = http.client.HTTPConnection(sys.argv[1])
while True:
    begun = time.perf_counter()
    connection.request("GET", "/v1/info")
    connection.getresponse().read()
    print(time.perf_counter() - begun, flush=True)
    time.sleep(0.05)
"""


class InfoProbe:
    """Asks for ``/v1/info`` twenty times a second from a process of its own, whose own loop has nothing else to do."""

    def __init__(self, url: str) -> None:
        address = url.removeprefix("http://").rstrip("/")
        self._process = subprocess.Popen([sys.executable, "-c", _PROBE, address], stdout=subprocess.PIPE, text=True)

    def stop(self) -> list[float]:
        """Seconds of each answer, the connection's first one left out."""
        self._process.terminate()
        told, _ = self._process.communicate(timeout=10)
        return [float(line) for line in told.splitlines()[1:]] or [0.0]


async def answer(client: aiohttp.ClientSession, address: str, text: str | None = None, **headers: str) -> Any:
    """The JSON that POSTing ``text``, or else a GET, is answered with."""
    method = "GET" if text is None else "POST"
    async with client.request(method, address, data=text, headers=headers) as response:
        return json.loads(await response.read())


async def measure(
    client: aiohttp.ClientSession,
    url: str,
    statements: Callable[[], str],
    *,
    count: int,
    rate: float | None,
    pids: tuple[int, int],
    parallel: int = 1,
) -> dict[str, Any]:
    """``count`` statements, at ``rate`` a second or as fast as ``parallel`` clients go."""
    seconds: list[float] = []
    refused: list[str] = []
    gate = asyncio.Semaphore(parallel if rate is None else 10_000)

    async def one(statement: str) -> None:
        async with gate:
            start = time.perf_counter()
            verdict = await answer(client, "/v1/validate", statement)
            seconds.append(time.perf_counter() - start)
        if not verdict.get("ok"):
            refused.append(verdict["error"]["message"][:150])

    meter = CpuMeter(*pids)
    probe = InfoProbe(url)
    begun = time.perf_counter()
    tasks = []
    for number in range(count):
        if rate is not None:
            await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(one(statements())))
    await asyncio.gather(*tasks)
    wall = time.perf_counter() - begun
    lags = probe.stop()
    result = {
        "statements": count,
        "per_second": round(count / wall, 1),
        "p50_ms": percentile(seconds, 0.5),
        "p99_ms": percentile(seconds, 0.99),
        "info_p99_ms": percentile(lags, 0.99),
        "cpu_ms": meter.per_statement(count),
    }
    if refused:
        result |= {"refused": len(refused), "reasons": sorted(set(refused))[:5]}
    return result


def start(*command: str) -> tuple[subprocess.Popen[str], str]:
    """A child and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=None,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://[\w.]+:\d+", line):
            return process, found[0]
    raise SystemExit(f"{command} ended at its start with code {process.wait()}")


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)


async def usable_queries(client: aiohttp.ClientSession) -> list[str]:
    """The queries that are accepted; why others are not is told, so that figures are of checked plans."""
    usable, left_out = [], {}
    for number, query in enumerate(tpch_queries(), 1):
        verdict = await answer(client, "/v1/validate", EXPLAIN + query)
        if verdict.get("ok"):
            usable.append(query)
        else:
            left_out[f"q{number:02}"] = verdict["error"]["message"][:200]
    if left_out:
        print(json.dumps({"left_out": left_out}))
    return usable


async def fill_queue(client: aiohttp.ClientSession) -> None:
    """Statements until the group that lets nothing run is full."""
    for _ in range(FULL_QUEUE):
        page = await answer(client, "/v1/statement", "SELECT 1", **CROWD)
        while page["stats"]["state"] != "QUEUED":
            page = await answer(client, page["nextUri"])


async def refusals(client: aiohttp.ClientSession, count: int) -> dict[str, Any]:
    """Bad statements over the statement protocol, from POST to the error, one after another; calls and queries."""
    rng = random.Random(11)
    seconds = []
    for number in range(count):
        bad = call_statement(rng).replace("l_orderkey", "nope") if number % 2 else "SELECT nope FROM lineitem"
        begun = time.perf_counter()
        page = await answer(client, "/v1/statement", bad, **CROWD)
        while "nextUri" in page:
            page = await answer(client, page["nextUri"])
        seconds.append(time.perf_counter() - begun)
        assert "nope" in page["error"]["message"], page
    return {"statements": count, "p50_ms": percentile(seconds, 0.5), "p99_ms": percentile(seconds, 0.99)}


async def run_case(url: str, case: str, count: int, pids: tuple[int, int]) -> dict[str, Any]:
    rng = random.Random(7)
    async with aiohttp.ClientSession(url, headers=HEADERS) as client:
        await measure(client, url, lambda: call_statement(rng), count=10, rate=None, pids=pids)
        call = await measure(client, url, lambda: call_statement(rng), count=count, rate=None, pids=pids)
        print(json.dumps({"case": case, "statement": "CALL", **call}), flush=True)
        queries = await usable_queries(client)
        result: dict[str, Any] = {"call": call, "queries": len(queries)}
        if queries:

            def mixture() -> str:
                return EXPLAIN + with_new_literals(rng.choice(queries), rng)

            full = await measure(client, url, mixture, count=4 * count, rate=None, pids=pids, parallel=8)
            print(json.dumps({"case": case, "statement": "TPC-H, as fast as it goes", **full}), flush=True)
            quarter = await measure(client, url, mixture, count=count, rate=max(full["per_second"] / 4, 1), pids=pids)
            print(json.dumps({"case": case, "statement": "TPC-H at a quarter of capacity", **quarter}), flush=True)
            result |= {"full": full, "quarter": quarter}
        await fill_queue(client)
        result["refusal"] = await refusals(client, count)
        about = "bad statements, queue full, Spark down"
        print(json.dumps({"case": case, "statement": about, **result["refusal"]}), flush=True)
        return result


async def presto_explain(url: str, count: int) -> dict[str, Any]:
    """The peer: the same mixture as EXPLAIN (TYPE DISTRIBUTED), one after another."""
    rng = random.Random(7)
    seconds = []
    headers = HEADERS | {"X-Presto-Catalog": os.environ.get("PRESTO_CATALOG", "tpch"), "X-Presto-Schema": "tiny"}
    async with aiohttp.ClientSession(headers=headers) as client:
        for _ in range(count):
            query = with_new_literals(rng.choice(tpch_queries()), rng)
            begun = time.perf_counter()
            page = await answer(client, f"{url}/v1/statement", EXPLAIN + query)
            while "nextUri" in page:
                page = await answer(client, page["nextUri"])
            seconds.append(time.perf_counter() - begun)
    return {"p50_ms": percentile(seconds, 0.5), "p99_ms": percentile(seconds, 0.99)}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rules = int(os.environ.get("VALIDATE_RULES", "0"))
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as directory:
        etc = make_lake(Path(directory))
        sidecar, sidecar_url = start("-m", "sidecar", "--port", "0")
        try:
            cases = [("no_cache", "0"), ("cache", "10000")]
            if rules:
                make_tables(Path(directory), 1000)
                cases = [(case, "0") for case in ("no_rules", "rules", "rules_again", "no_rules_again")]
            for case, entries in cases:
                if case == "rules":
                    write_rules(etc, rules)
                elif case == "no_rules_again":
                    remove_rules(etc)
                configure(etc, sidecar_url, entries)
                server, url = start("-m", "coordinator", "coordinator", "--etc", str(etc), "--port", "0")
                try:
                    results[case] = asyncio.run(run_case(url, case, count, (server.pid, sidecar.pid)))
                finally:
                    stop(server)
        finally:
            stop(sidecar)
    summary: dict[str, Any] = {"bench": "validate", **results}
    if presto := os.environ.get("PRESTO_URL"):
        summary["presto"] = asyncio.run(presto_explain(presto, count))
        ours = next(iter(results.values())).get("quarter", {}).get("p50_ms")
        if ours:
            summary["ratio_wall"] = round(summary["presto"]["p50_ms"] / ours, 2)
    print(json.dumps(summary))


if __name__ == "__main__":
    main()

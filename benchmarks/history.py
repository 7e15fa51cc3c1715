"""What keeping the history costs: CPU of a whole service per statement with `history.enabled` on and off, by turns.

Two services over the same lake run at once; each round sends the same statements to one and then to the other, in turns
of order, so that a machine that gets slower or faster is fair to both. Statements are what the history has most to keep
of beside what they do: TPC-H queries with new literals (a plan of many nodes over empty tables), counts and look-ups
over tables of rows, and statements over values. ``python -m benchmarks.history [rounds] [statements] [--shared]``;
with ``--shared`` both are coordinators over one PostgreSQL, whose own CPU time is not counted. Prints JSON lines; the
last one is the summary: the median of the rounds' ratios, which is as wide as the machine's noise, and the share of all
CPU time that the threads of the history themselves took (`procession_events_cpu_seconds_total`), which is not.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from benchmarks.validate import HEADERS, answer, cpu_seconds, make_lake, start, stop, tpch_queries, with_new_literals
from tests.postgres import postgres_server

CLIENTS = 4
SETTLE = 2.0
"""Seconds after each turn: the history is written half a second late."""
SPENT = "procession_events_cpu_seconds_total"
SMALL = (
    "SELECT {n}, '{n}'",
    "SELECT count(*), max(name) FROM iceberg.small.orders WHERE id > {n}",
    "SELECT * FROM iceberg.small.orders WHERE id = {n}",
    "SELECT a.name, count(*) FROM iceberg.small.orders a JOIN iceberg.small.orders b ON a.id = b.id WHERE a.id < {n} "
    "GROUP BY 1",
)


@dataclass(frozen=True)
class Running:
    process: subprocess.Popen[str]
    url: str

    def cpu(self) -> float:
        return cpu_seconds(self.process.pid, children=False) + _below(self.process.pid)

    def history_seconds(self) -> float:
        """CPU of the threads that make events and write them: the history is the only listener."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=10) as told:
            lines = told.read().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(SPENT))


def _below(pid: int) -> float:
    """CPU seconds of all live descendants, and of those that ended and were waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    children = [int(c) for f in Path(f"/proc/{pid}/task").glob("*/children") for c in f.read_text().split()]
    return ended + sum(cpu_seconds(child, children=False) + _below(child) for child in children)


def add_rows(directory: Path) -> None:
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("iceberg", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}/warehouse")
    catalog.create_namespace("small")
    ids = range(20_000)
    rows = pa.table({"id": pa.array(ids, pa.int64()), "name": [f"name {n % 997}" for n in ids]})
    catalog.create_table("small.orders", schema=rows.schema).append(rows)


def etc_of(lake: Path, directory: Path, sidecar: str, state: str | None, *, history: bool) -> Path:
    """Configuration with the native checker and no limits, over the one lake."""
    etc = directory / "etc"
    (etc / "catalog").mkdir(parents=True)
    (etc / "plan-checker-providers").mkdir()
    lines = (lake / "catalog" / "iceberg.properties").read_text().splitlines()
    kept = [line for line in lines if "journal" not in line]
    shared = ""
    if state is None:
        kept.append(f"iceberg.journal.file={directory}/j.db")
    else:
        shared = f"state.url={state}\ninternal-communication.shared-secret=benchmark\n"
    (etc / "catalog" / "iceberg.properties").write_text("\n".join(kept))
    (etc / "config.properties").write_text(
        f"sidecar.uri={sidecar}\nspark.remote=sc://127.0.0.1:1\nhistory.enabled={str(history).lower()}\n"
        f"query.min-expire-age=20s\n{shared}"
    )
    (etc / "node.properties").write_text(
        f"node.environment=bench\nnode.id={directory.name}\nnode.data-dir={directory}/data\n"
    )
    (etc / "plan-checker-providers" / "native.properties").write_text("plan-checker-provider.name=native\n")
    return etc


async def send(url: str, sent: list[str]) -> None:
    """All of them, by a few clients; each to its last page. A statement that fails ends the benchmark."""
    left = iter(sent)

    async def one(client: aiohttp.ClientSession) -> None:
        for statement in left:
            page = await answer(client, "/v1/statement", statement)
            while "nextUri" in page:
                page = await answer(client, page["nextUri"])
            if "error" in page:
                raise SystemExit(f"{statement[:200]}: {page['error']['message']}")

    headers = HEADERS | {"X-Presto-Session": "engine=EMBEDDED"}
    async with aiohttp.ClientSession(url, headers=headers) as client:
        await asyncio.gather(*[one(client) for _ in range(CLIENTS)])


def turn(service: Running, sent: list[str]) -> float:
    """CPU milliseconds a statement."""
    before = service.cpu()
    asyncio.run(send(service.url, sent))
    time.sleep(SETTLE)
    return (service.cpu() - before) / len(sent) * 1000


def mixture(rng: random.Random, count: int, queries: list[str]) -> list[str]:
    def one() -> str:
        if rng.random() < 0.5:
            return with_new_literals(rng.choice(queries), rng)
        return rng.choice(SMALL).format(n=rng.randint(1, 20_000))

    return [one() for _ in range(count)]


def rounds(services: dict[str, Running], count: int, each: int) -> list[dict[str, float]]:
    rng = random.Random(7)
    queries = tpch_queries()
    measured = []
    for number in range(count):
        sent = mixture(rng, each, queries)
        order = ["on", "off"] if number % 2 else ["off", "on"]
        figures = {name: round(turn(services[name], sent), 3) for name in order}
        measured.append({**figures, "ratio": round(figures["on"] / figures["off"], 4)})
        print(json.dumps({"round": number, "cpu_ms": measured[-1]}), flush=True)
    return measured


def main() -> None:
    numbers = [int(each) for each in sys.argv[1:] if each != "--shared"]
    count, each = numbers + [12, 400][len(numbers) :]
    database = postgres_server() if "--shared" in sys.argv else nullcontext(None)
    with tempfile.TemporaryDirectory() as folder, database as state:
        directory = Path(folder)
        lake = make_lake(directory)
        add_rows(directory)
        sidecar, address = start("-m", "sidecar", "--port", "0")
        services: dict[str, Running] = {}
        try:
            for name in ("off", "on"):
                etc = etc_of(lake, directory / name, address, state, history=name == "on")
                services[name] = Running(*start("-m", "coordinator", "coordinator", "--etc", str(etc), "--port", "0"))
            for service in services.values():  # planners, processes and caches
                turn(service, mixture(random.Random(1), each, tpch_queries()))
            before = services["on"].history_seconds(), services["on"].cpu()
            measured = rounds(services, count, each)
            threads = (services["on"].history_seconds() - before[0]) / (services["on"].cpu() - before[1])
        finally:
            for service in services.values():
                stop(service.process)
            stop(sidecar)
    ratios = [figures["ratio"] for figures in measured]
    spread = statistics.quantiles(ratios, n=4)
    figures = {name: round(statistics.median(m[name] for m in measured), 2) for name in ("on", "off")}
    summary = {"bench": "history", "cpu_ms": figures, "ratio": statistics.median(ratios), "quartiles": spread}
    print(json.dumps(summary | {"threads": round(threads, 4)}))


if __name__ == "__main__":
    main()

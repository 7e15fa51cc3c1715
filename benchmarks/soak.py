"""Statements of mixed kinds for a long time: memory, threads, descriptors and scratch files of every process stay flat.

``python -m benchmarks.soak [statements] [clients] [statements a second]``; 20,000 by default, 200,000 in the full run,
as fast as they are answered where no rate is given. What is kept of a statement is kept for a time, so that memory
follows the rate: one rate tells growth apart from a machine that became faster. Sizes are taken forty times; growth is
the median of the last quarter over what stood after the first tenth, when caches are full.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from benchmarks.fuzz.client import StatementClient
from benchmarks.fuzz.tables import make_tables
from tests.e2e.service import Service, start_service, write_etc

SAMPLES = 40
STATEMENTS = (
    "SELECT 1",
    "SELECT {n}, '{n}'",
    "SELECT count(*), max(s) FROM many WHERE id > {m}",
    "SELECT a.s, b.dt FROM many a JOIN few b ON a.i = b.i WHERE a.id <> {n}",
    "SELECT * FROM tpch.tiny.customer WHERE custkey < {m} * 20",
    "SHOW TABLES",
    "SHOW COLUMNS FROM many",
    "SELECT * FROM information_schema.columns WHERE table_name = 'few'",
    "SELECT * FROM system.runtime.queries LIMIT 5",
    "EXPLAIN (TYPE DISTRIBUTED) SELECT i, count(*) FROM many WHERE id > {n} GROUP BY i",
    "SELECT nope_{n} FROM many",
    "SELECT {n} / 0",
    "SELECT FROM {n}",
    'SELECT * FROM "many$snapshots"',
    "SET SESSION query_max_run_time = '{m}m'",
    "SELECT transform(sequence(1, {m} + 1), x -> x * {n})",
    "CALL iceberg.system.table_storage('fuzz', 'many')",
    "CREATE TABLE soak_{k}_{n} (id bigint)",
    "DROP TABLE soak_{k}_{n}",
)


def sizes(service: Service) -> dict[str, dict[str, float]]:
    """By kind of process, all of a kind together."""
    found: dict[str, Counter[str]] = {}
    root = psutil.Process(service.process.pid)
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error):
            of = found.setdefault(kind(process, root), Counter())
            memory = process.memory_full_info().uss
            of.update(mb=memory / 1e6, threads=process.num_threads(), descriptors=process.num_fds(), processes=1)
    scratch = [f.stat().st_size for f in (service.data_dir / "embedded").rglob("*") if f.is_file()]
    found["scratch"] = Counter(files=len(scratch), mb=sum(scratch) / 1e6)
    return {name: {key: round(value, 1) for key, value in of.items()} for name, of in found.items()}


def kind(process: psutil.Process, root: psutil.Process) -> str:
    line = " ".join([process.name(), *process.cmdline()])
    if process.pid == root.pid:
        return "coordinator"
    names = {"guard.py": "guards", "sql-embedded": "embedded", "sql-local": "local", "validation": "planners"}
    names |= {"sidecar": "sidecar", "processes.nursery": "nursery"}
    return next((name for word, name in names.items() if word in line), "others")


def client(url: str, k: int, limit: int, rate: float, counts: Counter[str]) -> None:
    """One statement each ``1 / rate`` seconds at most, also after slower ones; `rate` is infinite for no wait.

    A table goes before the next one comes, since one client asks for both: a lake that grows would be growth.
    """
    asking = StatementClient(url, "fuzz", "engine=EMBEDDED", limit=120)
    due = time.monotonic()
    for at in range(k * 7, k * 7 + limit):  # not all the same at the same time
        time.sleep(max(0.0, due - time.monotonic()))
        due = max(due, time.monotonic()) + 1 / rate
        turn, place = divmod(at, len(STATEMENTS))
        sql = STATEMENTS[place].format(n=turn, m=turn % 50 + 1, k=k)
        answer = asking.ask(sql)
        counts["internal" if answer.internal else "errors" if answer.error else "answered"] += 1
        if answer.internal:
            print(json.dumps({"internal": answer.error, "statement": sql}), flush=True)
    asking.close()


def growth(samples: list[dict[str, dict[str, float]]]) -> dict[str, float]:
    """Megabytes, threads, descriptors and files that came after the first tenth."""
    first, last = samples[len(samples) // 10], samples[-max(1, len(samples) // 4) :]
    grown = {}
    for name, before in first.items():
        for key, value in before.items():
            grown[f"{name}_{key}"] = round(statistics.median(s.get(name, {}).get(key, 0) for s in last) - value, 1)
    return grown


def run(
    service: Service, limit: int, clients: int, rate: float
) -> tuple[Counter[str], list[dict[str, dict[str, float]]]]:
    make_tables(service, "fuzz")
    counts: Counter[str] = Counter()
    arguments = [(service.url, k, limit // clients, rate / clients, counts) for k in range(clients)]
    threads = [threading.Thread(target=client, args=each) for each in arguments]
    for thread in threads:
        thread.start()
    samples: list[dict[str, dict[str, float]]] = []
    while any(thread.is_alive() for thread in threads):
        if sum(counts.values()) >= limit * len(samples) / SAMPLES:
            samples.append(sizes(service))
            print(json.dumps({"statements": sum(counts.values()), **samples[-1]}), flush=True)
        time.sleep(0.2)
    return counts, samples


def main() -> None:
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    clients = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    rate = float(sys.argv[3]) if len(sys.argv) > 3 else math.inf
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        etc = write_etc(home / "etc", spark=False, remote="sc://127.0.0.1:1")
        (etc / "catalog" / "tpch.properties").write_text("connector.name=tpch\n")
        with (etc / "config.properties").open("a") as config:  # a history that is full within the first tenth
            config.write("query.min-expire-age=20s\n")
        # A fork of a warm process would share its memory at first, and each object that it looks at ends that.
        service = start_service(etc, home / "data", home / "log", cold=True)
        started = time.monotonic()
        try:
            counts, samples = run(service, limit, clients, rate)
            tables = len(service.execute("SHOW TABLES FROM iceberg.fuzz"))
        finally:
            service.stop()
    figures = {
        "statements": sum(counts.values()),
        "seconds": round(time.monotonic() - started),
        "tables": tables,
        **counts,
    }
    print(json.dumps({"bench": "soak", **figures, "grown": growth(samples)}))


if __name__ == "__main__":
    main()

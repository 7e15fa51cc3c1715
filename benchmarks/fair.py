"""Small statements beside heavy ones, all on the embedded engine, through HTTP.

``python -m benchmarks.fair [SECONDS]`` (20 by default) starts a service as shipped twice, without processes for small
statements and with them. Four clients aggregate a table of 5 million rows again and again; a fifth counts the rows of
a table of 15,000 that pass a filter. It prints one JSON line for each service: how often each did, and milliseconds of
the small statement (median, 99th percentile, slowest); before them, those of the small statement alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tests.e2e.service import Service, start_service, write_etc

SMALL = "SELECT count(*) FROM iceberg.db.small WHERE n > 500"
HEAVY = "SELECT g, count(DISTINCT n), max(t) FROM iceberg.db.large GROUP BY g ORDER BY 2 DESC LIMIT 5"
CLIENTS = 4


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    for processes in (0, 2):
        with tempfile.TemporaryDirectory() as folder:
            etc = write_etc(Path(folder, "etc"), spark=False, planners=2)
            (etc / "config.properties").write_text(f"embedded-engine.small-processes={processes}\n")
            service = start_service(etc, Path(folder, "data"), Path(folder, "log"))
            try:
                line = measure(service, seconds)
            finally:
                service.stop()
        print(json.dumps({"small_processes": processes, **line}), flush=True)


def measure(service: Service, seconds: float) -> dict[str, Any]:
    """Without the heavy ones, then with them."""
    random = np.random.default_rng(1)
    service.create("small", [pa.table({"n": random.integers(0, 1000, 15_000)})])
    large = {"g": random.integers(0, 1000, 5_000_000), "n": random.integers(0, 1 << 40, 5_000_000)}
    service.create("large", [pa.table({**large, "t": [f"t{number % 9973}" for number in range(5_000_000)]})])
    again(service, 3.0)
    alone = again(service, 5.0)
    until, heavy = time.monotonic() + seconds, [0] * CLIENTS
    threads = [threading.Thread(target=work, args=(service, until, heavy, number)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(1.0)
    beside = again(service, seconds - 1.0)
    for thread in threads:
        thread.join()
    return {"heavy": sum(heavy), "alone": shown(alone), "beside": shown(beside)}


def work(service: Service, until: float, done: list[int], number: int) -> None:
    """One heavy client."""
    while time.monotonic() < until:
        service.execute(HEAVY, session_properties={"engine": "EMBEDDED"})
        done[number] += 1


def again(service: Service, seconds: float) -> list[float]:
    """Milliseconds of the small statement, sent as soon as the last one is answered."""
    until, taken = time.monotonic() + seconds, []
    while time.monotonic() < until:
        begin = time.perf_counter()
        service.execute(SMALL, session_properties={"engine": "EMBEDDED"})
        taken.append(1000 * (time.perf_counter() - begin))
    return taken


def shown(taken: list[float]) -> dict[str, float]:
    """How often, median, 99th percentile and the slowest."""
    p50, p99 = np.percentile(taken, [50, 99])
    return {"count": len(taken), "p50": round(p50, 1), "p99": round(p99, 1), "max": round(max(taken), 1)}


if __name__ == "__main__":
    main()

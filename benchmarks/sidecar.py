"""The sidecar alone: conversions a second, latency, refusals, start-up, memory. Prints JSON lines, the summary last.

Run: ``python benchmarks/sidecar.py [--workers 2] [--rounds 3]``. Input: the captured fragments of a real Presto
coordinator in tests/data. There is no peer to run beside it: Presto C++ publishes no binary that answers
``/v1/velox/plan`` alone.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[1]
FRAGMENTS = ROOT / "tests" / "data" / "presto_fragments" / "fragments.jsonl.gz"
HEADERS = {"content-type": "application/json", "accept": "text/plain"}
CONCURRENCY = 8


def emit(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def bodies() -> list[bytes]:
    """All captured fragments."""
    with gzip.open(FRAGMENTS, "rt", encoding="utf-8") as lines:
        found = [json.loads(line)["body"] for line in lines]
    return [(b if isinstance(b, str) else json.dumps(b)).encode() for b in found]


def spread(seconds: list[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    ordered = sorted(seconds)
    return {
        "p50_ms": round(statistics.median(ordered) * 1e3, 3),
        "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1e3, 3),
        "max_ms": round(ordered[-1] * 1e3, 3),
    }


IN_PROCESS = """
import json, sys, time
from sidecar.messages import Format, PlanRequest
from sidecar.velox import runtime, service
runtime.boot()
bodies = [line.encode() for line in json.load(sys.stdin)]
check = sys.argv[1] == "check"
for b in bodies[:40]:
    service.answer(PlanRequest(b, Format.TEXT, check))
times, accepted, refused = [], 0, []
for b in bodies:
    started = time.perf_counter()
    ok = service.answer(PlanRequest(b, Format.TEXT, check)).ok
    (times if ok else refused).append(time.perf_counter() - started)
rss = int(open("/proc/self/statm").read().split()[1]) * 4096
sys.stdout.write(json.dumps([times, refused, rss]))
sys.stdout.flush()
import os
os._exit(0)
"""


def in_process(all_bodies: list[bytes], stage: str) -> tuple[list[float], list[float], int]:
    """(seconds of accepted fragments, of refused ones, resident bytes) of one process on one core."""
    done = subprocess.run(
        [sys.executable, "-c", IN_PROCESS, stage],
        input=json.dumps([b.decode() for b in all_bodies]),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    accepted, refused, rss = json.loads(done.stdout)
    return accepted, refused, rss


def start(workers: int) -> tuple[subprocess.Popen[str], str, float]:
    """The service, its address and the seconds until its first process was ready."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "sidecar", "--port", "0", "--workers", str(workers)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found is not None
    while httpx.get(found[0] + "/v1/info").json()["starting"]:
        time.sleep(0.01)
    return process, found[0], time.perf_counter() - started


async def sequential(client: httpx.AsyncClient, all_bodies: list[bytes]) -> list[float]:
    """One request after another, as a Presto coordinator sends them."""
    times = []
    for body in all_bodies:
        started = time.perf_counter()
        response = await client.post("/v1/velox/plan", content=body, headers=HEADERS)
        times.append(time.perf_counter() - started)
        assert response.status_code in (200, 400)
    return times


async def concurrent(client: httpx.AsyncClient, all_bodies: list[bytes], rounds: int) -> tuple[list[float], float]:
    """Eight clients at once: (latencies, requests a second)."""
    waiting = list(all_bodies) * rounds
    times: list[float] = []

    async def run() -> None:
        while waiting:
            body = waiting.pop()
            started = time.perf_counter()
            await client.post("/v1/velox/plan", content=body, headers=HEADERS)
            times.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*(run() for _ in range(CONCURRENCY)))
    return times, len(times) / (time.perf_counter() - started)


async def over_http(url: str, all_bodies: list[bytes], rounds: int) -> float:
    """Emits the HTTP figures; returns requests a second with the pool."""
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        await sequential(client, all_bodies[:100])
        emit(bench="sidecar", part="http sequential", **spread(await sequential(client, all_bodies)))
        times, rate = await concurrent(client, all_bodies, rounds)
        emit(bench="sidecar", part=f"http {CONCURRENCY} clients", per_second=round(rate, 1), **spread(times))
    return rate


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    everything = bodies()
    summary: dict[str, Any] = {}
    for stage in ("convert", "check"):
        accepted, refused, rss = in_process(everything, stage)
        name = "convert" if stage == "convert" else "convert + compile"
        rate = round(len(accepted) / sum(accepted), 1)
        emit(
            bench="sidecar",
            part=name,
            fragments=len(accepted),
            per_second_per_core=rate,
            **spread(accepted),
            refused=spread(refused),
            process_rss_mb=round(rss / 1e6, 1),
        )
        summary[f"{stage}_per_second_per_core"] = rate
        summary[f"{stage}_p50_ms"] = spread(accepted)["p50_ms"]
    eight_kb = [b for b in everything if 6_000 < len(b) < 10_000]
    accepted, _, _ = in_process(eight_kb, "check")
    emit(bench="sidecar", part="8 KB fragments, convert + compile", fragments=len(accepted), **spread(accepted))
    process, url, seconds = start(options.workers)
    try:
        emit(bench="sidecar", part="start-up", seconds=round(seconds, 3), workers=options.workers)
        rate = asyncio.run(over_http(url, everything, options.rounds))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    emit(
        bench="sidecar",
        http_per_second=round(rate, 1),
        workers=options.workers,
        start_up_seconds=round(seconds, 3),
        **summary,
    )


if __name__ == "__main__":
    main()

"""What fifty open pages cost a loaded service: statements a second, and CPU of the service, with and without them.

Four clients send the statements of ``history``, one after another, to a service with the native checker. By turns
fifty pages of ``/ui/`` are open, which ask again as ``live.js`` does: at the interval that the page names, times the
one that the server answers with, with the tag of what they show. ``python -m benchmarks.pages [rounds] [seconds]``;
JSON lines, the last one is the summary: ``capacity`` is the median of the rounds' statements a second with pages over
those without, ``cpu_a_statement`` the same of the service's CPU time; both are as wide as the machine's noise. Aims of
issue 23: 2 % of capacity, pages in 200 ms.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from benchmarks.history import CLIENTS, Running, add_rows, etc_of, mixture
from benchmarks.validate import HEADERS, answer, make_lake, start, stop, tpch_queries

PAGES = (
    *(f"/ui/queries?user=bench&text=n{n}" for n in range(10)), *(["/ui/queries"] * 15), *(["/ui/"] * 15),
    *(["/ui/groups"] * 10),
)  # fmt: skip
SETTLE = 25.0
"""Seconds until pages keep the pace that the server asks for."""
_EVERY = re.compile(rb'data-every="(\d+)"')


@dataclass
class Seen:
    """``done`` statements; ``waits``: seconds until each page was there; ``unchanged`` ones."""

    done: int = 0
    waits: list[float] = field(default_factory=list)
    unchanged: int = 0


async def client(url: str, seen: Seen, queries: list[str], seed: int) -> None:
    """One statement after another, for ever."""
    rng = random.Random(seed)
    async with aiohttp.ClientSession(url, headers=HEADERS | {"X-Presto-Session": "engine=EMBEDDED"}) as session:
        while True:
            (statement,) = mixture(rng, 1, queries)
            page = await answer(session, "/v1/statement", statement)
            while "nextUri" in page:
                page = await answer(session, page["nextUri"])
            if "error" in page:
                raise SystemExit(f"{statement[:200]}: {page['error']['message']}")
            seen.done += 1


async def open_page(url: str, path: str, seen: Seen) -> None:
    """A page that somebody looks at."""
    headers = {"X-Fragment": "1"}
    async with aiohttp.ClientSession(url) as session:
        async with session.get(path) as whole:
            every = _EVERY.search(await whole.read())
        if whole.status != 200 or every is None:
            raise SystemExit(f"{path}: {whole.status}, without an interval")
        intervals = random.random()  # pages are not opened together
        while True:
            await asyncio.sleep(float(every[1]) * intervals)
            begun = time.perf_counter()
            async with session.get(path, headers=headers) as found:
                await found.read()
            seen.waits.append(time.perf_counter() - begun)
            seen.unchanged += found.status == 304
            intervals = float(found.headers.get("X-Refresh-Intervals", 1))
            if "ETag" in found.headers:
                headers["If-None-Match"] = found.headers["ETag"]


async def turn(service: Running, seen: Seen, seconds: float, *, pages: bool) -> dict[str, float]:
    """Statements a second and CPU of the service per statement; of pages their number and how long they took."""
    looking = [asyncio.create_task(open_page(service.url, path, seen)) for path in PAGES] if pages else []
    try:
        await asyncio.sleep(SETTLE if pages else 3.0)
        done, cpu, at = seen.done, service.cpu(), time.perf_counter()
        seen.waits.clear()
        await asyncio.sleep(seconds)
        taken, count = time.perf_counter() - at, seen.done - done
        found = {"statements_s": count / taken, "cpu_ms": 1000 * (service.cpu() - cpu) / count}
        if pages:
            waits = statistics.quantiles(seen.waits, n=100)
            found |= {
                "pages_s": len(seen.waits) / taken,
                "page_p50_ms": waits[49] * 1000,
                "page_p99_ms": waits[98] * 1000,
            }
        return {name: round(value, 3) for name, value in found.items()}
    finally:
        for task in looking:
            task.cancel()
        for task in looking:
            with suppress(asyncio.CancelledError):
                await task


async def measured(service: Running, rounds: int, seconds: float) -> list[dict[str, dict[str, float]]]:
    seen, queries = Seen(), tpch_queries()
    clients = [asyncio.create_task(client(service.url, seen, queries, seed)) for seed in range(CLIENTS)]
    await asyncio.sleep(20)  # planners, processes and caches
    found = []
    for number in range(rounds):
        order = (True, False) if number % 2 else (False, True)
        found.append(
            {("open" if pages else "none"): await turn(service, seen, seconds, pages=pages) for pages in order}
        )
        print(json.dumps({"round": number, **found[-1]}), flush=True)
    for task in clients:
        task.cancel()
    return found


def summary(found: list[dict[str, dict[str, float]]]) -> dict[str, object]:
    """Of all rounds."""
    ratios = [each["open"]["statements_s"] / each["none"]["statements_s"] for each in found]
    costs = [each["open"]["cpu_ms"] / each["none"]["cpu_ms"] for each in found]
    slowest = max(each["open"]["page_p99_ms"] for each in found)
    return {
        "bench": "pages", "pages": len(PAGES), "capacity": round(statistics.median(ratios), 4),
        "capacities": [round(ratio, 3) for ratio in sorted(ratios)],
        "cpu_a_statement": round(statistics.median(costs), 4), "page_p99_ms": slowest,
        "page_p50_ms": statistics.median(each["open"]["page_p50_ms"] for each in found),
        "pages_s": statistics.median(each["open"]["pages_s"] for each in found), "cores": os.cpu_count(),
    }  # fmt: skip


def main(rounds: int = 6, seconds: float = 20) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        lake = make_lake(directory)
        add_rows(directory)
        sidecar, address = start("-m", "sidecar", "--port", "0")
        etc = etc_of(lake, directory / "one", address, None, history=True)
        service = Running(*start("-m", "coordinator", "coordinator", "--etc", str(etc), "--port", "0"))
        try:
            found = asyncio.run(measured(service, rounds, seconds))
        finally:
            stop(service.process)
            stop(sidecar)
    print(json.dumps(summary(found)))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))

"""A thousand clients of one service: pollers, slow readers, and ones that vanish in the middle of a page.

``python -m benchmarks.load [clients] [seconds]``. A third polls ``SELECT 1``, a third reads a long result a page every
two seconds, a third closes its connection within a page and comes back. Latency is that of the pollers, from POST to
the last page; then everybody is gone, and what is still open after the clients' time-out is counted.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import psutil

from benchmarks.validate import percentile
from tests.e2e.service import Service, start_service, write_etc

LONG = "SELECT * FROM tpch.tiny.lineitem"
CLIENT_TIMEOUT = 15
LIMIT = aiohttp.ClientTimeout(total=120)


class Page(msgspec.Struct):
    """What clients look at; ``data`` stays JSON, since all clients share one core with the service."""

    nextUri: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"[]")
    error: dict[str, Any] = {}


_PAGES = msgspec.json.Decoder(Page)


class Crowd:
    """What the clients saw until ``end``."""

    def __init__(self, url: str, end: float) -> None:
        self.url, self.end = url, end
        self.seconds: list[float] = []
        self.counts: Counter[str] = Counter()

    def more(self) -> bool:
        return time.monotonic() < self.end

    async def page(self, client: aiohttp.ClientSession, address: str, sql: str | None = None) -> Page:
        method = "GET" if sql is None else "POST"
        async with client.request(method, address, data=sql) as response:
            self.counts[f"http_{response.status}"] += 1
            return _PAGES.decode(await response.read())

    async def poller(self, client: aiohttp.ClientSession, chance: random.Random) -> None:
        await asyncio.sleep(chance.random() * 3)
        started = time.perf_counter()
        page = await self.page(client, f"{self.url}/v1/statement", "SELECT 1")
        rows = msgspec.json.decode(page.data)
        while page.nextUri is not None:
            page = await self.page(client, page.nextUri)
            rows += msgspec.json.decode(page.data)
        self.seconds.append(time.perf_counter() - started)
        self.counts["answered" if rows == [[1]] else page.error.get("errorName", "no_rows")] += 1

    async def slow_reader(self, client: aiohttp.ClientSession, chance: random.Random) -> None:
        page = await self.page(client, f"{self.url}/v1/statement", LONG)
        while page.nextUri is not None and self.more():
            await asyncio.sleep(1 + 2 * chance.random())
            page = await self.page(client, page.nextUri)
        self.counts[page.error.get("errorName", "pages_read_slowly")] += 1

    async def vanishing(self, client: aiohttp.ClientSession, chance: random.Random) -> None:
        page = await self.page(client, f"{self.url}/v1/statement", LONG)
        for _ in range(1 + int(chance.random() * 4)):
            if page.nextUri is None:
                break
            page = await self.page(client, page.nextUri)
        if page.nextUri is not None:
            async with client.get(page.nextUri) as response:
                await response.content.read(100)
                response.close()  # the connection, in the middle of the page
        self.counts["vanished"] += 1
        await asyncio.sleep(5 * chance.random())

    async def client(self, number: int) -> None:
        chance = random.Random(number)
        headers = {"X-Presto-User": f"user{number % 50}"}
        kind = (self.poller, self.slow_reader, self.vanishing)[number % 3]
        async with aiohttp.ClientSession(headers=headers, timeout=LIMIT) as client:
            while self.more():
                try:
                    await kind(client, chance)
                except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                    self.counts[f"failed: {type(error).__name__}"] += 1


async def crowd(url: str, clients: int, seconds: float) -> Crowd:
    made = Crowd(url, time.monotonic() + seconds)
    await asyncio.gather(*(made.client(number) for number in range(clients)))
    return made


def open_things(service: Service) -> dict[str, int]:
    """Connections of clients, descriptors and threads of the coordinator, queries that run, files of results."""
    process = psutil.Process(service.process.pid)
    port = int(service.url.rpartition(":")[2])
    connections = [c for c in process.net_connections() if c.laddr.port == port and c.status == "ESTABLISHED"]
    running = [q for q in service.get("/v1/query") if q["state"] not in ("FINISHED", "FAILED")]
    scratch = [file for file in (service.data_dir / "embedded").rglob("*") if file.is_file()]
    return {
        "connections": len(connections),
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "queries": len(running),
        "files": len(scratch),
        "rss_mb": process.memory_info().rss >> 20,
    }


def main() -> None:
    clients = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    with tempfile.TemporaryDirectory() as folder:
        etc = write_etc(Path(folder) / "etc", spark=False)
        (etc / "catalog" / "tpch.properties").write_text("connector.name=tpch\n")
        with (etc / "config.properties").open("a") as config:
            config.write(f"query.client.timeout={CLIENT_TIMEOUT}s\n")
        service = start_service(etc, Path(folder) / "data", Path(folder) / "log")
        try:
            service.execute("SELECT 1")
            before = open_things(service)
            came = asyncio.run(crowd(service.url, clients, seconds))
            peak = open_things(service)
            time.sleep(2 * CLIENT_TIMEOUT)
            after = open_things(service)
            print(json.dumps({"before": before, "peak": peak, "after": after, **came.counts}), flush=True)
        finally:
            service.stop()
    figures = {
        "clients": clients,
        "seconds": seconds,
        "select_1": len(came.seconds),
        "p50_ms": percentile(came.seconds or [0.0], 0.5),
        "p99_ms": percentile(came.seconds or [0.0], 0.99),
        "max_ms": percentile(came.seconds or [0.0], 1),
        "http_5xx": sum(n for name, n in came.counts.items() if name.startswith("http_5")),
        "failed": sum(n for name, n in came.counts.items() if name.startswith("failed")),
        "left_open": sum(max(0, after[name] - before[name]) for name in ("connections", "queries", "files")),
        "descriptors_more": after["descriptors"] - before["descriptors"],
        "rss_mb": [before["rss_mb"], peak["rss_mb"], after["rss_mb"]],
    }
    print(json.dumps({"bench": "load", **figures}))


if __name__ == "__main__":
    main()

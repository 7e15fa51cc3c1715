"""Statements a second and page throughput of the statement protocol, over a real socket with an instant engine.

The peer of page throughput is the encoding that one writes first: ``to_pylist`` and ``json.dumps``.
Prints JSON lines; the last one is the summary.
"""

# The ports' signatures name arguments that an instant engine has no use for.
# ruff: noqa: ARG002

from __future__ import annotations

import json
import multiprocessing
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from decimal import Decimal

import httpx
import pyarrow as pa
import structlog
import uvicorn

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.encode import encode_rows
from coordinator.engine.execution import Execution
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.server.app import create_server
from coordinator.server.settings import NodeInfo, ServerSettings
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, RunLocally
from shared.plan.types import parse_type
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session

ROWS = 200_000
BATCH = 5_000
COLUMNS = (
    Column("n", "bigint"),
    Column("name", "varchar"),
    Column("price", "double"),
    Column("total", "decimal(12,2)"),
    Column("day", "date"),
    Column("at", "timestamp"),
)


def batch(rows: int) -> pa.RecordBatch:
    """Six columns, 71 bytes of JSON a row."""
    return pa.record_batch(
        {
            "n": pa.array(range(rows)),
            "name": pa.array([f"customer {i}" for i in range(rows)]),
            "price": pa.array([i * 1.5 for i in range(rows)]),
            "total": pa.array([Decimal(i) / 4 for i in range(rows)], pa.decimal128(12, 2)),
            "day": pa.array([date(2020, 1, 1)] * rows),
            "at": pa.array([datetime(2020, 1, 1, 1, 2, 3)] * rows, pa.timestamp("us")),
        }
    )


class InstantEngine:
    """Planner, checker and executor in one: ``1`` is one row, everything else ROWS rows."""

    def __init__(self) -> None:
        self._batch = batch(BATCH)

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        return PlannedStatement("SELECT", COLUMNS, RunLocally(text))

    async def check(self, planned: PlannedStatement, session: Session) -> tuple[PrestoWarning, ...]:
        return ()

    def execute(self, planned: PlannedStatement, execution: Execution) -> Iterator[pa.RecordBatch]:
        assert isinstance(planned.work, RunLocally)
        if planned.work.sql == "1":
            yield self._batch.slice(0, 1)
            return
        for _ in range(ROWS // BATCH):
            yield self._batch


def serve(listener: socket.socket) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    engine = InstantEngine()
    dispatcher = Dispatcher(engine, engine, engine, ResourceGroups())
    app = create_server(dispatcher, ServerSettings(), NodeInfo("bench", "0", "bench"))
    config = uvicorn.Config(app, log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


def conversation(client: httpx.Client, sql: str) -> tuple[int, float]:
    """Bytes received and seconds of one statement, raw bodies only scanned for the next URI."""
    started = time.perf_counter()
    response = client.post("/v1/statement", content=sql, headers={"X-Presto-User": "bench"})
    size = len(response.content)
    while True:
        _, _, tail = response.content[:1000].partition(b'"nextUri":"')
        if not tail:
            return size, time.perf_counter() - started
        response = client.get(tail.partition(b'"')[0].decode())
        size += len(response.content)


def statements_a_second(client: httpx.Client, clients: int, count: int) -> dict[str, float]:
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        seconds = [spent for _, spent in pool.map(lambda _: conversation(client, "1"), range(count))]
    wall = time.perf_counter() - started
    tiles = statistics.quantiles(seconds, n=100)
    return {"per_second": count / wall, "p50_ms": tiles[49] * 1e3, "p99_ms": tiles[98] * 1e3}


def encode_times(encode: Callable[[], object], repeats: int = 15) -> tuple[float, float]:
    """Median CPU and wall seconds."""
    cpu, wall = [], []
    for _ in range(repeats):
        started = time.process_time(), time.perf_counter()
        encode()
        cpu.append(time.process_time() - started[0])
        wall.append(time.perf_counter() - started[1])
    return statistics.median(cpu), statistics.median(wall)


def page_encoding() -> dict[str, float]:
    """One 5,000-row page, ours and the naive peer: CPU milliseconds, and ratios."""
    page, types = batch(BATCH), tuple(parse_type(column.type) for column in COLUMNS)
    ours = encode_times(lambda: encode_rows(page, types, False))
    peer = encode_times(lambda: json.dumps([list(row.values()) for row in page.to_pylist()], default=str))
    ratios = {"ratio_cpu": peer[0] / ours[0], "ratio_wall": peer[1] / ours[1]}
    return {"ours_ms": ours[0] * 1e3, "peer_ms": peer[0] * 1e3} | ratios


def main() -> None:
    context = multiprocessing.get_context("spawn")
    listener = socket.create_server(("127.0.0.1", 0))
    server = context.Process(target=serve, args=(listener,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    summary: dict[str, object] = {"bench": "protocol"}
    try:
        # Result compression is left out: it measures zlib.
        with httpx.Client(base_url=url, timeout=60, headers={"Accept-Encoding": "identity"}) as client:
            conversation(client, "1")
            for clients, count in ((1, 300), (8, 1000)):
                measured = statements_a_second(client, clients, count)
                print(json.dumps({"statements": count, "clients": clients} | measured))
                summary[f"statements_per_second_{clients}"] = measured["per_second"]
            size, seconds = min((conversation(client, "many") for _ in range(5)), key=lambda pair: pair[1])
            pages = {"rows_per_second": ROWS / seconds, "megabytes_per_second": size / seconds / 1e6}
            print(json.dumps(pages))
        encoding = page_encoding()
        print(json.dumps({"page_rows": BATCH} | encoding))
        print(json.dumps(summary | pages | encoding))
    finally:
        server.terminate()
        server.join()
        listener.close()


if __name__ == "__main__":
    main()

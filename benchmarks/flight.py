"""2 M rows as columns: Flight SQL and HTTP with Arrow, against pages of JSON in the same run.

``python -m benchmarks.flight [THOUSANDS] [embedded|spark]`` (2,000 and embedded by default) reads six columns of an
Iceberg table of TPC-H's line items: page by page with a client that decodes nothing but where the next page is, page by
page with presto-python-client, as one Arrow stream over HTTP, with adbc-driver-flightsql, and with pyarrow's own client
of Flight. JSON lines: seconds, rows a second, CPU seconds of the client, and of the service with all its processes. The
last line is the summary: how many times sooner the rows are there than by undecoded pages, and which part of their CPU
the service and the client take.
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import adbc_driver_flightsql.dbapi
import httpx
import prestodb
import psutil
import pyarrow as pa

from benchmarks.queries import HEADERS, load
from benchmarks.rewrite import cpu_seconds
from coordinator.flight.messages import packed
from coordinator.flight.wire import message
from tests.e2e.service import Service, start_service, write_etc

QUERY = "SELECT l_orderkey, l_partkey, l_extendedprice, l_shipdate, l_shipmode, l_comment FROM iceberg.tpch.lineitem"
ROWS_OF_SCALE = 6_000_000
ROUNDS = 3
ARROW = "application/vnd.apache.arrow.stream"
Line = dict[str, float | int | str]


def family(pid: int) -> list[psutil.Process]:
    """A process and everything under it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def pages_undecoded(service: Service, rows: int) -> int:
    """Asks for page after page and decodes none; ``rows`` is what it would find."""
    with httpx.Client(base_url=service.url, timeout=600, headers={**HEADERS, "Accept-Encoding": "identity"}) as client:
        body = client.post("/v1/statement", content=QUERY).content
        while tail := body[:1000].partition(b'"nextUri":"')[2]:
            body = client.get(tail.partition(b'"')[0].decode()).content
    assert b'"error":' not in body[:2000], body[:2000]
    return rows


def pages(service: Service) -> int:
    """As presto-python-client gives them."""
    host, port = service.url.removeprefix("http://").split(":")
    connection = prestodb.dbapi.connect(host=host, port=int(port), user="benchmark", catalog="iceberg", schema="tpch")
    cursor = connection.cursor()
    cursor.execute(QUERY)
    rows = sum(1 for _ in iter(cursor.fetchone, None))
    connection.close()
    return rows


class _Body:
    """What httpx receives, as a file that Arrow reads."""

    def __init__(self, response: httpx.Response) -> None:
        self._parts, self._rest, self.closed = response.iter_raw(1 << 20), b"", False

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (part := next(self._parts, b"")):
            self._rest += part
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def arrow_over_http(service: Service) -> int:
    """One request, one answer."""
    with (
        httpx.Client(base_url=service.url, timeout=600, headers={**HEADERS, "Accept": ARROW}) as client,
        client.stream("POST", "/v1/statement", content=QUERY) as response,
    ):
        return sum(batch.num_rows for batch in pa.ipc.open_stream(pa.PythonFile(_Body(response), mode="r")))


def adbc(uri: str) -> int:
    """A table of pyarrow through adbc-driver-flightsql."""
    options = {"adbc.flight.sql.rpc.call_header.x-presto-user": "benchmark"}
    with (
        adbc_driver_flightsql.dbapi.connect(uri, db_kwargs=options, autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(QUERY)
        return int(cursor.fetch_arrow_table().num_rows)


def pyarrow_flight(uri: str) -> int:
    """Batch by batch with pyarrow's client."""
    from pyarrow import flight

    options = flight.FlightCallOptions(headers=[(b"x-presto-user", b"benchmark")])
    with flight.connect(uri) as client:
        command = packed("CommandStatementQuery", message((1, QUERY)))
        info = client.get_flight_info(flight.FlightDescriptor.for_command(command), options)
        reader = client.do_get(info.endpoints[0].ticket, options)
        return sum(chunk.data.num_rows for chunk in reader)


def measured(name: str, run: Callable[[], int], service: int) -> Line:
    """The median of some rounds."""
    lines: list[Line] = []
    for _ in range(ROUNDS):
        before = cpu_seconds(family(service))
        start, own = time.perf_counter(), time.process_time()
        rows = run()
        seconds, client = time.perf_counter() - start, time.process_time() - own
        ours = cpu_seconds(family(service)) - before
        lines.append({"rows": rows, "wall_s": seconds, "client_cpu_s": client, "service_cpu_s": ours})
    found: Line = {"bench": "flight", "who": name, "rows": lines[0]["rows"]}
    for key in ("wall_s", "client_cpu_s", "service_cpu_s"):
        found[key] = round(median(float(line[key]) for line in lines), 3)
    found["rows_per_second"] = round(float(found["rows"]) / float(found["wall_s"]))
    print(json.dumps(found), flush=True)
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def run(home: Path, rows: int, engine: str) -> None:
    """Print the lines."""
    etc, port = write_etc(home / "etc", spark=engine == "spark"), free_port()
    with (etc / "config.properties").open("a") as settings:
        settings.write(f"flight-sql.port={port}\n")
        settings.write(f"embedded-engine.max-scan-rows={0 if engine == 'spark' else 1_000_000_000}\n")
    uri = f"grpc://127.0.0.1:{port}"
    service = start_service(etc, home / "data", home / "log")
    try:
        load(service, home, rows / ROWS_OF_SCALE)
        ((rows,),) = service.execute("SELECT count(*) FROM iceberg.tpch.lineitem")
        ways: dict[str, Callable[[], int]] = {
            "pages undecoded": lambda: pages_undecoded(service, rows),
            "pages, presto-python-client": lambda: pages(service),
            "Arrow over HTTP": lambda: arrow_over_http(service),
            "Flight SQL, adbc-driver-flightsql": lambda: adbc(uri),
            "Flight SQL, pyarrow": lambda: pyarrow_flight(uri),
        }
        pyarrow_flight(uri)
        found = {name: measured(name, way, service.process.pid) for name, way in ways.items()}
    finally:
        service.stop()
    json_pages, client_pages = found["pages undecoded"], found["pages, presto-python-client"]
    for name in list(ways)[2:]:
        line = found[name]
        ours = float(line["service_cpu_s"]) / float(json_pages["service_cpu_s"])
        both = [float(each["service_cpu_s"]) + float(each["client_cpu_s"]) for each in (line, client_pages)]
        summary = {
            "sooner_than_undecoded_pages": round(float(json_pages["wall_s"]) / float(line["wall_s"]), 1),
            "sooner_than_presto_python_client": round(float(client_pages["wall_s"]) / float(line["wall_s"]), 1),
            "service_cpu_of_pages": round(ours, 3),
            "cpu_of_both_of_presto_python_client": round(both[0] / both[1], 3),
        }
        print(json.dumps({"bench": "flight", "engine": engine, "who": name, **summary}), flush=True)


if __name__ == "__main__":
    wanted = [each for each in sys.argv[1:] if not each.isdigit()]
    thousands = [int(each) for each in sys.argv[1:] if each.isdigit()]
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        run(Path(scratch), 1000 * (thousands or [2000])[0], (wanted or ["embedded"])[0])

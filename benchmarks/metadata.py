"""Milliseconds, end to end, of what clients ask before they query: a whole service without Spark, one client.

``python -m benchmarks.metadata [REPEATS]`` prints a JSON line a statement. The aim is below 10 ms at the median. A
statement over system tables that was asked before is not planned again, so one of them is another each time. The
client is the standard library's, on one connection: httpx alone takes 3 to 4 ms of CPU a request.
"""

from __future__ import annotations

import json
import socket
import statistics
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from tests.e2e.service import start_service, write_etc

STATEMENTS = {
    "SELECT 1": "SELECT 1",
    "SHOW TABLES": "SHOW TABLES",
    "system.jdbc.columns": "SELECT * FROM system.jdbc.columns WHERE table_cat = 'tpch' AND table_schem LIKE 'tiny' "
    "ESCAPE '\\' AND table_name LIKE 'nation' ESCAPE '\\' "
    "ORDER BY table_cat, table_schem, table_name, ordinal_position",
    "system.jdbc.columns, another statement each time": "SELECT * FROM system.jdbc.columns WHERE table_cat = 'tpch' "
    "AND table_schem LIKE 'tiny' ESCAPE '\\' AND table_name LIKE 'nation' ESCAPE '\\' AND column_name <> '{number}' "
    "ORDER BY table_cat, table_schem, table_name, ordinal_position",
    "information_schema.columns": "SELECT * FROM information_schema.columns WHERE table_schema = 'tiny' "
    "AND table_name = 'nation' ORDER BY ordinal_position",
    "SHOW COLUMNS": "SHOW COLUMNS FROM nation",
    "information_schema.tables": "SELECT table_name FROM information_schema.tables WHERE table_schema = 'tiny'",
    "tpch.tiny.nation": "SELECT count(*) FROM nation",
}
HEADERS = {"X-Presto-User": "benchmark", "X-Presto-Catalog": "tpch", "X-Presto-Schema": "tiny"}


def connect(url: str) -> HTTPConnection:
    """One connection that sends at once."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def answer(connection: HTTPConnection, method: str, path: str, body: str | None = None) -> dict[str, Any]:
    """One request's JSON."""
    connection.request(method, path, body, HEADERS)
    page: dict[str, Any] = json.loads(connection.getresponse().read())
    return page


def milliseconds(connection: HTTPConnection, sql: str) -> float:
    """From the POST to the last page."""
    start = time.perf_counter()
    page = answer(connection, "POST", "/v1/statement", sql)
    while "nextUri" in page:
        uri = urlsplit(page["nextUri"])
        page = answer(connection, "GET", f"{uri.path}?{uri.query}")
    assert "error" not in page, page["error"]
    return (time.perf_counter() - start) * 1000


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with TemporaryDirectory() as folder:
        home = Path(folder)
        etc = write_etc(home / "etc", spark=False)
        (etc / "catalog" / "tpch.properties").write_text("connector.name=tpch\n")
        service = start_service(etc, home / "data", home / "log")
        try:
            connection = connect(service.url)
            for name, sql in STATEMENTS.items():
                numbered = [sql.replace("{number}", str(number)) for number in range(20 + repeats)]
                taken = [milliseconds(connection, each) for each in numbered][20:]
                p99 = statistics.quantiles(taken, n=100)[98]
                figures = {"p50_ms": round(statistics.median(taken), 2), "p99_ms": round(p99, 2)}
                print(json.dumps({"statement": name, **figures, "repeats": repeats}), flush=True)
            connection.close()
        finally:
            service.stop()


if __name__ == "__main__":
    main()

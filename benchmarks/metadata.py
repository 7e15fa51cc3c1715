"""Milliseconds, end to end, of what clients ask before they query: a whole service without Spark, one client.

``python -m benchmarks.metadata [REPEATS]`` prints a JSON line a statement. The aim is below 10 ms at the median.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from tests.e2e.service import start_service, write_etc

STATEMENTS = {
    "SELECT 1": "SELECT 1",
    "SHOW TABLES": "SHOW TABLES",
    "system.jdbc.columns": "SELECT * FROM system.jdbc.columns WHERE table_cat = 'tpch' AND table_schem LIKE 'tiny' "
    "ESCAPE '\\' AND table_name LIKE 'nation' ESCAPE '\\' "
    "ORDER BY table_cat, table_schem, table_name, ordinal_position",
    "information_schema.tables": "SELECT table_name FROM information_schema.tables WHERE table_schema = 'tiny'",
    "tpch.tiny.nation": "SELECT count(*) FROM nation",
}
HEADERS = {"X-Presto-User": "benchmark", "X-Presto-Catalog": "tpch", "X-Presto-Schema": "tiny"}


def milliseconds(client: httpx.Client, sql: str) -> float:
    """From the POST to the last page."""
    start = time.perf_counter()
    page = client.post("/v1/statement", content=sql, headers=HEADERS).json()
    while "nextUri" in page:
        page = client.get(page["nextUri"]).json()
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
            with httpx.Client(base_url=service.url, timeout=60) as client:
                for name, sql in STATEMENTS.items():
                    for _ in range(10):
                        milliseconds(client, sql)
                    taken = [milliseconds(client, sql) for _ in range(repeats)]
                    p99 = statistics.quantiles(taken, n=100)[98]
                    figures = {"p50_ms": round(statistics.median(taken), 2), "p99_ms": round(p99, 2)}
                    print(json.dumps({"statement": name, **figures, "repeats": repeats}))
        finally:
            service.stop()


if __name__ == "__main__":
    main()

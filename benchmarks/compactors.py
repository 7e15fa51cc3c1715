"""Compactors of PyPI on the same table, each in its own process: iceberg-compaction (Rust), iceberg-zamboni (DuckDB).

They are no dependency of ours: ``python -m venv peers && peers/bin/pip install iceberg-compaction==202604.9.0rc0
iceberg-zamboni==0.7.0``, and ``--peers peers/bin/python``. The first one knows REST catalogs only, so that the tests'
small REST server stands before the catalog; its time is not counted for the peer.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog

from tests.iceberg.rest_catalog import serving

_TARGET = 512 << 20
_END = """
used = resource.getrusage(resource.RUSAGE_SELF)
cpu = used.ru_utime + used.ru_stime - cpu
# Not ru_maxrss: that is at least what the parent had when it started this process.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(json.dumps({"wall_s": round(time.time() - start, 3), "cpu_s": round(cpu, 2), "rss_mb": peak * 1024 // 1000000}))
"""
_START = """
import json, resource, sys, time
used = resource.getrusage(resource.RUSAGE_SELF)
cpu, start = used.ru_utime + used.ru_stime, time.time()
"""
_RUST = f"""
from iceberg_compaction import Compaction, CompactionConfig, RestCatalog
{_START}
catalog = RestCatalog("lab", uri=sys.argv[1], warehouse=sys.argv[2])
Compaction(catalog, "db.lineitem", CompactionConfig(strategy="full", target_file_size_bytes={_TARGET})).run()
{_END}
"""
_DUCKDB = f"""
import duckdb, sys
from pyiceberg.catalog.sql import SqlCatalog
from zamboni import CatalogSession, CompactionConfig, TableCompactor
session = CatalogSession(SqlCatalog("lab", uri=sys.argv[1], warehouse=sys.argv[2]), duckdb.connect())
{_START}
config = CompactionConfig(target_file_size_bytes={_TARGET}, rewrite_all=True)
TableCompactor(session, "db.lineitem", config).execute()
{_END}
"""


def measured(catalog: SqlCatalog, reset: Callable[[], None], python: str, bench: str) -> list[dict[str, Any]]:
    """Run both from the start state and print a JSON line each; imports are not counted."""
    warehouse = catalog.properties["warehouse"]
    with serving(catalog) as address:
        return [
            _run(bench, "iceberg-compaction", reset, [python, "-c", _RUST, address, warehouse]),
            _run(bench, "iceberg-zamboni", reset, [python, "-c", _DUCKDB, catalog.properties["uri"], warehouse]),
        ]


def _run(bench: str, who: str, reset: Callable[[], None], command: list[str]) -> dict[str, Any]:
    reset()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    line = {"bench": bench, "who": who, **json.loads(done.stdout.splitlines()[-1])}
    print(json.dumps(line), flush=True)
    return line

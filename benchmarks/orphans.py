"""Orphans among 1,000,000 files of a table that needs 999,000 of them: seconds and peak memory, beside Iceberg's own.

``python -m benchmarks.orphans [files]``. Nothing is deleted (dry run). Prints JSON lines; ours runs in a process of its
own, whose ``peak_mb`` includes 100 to 200 MB of Python and its libraries (the line ``empty``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from benchmarks.lab import Lab, append_paths, measured, peer
from benchmarks.peak import peak_mb

_OF_A_FOLDER, _LINKS, _OF_A_MANIFEST = 1000, 60_000, 50_000
"""Files are links to few old ones: making a million of them takes seconds."""


def make_table(lab: Lab, files: int) -> None:
    """The files, of which the last one of each folder is an orphan."""
    lab.catalog.create_namespace("db")
    table = lab.catalog.create_table("db.t", schema=Schema(NestedField(1, "id", LongType(), required=False)))
    needed: list[str] = []
    old = lab.home / "old"
    for number in range(files):
        if number % _LINKS == 0:
            old = lab.home / f"old-{number}"
            old.touch()
            os.utime(old, (time.time() - 10 * 86400,) * 2)
        folder = lab.folder / "data" / f"p={number // _OF_A_FOLDER:04d}"
        if number % _OF_A_FOLDER == 0:
            folder.mkdir(parents=True)
        path = folder / f"{number:08d}-5f0c2f3e-8c1b-4f0f-9f52-6f2d3d1c7f10.parquet"
        os.link(old, path)
        if number % _OF_A_FOLDER != _OF_A_FOLDER - 1:
            needed.append(f"file://{path}")
    for start in range(0, len(needed), _OF_A_MANIFEST):
        append_paths(table, needed[start : start + _OF_A_MANIFEST])
        table.refresh()


def measure(home: Path, name: str) -> None:
    """One call in this process; ``empty`` only makes the catalog."""
    lab = Lab(home)
    if name == "procession":
        moment = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=5)
        given = {"older_than": moment, "dry_run": True}
        measured("orphans", name, lambda: lab.call("remove_orphan_files", **given))
    peak = peak_mb()
    print(json.dumps({"bench": "orphans", "who": name, "peak_mb": peak}), flush=True)


def main(files: int) -> None:
    """Print the lines."""
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        lab = Lab(Path(scratch))
        make_table(lab, files)
        for name in ("empty", "procession"):
            subprocess.run([sys.executable, "-m", "benchmarks.orphans", scratch, name], check=True)
        engine = lab.spark()
        try:
            peer(engine, "SELECT 1")
            text = f"TIMESTAMP '{datetime.now(UTC) - timedelta(days=5):%Y-%m-%d %H:%M:%S}+00:00'"
            sql = f"CALL lab.system.remove_orphan_files(table => 'lab.db.t', older_than => {text}, dry_run => true)"
            measured("orphans", "iceberg", lambda: peer(engine, sql))
        finally:
            engine.stop()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(Path(sys.argv[1]), sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)

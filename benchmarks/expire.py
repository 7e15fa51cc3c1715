"""Expiry of 500 snapshots down to one, and how often each manifest is read, beside Iceberg's own in the same run.

``python -m benchmarks.expire [snapshots]``. Each snapshot appends two files; then half of all files are dropped. Prints
JSON lines. ``rss_mb`` of Iceberg's line is the Spark server's.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation
from pyiceberg.types import LongType, NestedField

from benchmarks.lab import Lab, append_paths, measured, peer
from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.snapshots.edit_files import EditFiles


def make_table(lab: Lab, snapshots: int) -> None:
    """The table, its files empty but there."""
    lab.catalog.create_namespace("db")
    table = lab.catalog.create_table("db.t", schema=Schema(NestedField(1, "id", LongType(), required=False)))
    data = lab.folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    for number in range(snapshots - 1):
        paths = [data / f"{number:05d}-{i}.parquet" for i in range(2)]
        for path in paths:
            path.touch()
        append_paths(table, [f"file://{path}" for path in paths])
        table.refresh()
    transaction = table.transaction()
    EditFiles(transaction, Operation.DELETE, dropped=read_live(table, table.current_snapshot()).data[::2]).stage()
    transaction.commit_transaction()


def main(snapshots: int) -> None:
    """Print the lines."""
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        lab = Lab(Path(scratch))
        make_table(lab, snapshots)
        lab.keep()
        moment = datetime.now(UTC) + timedelta(minutes=5)
        reads: Counter[str] = Counter()
        real = PyArrowFileIO.new_input

        def counted(io: PyArrowFileIO, location: str) -> Any:
            reads[location] += 1
            return real(io, location)

        PyArrowFileIO.new_input = counted  # type: ignore[method-assign]
        try:
            given = {"older_than": moment.replace(tzinfo=None), "retain_last": 1}
            (ours,) = measured("expire", "procession", lambda: lab.call("expire_snapshots", **given))
        finally:
            PyArrowFileIO.new_input = real  # type: ignore[method-assign]
        avro = {path: count for path, count in reads.items() if path.endswith(".avro")}
        lists = [count for path, count in avro.items() if "/snap-" in path]
        manifests = [count for path, count in avro.items() if "/snap-" not in path]
        told = {"manifests": len(manifests), "manifest_reads": sum(manifests)}
        print(json.dumps({"bench": "expire", **told, "lists": len(lists), "list_reads": sum(lists)}))
        left = {path for path in lab.folder.rglob("*") if not path.name.endswith((".json", ".crc"))}
        engine = lab.spark()
        try:
            peer(engine, "SELECT 1")
            lab.reset()
            text = f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}+00:00'"
            sql = f"CALL lab.system.expire_snapshots(table => 'lab.db.t', older_than => {text}, retain_last => 1)"
            (theirs,) = measured("expire", "iceberg", lambda: peer(engine, sql))
        finally:
            engine.stop()
        same = left == {path for path in lab.folder.rglob("*") if not path.name.endswith((".json", ".crc"))}
        print(json.dumps({"bench": "expire", "same_answer": ours == theirs, "same_files": same}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)

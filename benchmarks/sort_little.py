"""A table that is appended to daily and sorted little by little, beside one that is sorted whole at the end.

``python -m benchmarks.sort_little [days] [min-overlap-depth]``. For each order it prints a JSON line: the bytes that
were rewritten, beside those that sorting the whole table after each append rewrites (the sum of its sizes), and what a
range of 1 % of the keys (for curves: of 10 % of each of two columns) reads of each table: the row groups whose
statistics may match. Bytes, not seconds: a busy machine does not matter.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table

from benchmarks.lab import Lab
from benchmarks.rewrite import BenchExecution
from coordinator.engine.procedures import run_procedure
from coordinator.vocabulary.planned_statement import CallProcedure
from shared.spi.procedure import ProcedureContext, TableTarget

_ROWS = 30_000
_TARGET = 2 << 20
_KEYS = 1_000_000
_STALE = {"rewrite-stale-sort-order": "true"}
"""A new file in no order is read whole."""
_ORDERS = {"columns": "key", "zorder": "zorder(key, other)", "hilbert": "hilbert(key, other)"}
_QUERIES = 40


class HereWorkers:
    """Kernels in this process, one after the other."""

    parallelism = 1
    attempts_lost = False

    def run_tasks(self, kernel: str, payloads: Sequence[bytes], *, description: str = "") -> Iterator[bytes]:  # noqa: ARG002
        """The answers, in order."""
        module, function = kernel.split(":")
        for payload in payloads:
            yield getattr(importlib.import_module(f"coordinator.kernels.{module}"), function)(payload)


def rewrite(lab: Lab, name: str, order: str, options: dict[str, str]) -> int:
    """The bytes of the files that one call replaced."""
    procedure = next(p for p in lab.connector.procedures() if p.declaration.name == "rewrite_data_files")
    arguments: dict[str, Any] = {a.name: a.default for a in procedure.declaration.arguments}
    arguments |= {"schema": "db", "table_name": name, "strategy": "sort", "sorted_by": [order], "options": options}
    found = lab.connector.table("db", name)
    assert found is not None
    target = TableTarget("db", name, found.snapshot_id, None)
    work = CallProcedure("lab", "rewrite_data_files", procedure.declaration.kind, arguments, target)
    workers: Any = HereWorkers()
    context = ProcedureContext(BenchExecution().session, "lab", workers, datetime.now(UTC))
    return int(run_procedure(procedure, work, context).rows[0][2])


def day(number: int) -> pa.Table:
    """Rows over all keys, in no order."""
    chance = np.random.default_rng(number)
    columns: dict[str, Any] = {"key": chance.integers(0, _KEYS, _ROWS), "other": chance.integers(0, _KEYS, _ROWS)}
    columns |= {f"value{i}": chance.random(_ROWS) for i in range(8)}
    return pa.table(columns)


def bytes_read(table: Table, boxes: Sequence[dict[str, tuple[int, int]]]) -> tuple[float, float]:
    """The mean bytes of row groups, and of files with such ones, that may hold rows of each of ``boxes``."""
    groups = []
    for task in table.scan().plan_files():
        footer = pq.read_metadata(task.file.file_path.removeprefix("file://"))
        names = footer.schema.to_arrow_schema().names
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            columns = [group.column(i) for i in range(group.num_columns)]
            ends = {n: (c.statistics.min, c.statistics.max) for n, c in zip(names, columns, strict=True)}
            groups.append((task.file.file_path, sum(c.total_compressed_size for c in columns), ends))
    size, files = 0, 0
    for box in boxes:
        hit = [
            (path, of)
            for path, of, ends in groups
            if all(ends[column][0] <= high and low <= ends[column][1] for column, (low, high) in box.items())
        ]
        size += sum(of for _, of in hit)
        files += len({path for path, _ in hit})
    return size / len(boxes), files / len(boxes)


def ranges(order: str) -> list[dict[str, tuple[int, int]]]:
    """What is asked for."""
    chance = np.random.default_rng(1)
    columns, width = (["key"], _KEYS // 100) if order == "columns" else (["key", "other"], _KEYS // 10)
    starts = [{c: int(chance.integers(0, _KEYS - width)) for c in columns} for _ in range(_QUERIES)]
    return [{column: (start, start + width) for column, start in found.items()} for found in starts]


def measure(lab: Lab, order: str, days: int, depth: int) -> None:
    """Print the lines of one order."""
    little, whole = f"little_{order}", f"whole_{order}"
    tables = {name: lab.catalog.create_table(f"db.{name}", schema=day(0).schema) for name in (little, whole)}
    options = {"target-file-size-bytes": str(_TARGET), "min-overlap-depth": str(depth)} | _STALE
    rewritten, each_time = 0, 0
    for number in range(days):
        rows = day(number)
        for table in tables.values():
            table.append(rows)
            table.refresh()
        rewritten += rewrite(lab, little, _ORDERS[order], options)
        tables[little].refresh()
        each_time += sum(task.file.file_size_in_bytes for task in tables[whole].scan().plan_files())
    unsorted = bytes_read(tables[whole], ranges(order))[0]
    rewrite(lab, whole, _ORDERS[order], {"target-file-size-bytes": str(_TARGET), "rewrite-all": "true"})
    (read, files), (best, best_files) = (bytes_read(lab.catalog.load_table(f"db.{n}"), ranges(order)) for n in tables)
    line = {
        "bench": "sort_little", "order": order, "days": days, "depth": depth, "rewritten_mb": round(rewritten / 1e6, 1),
        "whole_each_day_mb": round(each_time / 1e6, 1), "share_rewritten": round(rewritten / each_time, 3),
        "read_kb": round(read / 1e3), "read_kb_whole": round(best / 1e3), "ratio_read": round(read / best, 2),
        "read_kb_unsorted": round(unsorted / 1e3), "files_read": files, "files_read_whole": best_files,
    }  # fmt: skip
    print(json.dumps(line), flush=True)


def main(days: int = 60, depth: int = 4) -> None:
    """Print the lines of every order."""
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        lab = Lab(Path(scratch))
        lab.catalog.create_namespace("db")
        for order in _ORDERS:
            measure(lab, order, days, depth)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

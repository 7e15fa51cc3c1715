"""A file of 20 row groups of which one has deleted rows: rewritten with the others copied, and all decoded.

``python -m benchmarks.rewrite_row_groups``. TPC-H lineitem at scale 1, as much of it as fills 20 row groups of 8 MB and
more. Prints a JSON line each way: CPU seconds of the kernels in this process, and the bytes of row groups decoded.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import parquet_files_to_data_files, schema_to_pyarrow

from benchmarks.lab import Lab
from benchmarks.rewrite import BenchExecution
from benchmarks.sort_little import HereWorkers
from coordinator.engine.procedures import run_procedure
from coordinator.kernels.tasks import REWRITE, WriteTask
from coordinator.kernels.wire import decode
from coordinator.vocabulary.planned_statement import CallProcedure
from shared.spi.procedure import ProcedureContext, TableTarget
from tests.iceberg.foreign_writer import delete_positions

_GROUPS, _ROWS = 20, 300_000


class Counting(HereWorkers):
    """Adds up what write tasks decode."""

    decoded = 0

    def run_tasks(self, kernel: str, payloads: Sequence[bytes], *, description: str = "") -> Iterator[bytes]:
        for task in [decode(WriteTask, payload) for payload in payloads] if kernel == REWRITE.name else []:
            for item in task.inputs:
                footer = pq.read_metadata(item.path.removeprefix("file://"))
                groups = range(footer.num_row_groups) if item.groups is None else range(*item.groups)
                chunks = [footer.row_group(i).column(c) for i in groups for c in range(footer.num_columns)]
                self.decoded += sum(chunk.total_compressed_size for chunk in chunks)
        yield from super().run_tasks(kernel, payloads, description=description)


def make_table(lab: Lab) -> None:
    """One file of 20 row groups, a tenth of the rows of one of them deleted."""
    tool = Path(sys.executable).with_name("tpchgen-cli")
    arguments = [tool, "parquet", "-s", "1", "--tables", "lineitem", "--output-dir", str(lab.home)]
    subprocess.run(arguments, check=True)
    data = pq.read_table(lab.home / "lineitem.parquet").slice(0, _GROUPS * _ROWS)
    texts = (pa.types.is_string, pa.types.is_string_view, pa.types.is_large_string)
    plain = [pa.field(f.name, pa.string() if any(t(f.type) for t in texts) else f.type) for f in data.schema]
    lab.catalog.create_namespace("db")
    table = lab.catalog.create_table("db.t", schema=pa.schema(plain))
    arrow = schema_to_pyarrow(table.schema())
    (lab.folder / "data").mkdir(parents=True, exist_ok=True)
    path = lab.folder / "data" / "one.parquet"
    pq.write_table(data.cast(pa.schema(plain)).cast(arrow), path, row_group_size=_ROWS, compression="zstd")
    (lab.home / "lineitem.parquet").unlink()
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in parquet_files_to_data_files(table.io, transaction.table_metadata, iter([f"file://{path}"])):
            append.append_data_file(file)
    delete_positions(table.refresh(), {f"file://{path}": range(7 * _ROWS, 8 * _ROWS, 10)})


def rewrite(lab: Lab, options: dict[str, str]) -> None:
    """Print a line."""
    procedure = next(p for p in lab.connector.procedures() if p.declaration.name == "rewrite_data_files")
    arguments: dict[str, Any] = {a.name: a.default for a in procedure.declaration.arguments}
    arguments |= {"schema": "db", "table_name": "t", "options": {"rewrite-all": "true", **options}}
    found = lab.connector.table("db", "t")
    assert found is not None
    target = TableTarget("db", "t", found.snapshot_id, None)
    counting: Any = Counting()
    context = ProcedureContext(BenchExecution().session, "lab", counting, datetime.now(UTC))
    work = CallProcedure("lab", "rewrite_data_files", procedure.declaration.kind, arguments, target)
    begun, cpu = time.perf_counter(), time.process_time()
    row = run_procedure(procedure, work, context).rows[0]
    line = {
        "bench": "rewrite_row_groups", "way": "copy" if not options else "decode", "rows": row[5],
        "seconds": round(time.perf_counter() - begun, 2), "cpu_seconds": round(time.process_time() - cpu, 2),
        "decoded_mb": round(counting.decoded / 1e6, 1), "file_mb": round(row[2] / 1e6, 1),
    }  # fmt: skip
    print(json.dumps(line), flush=True)


def main() -> None:
    """Print both lines, twice."""
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        lab = Lab(Path(scratch))
        make_table(lab)
        lab.keep()
        for _ in range(2):
            for options in ({}, {"copy-row-groups": "false"}):
                rewrite(lab, options)
                lab.reset()


if __name__ == "__main__":
    main()

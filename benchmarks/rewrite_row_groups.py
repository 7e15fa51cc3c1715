"""A file of 20 row groups of which one has deleted rows: rewritten with the others copied, and all decoded.

``python -m benchmarks.rewrite_row_groups [format version ...]``. TPC-H lineitem at scale 1, as much of it as fills 20
row groups of 8 MB and more; the rows are deleted by a position delete file, in version 3 by a deletion vector, and the
rows of version 3 keep their ids. Prints a JSON line each way: CPU seconds of the kernels in this process, and the bytes
of row groups decoded. The last line has how many times the CPU seconds decoding takes, by version, best of two.
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

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import parquet_files_to_data_files, schema_to_pyarrow

from benchmarks.lab import Lab
from benchmarks.lake.row_delta import RowDelta, make_version_three, vector_file
from benchmarks.rewrite import BenchExecution
from benchmarks.sort_little import HereWorkers
from coordinator.connectors.iceberg.manifests.live_files import read_live
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


def make_table(lab: Lab, version: int) -> None:
    """One file of 20 row groups, a tenth of the rows of one of them deleted."""
    tool = Path(sys.executable).with_name("tpchgen-cli")
    arguments = [tool, "parquet", "-s", "1", "--tables", "lineitem", "--output-dir", str(lab.home)]
    subprocess.run(arguments, check=True)
    data = pq.read_table(lab.home / "lineitem.parquet").slice(0, _GROUPS * _ROWS)
    texts = (pa.types.is_string, pa.types.is_string_view, pa.types.is_large_string)
    plain = [pa.field(f.name, pa.string() if any(t(f.type) for t in texts) else f.type) for f in data.schema]
    lab.catalog.create_namespace("db")
    table = lab.catalog.create_table("db.t", schema=pa.schema(plain))
    if version == 3:
        make_version_three(table)
        table = lab.connector.tables_of.open("db", "t")
    arrow = schema_to_pyarrow(table.schema())
    (lab.folder / "data").mkdir(parents=True, exist_ok=True)
    path = lab.folder / "data" / "one.parquet"
    pq.write_table(data.cast(pa.schema(plain)).cast(arrow), path, row_group_size=_ROWS, compression="zstd")
    (lab.home / "lineitem.parquet").unlink()
    (file,) = parquet_files_to_data_files(table.io, table.metadata, iter([f"file://{path}"]))
    file.spec_id = table.spec().spec_id
    RowDelta(table, [file]).land()
    gone = range(7 * _ROWS, 8 * _ROWS, 10)
    if version < 3:
        delete_positions(table.refresh(), {f"file://{path}": gone})
        return
    table = lab.connector.tables_of.open("db", "t")
    (live,) = read_live(table, table.current_snapshot()).data
    RowDelta(table, [], [vector_file(table, live, np.array(gone, np.int64))], [live]).land()


def rewrite(lab: Lab, version: int, options: dict[str, str]) -> float:
    """Print a line; the CPU seconds."""
    procedure = next(p for p in lab.connector.procedures() if p.declaration.name == "rewrite_data_files")
    arguments: dict[str, Any] = {a.name: a.default for a in procedure.declaration.arguments}
    arguments |= {"schema": "db", "table_name": "t", "options": {"rewrite-all": "true", **options}}
    found = lab.connector.table("db", "t")
    assert found is not None
    target = TableTarget("db", "t", found.snapshot_id, None)
    counting: Any = Counting()
    context = ProcedureContext(BenchExecution().session, "lab", counting, datetime.now(UTC))
    work = CallProcedure("lab", "rewrite_data_files", procedure.declaration.kind, arguments, target)
    begun, before = time.perf_counter(), time.process_time()
    row = run_procedure(procedure, work, context).rows[0]
    cpu = time.process_time() - before
    line = {
        "bench": "rewrite_row_groups", "version": version, "way": "copy" if not options else "decode", "rows": row[5],
        "seconds": round(time.perf_counter() - begun, 2), "cpu_seconds": round(cpu, 2),
        "decoded_mb": round(counting.decoded / 1e6, 1), "file_mb": round(row[2] / 1e6, 1),
    }  # fmt: skip
    print(json.dumps(line), flush=True)
    return cpu


def compare(version: int) -> float:
    """How many times the CPU seconds of copying decoding takes, by the best of two runs each way."""
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        lab = Lab(Path(scratch))
        make_table(lab, version)
        lab.keep()
        taken: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(2):
            for options in ({}, {"copy-row-groups": "false"}):
                taken[not options].append(rewrite(lab, version, options))
                lab.reset()
        return round(min(taken[False]) / min(taken[True]), 1)


def main(versions: Sequence[int]) -> None:
    """Print all lines."""
    saved = {str(version): compare(version) for version in versions}
    print(json.dumps({"bench": "rewrite_row_groups", "decoding_over_copying_cpu": saved}))


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [2, 3])

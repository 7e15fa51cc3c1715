"""The plan of a rewrite over 100,000 data files in 20 manifests: seconds, CPU seconds and peak memory, beside
PyIceberg's own planning. ``python -m benchmarks.rewrite_plan [files] [folder]``. Prints JSON lines, one a process.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from benchmarks.peak import peak_mb
from coordinator.connectors.iceberg.rewrite.asked.options import parse_options
from coordinator.connectors.iceberg.rewrite.planning.selection import select_files
from shared.spi.procedure import TableTarget

MANIFESTS, COLUMNS = 20, 16


def catalog_in(home: Path) -> SqlCatalog:
    """The catalog of this benchmark."""
    return SqlCatalog("lab", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/wh")


def make_table(home: Path, files: int) -> None:
    """A table whose data files exist in its manifests alone."""
    catalog = catalog_in(home)
    catalog.create_namespace("db")
    kinds = [LongType() if i % 3 else StringType() for i in range(COLUMNS)]
    schema = Schema(*(NestedField(i + 1, f"c{i}", kind, required=False) for i, kind in enumerate(kinds)))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "c1"))
    table = catalog.create_table("db.many", schema=schema, partition_spec=spec)
    each = files // MANIFESTS
    for start in range(0, files, each):
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for number in range(start, start + each):
                append.append_data_file(_file(home, number))


def _file(home: Path, number: int) -> DataFile:
    bounds = {i + 1: struct.pack("<q", number + i) if i % 3 else f"value {number}".encode() for i in range(COLUMNS)}
    counts = {i + 1: 1000 for i in range(COLUMNS)}
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{home}/wh/db/many/data/part-{number:08d}-{number * 7919 % 1000003}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(number % 100),
        record_count=1000,
        file_size_in_bytes=1_000_000 + number % 1000,
        column_sizes=counts,
        value_counts=counts,
        null_value_counts=counts,
        nan_value_counts={},
        lower_bounds=bounds,
        upper_bounds=bounds,
        key_metadata=None,
        split_offsets=[4],
        equality_ids=None,
        sort_order_id=None,
    )
    file.spec_id = 0
    return file


def measure(home: Path, who: str) -> None:
    """One planning in this process."""
    table = catalog_in(home).load_table("db.many")
    start, cpu = time.perf_counter(), time.process_time()
    if who == "procession":
        target = TableTarget("db", "many", table.metadata.current_snapshot_id)
        looked = select_files(table, target, parse_options({}))
        found = 0 if looked is None else sum(len(group.files) for group in looked.survey.groups)
    else:
        found = sum(1 for _ in table.scan().plan_files())
    line = {
        "bench": "rewrite_plan",
        "who": who,
        "files": found,
        "wall_s": round(time.perf_counter() - start, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_mb": peak_mb(),
    }
    print(json.dumps(line), flush=True)


def main(files: int, home: Path) -> None:
    """Make the table once a folder, then plan in a fresh process each, so that memory is that of the planning."""
    if not (home / "done").exists():
        home.mkdir(parents=True, exist_ok=True)
        make_table(home, files)
        (home / "done").touch()
    for who in ("procession", "pyiceberg", "procession"):
        subprocess.run([sys.executable, "-m", "benchmarks.rewrite_plan", "--measure", str(home), who], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]), sys.argv[3])
    else:
        with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
            given = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
            main(given, Path(sys.argv[2] if len(sys.argv) > 2 else scratch).absolute())

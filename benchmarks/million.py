"""Rewrites of a table of 1,000,000 data files that exist in its manifests alone: memory and seconds of the coordinator.

``python -m benchmarks.million [files] [files of a partition] [folder]``. Each step in a fresh process, so that memory
is that of the step: planning, planning of a sort with overlaps, a rewrite of one partition and its commit, a rewrite of
all partitions (a group each), and the expiry of everything but the last snapshot. The kernels answer without reading or
writing data. Prints JSON lines.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from benchmarks.lab import Lab
from benchmarks.peak import peak_mb
from benchmarks.rewrite import BenchExecution
from coordinator.connectors.iceberg.rewrite.asked.options import parse_options
from coordinator.connectors.iceberg.rewrite.asked.ordering import row_order
from coordinator.connectors.iceberg.rewrite.asked.sorted_by import parse_sorted_by
from coordinator.connectors.iceberg.rewrite.planning.selection import select_files
from coordinator.engine.procedures import run_procedure
from coordinator.kernels.tasks import REWRITE, Fragment, Metrics, WriteTask
from coordinator.kernels.wire import decode, encode
from coordinator.vocabulary.planned_statement import CallProcedure
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Call, Constant, RowExpression, Signature, StaticFunctionHandle, Variable
from shared.spi.procedure import ProcedureContext, TableTarget

_MANIFEST_FILES, _COLUMNS, _ROWS = 5000, 16, 1000


class NoKernels:
    """Answers of write tasks as if every row had been written."""

    parallelism = 1
    attempts_lost = False

    def run_tasks(self, kernel: str, payloads: Sequence[bytes], *, description: str = "") -> Iterator[bytes]:  # noqa: ARG002
        """One fragment a task; no other kernel is asked for."""
        assert kernel == REWRITE.name
        for payload in payloads:
            task = decode(WriteTask, payload)
            rows = _ROWS * len(task.inputs)
            metrics = Metrics({}, {"1": rows}, {"1": 0}, {}, {"1": bytes(8).hex()}, {"1": bytes(8).hex()}, [4])
            path = f"{task.output.directory}/{task.output.name}-0.parquet"
            yield encode(Fragment(task.tag, path, rows, sum(item.size for item in task.inputs), rows, {}, metrics))


def make_table(lab: Lab, files: int, of_a_partition: int = 100) -> None:
    """Manifests of 5,000 files each, in the order in which a writer to all partitions makes them."""
    kinds = [LongType() if i % 3 else StringType() for i in range(_COLUMNS)]
    schema = Schema(*(NestedField(i + 1, f"c{i}", kind, required=False) for i, kind in enumerate(kinds)))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "c1"))
    lab.catalog.create_namespace_if_not_exists("db")
    table = lab.catalog.create_table("db.t", schema=schema, partition_spec=spec)
    for start in range(0, files, _MANIFEST_FILES):
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for number in range(start, min(files, start + _MANIFEST_FILES)):
                append.append_data_file(_file(lab.folder, number, files // of_a_partition))
        table.refresh()


def _partition(number: int, partitions: int) -> int:
    """Every manifest has files of every partition."""
    return number % partitions


def _file(folder: Path, number: int, partitions: int) -> DataFile:
    bounds = {i + 1: struct.pack("<q", number + i) if i % 3 else f"value {number}".encode() for i in range(_COLUMNS)}
    bounds[2] = struct.pack("<q", _partition(number, partitions))
    counts = dict.fromkeys(bounds, _ROWS)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{folder}/data/part-{number:08d}-{number * 7919 % 1000003}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(_partition(number, partitions)),
        record_count=_ROWS,
        file_size_in_bytes=1_000_000 + number % 1000,
        column_sizes=counts,
        value_counts=counts,
        null_value_counts=dict.fromkeys(bounds, 0),
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


def plan(lab: Lab, *, sort: bool) -> int:
    """The number of groups of a plan."""
    table = lab.catalog.load_table("db.t")
    target = TableTarget("db", "t", table.metadata.current_snapshot_id)
    if not sort:
        found = select_files(table, target, parse_options({}))
    else:
        options = parse_options({"min-overlap-depth": "3"}, None, "SORT")
        ordering = row_order(table, parse_sorted_by(["c0", "c2"]), options)
        assert not isinstance(ordering, str)
        found = select_files(table, target, options, ordering)
    assert found is not None
    return len(found.survey.groups)


def rewrite(lab: Lab, predicate: RowExpression | None) -> list[Any]:
    """The row of a call."""
    procedure = next(p for p in lab.connector.procedures() if p.declaration.name == "rewrite_data_files")
    arguments: dict[str, Any] = {a.name: a.default for a in procedure.declaration.arguments}
    arguments |= {"schema": "db", "table_name": "t", "options": {}}
    found = lab.connector.table("db", "t")
    assert found is not None
    target = TableTarget("db", "t", found.snapshot_id, predicate)
    workers: Any = NoKernels()
    context = ProcedureContext(BenchExecution().session, "lab", workers, datetime.now(UTC))
    work = CallProcedure("lab", "rewrite_data_files", procedure.declaration.kind, arguments, target)
    return list(run_procedure(procedure, work, context).rows[0])


def one_partition(number: int = 7) -> RowExpression:
    """The files of a partition."""
    name, types = "presto.default.$operator$equal", ["bigint", "bigint"]
    handle = StaticFunctionHandle(
        signature=Signature(name=name, kind="SCALAR", returnType="boolean", argumentTypes=types)
    )
    given = [Variable(name="c1", type="bigint"), Constant(valueBlock=encode_constant(number, "bigint"), type="bigint")]
    return Call(displayName="EQUAL", functionHandle=handle, returnType="boolean", arguments=given)


def manifests_written(lab: Lab) -> int:
    """Manifests that the last commit made."""
    table = lab.catalog.load_table("db.t")
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return sum(1 for m in snapshot.manifests(table.io) if m.added_snapshot_id == snapshot.snapshot_id)


def measure(home: Path, step: str) -> None:
    """One step in this process."""
    lab = Lab(home)
    begun, cpu = time.perf_counter(), time.process_time()
    more: dict[str, object] = {}
    match step:
        case "plan" | "plan a sort":
            more["groups"] = plan(lab, sort=step != "plan")
        case "rewrite one partition":
            more["files"] = rewrite(lab, one_partition())[0]
            more["new_manifests"] = manifests_written(lab)
        case "rewrite all":
            more["files"], more["new_files"] = rewrite(lab, None)[:2]
            more["new_manifests"] = manifests_written(lab)
        case _:
            later = (datetime.now(UTC) + timedelta(minutes=5)).replace(tzinfo=None)
            found = lab.call("expire_snapshots", older_than=later, retain_last=1)
            more["removed"] = found[0][0]
    line = {
        "bench": "million", "step": step, **more, "wall_s": round(time.perf_counter() - begun, 1),
        "cpu_s": round(time.process_time() - cpu, 1), "peak_mb": peak_mb(),
    }  # fmt: skip
    print(json.dumps(line), flush=True)


STEPS = ("plan", "plan a sort", "rewrite one partition", "rewrite all", "expire")


def main(files: int, of_a_partition: int, home: Path) -> None:
    """Make the table once a folder, then one process a step."""
    if not (home / "done").exists():
        home.mkdir(parents=True, exist_ok=True)
        make_table(Lab(home), files, of_a_partition)
        (home / "done").touch()
    for step in STEPS:
        subprocess.run([sys.executable, "-m", "benchmarks.million", "--measure", str(home), step], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]), sys.argv[3])
    else:
        with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
            given = sys.argv[1:]
            given += ["1000000", "100", scratch][len(given) :]
            main(int(given[0]), int(given[1]), Path(given[2]).absolute())

"""The memory of a rewrite's task, in a process of its own, on files whose rows say little about their neighbours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tiers import some

pytestmark = pytest.mark.slow
FULL = bool(os.environ.get("PROCESSION_TEST_FULL"))
CHILD = """
import sys
from pathlib import Path
from coordinator.kernels import rewrite
sys.stdout.write(rewrite.run(sys.stdin.buffer.read()).decode() + Path("/proc/self/status").read_text())
"""


def field(number: int, name: str, kind: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "type": kind, "required": False}


ID, TEXT = field(1, "id", "long"), field(2, "text", "string")
EVENT = field(3, "event", {"type": "struct", "fields": [field(4, "url", "string"), field(5, "agent", "string")]})
RAW = field(6, "raw", "binary")


def arrow(fields: list[dict[str, Any]]) -> list[pa.Field]:
    kinds = {"long": pa.int64(), "string": pa.string(), "binary": pa.binary()}
    return [
        pa.field(
            f["name"],
            pa.struct(arrow(f["type"]["fields"])) if isinstance(f["type"], dict) else kinds[f["type"]],
            metadata={"PARQUET:field_id": str(f["id"])},
        )
        for f in fields
    ]


def repeated_inside_others(path: Path) -> list[dict[str, Any]]:
    """A file of less than 4 MB whose nested and binary values decode to 2 GB, or to half of that."""
    rows, schema = 1_500_000 if FULL else 750_000, pa.schema(arrow([ID, EVENT, RAW]))
    ids = np.arange(rows)
    urls = pa.array([f"https://example.com/{i:0400d}" for i in range(100)]).take(pa.array(ids % 100))
    raw = pa.array([bytes(500) + str(i).encode() for i in range(50)]).take(pa.array(ids % 50))
    events = pa.StructArray.from_arrays([urls, urls], fields=list(schema.field("event").type))
    table = pa.table([pa.array(ids), events, raw], schema=schema)
    pq.write_table(table, path, row_group_size=rows, compression="zstd")
    return [ID, EVENT, RAW]


def long_after_short(path: Path) -> list[dict[str, Any]]:
    """A million short rows, then row groups of few rows of a megabyte each."""
    schema = pa.schema(arrow([ID, TEXT]))
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=False, write_batch_size=8) as writer:
        writer.write_table(pa.table({"id": np.arange(1_000_000), "text": ["s"] * 1_000_000}, schema=schema))
        for number in range(8):
            ids = range(number * 128, number * 128 + 128)
            long = [f"{i:08d}" * 131_072 for i in ids]
            writer.write_table(pa.table({"id": pa.array(ids, pa.int64()), "text": long}, schema=schema))
    return [ID, TEXT]


def checksum(path: str, fields: list[dict[str, Any]]) -> Any:
    columns = ", ".join(f["name"] for f in fields)
    total = f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM read_parquet('{path}')"
    with duckdb.connect(config={"threads": 1}) as database:
        return database.sql(total).fetchall()


@pytest.mark.parametrize(
    "made",
    some([long_after_short], [repeated_inside_others], "repeated nested text in iceberg/test_worker_memory, sorted"),
    ids=lambda f: f.__name__,
)
def test_a_task_takes_less_than_half_a_gigabyte(tmp_path: Path, made: Callable[[Path], list[dict[str, Any]]]) -> None:
    """Whatever a row group decodes to. ``make test-full``: ten such files, for the same memory."""
    path = tmp_path / "in.parquet"
    fields = made(path)
    item = {"path": f"file://{path}", "size": path.stat().st_size}
    output = {"directory": f"file://{tmp_path}", "name": "out"}
    task = {"fields": fields, "inputs": [item] * (10 if FULL else 1), "output": output}
    child = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(task).encode(), capture_output=True, check=True
    )
    fragment, status = child.stdout.decode().split("Name:", 1)
    written = json.loads(fragment)["path"].removeprefix("file://")
    if not FULL:
        assert checksum(written, fields) == checksum(str(path), fields)
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    assert int(peak[1]) < 500 << 10, f"{int(peak[1]) >> 10} MB"

"""Coordinator and worker of a rewrite in one process of less than 1 GiB, whatever the number of deleted rows.

What others do with such tables: Iceberg #10054 and #13674 (585 equality delete files of 17 rows), Trino #21180.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

pytestmark = pytest.mark.slow
FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
ROWS = 6_000_000 if FULL else 2_000_000
KEYS = 9_000_000 if FULL else 900_000
MEBIBYTES = 1024


def rewritten(lake: Any, name: str, *sorted_by: str) -> int:
    """MiB that the rewrite took at most."""
    script = Path(__file__).with_name("measured_rewrite.py")
    child = subprocess.run(
        [sys.executable, str(script), str(lake.home), name, *sorted_by], capture_output=True, check=False
    )
    assert child.returncode == 0, child.stderr.decode()
    sys.stdout.write(f"{child.stdout.decode()} MiB\n")
    return int(child.stdout)


def left(lake: Any, name: str) -> tuple[int, int]:
    """Rows and their sum, by DuckDB over the files."""
    paths = [task.file.file_path.removeprefix("file://") for task in lake.table(name).scan().plan_files()]
    rows, total = duckdb.sql(f"SELECT count(*), sum(id)::BIGINT FROM read_parquet({paths!r})").fetchall()[0]
    return int(rows), int(total)


def wide(start: int, count: int) -> pa.Table:
    ids = np.arange(start, start + count)
    text = pa.array([f"{i:0100d}" for i in range(997)]).take(pa.array(ids % 997))
    return pa.table({"id": ids, "note": text})


@pytest.mark.full("the sort below; a bounded rewrite in kernels/test_kernels and kernels/test_memory")
def test_equality_deletes_of_half_the_rows_in_many_files(lake: Any, foreign: Any) -> None:
    lake.create("t", [wide(n * ROWS // 4, ROWS // 4) for n in range(4)])
    ids = np.arange(0, 2 * KEYS, 2)
    for part in np.array_split(ids[:-300], 6):
        foreign.delete_equal(lake.table("t"), pa.table({"id": part}))
    for part in np.array_split(ids[-300:], 300 if FULL else 8):
        foreign.delete_equal(lake.table("t"), pa.table({"id": part}))
    took = rewritten(lake, "t")
    kept = np.setdiff1d(np.arange(ROWS), ids, assume_unique=True)  # more keys than rows: many match none
    assert left(lake, "t") == (len(kept), int(kept.sum()))
    assert took < MEBIBYTES, f"{took} MiB"


@pytest.mark.full("long values in the sort below")
def test_equality_deletes_by_long_text(lake: Any, foreign: Any) -> None:
    rows = 1_000_000 if FULL else 300_000
    names = pa.array([f"{i:0300d}" for i in range(rows)])
    lake.create("t", [pa.table({"id": np.arange(rows), "name": names})])
    gone = np.arange(0, rows, 2)
    for part in np.array_split(gone, 3):
        foreign.delete_equal(lake.table("t"), pa.table({"name": names.take(pa.array(part))}))
    took = rewritten(lake, "t")
    assert left(lake, "t") == (rows - len(gone), rows * (rows - 1) // 2 - int(gone.sum()))
    assert took < MEBIBYTES, f"{took} MiB"


@pytest.mark.full("kernels/test_memory and the bounded rewrite of kernels/test_kernels")
def test_position_deletes_of_half_a_large_file(lake: Any, foreign: Any) -> None:
    rows = 4_000_000 if FULL else 2_000_000
    lake.create("t", [wide(0, rows)])
    (path,) = (task.file.file_path for task in lake.table("t").scan().plan_files())
    gone = range(0, rows, 2 if FULL else 8)
    foreign.delete_positions(lake.table("t"), {path: gone})
    took = rewritten(lake, "t")
    assert left(lake, "t") == (rows - len(gone), rows * (rows - 1) // 2 - sum(gone))
    assert took < MEBIBYTES, f"{took} MiB"


@pytest.mark.parametrize("order", ["id DESC", "url", "zorder(url, id)"] if FULL else ["zorder(url, id)"])
def test_sorting_what_takes_next_to_nothing_in_files(lake: Any, order: str) -> None:
    """Two files of 2 MB together that decode to more than 1 GB."""
    rows = 4_000_000 if FULL else 1_000_000
    ids = np.arange(rows)
    urls = pa.array([f"https://example.com/{i:0400d}" for i in range(100)]).take(pa.array(ids * 7 % 100))
    event = pa.StructArray.from_arrays([urls, urls], names=["from", "to"])
    table = pa.table({"id": ids, "url": urls, "event": event})
    lake.create("t", [table.slice(0, rows // 2), table.slice(rows // 2)])
    took = rewritten(lake, "t", order)
    assert left(lake, "t") == (rows, rows * (rows - 1) // 2)
    assert took < MEBIBYTES, f"{took} MiB"

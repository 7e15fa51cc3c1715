"""How far a statement of the embedded engine has come, while its process works."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.engine.embedded.engine import EmbeddedEngine
from coordinator.engine.embedded.messages import EngineSettings
from coordinator.engine.embedded.progress import ScanProgress
from coordinator.engine.processes.nursery import Nursery
from coordinator.kernels.file_scan import FileScan
from coordinator.kernels.tasks import Input, Output, WriteTask
from tests.execution import FakeExecution

ROWS = 3_000_000


@pytest.mark.parametrize(
    ("progress", "read", "rows", "share"),
    [
        (ScanProgress(0, 0, 1000, 50), 25, 500, 50.0),
        (ScanProgress(0, 0, 1000, 50), 500, 1000, 99.0),
        (ScanProgress(30, 100, 100, 10), 5, 80, 40.0),
        (ScanProgress(30, 100, 0, 0), 5, 30, 30.0),
        (ScanProgress(), 5, 0, 0.0),
        (ScanProgress(0, 0, 1000, 50), -25, 0, 0.0),
    ],
)
def test_shares(progress: ScanProgress, read: int, rows: int, share: float) -> None:
    assert (progress.rows(read), progress.percentage(read)) == (rows, share)


@pytest.mark.parametrize("field_ids", [True, False])
@pytest.mark.slow
def test_a_statement_tells_how_far_it_is(field_ids: bool, tmp_path: Path) -> None:
    """DuckDB reads a file with field ids by itself, the kernels one without."""
    file = tmp_path / "t.parquet"
    metadata = {"PARQUET:field_id": "1"} if field_ids else None
    schema = pa.schema([pa.field("n", pa.int64(), metadata=metadata)])
    numbers = np.random.default_rng(1).integers(0, 1 << 60, ROWS)
    pq.write_table(pa.table([numbers], schema=schema), file, row_group_size=100_000)
    size = file.stat().st_size
    mapping = None if field_ids else json.loads('[{"field-id": 1, "names": ["n"]}]')
    fields = [{"id": 1, "name": "n", "type": "long", "required": False}]
    task = WriteTask(fields, [Input(str(file), size)], Output("", ""), name_mapping=mapping)
    scan = FileScan(task, pa.schema([("n", pa.int64())]), ROWS, size)
    nursery, execution = Nursery(), FakeExecution()
    engine = EmbeddedEngine(EngineSettings(str(tmp_path / "scratch")), nursery, processes=1)
    try:
        sql = 'SELECT count(DISTINCT md5(CAST(n AS VARCHAR))) FROM "t"'
        (batch,) = engine.run(sql, {"t": scan}, execution)
    finally:
        engine.close()
        nursery.close()
    assert batch.column(0).to_pylist() == [ROWS]
    seen = [each for each in execution.progress if each.percentage is not None]
    shares = [each.percentage or 0.0 for each in seen]
    assert shares == sorted(shares)
    assert any(0 < share <= 99 for share in shares)
    assert all(each.processed_rows <= ROWS and each.processed_bytes <= size for each in seen)
    assert execution.progress[-1].processed_rows == ROWS
    peaks = [each.peak_memory_bytes for each in execution.progress]
    assert peaks[-1] == max(peaks) > 0

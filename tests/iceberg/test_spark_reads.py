"""The whole rewrite on Spark's executors, read back by Iceberg Java in the same Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.properties import spark_properties
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import SparkSettings
from tests.execution import FakeExecution

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def spark(lake: Any, spark_engine: Any, tmp_path: Path) -> Iterator[Any]:
    settings = SparkSettings(work_dir=tmp_path / "spark", remote=spark_engine.connect().server.url)
    engine = SparkEngine(settings, spark_properties(lake.connector.settings))
    yield engine
    engine.stop()


def test_rewritten_on_spark_and_read_by_iceberg_java(lake: Any, spark: Any, foreign: Any, monkeypatch: Any) -> None:
    from coordinator.connectors.iceberg.rewrite.planning import outputs

    monkeypatch.setattr(outputs, "_LEAST_PART", 1)
    parts = [
        pa.table({"id": pa.array(range(i * 100, i * 100 + 100), pa.int64()), "name": [f"n{i}"] * 100}) for i in range(6)
    ]
    lake.create("t", parts)
    path = sorted(task.file.file_path for task in lake.table("t").scan().plan_files())[0]
    foreign.delete_positions(lake.table("t"), {path: [0, 50]})
    foreign.delete_equal(lake.table("t"), pa.table({"id": pa.array([333], pa.int64())}))
    query = "SELECT count(*), sum(id), count(DISTINCT name), min(id) FROM lab.db.t"
    execution: Any = FakeExecution()
    before = pa.Table.from_batches(spark.run(query, execution)).to_pylist()
    lake.workers = spark.workers(execution)
    result = lake.rewrite("t")
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (6, 1)
    assert result["rewritten_rows_count"] == 597
    assert result["removed_delete_files_count"] == 2
    assert pa.Table.from_batches(spark.run(query, execution)).to_pylist() == before
    files = pa.Table.from_batches(
        spark.run("SELECT record_count, readable_metrics.id.lower_bound AS low FROM lab.db.t.files", execution)
    ).to_pylist()
    assert [file["record_count"] for file in files] == [597]
    cleared = lake.call("clean_data_cache").rows
    assert cleared
    assert sum(row[1] for row in cleared) >= 6
    assert lake.orphans("t") == set()

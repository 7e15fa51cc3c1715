"""Rows with ids are changed without Iceberg's reader of vectors, which keeps the memory of ids."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.tables.writing import write
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import TableWrite, WriteContext

CHANGES = {"INSERT": "INSERT INTO", "DELETE": "DELETE FROM", "UPDATE": "UPDATE", "MERGE": "MERGE INTO"}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", CHANGES)
def test_spark_is_told_so_where_rows_have_ids(lake: Any, kind: str, version: int) -> None:
    lake.create("t", [pa.table({"id": pa.array([1], pa.int64())})], properties={"write.merge.mode": "merge-on-read"})
    if version == 3:
        lake.call("upgrade_format_version", schema="db", table_name="t", format_version=3)
    told: dict[str, str] = {}

    def run(_sql: str, _write_id: str | None = None, settings: Any = None) -> Any:
        told.update(settings)
        raise ProcessionError(ErrorCode.GENERIC_USER_ERROR, "asked")

    change = TableWrite("lab", "db", "t", kind, CHANGES[kind], "AS t SET id = 1")
    with pytest.raises(ProcessionError, match="asked"):
        write(lake.connector.tables_of, change, WriteContext(lake.context(), run))
    row_by_row = {"spark.sql.iceberg.vectorization.enabled": "false"}
    assert told == (row_by_row if kind != "INSERT" and version == 3 else {})

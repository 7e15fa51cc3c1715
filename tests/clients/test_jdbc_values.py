"""Parameters of every type, batches, counts of rows and transactions by both JDBC drivers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.jdbc import Driver, answers
from tests.e2e.service import Service

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(400)]


def test_parameters_of_every_type(driver: Driver, whole_service: Service, tmp_path: Path) -> None:
    schema = f"iceberg.jdbc_{driver[0]}"
    whole_service.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    columns = "id bigint, n integer, b boolean, r real, d double, q decimal(12,2), s varchar, raw varbinary, day date"
    whole_service.execute(f"CREATE TABLE {schema}.t ({columns}, ts timestamp)")
    found = answers("EveryValue", driver, tmp_path, whole_service, schema.replace(".", "/"))
    matched = {f"where {name}": "1" for name in ("id", "n", "b", "r", "d", "q", "s", "raw", "day", "ts")}
    assert found == matched | {
        "insert": "1",
        "batch": "[1, 1]",
        "update": "false 2 false",
        "limit": "11",
        "no query": "0 0",
        "transaction": "3",
    }
    stored = whole_service.execute(f"SELECT * FROM {schema}.t WHERE id = 5000000000")
    assert stored == [
        [5_000_000_000, 7, True, 0.1, 0.0025, "1234.50", "it's é?", "AP8=", "2026-02-03", "2026-02-03 04:05:06.007"]
    ]
    for sql in (f"DROP TABLE {schema}.t", f"DROP SCHEMA {schema}"):
        whole_service.execute(sql)

"""Pages of a statement that runs on Spark tell of its stages."""

from __future__ import annotations

import httpx
import pyarrow as pa
import pytest

from tests.e2e.service import Service

pytestmark = pytest.mark.slow


@pytest.mark.full("a real Spark's stages in tests/spark/test_engine.py, pages of such in tests/dispatch/test_stages.py")
def test_the_last_page_has_all_stages(whole_service: Service) -> None:
    whole_service.create("staged", [pa.table({"x": pa.array(range(5000), pa.int64())})])
    address = f"{whole_service.url}/v1/statement"
    headers = {"X-Presto-User": "tester", "X-Presto-Session": "engine=spark"}
    # Spark tells five times a second, so that it has to take longer.
    tables = "iceberg.db.staged a CROSS JOIN iceberg.db.staged b"
    sql = f"SELECT a.x * b.x % 7, count(*) FROM {tables} GROUP BY 1 ORDER BY 2, 1"
    page = httpx.post(address, content=sql, headers=headers, timeout=60).json()
    while "nextUri" in page:
        page = httpx.get(page["nextUri"], headers=headers, timeout=60).json()
    assert "error" not in page, page["error"]
    stats = page["stats"]
    root = stats["rootStage"]
    assert (root["stageId"], root["state"], root["done"], root["processedRows"]) == ("0", "FINISHED", True, 7)
    assert root["subStages"]
    assert {(stage["state"], stage["done"]) for stage in root["subStages"]} == {("FINISHED", True)}
    for count in ("totalSplits", "completedSplits", "runningSplits", "queuedSplits"):
        assert sum(stage[count] for stage in root["subStages"]) == stats[count]

"""``partialCancelUri`` with a real engine: rows that came stay right, the engine's process is free at once."""

from __future__ import annotations

import time

import httpx
import pytest

from tests.e2e.service import Service

pytestmark = pytest.mark.slow


def test_a_query_that_would_run_for_minutes_ends_with_the_rows_so_far(quiet_service: Service) -> None:
    sql = "SELECT 2 * x FROM UNNEST(sequence(1, 10000)) a(x) CROSS JOIN UNNEST(sequence(1, 10000)) b(y)"
    user = {"X-Presto-User": "tester"}
    page = httpx.post(f"{quiet_service.url}/v1/statement", content=sql, headers=user, timeout=60).json()
    rows: list[list[int]] = []
    begun, asked = time.monotonic(), False
    while "nextUri" in page:
        page = httpx.get(page["nextUri"], timeout=60).json()
        assert "error" not in page
        rows += page.get("data", [])
        if rows and not asked:
            asked = True
            assert httpx.delete(page["partialCancelUri"], timeout=60).status_code == 204
    assert page["stats"]["state"] == "FINISHED"
    assert rows
    assert all(value % 2 == 0 for (value,) in rows)
    assert [warning["warningCode"]["name"] for warning in page["warnings"]] == ["PARTIAL_RESULT_WARNING"]
    assert time.monotonic() - begun < 60
    assert quiet_service.execute("SELECT count(*) FROM tpch.tiny.orders") == [[15000]]

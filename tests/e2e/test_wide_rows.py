"""Rows of a megabyte that are stored in a hundred bytes: judged by what they are once they are read."""

from __future__ import annotations

import hashlib
import random

import httpx
import psutil
import pyarrow as pa
import pytest

from benchmarks.memory import HEADERS, Watch
from tests.e2e.service import Service
from tests.tiers import FULL

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES, ROWS, WIDTH = 20 if FULL else 7, 30, 1_000_000
FIRST = 500 if FULL else 150


def text(number: int) -> str:
    return f"{number:07d}" + "abcdefghij" * (WIDTH // 10)


@pytest.fixture(scope="module")
def wide(service: Service) -> str:
    """600 MB of text in 70 KB of files, in no order; a third of that where not all is asked."""
    numbers = list(range(FILES * ROWS))
    random.Random(7).shuffle(numbers)
    parts = (numbers[start : start + ROWS] for start in range(0, len(numbers), ROWS))
    service.create("wide_texts", [pa.table({"k": part, "v": [text(n) for n in part]}) for part in parts])
    return "iceberg.db.wide_texts"


def digests(service: Service, sql: str) -> list[tuple[int, str]]:
    """Each row's key and the digest of its text; the rows themselves are not kept."""
    found = []
    with httpx.Client(timeout=120, headers=HEADERS) as client:
        page = client.post(f"{service.url}/v1/statement", content=sql).json()
        while True:
            assert "error" not in page, page["error"]
            found += [(k, hashlib.md5(v.encode()).hexdigest()) for k, v in page.get("data", ())]
            if "nextUri" not in page:
                return found
            page = client.get(page["nextUri"]).json()


def test_the_first_of_wide_rows(service: Service, wide: str) -> None:
    """Spark has 1 GB and cannot sort them; the coordinator holds a piece at a time."""
    with Watch(psutil.Process(service.process.pid)) as watch:
        found = digests(service, f"SELECT * FROM {wide} ORDER BY k LIMIT {FIRST}")
    assert found == [(n, hashlib.md5(text(n).encode()).hexdigest()) for n in range(FIRST)]
    assert watch.grown_mb < (450 if FULL else 150)
    assert service.get("/v1/status")["spark"]["state"] == "UP"


def test_what_is_computed_of_wide_rows(service: Service, wide: str) -> None:
    """Spark is given a piece at a time as well."""
    found = service.execute(f"SELECT k, length(v) AS n FROM {wide} ORDER BY k LIMIT 80")
    assert found == [[n, WIDTH + 7] for n in range(80)]

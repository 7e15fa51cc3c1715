"""Fetched rows of more bytes than are held: the same rows, by way of the disk; and when that is left to one pass."""

from __future__ import annotations

import errno
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.engine import fetch_rows as passes
from coordinator.engine import wide_rows
from coordinator.engine.spark.settings import SparkSettings
from shared.errors import ErrorCode, ProcessionError
from tests.execution import FakeExecution
from tests.iceberg.test_fetch_rows import FirstPass, catalogs, files, planned, run
from tests.iceberg.test_late_plans import explained, plan  # noqa: F401  (a fixture)

WIDTH = 10_000
QUERY = "SELECT id, name, o FROM t ORDER BY id LIMIT 1000"


def name(number: int) -> str:
    return f"n{number}" * (WIDTH // len(f"n{number}"))


@pytest.fixture
def table(lake: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """300 rows of 10 KB in three files, where 200 KB count as much."""
    for module in (passes, wide_rows):
        monkeypatch.setattr(module, "MOST_HELD", 200_000)
    monkeypatch.setattr(wide_rows, "_PIECE", 100_000)
    parts = []
    for start in (0, 100, 200):
        numbers = range(start, start + 100)
        texts = [name(i) if i % 50 else None for i in numbers]
        parts.append(pa.table({"id": pa.array(numbers, pa.int64()), "name": texts, "o": [[i] for i in numbers]}))
    return lake.create("t", parts)


def wanted(lake: Any) -> list[Any]:
    """All rows in no order, some twice, and some without a position."""
    paths = files(lake)  # which reads every file
    found: list[Any] = [(i, paths[i // 100], i % 100) for i in (*range(300), *range(0, 300, 7))]
    found += [(None, None, None)] * 5
    random.Random(3).shuffle(found)
    return found


def expected(positions: list[Any]) -> list[Any]:
    return [(i, name(i) if i is not None and i % 50 else None, None if i is None else [i]) for i, _, _ in positions]


@pytest.mark.parametrize("most", [20_000, 100])
def test_rows_by_way_of_the_disk(most: int, lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_COORDINATOR_ROWS", most)
    kept: list[Any] = []
    keep = wide_rows.keep_rows
    monkeypatch.setattr(passes, "keep_rows", lambda *given: kept.append(keep(*given)) or kept[-1])
    if most == 100:
        monkeypatch.setattr(passes, "MOST_HELD", 50_000)
    positions = wanted(lake)
    rows, _, execution = run(lake, positions)
    assert rows == expected(positions)
    assert len(kept[0].batches) >= 3
    assert execution.processed_bytes > 0
    assert lake.workers.tasks == 0


def test_pieces_of_the_result_are_small(lake: Any, table: Any) -> None:
    positions = wanted(lake)
    rows = pa.table(dict(zip(("id", "source", "ref"), zip(*positions, strict=True), strict=True)))
    found = passes.fetch_rows(planned(lake, QUERY), FakeExecution(), FirstPass(rows, lake), catalogs(lake))
    assert max(batch.nbytes for batch in found) < 200_000


def test_few_wide_rows_are_held(lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "keep_rows", None)
    monkeypatch.setattr(passes, "MOST_HELD", 2_000_000)
    positions = wanted(lake)[:15]
    rows, _, _ = run(lake, positions)
    assert rows == expected(positions)


def test_only_rows_without_a_position(lake: Any, table: Any) -> None:
    assert run(lake, [(None, None, None)] * 3)[0] == [(None, None, None)] * 3


@pytest.mark.parametrize(("limit", "most"), [("_MOST_PAGE", 10_000), ("_MOST_KEPT", 1_000_000)])
def test_what_is_too_large_is_one_pass(
    limit: str, most: int, lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wide_rows, limit, most)
    work = planned(lake, QUERY)
    _, spark, _ = run(lake, wanted(lake), work)
    assert spark.asked == [work.first.sql, work.otherwise.sql]


def test_a_page_that_spark_cannot_decode_is_refused(lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent to Spark, which would end of it; a page that it can decode is one pass."""
    monkeypatch.setattr(wide_rows, "_MOST_PAGE", 10_000)
    monkeypatch.setattr(FirstPass, "largest_page", SparkSettings(max_page=20_000).largest_page)
    with pytest.raises(ProcessionError, match=r"spark\.max-parquet-page-size") as refused:
        run(lake, wanted(lake))
    assert refused.value.code is ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT
    monkeypatch.setattr(FirstPass, "largest_page", SparkSettings(driver_memory="512m").largest_page)
    work = planned(lake, QUERY)
    _, spark, _ = run(lake, wanted(lake), work)
    assert spark.asked == [work.first.sql, work.otherwise.sql]


def test_a_full_disk_is_one_pass(lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(wide_rows, "_write", full)
    work = planned(lake, QUERY)
    _, spark, _ = run(lake, wanted(lake), work)
    assert spark.asked == [work.first.sql, work.otherwise.sql]


def test_nothing_is_left_on_the_disk(lake: Any, table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide_rows.tempfile, "tempdir", str(tmp_path))
    positions = wanted(lake)
    assert run(lake, positions)[0] == expected(positions)
    assert not list(tmp_path.glob("procession-rows-*"))


def test_a_plan_knows_what_text_is_once_it_is_read(lake: Any, plan: Any) -> None:  # noqa: F811
    """70 MB in some kilobytes of Parquet; the number beside it stays a small table."""
    texts = [f"{i}" + "abcdefghij" * 100_000 for i in range(70)]
    lake.create("wide", [pa.table({"k": range(70), "n": range(70), "v": texts})])
    assert "- Fetch[" in explained(plan, "SELECT * FROM wide ORDER BY k LIMIT 9", cost_based="true")
    told = explained(plan, "SELECT n, k + 1 AS a FROM wide ORDER BY k LIMIT 9", cost_based="true", min_columns="1")
    assert "Late materialization: no table has 16MB to read" in told

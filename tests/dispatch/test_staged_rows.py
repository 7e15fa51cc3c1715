"""Rows of a client in a file of their own: whole, in row groups, within limits, and gone at the end."""

from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.dispatch import staged_rows as staging
from coordinator.dispatch.result_space import ResultSpace
from coordinator.dispatch.staged_rows import staged_rows
from coordinator.engine.inputs import MAX_SENT_BYTES, FormatInput, spark_inputs
from coordinator.engine.local_inputs import ArrowInput
from shared.errors import ErrorCode, ProcessionError
from shared.spi.relation import Input, SentRelation

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])


def batch(first: int, rows: int) -> pa.RecordBatch:
    keys = range(first, first + rows)
    return pa.record_batch([pa.array(keys, pa.int64()), pa.array([f"text {k}" for k in keys])], schema=SCHEMA)


@pytest.fixture
def space(tmp_path: Path) -> ResultSpace:
    return ResultSpace(0, 10 << 20, tmp_path / "results", keep_free=0)


@pytest.fixture
def execution() -> Any:
    progress: list[Any] = []
    return SimpleNamespace(check_cancelled=lambda: None, report_progress=progress.append, progress=progress)


def left(space: ResultSpace) -> list[Path]:
    assert space.folder is not None
    assert space.used("files") == 0
    return list(space.folder.iterdir())


def test_all_rows_are_there_for_the_owner_alone_and_then_gone(space: ResultSpace, execution: Any) -> None:
    batches = (batch(first, 1_000) for first in range(0, 50_000, 1_000))
    with staged_rows(batches, SCHEMA, space, execution) as staged:
        (path,) = staged.paths
        found = duckdb.sql(f"SELECT count(*), sum(k), count(DISTINCT v) FROM read_parquet('{path}')").fetchall()
        assert found == [(50_000, sum(range(50_000)), 50_000)]
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
        assert staged.size_bytes == Path(path).stat().st_size
        assert abs(space.used("files") - staged.size_bytes) < 10_000  # the footer came last
        assert (execution.progress[-1].processed_rows, execution.progress[-1].phase) == (50_000, "writing rows")
    assert left(space) == []


def test_memory_holds_one_row_group(space: ResultSpace, execution: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "_GROUP_BYTES", 64 << 10)
    most, before = 0, pa.total_allocated_bytes()

    def batches() -> Any:
        nonlocal most
        for first in range(0, 200_000, 500):
            most = max(most, pa.total_allocated_bytes() - before)
            yield batch(first, 500)
        yield batch(200_000, 50_000)  # larger than a group

    with staged_rows(batches(), SCHEMA, space, execution) as staged:
        groups = pq.ParquetFile(staged.paths[0]).metadata
        sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
        assert sum(sizes) == 250_000
        assert max(sizes) < 6_000
    assert most < 2 << 20


def test_no_rows_are_an_empty_file(space: ResultSpace, execution: Any) -> None:
    with staged_rows([], SCHEMA, space, execution) as staged:
        assert pq.read_table(staged.paths[0]).schema.equals(SCHEMA)
    assert left(space) == []


def refused(space: ResultSpace, execution: Any, most_bytes: int | None = None) -> ProcessionError:
    def batches() -> Any:
        for first in range(0, 1_000_000, 10_000):
            yield batch(first, 10_000)
        raise AssertionError("it reads on")

    with (
        pytest.raises(ProcessionError) as caught,
        staged_rows(batches(), SCHEMA, space, execution, most_bytes),
    ):
        raise AssertionError("it fits")
    return caught.value


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"files": 1_000}, "query.max-total-stored-bytes"),
        ({"keep_free": 1 << 60}, "disk"),
        ({"folder": None}, "no folder"),
    ],
)
def test_what_has_no_room_is_refused_as_it_comes(
    tmp_path: Path, execution: Any, monkeypatch: pytest.MonkeyPatch, limits: dict[str, Any], told: str
) -> None:
    monkeypatch.setattr(staging, "_GROUP_BYTES", 64 << 10)
    space = ResultSpace(0, **({"files": 10 << 20, "folder": tmp_path, "keep_free": 0} | limits))
    error = refused(space, execution)
    assert error.code is ErrorCode.GENERIC_INSUFFICIENT_RESOURCES
    assert told in error.message
    assert list(tmp_path.iterdir()) == []
    assert space.used("files") == 0


def test_a_spark_elsewhere_takes_little(space: ResultSpace, execution: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "_GROUP_BYTES", 64 << 10)
    error = refused(space, execution, most_bytes=100_000)
    assert (error.code, "Spark runs elsewhere" in error.message) == (ErrorCode.NOT_SUPPORTED, True)
    assert left(space) == []


def test_what_fails_or_is_cancelled_leaves_nothing(space: ResultSpace, execution: Any) -> None:
    def breaking() -> Any:
        yield batch(0, 10)
        raise ProcessionError(ErrorCode.GENERIC_USER_ERROR, "broken")

    with pytest.raises(ProcessionError, match="broken"), staged_rows(breaking(), SCHEMA, space, execution):
        raise AssertionError("it is whole")
    assert left(space) == []

    def cancelled() -> None:
        raise ProcessionError(ErrorCode.USER_CANCELED, "canceled")

    execution.check_cancelled = cancelled
    with pytest.raises(ProcessionError, match="canceled"), staged_rows([batch(0, 9)], SCHEMA, space, execution):
        raise AssertionError("it goes on")
    assert left(space) == []


class Sent:
    """What a client sends, as the flight room has it."""

    def __init__(self, space: ResultSpace) -> None:
        self.space, self.asked = space, list[int | None]()

    def staged(self, execution: Any, most_bytes: int | None) -> Any:
        self.asked.append(most_bytes)
        return staged_rows([batch(0, 5)], SCHEMA, self.space, execution, most_bytes)


def test_spark_is_given_the_file_or_the_rows(space: ResultSpace, execution: Any) -> None:
    execution.sent_rows = sent = Sent(space)
    wanted = (Input("rows", SentRelation(("k", "v"))),)
    catalogs: Any = None  # nobody is asked
    with spark_inputs(wanted, catalogs, execution) as (here,):
        assert isinstance(here, FormatInput)
        assert (here.name, here.format) == ("rows", "parquet")
        assert pq.read_table(here.paths[0]).num_rows == 5
    with spark_inputs(wanted, catalogs, execution, shares_disk=False) as (there,):
        assert isinstance(there, ArrowInput)
        assert there.rows.to_table().column("v").to_pylist() == [f"text {k}" for k in range(5)]
    assert sent.asked == [None, MAX_SENT_BYTES]
    assert left(space) == []

"""Room for rows in memory, of one statement and of all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.tables import own_rows
from coordinator.connectors.iceberg.tables.row_room import RowRoom
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import LeftToEngineError, WriteKind
from tests.iceberg.test_little_changes import MERGED, change, make
from tests.iceberg.test_own_changes import updated
from tests.iceberg.test_rewrite import numbers

BATCH = pa.record_batch({"n": pa.array(range(1000), pa.int64())})


def test_rows_pass_while_they_are_few_and_their_room_comes_back() -> None:
    room = RowRoom(most_bytes=3 * BATCH.nbytes, most_of_one=2 * BATCH.nbytes)
    for _ in range(10):
        with room.limited([BATCH, BATCH]) as rows:
            assert sum(batch.num_rows for batch in rows) == 2000
    with (
        pytest.raises(LeftToEngineError, match=f"{3 * BATCH.nbytes} bytes of rows and more"),
        room.limited([BATCH] * 3) as rows,
    ):
        list(rows)
    with room.limited([BATCH, BATCH]) as rows:
        assert sum(batch.num_rows for batch in rows) == 2000


def test_all_statements_share_the_room() -> None:
    room = RowRoom(most_bytes=3 * BATCH.nbytes, most_of_one=2 * BATCH.nbytes)
    with room.limited([BATCH, BATCH]) as first:
        assert list(first) == [BATCH] * 2  # all have come, and none of their files is written yet
        with room.limited([BATCH, BATCH]) as second:
            assert next(second) == BATCH
            with pytest.raises(LeftToEngineError, match="of all statements"):
                next(second)
    with room.limited([BATCH, BATCH]) as third:
        assert len(list(third)) == 2


def test_where_an_engine_cannot_write_rows_any_number_passes() -> None:
    room = RowRoom(most_bytes=BATCH.nbytes, most_of_one=BATCH.nbytes)
    with room.limited([BATCH] * 5, has_limits=False) as rows, room.limited([BATCH]) as others:
        assert len(list(rows)) == 5
        assert len(list(others)) == 1


@pytest.mark.parametrize("kind", ["UPDATE", "INSERT"])
@pytest.mark.parametrize("way_out", ["written", "failed", "cancelled"])
def test_the_room_of_rows_is_taken_until_their_files_are_written(
    lake: Any, monkeypatch: pytest.MonkeyPatch, kind: WriteKind, way_out: str
) -> None:
    make(lake, MERGED)
    room = lake.connector.tables_of.row_room
    write, seen = own_rows._dataframe_to_data_files, []

    def written(*arguments: Any) -> Iterator[Any]:
        seen.append(room._taken)
        if way_out == "failed":
            raise ProcessionError(ErrorCode.DIVISION_BY_ZERO, "by zero")
        if way_out == "cancelled":
            raise ProcessionError(ErrorCode.USER_CANCELED, "cancelled")
        yield from write(*arguments)

    monkeypatch.setattr(own_rows, "_dataframe_to_data_files", written)
    batches = updated(lake, 5) if kind == "UPDATE" else numbers(200).to_batches()
    with nullcontext() if way_out == "written" else pytest.raises(ProcessionError):
        change(lake, kind, batches)
    assert len(seen) == 1
    assert seen[0] > 0
    assert room._taken == 0

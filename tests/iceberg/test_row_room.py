"""Room for rows in memory, of one statement and of all."""

from __future__ import annotations

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.tables.row_room import RowRoom
from shared.spi.table_writes import LeftToEngineError

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

"""How batches are cut into messages of an Arrow stream."""

from __future__ import annotations

import pyarrow as pa
import pytest

from coordinator.dispatch.arrow_chunks import arrow_chunks
from coordinator.dispatch.arrow_types import client_schema
from coordinator.vocabulary.planned_statement import Column
from shared.plan.types import parse_type

SCHEMA = client_schema((Column("a", "bigint"),))


def sizes(rows: int, *, max_rows: int = 1_000, max_size: int = 8_000) -> list[int]:
    """Rows of each message, which together are the batch again."""
    batch = pa.record_batch({"a": pa.array(range(rows), pa.int64())})
    chunks = list(arrow_chunks(batch, (parse_type("bigint"),), SCHEMA, max_rows=max_rows, max_size=max_size))
    found = [pa.ipc.read_record_batch(pa.py_buffer(chunk.data), SCHEMA) for chunk in chunks]
    assert pa.Table.from_batches(found, SCHEMA).column(0).to_pylist() == list(range(rows))
    assert [chunk.rows for chunk in chunks] == [each.num_rows for each in found]
    return [each.num_rows for each in found]


@pytest.mark.parametrize(
    ("rows", "found"),
    [(0, []), (1, [1]), (1_000, [1_000]), (1_001, [501, 500]), (2_500, [834, 834, 832])],
)
def test_rows_are_shared_out_evenly(rows: int, found: list[int]) -> None:
    assert sizes(rows) == found


def test_a_little_too_much_is_one_message_and_not_a_rest_of_its_own() -> None:
    assert sizes(140, max_size=800) == [140]
    assert sizes(160, max_size=800) == [80, 80]
    assert max(sizes(10_000, max_size=800)) <= 150

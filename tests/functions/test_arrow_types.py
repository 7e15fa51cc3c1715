"""Presto types as Arrow: one reading of parts, and what differs between kernels, results and sources."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from coordinator.kernels.functions import arrow_forms
from coordinator.values.arrow_types import arrow_type, rows_to_batch, source_type
from coordinator.vocabulary.planned_statement import Column
from shared.plan.types import parse_type


@pytest.mark.parametrize(
    ("presto", "expected"),
    [
        ("decimal", pa.decimal128(38, 0)),
        ("decimal(10,2)", pa.decimal128(10, 2)),
        ("varchar(3)", pa.string()),
        ("hyperloglog", pa.string()),
        ("unknown", pa.null()),
        ("array(map(bigint,real))", pa.list_(pa.map_(pa.int64(), pa.float32()))),
        ("row(a date, time)", pa.struct([("a", pa.date32()), ("field1", pa.time64("us"))])),
        ("interval day to second", pa.duration("ms")),
        ("timestamp with time zone", pa.string()),
    ],
)
def test_results(presto: str, expected: pa.DataType) -> None:
    assert arrow_type(presto) == expected


def test_sources_and_kernels_hold_instants() -> None:
    assert source_type("array(timestamp with time zone)") == pa.list_(pa.timestamp("us", "UTC"))
    zoned = parse_type("timestamp with time zone")
    assert arrow_forms.arrow_type(zoned) == pa.timestamp("us", "UTC")
    assert arrow_forms.arrow_type(parse_type("interval day to second")) == pa.int64()


def test_moments_with_a_zone_have_years_of_four_digits() -> None:
    rows = [[datetime(1, 1, 2, 3, 4, 5, 678999, UTC)], [None]]
    batch = rows_to_batch([Column("t", "timestamp with time zone")], rows)
    assert batch.to_pydict() == {"t": ["0001-01-02 03:04:05.678 UTC", None]}

"""Columns as a table stores them, where the bytes of a message lie otherwise than Rust wants them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import DecimalType

from coordinator.connectors.iceberg.tables.stored_columns import stored_column

TYPE = pa.decimal128(9, 2)


def misplaced(offset: int) -> pa.Array:
    """1.00, NULL, 3.00 and 4.00 in a buffer that begins ``offset`` bytes behind a place of 16."""
    wide = np.zeros(16 * 6, dtype=np.uint8)
    base = pa.py_buffer(wide)
    start = (offset - base.address) % 16
    for number in range(4):
        wide[start + 16 * number] = 100 * (number + 1) % 256
        wide[start + 16 * number + 1] = 100 * (number + 1) // 256
    validity = pa.py_buffer(bytes([0b1101]))
    return pa.Array.from_buffers(TYPE, 4, [validity, base.slice(start, 64)])


@pytest.mark.parametrize("offset", [0, 8])
@pytest.mark.parametrize("first", [0, 1])
def test_decimals_are_bucketed_wherever_their_bytes_lie(offset: int, first: int) -> None:
    """PyIceberg's transforms panicked, which no ``except Exception`` sees, by where a message had its decimals."""
    array = misplaced(offset).slice(first)
    assert array.buffers()[1].address % 16 == offset
    made = stored_column(array, TYPE)
    expected = [Decimal(1), None, Decimal(3), Decimal(4)][first:]
    assert made.to_pylist() == expected
    buckets = BucketTransform(8).pyarrow_transform(DecimalType(9, 2))(made)
    plain = BucketTransform(8).transform(DecimalType(9, 2))
    assert buckets.to_pylist() == [
        None if value is None else plain(value.quantize(Decimal("0.01"))) for value in expected
    ]

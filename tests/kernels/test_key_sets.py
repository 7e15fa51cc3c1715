"""Numbers of values and rows, looked up among others, beside lists of Python: each type, NULLs on both sides."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from coordinator.kernels.key_sets import RowSet, key_set

_DAY = datetime.datetime(2026, 1, 1)
VALUES: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [True, False],
    pa.int32(): [0, -1, 7, 2**31 - 1],
    pa.int64(): [0, -1, 7, -(2**63), 2**63 - 1],
    pa.date32(): [datetime.date(1970, 1, 1), datetime.date(1960, 2, 3), datetime.date(2026, 1, 1)],
    pa.time64("us"): [datetime.time(), datetime.time(1, 2, 3), datetime.time(23, 59, 59, 999_999)],
    pa.timestamp("us"): [_DAY, datetime.datetime(1970, 1, 1), datetime.datetime(1950, 1, 1, 1)],
    pa.timestamp("us", "UTC"): [each.replace(tzinfo=datetime.UTC) for each in (_DAY, datetime.datetime(1970, 1, 1))],
    pa.decimal128(9, 2): [Decimal("0.00"), Decimal("-1.25"), Decimal("9999999.99")],
    pa.string(): ["", "a", "ä", "a\0"],
    pa.binary(): [b"", b"\0", b"ab"],
    pa.binary(4): [b"0123", b"\0\0\0\0"],
    pa.float64(): [0.5, -1.0, float("inf")],
}


@pytest.mark.parametrize("type_", VALUES, ids=str)
@pytest.mark.parametrize("nulls", [(True, True), (True, False), (False, True)], ids=["both", "keys", "rows"])
def test_values(type_: pa.DataType, nulls: tuple[bool, bool]) -> None:
    keys = [*VALUES[type_][1:], *([None] if nulls[0] else [])]
    rows = [*VALUES[type_] * 3, *([None, None] if nulls[1] else [])]
    found = key_set(pa.array(keys, type_))
    codes = found.codes(pa.array(rows, type_))
    assert len(found) == len(keys)
    assert [code >= 0 for code in codes] == [row in keys for row in rows]
    numbers = {
        row: {code for each, code in zip(rows, codes, strict=True) if each == row} for row in keys if row in rows
    }
    assert all(len(each) == 1 for each in numbers.values()), "one number a value"
    assert len(set.union(*numbers.values())) == len(numbers), "and a value a number"


def test_rows_of_several_columns() -> None:
    draw = random.Random(11)
    for _ in range(200):
        types = draw.sample(list(VALUES), draw.randrange(1, 4))
        made = [[tuple(draw.choice([*VALUES[t], None]) for t in types) for _ in range(count)] for count in (5, 40)]
        columns = [
            [pa.array(column, type_) for column, type_ in zip(zip(*rows, strict=True), types, strict=True)]
            for rows in made
        ]
        keys, _ = RowSet.of(columns[0])
        assert [code >= 0 for code in keys.codes(columns[1])] == [row in made[0] for row in made[1]]

"""Arrow's JSON beside Python's: the same values of every type, in chunks that keep their bounds."""

import json
import math
import struct
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coordinator.dispatch.encode import encode_rows
from coordinator.dispatch.json_columns import cut, json_rows
from coordinator.dispatch.pages import encode_batch
from shared.plan.types import parse_type

COLUMNS = [
    ("boolean", pa.bool_(), [True, False, None]),
    ("tinyint", pa.int8(), [-128, 127, None]),
    ("bigint", pa.int64(), [2**63 - 1, -(2**63), None, 0]),
    ("real", pa.float32(), [0.1, 16777216.0, 3.4e38, None, math.nan, -0.0]),
    ("double", pa.float64(), [1.0, -0.0, 0.1, 1e-7, 12345678.5, None]),
    ("double", pa.float64(), [1e15, 1e22, 123456789012345680.0, 1.5]),
    ("double", pa.float64(), [1e10, -10200547328.0, 9999999999.0, 1e14, None]),
    ("real", pa.float32(), [1e10, -10200547328.0, 1e9, None]),
    ("double", pa.float64(), [math.inf, -math.inf, math.nan, None, 2.0]),
    ("decimal(38,10)", pa.decimal128(38, 10), [Decimal("0.0000000001"), Decimal(10) ** 27, None]),
    ("varchar", pa.string(), ["", "plain", 'a "quoted" \\ text', "line\nreturn\rtab\t", "é😀\u2028", None]),
    ("varchar", pa.string(), ["bell\x07", "nul\x00", None]),
    ("varchar", pa.large_string(), ["big", None]),
    ("varchar", pa.binary(), [b"raw", b"\xff", None]),
    ("char(4)", pa.string(), ["ab", None, "é"]),
    ("varbinary", pa.binary(), [b"a\x00", None]),
    ("uuid", pa.binary(16), [UUID(int=7).bytes, None]),
    ("date", pa.date32(), [date(1, 1, 1), date(9999, 12, 31), None]),
    ("time", pa.time64("us"), [86_399_999_999, None]),
    ("timestamp", pa.timestamp("us"), [datetime(1969, 12, 31, 23, 59, 59, 999999), None]),
    ("timestamp with time zone", pa.timestamp("us", "UTC"), [datetime(2020, 1, 1), None]),
    ("interval day to second", pa.int64(), [-1, None]),
    ("interval year to month", pa.int32(), [-13, None]),
    ("array(varchar)", pa.list_(pa.string()), [["a", None, '"'], [], None]),
    ("map(varchar,double)", pa.map_(pa.string(), pa.float64()), [[("k", 1.0)], None]),
    ("row(a bigint,b varchar)", pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": "\n"}, None]),
    ("bingtile", pa.int64(), [5 << 26 | 1 << 32 | 3, None]),
    ("unknown", pa.null(), [None]),
]
TYPES = tuple(parse_type(name) for name, _, _ in COLUMNS)


def repeated(values, count):
    return (values * (count // len(values) + 1))[:count]


@pytest.fixture(scope="module")
def batch():
    arrays = [pa.array(repeated(values, 1500), arrow) for _, arrow, values in COLUMNS]
    return pa.record_batch(arrays, [str(number) for number in range(len(arrays))])


def texts(rows):
    return rows.to_pylist()


@pytest.mark.parametrize("nested_as_text", [True, False])
def test_both_ways_give_the_same_values(batch, nested_as_text):
    for part in (batch, batch.slice(7, 1100), batch.slice(1499)):
        ours = [json.loads(text[:-1]) for text in texts(json_rows(part.columns, TYPES, nested_as_text))]
        python = json.loads(b"[" + encode_rows(part, TYPES, nested_as_text) + b"]")
        # repr tells 1 from 1.0 and 0.0 from -0.0.
        assert [repr(row) for row in ours] == [repr(row) for row in python]


@pytest.mark.parametrize("number", range(len(COLUMNS)), ids=[f"{n}-{name}" for n, (name, _, _) in enumerate(COLUMNS)])
def test_one_column_alone_and_twice(batch, number):
    """Quotation marks at the ends of a row and between two neighbours."""
    column, type_ = batch.column(number), TYPES[number]
    for copies in (1, 2):
        part = pa.record_batch([column] * copies, [str(copy) for copy in range(copies)])
        ours = [json.loads(text[:-1]) for text in texts(json_rows([column] * copies, [type_] * copies, False))]
        assert repr(ours) == repr(json.loads(b"[" + encode_rows(part, (type_,) * copies, False) + b"]"))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(min_size=8, max_size=8), min_size=1, max_size=20))
@example(patterns=[struct.pack("<d", 10.0**power) for power in range(-30, 60)])
def test_doubles_come_back_to_the_bit(patterns):
    values = [value for (value,) in struct.iter_unpack("<d", b"".join(patterns))]
    rows = [json.loads(text[:-1])[0] for text in texts(json_rows([pa.array(values)], [parse_type("double")], False))]
    assert [struct.pack("<d", float(row)) for row in rows if not isinstance(row, str)] == [
        struct.pack("<d", value) for value in values if math.isfinite(value)
    ]
    assert all(isinstance(row, float | str) for row in rows)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.none() | st.text(), min_size=1, max_size=20))
def test_any_text(values):
    rows = json_rows([pa.array(values, pa.string())], [parse_type("varchar")], False)
    assert [json.loads(text[:-1])[0] for text in texts(rows)] == values


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="ascii"), max_size=30), min_size=1, max_size=50),
    st.integers(1, 10),
    st.integers(1, 200),
)
def test_pieces_keep_their_bounds(values, max_rows, max_size):
    rows = json_rows([pa.array(values)], [parse_type("varchar")], False)
    pieces = list(cut(rows, max_rows, max_size))
    assert json.loads(b"[" + b",".join(data for data, _ in pieces) + b"]") == [[value] for value in values]
    for data, count in pieces:
        assert len(json.loads(b"[" + data + b"]")) == count <= max_rows
        assert len(data) <= max_size or count == 1


def test_a_long_batch_is_cut_as_a_short_one_is(batch):
    chunks = list(encode_batch(batch, TYPES, max_rows=400, max_size=100_000, nested_as_text=False))
    assert sum(chunk.rows for chunk in chunks) == 1500
    assert max(chunk.rows for chunk in chunks) <= 400
    assert max(len(chunk.data) for chunk in chunks) <= 100_000
    rows = json.loads(b"[" + b",".join(bytes(chunk.data) for chunk in chunks) + b"]")
    assert repr(rows) == repr(json.loads(b"[" + encode_rows(batch, TYPES, False) + b"]"))


def test_values_that_do_not_fit_are_an_error():
    with pytest.raises(pa.ArrowInvalid):
        json_rows([pa.array([1.5])], [parse_type("bigint")], False)


def test_padding_counts_as_size() -> None:
    """Five short values of char(65536) in 8192 rows are more than the 2 GiB that a text array may have."""
    batch = pa.record_batch([pa.array(["ab"] * 2000)] * 5, names=list("abcde"))
    chunks = encode_batch(
        batch, (parse_type("char(65536)"),) * 5, max_rows=1000, max_size=1 << 20, nested_as_text=False
    )
    first = next(chunks)
    assert first.rows == 3
    assert json.loads(b"[" + bytes(first.data) + b"]") == [["ab".ljust(65536)] * 5] * 3

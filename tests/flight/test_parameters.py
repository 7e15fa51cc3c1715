"""Parameters as literals."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from coordinator.flight.failures import CallError
from coordinator.flight.parameters import literal_rows
from coordinator.sql.parse_statement import parse_statement


def _nulls_in_an_array():
    offsets = pa.array([0, 1 << 30], pa.int32()).buffers()[1]
    return pa.Array.from_buffers(pa.list_(pa.null()), 1, [None, offsets], children=[pa.nulls(1 << 30)])


def _deep(levels):
    found = pa.array([1])
    for _ in range(levels):
        found = pa.ListArray.from_arrays([0, 1], found)
    return found


def rows(batch):
    return literal_rows(batch, most_rows=100, most_characters=10_000)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pa.array([None, 1]), "NULL"),
        (pa.array([True]), "TRUE"),
        (pa.array([-5], pa.int8()), "-5"),
        (pa.array([2.5]), "DOUBLE '2.5'"),
        (pa.array([0.5], pa.float32()), "REAL '0.5'"),
        (pa.array([float("-inf")]), "CAST(-infinity() AS DOUBLE)"),
        (pa.array([Decimal("-1.50")]), "DECIMAL '-1.50'"),
        (pa.array(["it's; --"]), "'it''s; --'"),
        (pa.array([b"\x00'"]), "X'0027'"),
        (pa.array([dt.date(2020, 1, 2)]), "DATE '2020-01-02'"),
        (pa.array([dt.time(1, 2, 3, 4000)]), "TIME '01:02:03.004'"),
        (pa.array([dt.datetime(2020, 1, 2, 3, 4, 5)]), "TIMESTAMP '2020-01-02 03:04:05.000'"),
        (
            pa.array([dt.datetime(2020, 1, 2, 3)], pa.timestamp("us", "Europe/Vienna")),
            "TIMESTAMP '2020-01-02 03:00:00.000 UTC'",
        ),
        (pa.array([[1, None]]), "ARRAY[1, NULL]"),
        (pa.array([[[1], None]]), "ARRAY[ARRAY[1], NULL]"),
        (
            pa.array([[("k", [1]), ("l", None)]], pa.map_(pa.string(), pa.list_(pa.int32()))),
            "MAP(ARRAY['k', 'l'], ARRAY[ARRAY[1], NULL])",
        ),
        (pa.array([[]], pa.map_(pa.string(), pa.int32())), "MAP(ARRAY[], ARRAY[])"),
        (pa.array([{"a": 1, "b": {"c": "x"}}]), "ROW(1, ROW('x'))"),
    ],
)
def test_literals(value, text):
    row = rows(pa.record_batch({"p": value}))[0]
    assert row == (text,)
    parse_statement(f"SELECT {text}")


def test_a_type_without_literals_is_refused():
    with pytest.raises(CallError, match="parameters of type"):
        rows(pa.record_batch({"p": pa.array([{"a": dt.timedelta(1)}])}))
    with pytest.raises(CallError, match="parameters of type"):
        rows(pa.record_batch({"p": pa.array([{}])}))


def test_a_batch_that_lies_about_its_buffers_is_refused():
    batch = pa.record_batch({"p": ["abc"]})
    end, wrong = (0).to_bytes(4, "little") + (3).to_bytes(4, "little"), (0).to_bytes(4, "little") + b"\xff\xff\xff\x7e"
    head, found, body = bytes(batch.serialize()).rpartition(end)
    assert found
    lying = pa.ipc.read_record_batch(pa.py_buffer(head + wrong + body), batch.schema)
    with pytest.raises(CallError, match="cannot be read"):
        rows(lying)


@pytest.mark.parametrize(
    "column",
    [
        lambda: pa.nulls(1 << 30),
        _nulls_in_an_array,
        lambda: pa.DictionaryArray.from_arrays(pa.array([0] * 9), pa.array(["x" * 1000])),
        lambda: pa.array(["x" * 6_000, "x" * 6_000]),
        lambda: pa.StructArray.from_arrays([_nulls_in_an_array()], ["a"]),
        lambda: _deep(30),
    ],
    ids=["nulls", "nulls in an array", "a dictionary", "long texts", "nulls in a row", "many levels"],
)
def test_a_few_bytes_do_not_become_many(column):
    with pytest.raises(CallError):
        rows(pa.RecordBatch.from_arrays([column()], names=["p"]))

"""Cells by type: forms that engines deliver besides the plain one, slices, nulls, extremes."""

import datetime as dt
import json
import time
from decimal import Decimal
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator.dispatch.cells import encode_column, java_double
from coordinator.dispatch.encode import encode_rows
from coordinator.dispatch.pages import describe_columns, encode_batch, trino_signature, trino_type_text
from coordinator.vocabulary.planned_statement import Column
from shared.plan.types import parse_type

UID = "12151fd2-7586-11e9-8f9e-2a86e4085a59"


@pytest.mark.parametrize(
    ("presto_type", "array", "cells"),
    [
        ("bigint", pa.array([Decimal(7)], pa.decimal128(38, 0)), [7]),
        ("bigint", pa.array([2**63 - 1, -(2**63)]), [2**63 - 1, -(2**63)]),
        ("integer", pa.array([1.0]), [1]),
        ("double", pa.array([1], pa.int32()), [1.0]),
        ("real", pa.array([16777216.0, 3.4e38, 1.17549435e-38], pa.float32()), [16777216.0, 3.4e38, 1.1754944e-38]),
        ("decimal(10,8)", pa.array([Decimal("0.00000001"), None], pa.decimal128(10, 8)), ["0.00000001", None]),
        ("decimal(5,2)", pa.array([3]), ["3.00"]),
        ("decimal(4,1)", pa.array([Decimal("1.50")], pa.decimal128(5, 2)), ["1.5"]),
        ("varchar", pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        ("varchar", pa.array(["big"], pa.large_string()), ["big"]),
        ("varchar", pa.array([b"raw"]), ["raw"]),
        ("char(4)", pa.array(["ab", "toolong", "é", None]), ["ab  ", "toolong", "é   ", None]),
        ("varbinary", pa.array([b"a"], pa.large_binary()), ["YQ=="]),
        ("hyperloglog", pa.array([b"a"]), ["YQ=="]),
        ("date", pa.array([-719162, 2932896], pa.date32()), ["0001-01-01", "9999-12-31"]),
        ("date", pa.array([dt.datetime(2020, 1, 1)], pa.timestamp("us")), ["2020-01-01"]),
        ("time", pa.array([86_399_999_999], pa.time64("us")), ["23:59:59.999"]),
        ("time", pa.array([1], pa.time32("s")), ["00:00:01.000"]),
        ("timestamp", pa.array([-1], pa.timestamp("us")), ["1969-12-31 23:59:59.999"]),
        ("timestamp", pa.array([1_999_999], pa.timestamp("ns")), ["1970-01-01 00:00:00.001"]),
        ("timestamp", pa.array([0], pa.timestamp("s")), ["1970-01-01 00:00:00.000"]),
        ("timestamp", pa.array([0], pa.timestamp("us", "Asia/Tokyo")), ["1970-01-01 09:00:00.000"]),
        ("timestamp microseconds", pa.array([1], pa.timestamp("us")), ["1970-01-01 00:00:00.000001"]),
        ("timestamp with time zone", pa.array([0], pa.timestamp("us")), ["1970-01-01 00:00:00.000 UTC"]),
        ("timestamp with time zone", pa.array(["2020-01-01 00:00:00.000 UTC"]), ["2020-01-01 00:00:00.000 UTC"]),
        ("time with time zone", pa.array(["01:00:00.000 UTC"]), ["01:00:00.000 UTC"]),
        ("interval day to second", pa.array([-1]), ["-0 00:00:00.001"]),
        ("uuid", pa.array([UUID(UID).bytes], pa.binary(16)), [UID]),
        ("uuid", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID(UID).bytes], pa.binary(16))), [UID]),
        ("array(bigint)", pa.array([[1], None], pa.large_list(pa.int64())), [[1], None]),
        ("array(bigint)", pa.array([[1, 2]], pa.list_(pa.int64(), 2)), [[1, 2]]),
        ("map(double,boolean)", pa.array([[(1e7, True)]], pa.map_(pa.float64(), pa.bool_())), [{"1.0E7": True}]),
        ("map(boolean,date)", pa.array([[(True, None)]], pa.map_(pa.bool_(), pa.date32())), [{"true": None}]),
        ("unknown", pa.nulls(2), [None, None]),
        ("bigint", pa.array([], pa.int64()), []),
        ("array(bigint)", pa.array([], pa.list_(pa.int64())), []),
        ("map(bigint,bigint)", pa.array([], pa.map_(pa.int64(), pa.int64())), []),
    ],
)
def test_forms(presto_type, array, cells):
    assert encode_column(array, parse_type(presto_type)) == cells


def test_values_that_do_not_fit_are_an_error_not_a_wrong_row():
    with pytest.raises(pa.ArrowInvalid):
        encode_column(pa.array([1.5]), parse_type("bigint"))


NESTED = parse_type("array(row(k varchar,m map(bigint,array(double))))")
NESTED_ARROW = pa.list_(
    pa.struct([("k", pa.string()), ("m", pa.map_(pa.int64(), pa.list_(pa.float64())))]),
)
nested_rows = st.lists(
    st.none()
    | st.lists(
        st.none()
        | st.fixed_dictionaries(
            {
                "k": st.none() | st.text(max_size=3),
                "m": st.none()
                | st.dictionaries(st.integers(-5, 5), st.none() | st.lists(st.none() | st.floats(-9, 9)), max_size=3),
            }
        ),
        max_size=3,
    ),
    max_size=6,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(nested_rows, st.integers(0, 6), st.integers(0, 6))
def test_nested_slices_keep_their_values(rows, start, length):
    def arrow(value):
        return value if value is None else {"k": value["k"], "m": None if value["m"] is None else [*value["m"].items()]}

    def plain(value):
        return (
            value
            if value is None
            else [value["k"], None if value["m"] is None else {str(k): v for k, v in value["m"].items()}]
        )

    array = pa.array([r if r is None else [arrow(v) for v in r] for r in rows], NESTED_ARROW).slice(start, length)
    expected = [r if r is None else [plain(v) for v in r] for r in rows[start : start + length]]
    assert json.loads(json.dumps(encode_column(array, NESTED))) == expected


def test_against_duckdb_text():
    """DuckDB prints the same values in a text form of its own; where it is Presto's form they must agree."""
    source = duckdb.sql(
        "SELECT (i * 7919 % 4001 - 2000)::DECIMAL(18,4) / 8 AS d, DATE '2000-02-28' + i::INTEGER AS t,"
        " TIMESTAMP '1969-12-31 23:00:00' + INTERVAL (i * 977) MILLISECOND AS s FROM range(3000) r(i)"
    )
    texts = duckdb.sql(
        "SELECT CAST(CAST(d AS DECIMAL(24,6)) AS VARCHAR), CAST(t AS VARCHAR), strftime(s, '%Y-%m-%d %H:%M:%S.%g')"
        " FROM source"
    ).fetchall()
    batch = source.arrow()
    batch = batch.read_all() if hasattr(batch, "read_all") else batch
    columns = [
        encode_column(batch.column(i).combine_chunks(), parse_type(t))
        for i, t in enumerate(("decimal(24,6)", "date", "timestamp"))
    ]
    assert list(zip(*columns, strict=True)) == texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e100, "1.0E100"),
        (1e-7, "1.0E-7"),
        (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (-9.5e-4, "-9.5E-4"),
        (9999999.0, "9999999.0"),
        (5e-324, "5.0E-324"),
    ],
)
def test_java_double(value, text):
    assert java_double(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_java_double_reads_back(value):
    assert float(java_double(value)) == value


def test_rows_are_cut_by_count_and_size():
    batch = pa.record_batch({"t": ["x" * 1000] * 100})
    chunks = list(encode_batch(batch, (parse_type("varchar"),), max_rows=1000, max_size=10_000, nested_as_text=False))
    assert sum(c.rows for c in chunks) == 100
    assert max(len(c.data) for c in chunks) < 12_000
    assert json.loads(b"[" + b",".join(c.data for c in chunks) + b"]") == [["x" * 1000]] * 100
    few = list(encode_batch(batch, (parse_type("varchar"),), max_rows=30, max_size=10**9, nested_as_text=False))
    assert [c.rows for c in few] == [30, 30, 30, 10]
    assert not list(
        encode_batch(batch.slice(0, 0), (parse_type("varchar"),), max_rows=1, max_size=1, nested_as_text=False)
    )


def test_no_columns():
    batch = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert encode_rows(batch, (), False) == b"[],[]"


def test_a_page_of_5000_rows_takes_single_digit_milliseconds():
    count = 5000
    batch = pa.record_batch(
        {
            "a": pa.array(range(count)),
            "b": pa.array([f"customer {i}" for i in range(count)]),
            "c": pa.array([i * 1.5 for i in range(count)]),
            "d": pa.array([Decimal(i) for i in range(count)], pa.decimal128(12, 2)),
            "e": pa.array([dt.date(2020, 1, 1)] * count),
            "f": pa.array([dt.datetime(2020, 1, 1)] * count, pa.timestamp("us")),
        }
    )
    types = tuple(map(parse_type, ("bigint", "varchar", "double", "decimal(12,2)", "date", "timestamp")))
    times = []
    for _ in range(7):
        started = time.process_time()
        encode_rows(batch, types, False)
        times.append(time.process_time() - started)
    assert min(times) < 0.01


def test_trino_types():
    nested = parse_type('array(row(t timestamp,"Y z" decimal(3,1)))')
    assert trino_type_text(nested) == 'array(row(t timestamp(3), "Y z" decimal(3,1)))'
    field = trino_signature(nested)["arguments"][0]["value"]["arguments"][0]
    assert field == {
        "kind": "NAMED_TYPE",
        "value": {
            "fieldName": {"name": "t"},
            "typeSignature": {"rawType": "timestamp", "arguments": [{"kind": "LONG", "value": 3}]},
        },
    }


def test_types_that_nest_deeply_are_described_once():
    """Each level used to double the description: forty of them took all memory of the machine."""
    text = "array(" * 90 + "row(a bigint)" + ")" * 90
    (column,) = json.loads(describe_columns((Column("deep", text),), "Presto"))
    assert column["type"] == text
    signature, levels = column["typeSignature"], 0
    while signature["rawType"] == "array":
        (argument,) = signature["arguments"]
        repeated = signature["typeArguments"]
        assert repeated in ([], [argument["value"]])
        signature, levels = argument["value"], levels + 1
    assert (levels, signature["rawType"], signature["typeArguments"]) == (90, "row", [BIGINT_SIGNATURE])
    assert len(json.dumps(column)) < 100_000


BIGINT_SIGNATURE = {"rawType": "bigint", "typeArguments": [], "literalArguments": [], "arguments": []}

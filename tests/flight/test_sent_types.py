"""Arrow's types of rows that clients send: Presto's types of them, their values for engines, and what is refused."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

from coordinator.flight.failures import CallError
from coordinator.flight.sent_types import sent_columns, stored_batch, stored_schema
from shared.errors import ProcessionError

D = dt.datetime
CASES = [
    (pa.array([True, None]), "boolean", [True, None]),
    (pa.array([-1], pa.int8()), "tinyint", [-1]),
    (pa.array([255], pa.uint8()), "smallint", [255]),
    (pa.array([65535], pa.uint16()), "integer", [65535]),
    (pa.array([2**32 - 1], pa.uint32()), "bigint", [2**32 - 1]),
    (pa.array([2**64 - 1, None], pa.uint64()), "decimal(20,0)", [Decimal(2**64 - 1), None]),
    (pa.array([1.5, None], pa.float16()), "real", [1.5, None]),
    (pa.array([Decimal("1.25")], pa.decimal32(5, 2)), "decimal(5,2)", [Decimal("1.25")]),
    (pa.array([Decimal("-1.25")], pa.decimal256(38, 2)), "decimal(38,2)", [Decimal("-1.25")]),
    (pa.array(["ü", None], pa.large_string()), "varchar", ["ü", None]),
    (pa.array(["more than twelve bytes", None], pa.string_view()), "varchar", ["more than twelve bytes", None]),
    (pa.array(["a", None, "a"]).dictionary_encode(), "varchar", ["a", None, "a"]),
    (pa.array([b"ab", None], pa.binary(2)), "varbinary", [b"ab", None]),
    (pa.array([dt.date(1969, 12, 31)], pa.date64()), "date", [dt.date(1969, 12, 31)]),
    (pa.array([1, None], pa.timestamp("s")), "timestamp", [D(1970, 1, 1, 0, 0, 1), None]),
    (pa.array([-1], pa.timestamp("ns")), "timestamp", [D(1969, 12, 31, 23, 59, 59, 999999)]),
    (
        pa.array([-1], pa.timestamp("ns", "America/New_York")),
        "timestamp with time zone",
        [D(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)],
    ),
    (pa.array([UUID(int=5).bytes, None], pa.uuid()), "uuid", [str(UUID(int=5)), None]),
    (pa.array(['{"a":1}'], pa.json_()), "varchar", ['{"a":1}']),
    (pa.array([[["x"]], None], pa.large_list(pa.list_(pa.large_string()))), "array(array(varchar))", [[["x"]], None]),
    (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), "array(tinyint)", [[1, 2], None]),
    (pa.array([[("k", 1)]], pa.map_(pa.string_view(), pa.int8())), "map(varchar,tinyint)", [[("k", 1)]]),
    (
        pa.array([{"a": 1, "B c": None}], pa.struct([("a", pa.int8()), ("B c", pa.large_string())])),
        'row("a" tinyint,"B c" varchar)',
        [{"a": 1, "B c": None}],
    ),
]


@pytest.mark.parametrize(("array", "presto", "values"), CASES, ids=lambda case: str(getattr(case, "type", "")))
def test_each_type_has_a_prestos_and_its_values(array, presto, values):
    batch = pa.record_batch({"C": array})
    (column,) = columns = sent_columns(batch.schema)
    assert (column.name, column.type) == ("c", presto)
    stored = stored_batch(batch, columns)
    assert stored.schema == stored_schema(columns)
    assert stored.column(0).to_pylist() == values


@pytest.mark.parametrize(
    "arrow_type",
    [
        pa.time64("us"), pa.duration("ms"), pa.month_day_nano_interval(), pa.decimal256(39, 0), pa.decimal128(5, -1),
        pa.binary(0), pa.list_(pa.int8(), 0), pa.list_(pa.null()), pa.struct([]), pa.list_view(pa.int8()),
        pa.struct([("a", pa.int8()), ("A", pa.int8())]), pa.dictionary(pa.int8(), pa.list_(pa.int8())),
        pa.run_end_encoded(pa.int32(), pa.string()), pa.list_(pa.uuid()),
    ],
    ids=str,
)  # fmt: skip
def test_types_that_no_table_has_are_refused_by_name(arrow_type):
    with pytest.raises(CallError, match=r"columns of type .* \(odd\)") as caught:
        sent_columns(pa.schema([("odd", arrow_type)]))
    assert caught.value.status.name == "UNIMPLEMENTED"


def test_many_levels_are_refused():
    deep = pa.int8()
    for _ in range(20):
        deep = pa.list_(deep)
    with pytest.raises(CallError, match="columns of type"):
        sent_columns(pa.schema([("deep", deep)]))


@pytest.mark.parametrize(
    ("names", "told"),
    [(["a", "A"], "Column name 'a' specified more than once"), (["a", ""], "Column 2 has no name")],
)
def test_each_column_has_a_name_of_its_own(names, told):
    with pytest.raises(CallError, match=told):
        sent_columns(pa.schema([(name, pa.int8()) for name in names]))


def test_many_columns_cost_no_more_than_their_number():
    """They are looked at on the server's loop: a schema of two megabytes stopped it for minutes."""
    schema = pa.schema([(f"c{number}", pa.int8()) for number in range(30_000)])
    begun = time.process_time()
    assert len(sent_columns(schema)) == 30_000
    assert time.process_time() - begun < 3


def test_columns_of_nothing_are_left_out_and_not_alone():
    batch = pa.record_batch({"a": pa.array([1]), "n": pa.nulls(1)})
    columns = sent_columns(batch.schema)
    assert [column.type for column in columns] == ["bigint", "unknown"]
    assert stored_batch(batch, columns).schema.names == ["a"]
    with pytest.raises(CallError, match="no column with a type"):
        sent_columns(pa.schema([("n", pa.null())]))


def _words(long: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), long)


LONG = "x" * 10_000
BOMBS = {
    "dictionary": _words(pa.array([LONG])),
    "dictionary of views": _words(pa.array([LONG], pa.string_view())),
    "view": pa.Array.from_buffers(
        pa.string_view(),
        100_000,
        [
            None,
            pa.py_buffer(pa.array([LONG], pa.string_view()).buffers()[1].to_pybytes() * 100_000),
            pa.py_buffer(LONG.encode()),
        ],
    ),
    "inside": pa.ListArray.from_arrays(pa.array([0, 100_000], pa.int32()), _words(pa.array([LONG]))),
}


@pytest.mark.parametrize("what", BOMBS)
def test_what_says_a_long_text_often_is_refused_before_it_is_written_out(what):
    batch = pa.record_batch({"t": BOMBS[what]})
    batch.validate(full=True)
    before = pa.total_allocated_bytes()
    with pytest.raises(ProcessionError, match="more than 256 MB once decoded"):
        stored_batch(batch, sent_columns(batch.schema))
    assert pa.total_allocated_bytes() - before < 16 << 20


def test_values_that_do_not_fit_name_their_column():
    batch = pa.record_batch({"t": pa.array([2**62], pa.timestamp("s"))})
    with pytest.raises(ProcessionError, match="column t: ") as caught:
        stored_batch(batch, sent_columns(batch.schema))
    assert caught.value.code.type == "USER_ERROR"


def test_parts_of_larger_arrays_are_read_as_such():
    whole = pa.record_batch({"v": pa.array(["a", "b" * 20, None, "d"], pa.string_view()), "n": [1, 2, 3, 4]})
    part = whole.slice(1, 2)
    columns = sent_columns(part.schema)
    assert stored_batch(part, columns).to_pydict() == {"v": ["b" * 20, None], "n": [2, 3]}


MAP = pa.map_(pa.string(), pa.int8())
TWICE = pa.array([[("k", 1)], None, [("a", 1), ("k", 1), ("k", 2)]], MAP)


@pytest.mark.parametrize(
    "array",
    [
        TWICE,
        pa.ListArray.from_arrays(pa.array([0, 3], pa.int32()), TWICE),
        pa.StructArray.from_arrays([TWICE], ["m"]),
        pa.array([[(dt.date(2020, 1, 1), [("x", 1), ("x", 1)])]], pa.map_(pa.date32(), MAP)),
    ],
)
def test_maps_that_have_a_key_twice_are_refused(array):
    """DuckDB would not read the table any more; Spark takes the last one."""
    batch = pa.record_batch({"m": array})
    with pytest.raises(ProcessionError, match="column m: a map has a key twice"):
        stored_batch(batch, sent_columns(batch.schema))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[("k", 1), ("l", 1)], [("k", 1)], [], None], MAP),
        pa.array([], MAP),
        # What stands below a NULL is nobody's.
        pa.MapArray.from_arrays(
            pa.array([0, 2, 3], pa.int32()), pa.array(["k", "k", "k"]), pa.array([1, 2, 3], pa.int8()),
            mask=pa.array([True, False]),
        ),
    ],
)  # fmt: skip
def test_keys_are_compared_within_their_map(array):
    batch = pa.record_batch({"m": array})
    assert stored_batch(batch, sent_columns(batch.schema)).column("m").to_pylist() == array.to_pylist()

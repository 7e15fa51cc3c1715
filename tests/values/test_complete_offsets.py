"""Arrays without elements as Java's Arrow sends them: without the one offset that they should have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from coordinator.values.complete_offsets import with_offsets

MAP = pa.map_(pa.string(), pa.int32())


def without_offset(type_: pa.DataType) -> pa.Array:
    """No element, and no buffer where a reader looks for offsets. Its ``nbytes`` would end this process."""
    if pa.types.is_map(type_):
        entries = pa.StructArray.from_arrays(
            [without_offset(type_.key_type), pa.array([], type_.item_type)], fields=[type_.key_field, type_.item_field]
        )
        return pa.Array.from_buffers(type_, 0, [None, None], children=[entries])
    if pa.types.is_list(type_):
        return pa.Array.from_buffers(type_, 0, [None, None], children=[without_offset(type_.value_type)])
    if pa.types.is_string(type_):
        return pa.Array.from_buffers(type_, 0, [None, None, pa.py_buffer(b"")])
    return pa.array([], type_)


def lists(items: pa.Array) -> pa.Array:
    """Two empty arrays and a NULL between."""
    offsets = pa.array([0, 0, 0, 0], pa.int32())
    return pa.ListArray.from_arrays(offsets, items, mask=pa.array([False, True, False]))


@pytest.mark.parametrize("type_", [MAP, pa.list_(pa.string()), pa.list_(pa.int32()), pa.string()], ids=str)
@pytest.mark.parametrize("in_row", [False, True])
def test_what_is_missing_is_there(type_: pa.DataType, in_row: bool) -> None:
    column = lists(without_offset(type_))
    expected: list[object] = [[], None, []]
    if in_row:
        column = pa.StructArray.from_arrays([column], names=["a"], mask=pa.array([True, False, False]))
        expected = [None, {"a": None}, {"a": []}]
    batch = pa.record_batch([column, pa.array([1, 2, 3])], names=["x", "k"])
    made = with_offsets(batch)
    assert made.schema == batch.schema
    assert made.nbytes > 0
    assert made.column(0).to_pylist() == expected
    assert made.column(1).to_pylist() == [1, 2, 3]


def test_a_map_whose_values_are_all_empty() -> None:
    type_ = pa.map_(pa.string(), pa.list_(pa.string()))
    values = lists(without_offset(pa.string()))
    entries = pa.StructArray.from_arrays(
        [pa.array(["a", "b", "c"]), values], fields=[type_.key_field, type_.item_field]
    )
    column = pa.Array.from_buffers(type_, 1, [None, pa.py_buffer(b"\0\0\0\0\3\0\0\0")], children=[entries])
    made = with_offsets(pa.record_batch([column], names=["x"]))
    assert made.nbytes > 0
    assert made.column(0).to_pylist() == [[("a", []), ("b", None), ("c", [])]]


def test_a_part_of_a_larger_array() -> None:
    type_ = pa.list_(pa.list_(pa.string()))
    column = pa.array([[["a"]], [[]], [["b", None], None], None], type_).slice(1, 2)
    batch = pa.record_batch([column], names=["x"])
    assert with_offsets(batch) is batch
    without = lists(without_offset(pa.string())).slice(1, 2)
    assert with_offsets(pa.record_batch([without], names=["x"])).column(0).to_pylist() == [None, []]

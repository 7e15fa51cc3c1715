"""Decimals that are only moved from one file to another, as the integers that are stored.

Arrow would make each value 16 bytes wide and narrow again, for nothing. ``unscaled_footer.py`` makes it read what is
stored; ``annotations.py`` says in the new file what the integers are.
Source: Iceberg specification, appendix A (decimals in Parquet).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .tasks import Field, FieldJson, Fields

UNSCALED = "unscaled "
"""Before the name of a decimal type: its values as integers."""
_TYPE = re.compile(rf"(?:{UNSCALED})?decimal\((\d+),\s*(\d+)\)")
_INT32_DIGITS, _INT64_DIGITS = 9, 18


def precision_and_scale(iceberg: str) -> tuple[int, int] | None:
    """Of a decimal type, unscaled or not; None for any other."""
    found = _TYPE.fullmatch(iceberg)
    return (int(found[1]), int(found[2])) if found else None


def integers(precision: int) -> pa.DataType:
    """How Iceberg stores the values of a decimal that fits into an integer."""
    return pa.int32() if precision <= _INT32_DIGITS else pa.int64()


def with_integers(fields: Sequence[FieldJson], compared: set[int]) -> Fields:
    """The fields with decimals as integers where they fit, but for columns with a part in ``compared``."""
    return [dict(field) if compared & set(_ids(field)) else _changed(field, "type") for field in fields]


def scaled(field: FieldJson) -> Field:
    """The field as it was before ``with_integers``."""
    return _changed(field, "type", back=True)


def scales(fields: Sequence[FieldJson]) -> dict[int, int]:
    """By field id the scales of the unscaled decimals."""
    found = {}
    for number, type_ in (leaf for field in fields for leaf in _leaves(field, "id", "type")):
        if type_.startswith(UNSCALED) and (known := precision_and_scale(type_)):
            found[number] = known[1]
    return found


def whole(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Integers, fixed bytes or decimals as the integers ``wanted``; NULL stays. Raises for values that do not fit."""
    if pa.types.is_integer(array.type):
        return array if array.type == wanted else array.cast(wanted)
    width = array.type.byte_width
    compact = pa.concat_arrays([array]) if array.offset else array
    validity, data = compact.buffers()
    if data is None or not len(compact):
        return pa.nulls(len(compact), wanted)
    if pa.types.is_decimal(array.type):
        values = np.frombuffer(memoryview(data), "<i8")[: 2 * len(compact) : 2].copy()
    else:
        values = from_big_endian(memoryview(data), len(compact), width)
    made = pa.Array.from_buffers(pa.int64(), len(compact), [validity, pa.py_buffer(values)])
    return made if wanted == pa.int64() else made.cast(wanted)


def from_big_endian(data: memoryview[int], count: int, width: int) -> npt.NDArray[np.int64]:
    """Numbers of at most eight bytes: each is read with the bytes that follow it, which are shifted out again."""
    within = min(count, (len(data) - 8) // width + 1) if len(data) >= 8 else 0
    values = np.empty(count, np.int64)
    values[:within] = np.ndarray(within, ">i8", data, 0, (width,))
    values >>= 8 * (8 - width)
    for number in range(within, count):
        values[number] = int.from_bytes(data[number * width : (number + 1) * width], "big", signed=True)
    return values


def _changed(field: FieldJson, part: str, *, back: bool = False) -> Field:
    """The field or type with the type ``part`` changed, and whatever is in it."""
    type_ = field[part]
    if isinstance(type_, str):
        known = None if back else precision_and_scale(type_)
        fits = known is not None and known[0] <= _INT64_DIGITS
        return {**field, part: type_.removeprefix(UNSCALED) if back else UNSCALED + type_ if fits else type_}
    match type_["type"]:
        case "struct":
            return {**field, part: {**type_, "fields": [_changed(f, "type", back=back) for f in type_["fields"]]}}
        case "list":
            return {**field, part: _changed(type_, "element", back=back)}
        case _:
            return {**field, part: _changed(_changed(type_, "key", back=back), "value", back=back)}


def _ids(field: FieldJson) -> Iterator[int]:
    yield field["id"]
    for number, _ in _leaves(field, "id", "type"):
        yield number


def _leaves(field: FieldJson, id_: str, part: str) -> Iterator[tuple[int, str]]:
    """The primitive types of a field or type, each with its id."""
    type_ = field[part]
    if isinstance(type_, str):
        yield field[id_], type_
    elif type_["type"] == "struct":
        for child in type_["fields"]:
            yield from _leaves(child, "id", "type")
    elif type_["type"] == "list":
        yield from _leaves(type_, "element-id", "element")
    else:
        yield from _leaves(type_, "key-id", "key")
        yield from _leaves(type_, "value-id", "value")

"""Arrow columns to JSON cells by Presto type, a column at a time.

Source: Presto's FixJsonDataUtils and the Sql* value classes; recorded answers of Presto 0.296. Arrow forms accepted
for each type: those that the engines deliver, and whatever Arrow can cast to them.
"""

from __future__ import annotations

import uuid
from binascii import b2a_base64
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import pairwise
from math import isinf, isnan
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.kernels.functions.numbers import java_double
from shared.plan.types import Type

_encode_json = msgspec.json.Encoder().encode

Cells = list[Any]


def encode_column(array: pa.Array, presto_type: Type, nested_as_text: bool = False) -> Cells:
    """One JSON-ready Python value a row; null is None.

    ``nested_as_text`` gives arrays, maps and rows as Presto's pretty-printed text, recursively. Raises
    pyarrow.ArrowInvalid when the values do not fit the type.
    """
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        return [None] * len(array)
    match presto_type.base:
        case "array":
            return _array(array, presto_type, nested_as_text)
        case "map":
            return _map(array, presto_type, nested_as_text)
        case "row":
            return _row(array, presto_type, nested_as_text)
        case base:
            return _SCALARS.get(base, _other)(array, presto_type)


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    return array if array.type.equals(target) else pc.cast(array, target)


def _plain(target: pa.DataType) -> Callable[[pa.Array, Type], Cells]:
    def encode(array: pa.Array, _: Type) -> Cells:
        return list(_cast(array, target).to_pylist())

    return encode


def _text(array: pa.Array, _: Type) -> Cells:
    if _is_binary(array.type):
        return [None if v is None else v.decode("utf-8", "replace") for v in array.to_pylist()]
    return list(_cast(array, pa.string()).to_pylist())


def _char(array: pa.Array, presto_type: Type) -> Cells:
    length = presto_type.numbers[0] if presto_type.numbers else 1
    return list(pc.utf8_rpad(_cast(array, pa.string()), width=length, padding=" ").to_pylist())


def _double(array: pa.Array, _: Type) -> Cells:
    return _finite(_cast(array, pa.float64()))


def _real(array: pa.Array, _: Type) -> Cells:
    # Through text, so that 0.1 in four bytes stays 0.1 and not 0.10000000149011612.
    return _finite(_cast(_cast(_cast(array, pa.float32()), pa.string()), pa.float64()))


def _finite(array: pa.Array) -> Cells:
    cells = list(array.to_pylist())
    if pc.all(pc.is_finite(array)).as_py() in (True, None):
        return cells
    return [_not_finite(v) if v is not None and (isnan(v) or isinf(v)) else v for v in cells]


def _not_finite(value: float) -> str:
    if isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _decimal(array: pa.Array, presto_type: Type) -> Cells:
    precision, scale = (*presto_type.numbers, 0, 0)[:2] if presto_type.numbers else (38, 0)
    if pa.types.is_integer(array.type):
        # Arrow wants room for every value of the integer type before it narrows.
        array = pc.cast(array, pa.decimal128(38, scale))
    if not pa.types.is_decimal(array.type) or array.type.scale != scale:
        array = pc.cast(array, pa.decimal128(max(precision, 1), scale))
    texts = pc.cast(array, pa.string())
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return list(texts.to_pylist())
    return [None if text is None else f"{Decimal(text):f}" for text in texts.to_pylist()]


def _date(array: pa.Array, _: Type) -> Cells:
    return list(_cast(_cast(array, pa.date32()), pa.string()).to_pylist())


def _time(array: pa.Array, _: Type) -> Cells:
    if _is_text(array.type):
        return list(array.to_pylist())
    texts = pc.cast(pc.cast(array, pa.time64("us"), safe=False), pa.string())
    return list(pc.utf8_slice_codeunits(texts, 0, -3).to_pylist())


def _timestamp(array: pa.Array, presto_type: Type) -> Cells:
    if _is_text(array.type):
        return list(array.to_pylist())
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    return list(_timestamp_texts(array, _digits(presto_type)).to_pylist())


def _timestamp_with_time_zone(array: pa.Array, presto_type: Type) -> Cells:
    if _is_text(array.type):
        return list(array.to_pylist())
    zone = _zone_name(array.type.tz) if pa.types.is_timestamp(array.type) else "UTC"
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    texts = _timestamp_texts(array, _digits(presto_type))
    return list(pc.binary_join_element_wise(texts, zone, " ").to_pylist())


def _timestamp_texts(array: pa.Array, digits: int) -> pa.Array:
    texts = pc.cast(pc.cast(array, pa.timestamp("us"), safe=False), pa.string())
    return texts if digits >= 6 else pc.utf8_slice_codeunits(texts, 0, digits - 6)


def _digits(presto_type: Type) -> int:
    return presto_type.numbers[0] if presto_type.numbers else 3


def _microseconds(array: pa.Array, _: Type) -> Cells:
    return _timestamp(array, Type("timestamp", (6,)))


def _zone_name(zone: str | None) -> str:
    return "UTC" if zone in (None, "Z", "Etc/UTC", "+00:00", "-00:00", "GMT", "Etc/GMT") else str(zone)


def _day_to_second(array: pa.Array, _: Type) -> Cells:
    if _is_text(array.type):
        return list(array.to_pylist())
    if pa.types.is_duration(array.type):
        array = pc.cast(pc.cast(array, pa.duration("ms"), safe=False), pa.int64())
    return [None if v is None else _day_to_second_text(v) for v in array.to_pylist()]


def _day_to_second_text(milliseconds: int) -> str:
    seconds, millis = divmod(abs(milliseconds), 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    sign = "-" if milliseconds < 0 else ""
    return f"{sign}{day} {hour:02d}:{minute:02d}:{second:02d}.{millis:03d}"


def _year_to_month(array: pa.Array, _: Type) -> Cells:
    if _is_text(array.type):
        return list(array.to_pylist())
    months = array.to_pylist()
    return [None if m is None else f"{'-' if m < 0 else ''}{abs(m) // 12}-{abs(m) % 12}" for m in months]


def _uuid(array: pa.Array, presto_type: Type) -> Cells:
    if _is_binary(array.type):
        return [None if v is None else str(uuid.UUID(bytes=v)) for v in array.to_pylist()]
    return _text(array, presto_type)


def _other(array: pa.Array, presto_type: Type) -> Cells:
    """varbinary, and types that only their own functions can read: bytes in base64."""
    if _is_binary(array.type):
        return [None if v is None else b2a_base64(v, newline=False).decode() for v in array.to_pylist()]
    return _text(array, presto_type)


def _bing_tile(array: pa.Array, _presto_type: Type) -> Cells:
    """As Presto's BingTile is written: x from bit 32 on, zoom from bit 26 on, y below."""
    tiles = array.to_pylist()
    return [None if t is None else {"x": t >> 32, "y": t & (1 << 26) - 1, "zoom": t >> 26 & 0x1F} for t in tiles]


_SCALARS: dict[str, Callable[[pa.Array, Type], Cells]] = {
    "boolean": _plain(pa.bool_()),
    "tinyint": _plain(pa.int64()),
    "smallint": _plain(pa.int64()),
    "integer": _plain(pa.int64()),
    "bigint": _plain(pa.int64()),
    "double": _double,
    "real": _real,
    "decimal": _decimal,
    "varchar": _text,
    "json": _text,
    "ipaddress": _text,
    "ipprefix": _text,
    "char": _char,
    "uuid": _uuid,
    "date": _date,
    "time": _time,
    "time with time zone": _text,
    "timestamp": _timestamp,
    "timestamp microseconds": _microseconds,
    "timestamp with time zone": _timestamp_with_time_zone,
    "interval day to second": _day_to_second,
    "interval year to month": _year_to_month,
    "bingtile": _bing_tile,
}


def _array(array: pa.Array, presto_type: Type, as_text: bool) -> Cells:
    element = presto_type.arguments[0]
    if not pa.types.is_list(array.type):
        array = pc.cast(array, pa.list_(array.type.value_type))
    first, spans = _spans(array)
    last = first + (spans[-1][1] if spans else 0)
    cells = encode_column(array.values[first:last], element, as_text)
    rows = [cells[a:b] for a, b in spans]
    return _with_nulls(array, [_array_text(row) for row in rows] if as_text else rows)


def _map(array: pa.Array, presto_type: Type, as_text: bool) -> Cells:
    key_type, value_type = presto_type.arguments
    first, spans = _spans(array)
    last = first + (spans[-1][1] if spans else 0)
    keys = [_key_text(key) for key in encode_column(array.keys[first:last], key_type, as_text)]
    values = encode_column(array.items[first:last], value_type, as_text)
    rows = [dict(zip(keys[a:b], values[a:b], strict=True)) for a, b in spans]
    return _with_nulls(array, [_map_text(row) for row in rows] if as_text else rows)


def _row(array: pa.Array, presto_type: Type, as_text: bool) -> Cells:
    fields = [encode_column(array.field(i), field, as_text) for i, field in enumerate(presto_type.arguments)]
    rows = list(zip(*fields, strict=True))
    return _with_nulls(array, [_array_text(row) for row in rows] if as_text else rows)


def _spans(array: pa.Array) -> tuple[int, list[tuple[int, int]]]:
    """Where the flat child begins, and each row's part of it counted from there."""
    offsets = array.offsets.to_pylist()
    first = offsets[0] if offsets else 0
    return first, [(a - first, b - first) for a, b in pairwise(offsets)]


def _with_nulls(array: pa.Array, rows: Cells) -> Cells:
    if array.null_count == 0:
        return rows
    return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]


def _array_text(cells: list[object] | tuple[object, ...]) -> str:
    return f"[ {', '.join(_scalar_text(cell) for cell in cells)} ]" if cells else "[ ]"


def _map_text(entries: dict[str, object]) -> str:
    if not entries:
        return "{ }"
    lines = (f"  {_json_text(key)} : {_scalar_text(value)}" for key, value in entries.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def _scalar_text(cell: object) -> str:
    return java_double(cell) if isinstance(cell, float) else _json_text(cell)


def _json_text(cell: object) -> str:
    return _encode_json(cell).decode()


def _key_text(key: object) -> str:
    match key:
        case str():
            return key
        case None:
            return "null"
        case bool():
            return str(key).lower()
        case list() | tuple():
            return f"[{', '.join(map(_key_text, key))}]"
        case dict():
            return "{" + ", ".join(f"{k}={_key_text(v)}" for k, v in key.items()) + "}"
        case float():
            return java_double(key)
        case _:
            return str(key)


def _is_text(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))


def _is_binary(arrow_type: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(arrow_type)
        or pa.types.is_large_binary(arrow_type)
        or pa.types.is_fixed_size_binary(arrow_type)
    )


def encode_rows(batch: pa.RecordBatch, types: tuple[Type, ...], nested_as_text: bool) -> bytes:
    """The rows as JSON arrays joined by commas, without the enclosing brackets; empty for no rows."""
    if not types:
        return b",".join([b"[]"] * batch.num_rows)
    columns: Iterator[Cells] = (
        encode_column(column, presto_type, nested_as_text)
        for column, presto_type in zip(batch.columns, types, strict=True)
    )
    return _encode_json(list(zip(*columns, strict=True)))[1:-1]

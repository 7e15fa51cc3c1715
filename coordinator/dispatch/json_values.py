"""Scalars of any engine's Arrow form as those that JSON has: booleans, bigints, doubles and texts.

Source: Presto's FixJsonDataUtils and the Sql* value classes; recorded answers of Presto 0.296. Arrow forms accepted
for each type: those that the engines deliver, and whatever Arrow can cast to them.
"""

from __future__ import annotations

import uuid
from binascii import b2a_base64
from collections.abc import Callable, Iterable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from coordinator.kernels.functions.colors import shown_color
from shared.plan.types import Type


def plain(array: pa.Array) -> pa.Array:
    """Without dictionary and extension type."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def json_values(array: pa.Array, presto_type: Type) -> pa.Array:
    """Of a scalar type, as bool, int64, float64 (also what is not finite) or string.

    Raises pyarrow.ArrowInvalid when the values do not fit the type.
    """
    return _BY_TYPE.get(presto_type.base, _other)(array, presto_type)


def _texts(texts: Iterable[str | None]) -> pa.Array:
    return pa.array(list(texts), pa.string())


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    return array if array.type.equals(target) else pc.cast(array, target)


def _as(target: pa.DataType) -> Callable[[pa.Array, Type], pa.Array]:
    def encode(array: pa.Array, _: Type) -> pa.Array:
        return _cast(array, target)

    return encode


def _text(array: pa.Array, _: Type) -> pa.Array:
    if _is_binary(array.type):
        return _texts(None if v is None else v.decode("utf-8", "replace") for v in array.to_pylist())
    return _cast(array, pa.string())


def _char(array: pa.Array, presto_type: Type) -> pa.Array:
    length = presto_type.numbers[0] if presto_type.numbers else 1
    return pc.utf8_rpad(_cast(array, pa.string()), width=length, padding=" ")


def _double(array: pa.Array, _: Type) -> pa.Array:
    return _cast(array, pa.float64())


def _real(array: pa.Array, _: Type) -> pa.Array:
    # Through text, so that 0.1 in four bytes stays 0.1 and not 0.10000000149011612.
    return _cast(_cast(_cast(array, pa.float32()), pa.string()), pa.float64())


def _decimal(array: pa.Array, presto_type: Type) -> pa.Array:
    precision, scale = (*presto_type.numbers, 0, 0)[:2] if presto_type.numbers else (38, 0)
    if pa.types.is_integer(array.type):
        # Arrow wants room for every value of the integer type before it narrows.
        array = pc.cast(array, pa.decimal128(38, scale))
    if not pa.types.is_decimal(array.type) or array.type.scale != scale:
        array = pc.cast(array, pa.decimal128(max(precision, 1), scale))
    texts = pc.cast(array, pa.string())
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    return _texts(None if text is None else f"{Decimal(text):f}" for text in texts.to_pylist())


def _date(array: pa.Array, _: Type) -> pa.Array:
    return _cast(_cast(array, pa.date32()), pa.string())


def _time(array: pa.Array, _: Type) -> pa.Array:
    if _is_text(array.type):
        return _cast(array, pa.string())
    texts = pc.cast(pc.cast(array, pa.time64("us"), safe=False), pa.string())
    return pc.utf8_slice_codeunits(texts, 0, -3)


def _timestamp(array: pa.Array, presto_type: Type) -> pa.Array:
    if _is_text(array.type):
        return _cast(array, pa.string())
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    return _timestamp_texts(array, _digits(presto_type))


def _timestamp_with_time_zone(array: pa.Array, presto_type: Type) -> pa.Array:
    if _is_text(array.type):
        return _cast(array, pa.string())
    zone = _zone_name(array.type.tz) if pa.types.is_timestamp(array.type) else "UTC"
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    texts = _timestamp_texts(array, _digits(presto_type))
    return pc.binary_join_element_wise(texts, zone, " ")


def _timestamp_texts(array: pa.Array, digits: int) -> pa.Array:
    texts = pc.cast(pc.cast(array, pa.timestamp("us"), safe=False), pa.string())
    return texts if digits >= 6 else pc.utf8_slice_codeunits(texts, 0, digits - 6)


def _digits(presto_type: Type) -> int:
    return presto_type.numbers[0] if presto_type.numbers else 3


def _microseconds(array: pa.Array, _: Type) -> pa.Array:
    return _timestamp(array, Type("timestamp", (6,)))


def _zone_name(zone: str | None) -> str:
    return "UTC" if zone in (None, "Z", "Etc/UTC", "+00:00", "-00:00", "GMT", "Etc/GMT") else str(zone)


def _day_to_second(array: pa.Array, _: Type) -> pa.Array:
    if _is_text(array.type):
        return _cast(array, pa.string())
    if pa.types.is_duration(array.type):
        array = pc.cast(pc.cast(array, pa.duration("ms"), safe=False), pa.int64())
    return _texts(None if v is None else _day_to_second_text(v) for v in array.to_pylist())


def _day_to_second_text(milliseconds: int) -> str:
    seconds, millis = divmod(abs(milliseconds), 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    sign = "-" if milliseconds < 0 else ""
    return f"{sign}{day} {hour:02d}:{minute:02d}:{second:02d}.{millis:03d}"


def _year_to_month(array: pa.Array, _: Type) -> pa.Array:
    if _is_text(array.type):
        return _cast(array, pa.string())
    months = array.to_pylist()
    return _texts(None if m is None else f"{'-' if m < 0 else ''}{abs(m) // 12}-{abs(m) % 12}" for m in months)


def _uuid(array: pa.Array, presto_type: Type) -> pa.Array:
    if _is_binary(array.type):
        return _texts(None if v is None else str(uuid.UUID(bytes=v)) for v in array.to_pylist())
    return _text(array, presto_type)


def _color(array: pa.Array, _: Type) -> pa.Array:
    return _texts(None if v is None else shown_color(v) for v in array.to_pylist())


def _other(array: pa.Array, presto_type: Type) -> pa.Array:
    """varbinary, and types that only their own functions can read: bytes in base64."""
    if _is_binary(array.type):
        return _texts(None if v is None else b2a_base64(v, newline=False).decode() for v in array.to_pylist())
    return _text(array, presto_type)


_BY_TYPE: dict[str, Callable[[pa.Array, Type], pa.Array]] = {
    "boolean": _as(pa.bool_()),
    "tinyint": _as(pa.int64()),
    "smallint": _as(pa.int64()),
    "integer": _as(pa.int64()),
    "bigint": _as(pa.int64()),
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
    "color": _color,
}


def _is_text(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))


def _is_binary(arrow_type: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(arrow_type)
        or pa.types.is_large_binary(arrow_type)
        or pa.types.is_fixed_size_binary(arrow_type)
    )

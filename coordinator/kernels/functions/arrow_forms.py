"""The Arrow form of each Presto type, and values between Arrow and Python.

Python forms: ``int``, ``float`` (real rounded to four bytes), ``Decimal``, ``str`` (char without its padding),
``bytes``, ``date``, ``time``, naive ``datetime`` for timestamp, aware ``datetime`` with time zone, milliseconds and
months as ``int`` for intervals, ``tuple`` for arrays and rows, ``dict`` for maps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from ..types import Type
from .zones import zone_of

Convert = Callable[[Any], Any]
_WIDE = Context(prec=80)
PLAIN: dict[str, pa.DataType] = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "integer": pa.int32(), "bigint": pa.int64(),
    "real": pa.float32(), "double": pa.float64(), "varbinary": pa.binary(), "date": pa.date32(),
    "time": pa.time64("us"), "timestamp": pa.timestamp("us"), "interval year to month": pa.int32(),
    "bingtile": pa.int64(),
}  # fmt: skip
"""Types without parts that have the same Arrow form everywhere."""
_IN_KERNELS: dict[str, pa.DataType] = {
    **PLAIN, "timestamp with time zone": pa.timestamp("us", "UTC"), "interval day to second": pa.int64(),
    "unknown": pa.int32(),
    "hyperloglog": pa.binary(), "p4hyperloglog": pa.binary(), "tdigest": pa.binary(), "qdigest": pa.binary(),
    "setdigest": pa.binary(), "khyperloglog": pa.binary(), "kllsketch": pa.binary(), "sfmsketch": pa.binary(),
    "kdbtree": pa.string(), "color": pa.int64(),
}  # fmt: skip


def field_name(type_: Type, position: int) -> str:
    """What a row's field is called where each needs a name."""
    return type_.fields[position].name or f"field{position}"


def arrow_type(type_: Type, plain: Mapping[str, pa.DataType] = _IN_KERNELS) -> pa.DataType:
    """The Arrow form of a type, by that of types without parts; text for every type that is not among ``plain``."""
    match type_.base:
        case "decimal":
            return pa.decimal128(*((*type_.numbers, 0)[:2] if type_.numbers else (38, 0)))
        case "array":
            return pa.list_(arrow_type(type_.arguments[0], plain))
        case "map":
            key, value = (arrow_type(argument, plain) for argument in type_.arguments)
            return pa.map_(key, value)
        case "row":
            return pa.struct([(field_name(type_, i), arrow_type(a, plain)) for i, a in enumerate(type_.arguments)])
        case base:
            return plain.get(base, pa.string())


def _same(value: object) -> object:
    return value


def reader(type_: Type) -> Convert:
    """From what Arrow's ``to_pylist`` gives, never None, to the Python form."""
    match type_.base:
        case "array":
            item = _optional(reader(type_.arguments[0]))
            return lambda value: tuple(map(item, value))
        case "map":
            key, item = _optional(reader(type_.arguments[0])), _optional(reader(type_.arguments[1]))
            return lambda value: {key(k): item(v) for k, v in (value.items() if isinstance(value, dict) else value)}
        case "row":
            items = [_optional(reader(a)) for a in type_.arguments]
            # Collected rows carry the columns of their order behind their own.
            return lambda value: tuple(read(v) for read, v in zip(items, value.values(), strict=False))
        case "clock":
            return time.fromisoformat
        case "interval day to second":
            return lambda value: value // timedelta(milliseconds=1) if isinstance(value, timedelta) else value
        case _:
            return _same


def _optional(convert: Convert) -> Convert:
    return _same if convert is _same else lambda value: None if value is None else convert(value)


def writer(type_: Type) -> Convert:
    """From a Python form, never None, to what ``pa.array`` takes for ``arrow_type``."""
    match type_.base:
        case "array":
            item = _optional(writer(type_.arguments[0]))
            return lambda value: list(map(item, value))
        case "map":
            key, item = writer(type_.arguments[0]), _optional(writer(type_.arguments[1]))
            return lambda value: [(key(k), item(v)) for k, v in value.items()]
        case "row":
            names = [field_name(type_, i) for i in range(len(type_.arguments))]
            items = [_optional(writer(a)) for a in type_.arguments]
            return lambda value: {n: w(v) for n, w, v in zip(names, items, value, strict=True)}
        case "decimal":
            exponent = Decimal(1).scaleb(-type_.numbers[1])
            return lambda value: value.quantize(exponent, context=_WIDE)
        case "timestamp with time zone":
            return lambda value: value.astimezone(UTC)
        case "clock":
            return lambda value: f"{value:%H:%M:%S}.{value.microsecond // 1000:03d}"
        case _:
            return _same


def decoded(value: Any, type_: Type) -> object:
    """A constant from its form in a program's JSON."""
    if value is None:
        return None
    match type_.base:
        case "decimal":
            return Decimal(value)
        case "double" | "real":
            return float(value)
        case base if _IN_KERNELS.get(base) == pa.binary():
            return bytes.fromhex(value)
        case "date":
            return date.fromisoformat(value)
        case "time":
            return time.fromisoformat(value)
        case "timestamp":
            return datetime.fromisoformat(value)
        case "timestamp with time zone":
            instant, zone = value
            return datetime.fromisoformat(instant).astimezone(zone_of(zone))
        case "array":
            return tuple(decoded(v, type_.arguments[0]) for v in value)
        case "row":
            return tuple(decoded(v, a) for v, a in zip(value, type_.arguments, strict=True))
        case "map":
            key, item = type_.arguments
            return {decoded(k, key): decoded(v, item) for k, v in value}
        case _:
            return value

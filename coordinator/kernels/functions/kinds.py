"""Presto types as the kernels know them, and values between Arrow and Python.

Python forms: ``int``, ``float`` (real rounded to four bytes), ``Decimal``, ``str`` (char without its padding),
``bytes``, ``date``, ``time``, naive ``datetime`` for timestamp, aware ``datetime`` with time zone, milliseconds and
months as ``int`` for intervals, ``tuple`` for arrays and rows, ``dict`` for maps.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa

Convert = Callable[[Any], Any]
_OFFSET = re.compile(r"([+-])([0-9]{1,2}):?([0-9]{2})?")
NUMBERS = ("tinyint", "smallint", "integer", "bigint", "real", "double", "decimal")


class Kind(NamedTuple):
    """A type: ``arguments`` are types inside it, ``numbers`` its lengths, ``names`` those of a row's fields."""

    base: str
    arguments: tuple[Kind, ...] = ()
    numbers: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The type as Presto's messages write it: no space after a comma."""
        return str(self).replace(", ", ",")

    def __str__(self) -> str:
        if self.base == "row":
            fields = (f"{n} {a}".strip() for n, a in zip(self.names, self.arguments, strict=True))
            return f"row({', '.join(fields)})"
        inside = ",".join([*map(str, self.arguments), *map(str, self.numbers)])
        return f"{self.base}({inside})" if inside else self.base


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


@lru_cache(maxsize=1024)
def _kind(base: str, parameters: tuple[Any, ...]) -> Kind:
    if base == "row":
        return Kind(base, tuple(_frozen_kind(t) for _, t in parameters), names=tuple(n for n, _ in parameters))
    arguments = tuple(_frozen_kind(p) for p in parameters if not isinstance(p, int))
    return Kind(base, arguments, tuple(p for p in parameters if isinstance(p, int)))


def _frozen_kind(value: tuple[Any, ...]) -> Kind:
    return _kind(value[0], value[1:])


def _frozen(value: object) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def kind_of(encoded: list[Any]) -> Kind:
    """The type of its encoded form: ``["array", ["decimal", 10, 2]]``, ``["row", ["x", ["bigint"]]]``."""
    return _frozen_kind(_frozen(encoded))


def arrow_type(kind: Kind, plain: Mapping[str, pa.DataType] = _IN_KERNELS) -> pa.DataType:
    """The Arrow form of a type, by that of types without parts; text for every type that is not among ``plain``."""
    match kind.base:
        case "decimal":
            return pa.decimal128(*kind.numbers)
        case "array":
            return pa.list_(arrow_type(kind.arguments[0], plain))
        case "map":
            return pa.map_(*(arrow_type(argument, plain) for argument in kind.arguments))
        case "row":
            fields = enumerate(zip(kind.names, kind.arguments, strict=True))
            return pa.struct([(n or f"field{i}", arrow_type(a, plain)) for i, (n, a) in fields])
        case base:
            return plain.get(base, pa.string())


def _same(value: object) -> object:
    return value


def reader(kind: Kind) -> Convert:
    """From what Arrow's ``to_pylist`` gives, never None, to the Python form."""
    match kind.base:
        case "array":
            item = _optional(reader(kind.arguments[0]))
            return lambda value: tuple(map(item, value))
        case "map":
            key, item = _optional(reader(kind.arguments[0])), _optional(reader(kind.arguments[1]))
            return lambda value: {key(k): item(v) for k, v in (value.items() if isinstance(value, dict) else value)}
        case "row":
            items = [_optional(reader(a)) for a in kind.arguments]
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


def writer(kind: Kind) -> Convert:
    """From a Python form, never None, to what ``pa.array`` takes for ``arrow_type``."""
    match kind.base:
        case "array":
            item = _optional(writer(kind.arguments[0]))
            return lambda value: list(map(item, value))
        case "map":
            key, item = writer(kind.arguments[0]), _optional(writer(kind.arguments[1]))
            return lambda value: [(key(k), item(v)) for k, v in value.items()]
        case "row":
            names = [n or f"field{i}" for i, n in enumerate(kind.names)]
            items = [_optional(writer(a)) for a in kind.arguments]
            return lambda value: {n: w(v) for n, w, v in zip(names, items, value, strict=True)}
        case "decimal":
            exponent = Decimal(1).scaleb(-kind.numbers[1])
            return lambda value: value.quantize(exponent, context=_WIDE)
        case "timestamp with time zone":
            return lambda value: value.astimezone(UTC)
        case "clock":
            return lambda value: f"{value:%H:%M:%S}.{value.microsecond // 1000:03d}"
        case _:
            return _same


_WIDE = __import__("decimal").Context(prec=80)


def single(value: float) -> float:
    """Rounded to the four bytes of a real."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def decoded(value: Any, kind: Kind) -> Any:
    """A constant from its form in a program's JSON."""
    if value is None:
        return None
    match kind.base:
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
            moment = datetime.fromisoformat(value[0])
            return moment.astimezone(zone_of(value[1]))
        case "array":
            return tuple(decoded(v, kind.arguments[0]) for v in value)
        case "row":
            return tuple(decoded(v, a) for v, a in zip(value, kind.arguments, strict=True))
        case "map":
            key, item = kind.arguments
            return {decoded(k, key): decoded(v, item) for k, v in value}
        case _:
            return value


@lru_cache(maxsize=1024)
def zone_of(name: str) -> tzinfo:
    """The zone of a name or of an offset such as ``+05:30``; raises ValueError."""
    if name.upper() in ("UTC", "Z", "GMT", "UT", "ETC/UTC"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if minutes > 14 * 60:
            raise ValueError(f"Unknown time-zone ID {name}")
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except Exception as error:
        raise ValueError(f"Unknown time-zone ID {name}") from error

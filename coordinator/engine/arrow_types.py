"""Presto types as Arrow types, and rows of Python values as record batches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa

from shared.plan.types import Type, parse_type


class TypedColumn(Protocol):
    """A result column; ``type`` is Presto type text."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...


_PLAIN: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double": pa.float64(),
    "varbinary": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "interval day to second": pa.duration("ms"),
    "interval year to month": pa.int32(),
    "unknown": pa.null(),
    "bingtile": pa.int64(),
}


def arrow_type(presto_type: str | Type) -> pa.DataType:
    """The Arrow form of a Presto type between engines and pages; text for every type without one of its own."""
    parsed = parse_type(presto_type) if isinstance(presto_type, str) else presto_type
    match parsed.base:
        case "decimal":
            precision, scale = (*parsed.numbers, 0, 0)[:2] if parsed.numbers else (38, 0)
            return pa.decimal128(precision, scale)
        case "array":
            return pa.list_(arrow_type(parsed.arguments[0]))
        case "map":
            return pa.map_(*(arrow_type(argument) for argument in parsed.arguments))
        case "row":
            fields = [(f.name or f"field{i}", arrow_type(f.type)) for i, f in enumerate(parsed.fields)]
            return pa.struct(fields)
        case base:
            return _PLAIN.get(base, pa.string())


def rows_to_batch(columns: Sequence[TypedColumn], rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    """``rows`` of Python values as one batch whose fields are named and typed by ``columns``."""
    arrays = [
        pa.array([_to_arrow(row[i], column.type) for row in rows], arrow_type(column.type))
        for i, column in enumerate(columns)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])


def _to_arrow(value: Any, presto_type: str) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None and presto_type == "timestamp with time zone":
        return f"{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03d} {value.tzinfo}"
    if value is not None and presto_type in ("uuid", "ipaddress", "ipprefix"):
        return str(value)
    return value

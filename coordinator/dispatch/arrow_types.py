"""Presto's types as clients get them in Arrow streams, and columns of the engines in that form.

Values are those of the pages (``encode.py``): timestamps and times of three digits, instants in place of zones. What
Arrow has no type for is text. Every field names Presto's type under the key that Flight SQL has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.dispatch.cells import encode_column
from coordinator.kernels.functions.arrow_forms import field_name
from coordinator.kernels.nested import list_of, map_of, row_of
from coordinator.values.arrow_columns import instants_of_texts, is_text, plain, uuid_bytes
from coordinator.vocabulary.planned_statement import Column
from shared.plan.kept import kept
from shared.plan.types import Type, parse_type

TYPE_NAME = b"ARROW:FLIGHT:SQL:TYPE_NAME"
PRECISION, SCALE = b"ARROW:FLIGHT:SQL:PRECISION", b"ARROW:FLIGHT:SQL:SCALE"
_EXTENSION_NAME, _EXTENSION_DATA = b"ARROW:extension:name", b"ARROW:extension:metadata"
_INSTANT = pa.timestamp("ms", "UTC")
_PLAIN: dict[str, pa.DataType] = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "integer": pa.int32(), "bigint": pa.int64(),
    "real": pa.float32(), "double": pa.float64(), "varbinary": pa.binary(), "date": pa.date32(),
    "time": pa.time32("ms"), "timestamp microseconds": pa.timestamp("us"), "timestamp with time zone": _INSTANT,
    "interval day to second": pa.duration("ms"), "uuid": pa.uuid(), "unknown": pa.null(),
    **dict.fromkeys(
        ("hyperloglog", "p4hyperloglog", "tdigest", "qdigest", "setdigest", "khyperloglog", "kllsketch", "sfmsketch"),
        pa.binary(),
    ),
}  # fmt: skip


def client_type(presto_type: Type) -> pa.DataType:
    """The Arrow type of a result column."""
    match presto_type.base:
        case "decimal":
            return pa.decimal128(*((*presto_type.numbers, 0)[:2] if presto_type.numbers else (38, 0)))
        case "timestamp":
            digits = presto_type.numbers[0] if presto_type.numbers else 3
            return pa.timestamp("us" if digits > 3 else "ms")
        case "array":
            return pa.list_(_inner("item", presto_type.arguments[0]))
        case "map":
            key, value = presto_type.arguments
            return pa.map_(_inner("key", key).with_nullable(False), _inner("value", value))
        case "row":
            return pa.struct([_inner(field_name(presto_type, i), a) for i, a in enumerate(presto_type.arguments)])
        case base:
            return _PLAIN.get(base, pa.string())


def _inner(name: str, presto_type: Type) -> pa.Field:
    return pa.field(name, client_type(presto_type))


def client_field(
    name: str, type_text: str, *, nullable: bool = True, extra: dict[bytes, bytes] | None = None
) -> pa.Field:
    """A column of a result, with Presto's type in its metadata."""
    presto_type = parse_type(type_text)
    metadata = {TYPE_NAME: type_text.encode(), **(extra or {})}
    if presto_type.base == "decimal":
        precision, scale = (*presto_type.numbers, 0)[:2] if presto_type.numbers else (38, 0)
        metadata |= {PRECISION: str(precision).encode(), SCALE: str(scale).encode()}
    if presto_type.base == "json":
        # By its metadata, so that a reader that does not know the extension sees the text.
        metadata |= {_EXTENSION_NAME: b"arrow.json", _EXTENSION_DATA: b""}
    return pa.field(name, client_type(presto_type), nullable, metadata)


@kept(512, longest=50_000)
def client_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The schema of a statement's result."""
    return pa.schema([client_field(column.name, column.type) for column in columns])


def client_batch(batch: pa.RecordBatch, types: Sequence[Type], schema: pa.Schema) -> pa.RecordBatch:
    """A batch as engines give it in the form that clients get; raises pyarrow.ArrowInvalid for what does not fit."""
    columns = [client_column(column, each) for column, each in zip(batch.columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def client_column(array: pa.Array, presto_type: Type) -> pa.Array:
    """A column in its client's form."""
    array, target = plain(array), client_type(presto_type)
    if pa.types.is_null(array.type) or pa.types.is_null(target):
        return pa.nulls(len(array), target)

    def part(number: int, child: pa.Array) -> pa.Array:
        return client_column(child, presto_type.arguments[number])

    match presto_type.base:
        case "array":
            return list_of(array, target, part)
        case "map":
            return map_of(array, target, part)
        case "row":
            return row_of(array, target, part)
        case base:
            return _SCALARS.get(base, _plain)(array, presto_type, target)


def _plain(array: pa.Array, presto_type: Type, target: pa.DataType) -> pa.Array:
    if array.type.equals(target):
        return array
    if pa.types.is_string(target) and not is_text(array.type):
        return _texts(array, presto_type)
    return pc.cast(array, target)


def _texts(array: pa.Array, presto_type: Type) -> pa.Array:
    """As the pages show the values."""
    cells = encode_column(array, presto_type)
    return pa.array(
        [c if c is None or isinstance(c, str) else msgspec.json.encode(c).decode() for c in cells], pa.string()
    )


def _char(array: pa.Array, presto_type: Type, target: pa.DataType) -> pa.Array:
    length = presto_type.numbers[0] if presto_type.numbers else 1
    return pc.utf8_rpad(_plain(array, presto_type, target), width=length, padding=" ")


def _decimal(array: pa.Array, presto_type: Type, target: pa.DataType) -> pa.Array:
    if pa.types.is_integer(array.type):
        # Arrow wants room for every value of the integer type before it narrows.
        array = pc.cast(array, pa.decimal128(38, (*presto_type.numbers, 0)[1] if presto_type.numbers else 0))
    return pc.cast(array, target) if not array.type.equals(target) else array


def _time(array: pa.Array, _: Type, target: pa.DataType) -> pa.Array:
    return array if array.type.equals(target) else pc.cast(array, target, safe=False)


def _timestamp(array: pa.Array, _: Type, target: pa.DataType) -> pa.Array:
    if is_text(array.type):
        array = pc.cast(array, pa.timestamp("us"))
    elif pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    return _narrowed(array, target)


def _narrowed(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Digits beyond the type's are cut off, before 1970 too."""
    if array.type.equals(target):
        return array
    unit = "millisecond" if target.unit == "ms" else "microsecond"
    return pc.cast(pc.floor_temporal(array, unit=unit), target, safe=False)


def _instant(array: pa.Array, _: Type, target: pa.DataType) -> pa.Array:
    if not is_text(array.type):
        if array.type.tz is None:
            array = pc.cast(array, pa.timestamp(array.type.unit, "UTC"))
        return _narrowed(pc.cast(array, pa.timestamp(array.type.unit, "UTC")), target)
    return instants_of_texts(array, target)


def _day_to_second(array: pa.Array, _: Type, target: pa.DataType) -> pa.Array:
    if pa.types.is_integer(array.type):
        return pc.cast(pc.cast(array, pa.int64()), target)
    return pc.cast(array, target, safe=False) if not array.type.equals(target) else array


def _uuid(array: pa.Array, _: Type, target: pa.DataType) -> pa.Array:
    return pa.ExtensionArray.from_storage(target, uuid_bytes(array))


_SCALARS: dict[str, Callable[[pa.Array, Type, pa.DataType], pa.Array]] = {
    "char": _char,
    "decimal": _decimal,
    "time": _time,
    "timestamp": _timestamp,
    "timestamp microseconds": _timestamp,
    "timestamp with time zone": _instant,
    "interval day to second": _day_to_second,
    "uuid": _uuid,
}

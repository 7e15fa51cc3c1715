"""Columns of type variant as JSON texts, whatever of them a writer has put into columns of their own ("shredded").

A group has ``metadata``, ``value`` and maybe ``typed_value``; a part whose type is the column's is in ``typed_value``,
and what is not in ``value``. The texts of parts are made by column and put together by row.
Source: parquet-format, VariantShredding.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from .errors import KernelError
from .variant import (
    ZONE,
    BadVariantError,
    bytes_json,
    clock_json,
    day_json,
    double_json,
    float_json,
    instant_json,
    object_text,
    text_json,
    uuid_json,
    variant_fields,
    variant_json,
)

Texts = Sequence[str | None]
"""One a row; None: there is no such part."""
_Show = Callable[..., str]
_NULL = "null"


def json_column(array: pa.Array, column: str) -> pa.Array:
    """The rows of a variant column as texts; NULL where the group is. Raises KernelError, which names the column."""
    present = array.is_valid()
    there = array if array.null_count == 0 else array.filter(present)  # others may have any bytes
    try:
        texts = iter(_texts(there, there.field("metadata").to_pylist()))
    except (BadVariantError, KeyError, ValueError, TypeError) as error:
        raise KernelError("ICEBERG_BAD_DATA", f"Column {column} is no variant: {error}") from error
    return pa.array([(next(texts) or _NULL) if valid else None for valid in present.to_pylist()], pa.string())


def _texts(group: pa.Array, metadata: Sequence[bytes | None]) -> Texts:
    """Of a group of ``value`` and ``typed_value``."""
    names = [field.name for field in group.type]
    values = group.field("value").to_pylist() if "value" in names else [None] * len(group)
    if "typed_value" not in names:
        return [_whole(m, v) for m, v in zip(metadata, values, strict=True)]
    typed = group.field("typed_value")
    if isinstance(typed, pa.StructArray):
        return _objects(typed, values, metadata)
    parts = _lists(typed, metadata) if isinstance(typed, pa.ListArray) else _leaves(typed)
    return [_whole(m, v) if part is None else part for m, v, part in zip(metadata, values, parts, strict=True)]


def _whole(metadata: bytes | None, value: bytes | None) -> str | None:
    return None if value is None or metadata is None else variant_json(metadata, value)


def _objects(typed: pa.StructArray, values: Sequence[bytes | None], metadata: Sequence[bytes | None]) -> Texts:
    """A field that has neither value is not in the object; those that were not foreseen are in ``values``."""
    fields = {field.name: _texts(typed.field(i), metadata) for i, field in enumerate(typed.type)}
    found: list[str | None] = []
    for row, there in enumerate(typed.is_valid().to_pylist()):
        more, names = values[row], metadata[row]
        if not there or names is None:
            found.append(_whole(names, more))
            continue
        made = dict(variant_fields(names, more)) if more is not None else {}
        for name, texts in fields.items():
            if (text := texts[row]) is not None:
                if name in made:
                    raise BadVariantError(f"field {name} is there twice")
                made[name] = text
        found.append(object_text(made))
    return found


def _lists(typed: pa.ListArray, metadata: Sequence[bytes | None]) -> Texts:
    lengths = [0 if length is None else length for length in typed.value_lengths().to_pylist()]
    spread = [m for m, length in zip(metadata, lengths, strict=True) for _ in range(length)]
    texts = [_NULL if text is None else text for text in _texts(typed.flatten(), spread)]
    found: list[str | None] = []
    begin = 0
    for there, length in zip(typed.is_valid().to_pylist(), lengths, strict=True):
        found.append(f"[{','.join(texts[begin : begin + length])}]" if there else None)
        begin += length
    return found


def _leaves(typed: pa.Array) -> Texts:
    array, shown = _shown(typed)
    return [None if value is None else shown(value) for value in array.to_pylist()]


def _shown(typed: pa.Array) -> tuple[pa.Array, _Show]:
    """Values that are exact in Python, and how each is written."""
    type_ = typed.type
    if isinstance(typed, pa.ExtensionArray):
        return typed.storage, uuid_json
    if pa.types.is_timestamp(type_):
        digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[type_.unit]
        zone = ZONE if type_.tz else ""
        return typed.cast(pa.int64()), lambda value: instant_json(value, digits, zone)
    if pa.types.is_time(type_):
        return typed.cast(pa.time64("us")).cast(pa.int64()), clock_json
    if pa.types.is_date(type_):
        return typed.cast(pa.date32()).cast(pa.int32()), day_json
    for is_type, shown in _LEAVES:
        if is_type(type_):
            return typed, shown
    raise BadVariantError(f"a typed value of {type_} is not known")


_LEAVES: Sequence[tuple[Callable[[pa.DataType], bool], _Show]] = (
    (pa.types.is_boolean, lambda value: "true" if value else "false"),
    (pa.types.is_integer, str),
    (pa.types.is_float32, float_json),
    (pa.types.is_floating, double_json),
    (pa.types.is_decimal, lambda value: format(value, "f")),
    (pa.types.is_string, text_json),
    (pa.types.is_large_string, text_json),
    (pa.types.is_binary, bytes_json),
    (pa.types.is_large_binary, bytes_json),
    (pa.types.is_fixed_size_binary, uuid_json),
)

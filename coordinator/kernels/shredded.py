"""Columns of type variant as JSON texts, whatever of them a writer has put into columns of their own ("shredded").

A group has ``metadata``, ``value`` and maybe ``typed_value``; a part whose type is the column's is in ``typed_value``,
and what is not in ``value``. The texts of parts are made by column and put together by row.
Source: parquet-format, VariantShredding.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa

from .errors import KernelError
from .functions.json_texts import text_json
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
    uuid_json,
    variant_fields,
    variant_json,
)

N = TypeVar("N")
"""What tells the names of keys of a row."""
P = TypeVar("P")
"""A value, or a part of one."""
_Show = Callable[..., str]


@dataclass(frozen=True, slots=True)
class Form(Generic[N, P]):
    """What becomes of values: of whole ones, of the fields of an object that are not shredded, and of parts together.

    ``leaves`` has one a row; None: there is no such part.
    """

    null: P
    whole: Callable[[N, bytes], P]
    fields: Callable[[N, bytes], Mapping[str, P]]
    of_fields: Callable[[N, Mapping[str, P]], P]
    of_elements: Callable[[Sequence[P]], P]
    leaves: Callable[[pa.Array], Sequence[P | None]]


def json_column(array: pa.Array, column: str) -> pa.Array:
    """The rows of a variant column as texts; NULL where the group is. Raises KernelError, which names the column."""
    present = array.is_valid()
    there = array if array.null_count == 0 else array.filter(present)  # others may have any bytes
    try:
        found = value_parts(there, there.field("metadata").to_pylist(), _JSON)
        texts = iter(found)
    except (BadVariantError, KeyError, ValueError, TypeError) as error:
        raise KernelError("ICEBERG_BAD_DATA", f"Column {column} is no variant: {error}") from error
    return pa.array([(next(texts) or _JSON.null) if valid else None for valid in present.to_pylist()], pa.string())


def value_parts(group: pa.Array, names: Sequence[N | None], form: Form[N, P]) -> Sequence[P | None]:
    """Of a group of ``value`` and ``typed_value``, one a row. Raises BadVariantError and what ``form`` raises."""
    there = [field.name for field in group.type]
    values = group.field("value").to_pylist() if "value" in there else [None] * len(group)
    if "typed_value" not in there:
        return [_whole(n, v, form) for n, v in zip(names, values, strict=True)]
    typed = group.field("typed_value")
    if isinstance(typed, pa.StructArray):
        return _objects(typed, values, names, form)
    if isinstance(typed, pa.ListArray):
        lists = _lists(typed, names, form)
        return _or_whole(lists, values, names, form)
    return _or_whole(form.leaves(typed), values, names, form)


def _or_whole(
    parts: Sequence[P | None], values: Sequence[bytes | None], names: Sequence[N | None], form: Form[N, P]
) -> Sequence[P | None]:
    return [_whole(n, v, form) if part is None else part for n, v, part in zip(names, values, parts, strict=True)]


def _whole(names: N | None, value: bytes | None, form: Form[N, P]) -> P | None:
    return None if value is None or names is None else form.whole(names, value)


def _objects(
    typed: pa.StructArray, values: Sequence[bytes | None], names: Sequence[N | None], form: Form[N, P]
) -> Sequence[P | None]:
    """A field that has neither value is not in the object; those that were not foreseen are in ``values``."""
    fields: dict[str, Sequence[P | None]] = {}
    for i, field in enumerate(typed.type):
        column = value_parts(typed.field(i), names, form)
        fields[field.name] = column
    found: list[P | None] = []
    for row, there in enumerate(typed.is_valid().to_pylist()):
        more, known = values[row], names[row]
        if not there or known is None:
            found.append(_whole(known, more, form))
            continue
        made = dict(form.fields(known, more)) if more is not None else {}
        for name, parts in fields.items():
            if (part := parts[row]) is not None:
                if name in made:
                    raise BadVariantError(f"field {name} is there twice")
                made[name] = part
        found.append(form.of_fields(known, made))
    return found


def _lists(typed: pa.ListArray, names: Sequence[N | None], form: Form[N, P]) -> Sequence[P | None]:
    lengths = [0 if length is None else length for length in typed.value_lengths().to_pylist()]
    spread = [n for n, length in zip(names, lengths, strict=True) for _ in range(length)]
    elements = value_parts(typed.flatten(), spread, form)
    parts = [form.null if part is None else part for part in elements]
    found: list[P | None] = []
    begin = 0
    for there, length in zip(typed.is_valid().to_pylist(), lengths, strict=True):
        found.append(form.of_elements(parts[begin : begin + length]) if there else None)
        begin += length
    return found


def _leaves(typed: pa.Array) -> Sequence[str | None]:
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

_JSON: Form[bytes, str] = Form(
    "null",
    whole=variant_json,
    fields=variant_fields,
    of_fields=lambda _names, fields: object_text(fields),
    of_elements=lambda texts: f"[{','.join(texts)}]",
    leaves=_leaves,
)

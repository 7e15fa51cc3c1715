"""Arrow columns to JSON cells by Presto type, a column at a time.

Source: as of ``json_values``.
"""

from __future__ import annotations

from itertools import pairwise
from math import isinf, isnan
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.dispatch.json_values import json_values, plain
from coordinator.kernels.functions.numbers import java_double
from shared.plan.types import Type

_encode_json = msgspec.json.Encoder().encode

Cells = list[Any]
_NESTED = {"array", "map", "row", "bingtile"}


def encode_column(array: pa.Array, presto_type: Type, nested_as_text: bool = False) -> Cells:
    """One JSON-ready Python value a row; null is None.

    ``nested_as_text`` gives arrays, maps and rows as Presto's pretty-printed text, recursively. Raises
    pyarrow.ArrowInvalid when the values do not fit the type.
    """
    array = plain(array)
    if pa.types.is_null(array.type):
        return [None] * len(array)
    if has_json_values(array, presto_type):
        values = json_values(array, presto_type)
        return _finite(values) if pa.types.is_floating(values.type) else list(values.to_pylist())
    match presto_type.base:
        case "array":
            return _array(array, presto_type, nested_as_text)
        case "map":
            return _map(array, presto_type, nested_as_text)
        case "row":
            return _row(array, presto_type, nested_as_text)
        case _:
            return _bing_tile(array)


def has_json_values(array: pa.Array, presto_type: Type) -> bool:
    """Whether ``json_values`` takes the column; all else is more than one JSON value, or none."""
    return presto_type.base not in _NESTED and not pa.types.is_null(array.type)


def _finite(array: pa.Array) -> Cells:
    cells = list(array.to_pylist())
    if pc.all(pc.is_finite(array)).as_py() in (True, None):
        return cells
    return [_not_finite(v) if v is not None and (isnan(v) or isinf(v)) else v for v in cells]


def _not_finite(value: float) -> str:
    if isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _bing_tile(array: pa.Array) -> Cells:
    """As Presto's BingTile is written: x from bit 32 on, zoom from bit 26 on, y below."""
    tiles = array.to_pylist()
    return [None if t is None else {"x": t >> 32, "y": t & (1 << 26) - 1, "zoom": t >> 26 & 0x1F} for t in tiles]


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

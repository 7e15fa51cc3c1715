"""Bloom filters that a table asks of its Parquet files, as the kernels take them.

Source: Iceberg table properties ``write.parquet.bloom-filter-*``; split block Bloom filters of the Parquet format.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pyiceberg.schema import Schema
from pyiceberg.types import BooleanType, ListType, MapType, StructType

from coordinator.connectors.iceberg.numbers import whole_number

_ENABLED = "write.parquet.bloom-filter-enabled.column."
_SHARE = "write.parquet.bloom-filter-fpp.column."
_VALUES = "write.parquet.bloom-filter-ndv.column."
_MOST_BYTES = "write.parquet.bloom-filter-max-bytes"
_DEFAULT_SHARE, _DEFAULT_MOST_BYTES = 0.01, 1 << 20
_MOST_VALUES = 1 << 20
_BITS_A_BLOCK_WORD = 8


def asked_columns(properties: Mapping[str, str]) -> list[str]:
    """Names of the columns that are to have a filter."""
    return sorted(k.removeprefix(_ENABLED) for k, v in properties.items() if k.startswith(_ENABLED) and v == "true")


def unsupported_column(schema: Schema, properties: Mapping[str, str]) -> str | None:
    """A column inside a list or map that asks for a filter: our writer cannot name it; None when there is none."""
    return next((name for name in asked_columns(properties) if not _is_plain(schema, name)), None)


def bloom_filters(schema: Schema, properties: Mapping[str, str]) -> dict[str, tuple[int, float]]:
    """Distinct values and the share of false positives by Parquet path; columns that are gone or boolean have none."""
    found: dict[str, tuple[int, float]] = {}
    for name in asked_columns(properties):
        if name not in schema.column_names or isinstance(schema.find_type(name), BooleanType):
            continue
        share = _number(properties.get(_SHARE + name), _DEFAULT_SHARE)
        share = share if 0 < share < 1 else _DEFAULT_SHARE
        most = max(32.0, _number(properties.get(_MOST_BYTES), _DEFAULT_MOST_BYTES))
        values = -8 * most / _BITS_A_BLOCK_WORD * math.log(1 - share ** (1 / _BITS_A_BLOCK_WORD))
        asked = whole_number(properties.get(_VALUES + name)) or _MOST_VALUES
        found[name] = (max(1, min(_MOST_VALUES, asked, int(values))), share)
    return found


def _is_plain(schema: Schema, name: str) -> bool:
    """Whether only structs are above a column, so that its name is its path in a file."""
    if name not in schema.column_names:
        return True
    parts = name.split(".")
    above = [".".join(parts[:i]) for i in range(1, len(parts))]
    kinds = [schema.find_type(parent) for parent in above if parent in schema.column_names]
    is_primitive = not isinstance(schema.find_type(name), (StructType, ListType, MapType))
    return is_primitive and all(isinstance(kind, StructType) for kind in kinds)


def _number(text: str | None, default: float) -> float:
    try:
        return default if text is None else float(text)
    except ValueError:
        return default

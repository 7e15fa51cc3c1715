"""Rows of the tables in tests/data: as Iceberg Java wrote them down, and as Arrow tables hold them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa


def expected(home: Path, name: str, schema: pa.Schema) -> Counter[str]:
    lines = (home / "expected" / f"{name}.jsonl").read_text().splitlines()
    return Counter(
        json.dumps([canonical(json.loads(line).get(field.name), field.type) for field in schema]) for line in lines
    )


def found(data: pa.Table) -> Counter[str]:
    return Counter(
        json.dumps([canonical(row[field.name], field.type) for field in data.schema]) for row in data.to_pylist()
    )


def canonical(value: Any, kind: pa.DataType) -> Any:
    """One spelling for a value read by Python and the same value as the fixtures write it."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return [canonical(value.get(field.name), field.type) for field in kind]
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return sorted([canonical(k, kind.key_type), canonical(v, kind.item_type)] for k, v in pairs)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [canonical(item, kind.value_type) for item in value]
    return _scalar(value, kind)


def _scalar(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_floating(kind):
        return repr(float(value))
    if pa.types.is_decimal(kind):
        return str(Decimal(value))
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return value.replace("Z", "+00:00") if isinstance(value, str) else value.isoformat()
    if pa.types.is_timestamp(kind):
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
        return parsed.isoformat()
    if pa.types.is_date(kind):
        return (date.fromisoformat(value) if isinstance(value, str) else value).isoformat()
    if pa.types.is_time(kind):
        return (time.fromisoformat(value) if isinstance(value, str) else value).isoformat()
    if isinstance(value, bytes | UUID):
        return value.hex() if isinstance(value, bytes) else value.hex
    if isinstance(value, str):
        return value.replace("-", "") if kind == pa.uuid() or pa.types.is_fixed_size_binary(kind) else value
    return value

"""Required fields of rows that are NULL: Parquet's writer refuses a NULL in them."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.kernels.schema import aligner, arrow_field, constant

TYPES: list[Any] = [
    "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz_ns", "string", "binary",
    "uuid", "fixed[3]", "decimal(9, 2)", "decimal(38, 4)", "variant", "geometry",
    {"type": "list", "element-id": 5, "element": "int", "element-required": True},
    {"type": "map", "key-id": 5, "key": "string", "value-id": 6, "value": "int", "value-required": False},
    {"type": "struct", "fields": [{"id": 7, "name": "x", "required": True, "type": "int"}]},
]  # fmt: skip


def row(kind: Any, name: str = "a") -> dict[str, Any]:
    inner = {"type": "struct", "fields": [{"id": 2, "name": name, "required": True, "type": kind}]}
    return {"id": 1, "name": "s", "required": False, "type": inner}


def stored(array: pa.Array, field: dict[str, Any]) -> list[Any]:
    sink = io.BytesIO()
    pq.write_table(pa.table([array], schema=pa.schema([arrow_field(field)])), sink)
    return pq.read_table(io.BytesIO(sink.getvalue()))["s"].to_pylist()


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_column_that_a_file_lacks_is_null(kind: Any) -> None:
    assert stored(constant(None, row(kind), 3), row(kind)) == [None] * 3


def test_a_column_of_an_older_type_keeps_its_nulls() -> None:
    old, new = row("int"), row("long", "renamed")
    kind = arrow_field(old).type
    ids = pa.array([1, 2, 3, 4], pa.int32())
    rows = pa.StructArray.from_arrays([ids], fields=list(kind), mask=pa.array([False, True, False, False])).slice(1)
    align = aligner(arrow_field(old), new)
    assert align is not None
    assert stored(align(rows), new) == [None, {"renamed": 3}, {"renamed": 4}]

"""Snapshots and facts of schemas as PyIceberg itself tells them, though it is asked less."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from coordinator.connectors.iceberg.per_schema import per_schema
from coordinator.connectors.iceberg.snapshots.known import known_snapshot, newest_snapshot


def test_snapshots_are_those_of_pyiceberg(lake: Any) -> None:
    table = lake.other.create_table("db.t", schema=pa.schema({"id": pa.int64()}))
    assert newest_snapshot(table) is table.current_snapshot() is None
    for value in range(3):
        table.append(pa.table({"id": [value]}))
    numbers = [snapshot.snapshot_id for snapshot in table.snapshots()]
    assert [known_snapshot(table, n) for n in numbers] == [table.snapshot_by_id(n) for n in numbers]
    assert known_snapshot(table, max(numbers) + 1) is None
    assert known_snapshot(table, None) is None
    assert newest_snapshot(table) == table.current_snapshot()
    table.manage_snapshots().rollback_to_snapshot(numbers[0]).commit()
    assert newest_snapshot(table) == table.snapshot_by_id(numbers[0])


def test_a_fact_of_a_schema_is_found_once_a_schema() -> None:
    asked: list[tuple[str, ...]] = []

    @per_schema
    def names(schema: Schema) -> tuple[str, ...]:
        asked.append(schema.column_names)
        return tuple(schema.column_names)

    first, other = (Schema(NestedField(1, name, LongType(), required=False)) for name in ("a", "b"))
    equal = Schema(NestedField(1, "a", LongType(), required=False))
    assert [names(schema) for schema in (first, other, first, equal, other)] == [("a",), ("b",), ("a",), ("a",), ("b",)]
    assert len(asked) == 3


def test_facts_are_of_their_own_schema_among_thousands_that_come_and_go() -> None:
    """An object may get the identity of one that is gone."""

    @per_schema
    def name(schema: Schema) -> str:
        return str(schema.column_names[0])

    for number in range(3000):
        assert name(Schema(NestedField(1, f"c{number}", StringType(), required=False))) == f"c{number}"
    kept = next(cell.cell_contents for cell in name.__closure__ or () if isinstance(cell.cell_contents, dict))
    assert len(kept) <= 256

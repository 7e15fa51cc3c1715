"""Nested columns that the embedded engine's database reads itself, beside the kernels and the rows themselves."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FixedType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

from coordinator.engine.embedded.column_types import is_stored_as
from coordinator.kernels.schema import arrow_field
from tests.iceberg.embedded_reader import Reader, direct, tuples

GROUPS = {"write.parquet.row-group-limit": "100"}
WHO = pa.struct([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us"))])
EVENTS = pa.schema(
    [
        ("id", pa.int64()),
        ("who", WHO),
        ("tags", pa.list_(pa.string())),
        ("prices", pa.map_(pa.string(), pa.decimal128(9, 2))),
        ("steps", pa.list_(pa.struct([("n", pa.int32()), ("seen", pa.list_(pa.date32()))]))),
        ("deep", pa.struct([("part", pa.struct([("n", pa.int64()), ("words", pa.map_(pa.int32(), pa.string()))]))])),
    ]
)
QUERIES = (
    "SELECT * FROM t",
    "SELECT who FROM t WHERE who IS NULL OR who.id IS NULL",
    "SELECT id, who.name FROM t WHERE who.id = 7",
    "SELECT id FROM t WHERE who.name > 'n5' AND who.at < TIMESTAMP '2026-01-01 00:05:00'",
    "SELECT max(who.id), min(who.name), count(who), count(who.at), count(*) FROM t",
    "SELECT who.id, count(*) FROM t GROUP BY 1",
    "SELECT id, tags[1] FROM t WHERE cardinality(tags) > 1",
    "SELECT count(*) FROM t WHERE contains(tags, 'b')",
    "SELECT tag, count(*) FROM t CROSS JOIN UNNEST(tags) AS u (tag) GROUP BY 1",
    "SELECT max(tag), min(tag), count(tag), count(*) FROM t CROSS JOIN UNNEST(tags) AS u (tag) WHERE id > 20",
    "SELECT id, element_at(prices, 'a') FROM t WHERE element_at(prices, 'b') > 2",
    "SELECT id, element_at(tags, 2), element_at(tags, -1) FROM t WHERE element_at(tags, 2) IS NULL",
    "SELECT id, n, seen FROM t CROSS JOIN UNNEST(steps) AS u (n, seen) WHERE n < 3",
    "SELECT id, steps[1].seen FROM t WHERE cardinality(steps) > 0 AND steps[1].n = 2",
    "SELECT deep.part.n, element_at(deep.part.words, 3) FROM t WHERE deep.part.n BETWEEN 3 AND 5",
    "SELECT count(*) FROM t WHERE deep IS NULL OR deep.part IS NULL OR deep.part.words IS NULL",
    "SELECT a.id FROM t a JOIN t b ON a.who.id = b.deep.part.n AND a.id < 40 AND b.id > 300",
    "SELECT id, who FROM t WHERE id = 250",
    "SELECT id, steps FROM t ORDER BY who.at DESC, id LIMIT 4",
)


def events(draw: random.Random, first: int, count: int) -> pa.Table:
    """Rows with NULLs at every depth, and empty lists and maps."""

    def maybe(value: Any) -> Any:
        return None if draw.random() < 0.15 else value

    def several(made: Any) -> list[Any]:
        return [made() for _ in range(draw.choice((0, 1, 1, 2, 3)))]

    start = datetime.datetime(2026, 1, 1)
    rows = []
    for i in range(first, first + count):
        who = {
            "id": maybe(i % 9),
            "name": maybe(f"n{draw.randrange(9)}"),
            "at": maybe(start + datetime.timedelta(0, i)),
        }
        steps = several(
            lambda: maybe({"n": maybe(draw.randrange(5)), "seen": maybe(several(lambda: maybe(start.date())))})
        )
        words = {number: maybe(draw.choice("xyz")) for number in draw.sample(range(5), draw.randrange(4))}
        prices = {key: maybe(Decimal(draw.randrange(900)) / 100) for key in draw.sample("abc", draw.randrange(4))}
        inner = {"n": maybe(draw.randrange(9)), "words": maybe(list(words.items()))}
        rows.append(
            {
                "id": i,
                "who": maybe(who),
                "tags": maybe(several(lambda: maybe(draw.choice("abc")))),
                "prices": maybe(list(prices.items())),
                "steps": maybe(steps),
                "deep": maybe({"part": maybe(inner)}),
            }
        )
    return pa.Table.from_pylist(rows, EVENTS)


def stored(table: Any) -> list[dict[str, Any]]:
    """The rows as they are in the files: PyIceberg writes some NULLs within lists as what is empty."""
    paths = [task.file.file_path.removeprefix("file://") for task in table.scan().plan_files()]
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_queries_over_nested_columns(reader: Reader, lake: Any, foreign: Any, seed: int) -> None:
    """``rows`` compares each with what the kernels read; in one of the runs rows of a file are deleted."""
    draw = random.Random(seed)
    made = events(draw, 0, 400)
    parts = [made.slice(0, 250), made.slice(250)] if seed < 3 else [made.sort_by([("id", "descending")])]
    table = lake.create("t", parts, properties=GROUPS)
    gone = []
    if seed == 2:
        path = next(iter(table.scan(row_filter="id = 7").plan_files())).file.file_path
        gone = [7, 8, 249]
        foreign.delete_positions(table, {path: gone})
    assert direct(reader, "SELECT * FROM t") == len(parts)
    for query in QUERIES:
        reader.rows(query)
    found = {row["id"]: row for row in reader.rows("SELECT * FROM t").to_pylist()}
    left = {row["id"]: row for row in stored(table) if row["id"] not in gone}
    assert found == left
    assert sum(row["deep"] is None for row in left.values()) > 20
    wanted = [row["who"]["id"] for row in left.values() if row["who"] and row["who"]["id"] is not None]
    assert tuples(reader, "SELECT max(who.id), count(who.id) FROM t") == [(max(wanted), len(wanted))]


def of(*fields: tuple[int, str, IcebergType]) -> StructType:
    return StructType(*(NestedField(number, name, type_, required=False) for number, name, type_ in fields))


@pytest.mark.parametrize(
    ("type_", "value", "read"),
    [
        (of((11, "a", LongType()), (12, "b", StringType())), {"a": 1, "b": "x"}, True),
        (of((11, "a", DoubleType()), (12, "b", StringType())), {"a": float("nan"), "b": "x"}, False),
        (ListType(11, DoubleType(), element_required=False), [1.5, float("nan")], False),
        (MapType(11, StringType(), 12, DoubleType(), value_required=False), [("a", float("nan"))], False),
        (ListType(11, of((12, "a", DecimalType(9, 2))), element_required=False), [{"a": Decimal("1.25")}], True),
        (of((11, "a", LongType()), (12, "A", LongType())), {"a": 1, "A": 2}, False),
        (of((11, "f", FixedType(4))), {"f": b"0123"}, False),
        (of((11, "t", TimestampType())), {"t": datetime.datetime(2026, 1, 2)}, True),
    ],
    ids=["plain", "double", "doubles", "map of doubles", "rows", "cases", "fixed", "timestamp"],
)
def test_types_that_the_database_reads(reader: Reader, lake: Any, type_: IcebergType, value: Any, read: bool) -> None:
    """Floating point is not: a statistic without NaN would be believed."""
    schema = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "v", type_, required=False))
    table = lake.other.create_table("db.t", schema)
    arrow = pa.schema([(field.name, field.type) for field in table.schema().as_arrow()])
    table.append(pa.Table.from_pylist([{"id": 1, "v": value}, {"id": 2, "v": None}], arrow))
    assert direct(reader, "SELECT v FROM t") == int(read)
    assert sorted(i for (i,) in tuples(reader, "SELECT id FROM t WHERE v IS NOT NULL")) == [
        row["id"] for row in stored(table) if row["v"] is not None
    ]


def test_a_double_that_is_not_a_number_is_found_inside_of_a_row(reader: Reader, lake: Any) -> None:
    rows = pa.table({"r": [{"d": float(i % 10)} for i in range(300)] + [{"d": float("nan")}]})
    lake.create("t", [rows], properties=GROUPS)
    assert tuples(reader, "SELECT count(*) FROM t WHERE is_nan(r.d)") == [(1,)]
    assert tuples(reader, "SELECT count(*) FROM t WHERE r.d > 100") == [(1,)]


def test_parts_that_changed_since_a_file_was_written_are_the_kernels(reader: Reader, lake: Any) -> None:
    """A part that came, is called otherwise or is wider, by field id; files of today's schema are read directly."""
    number = pa.list_(pa.int32())
    table = lake.create("t", [pa.table({"r": [{"a": 1, "b": "x"}], "n": pa.array([[1]], number)})])
    with table.update_schema() as update:
        update.add_column(("r", "c"), StringType())
    assert direct(reader, "SELECT r FROM t") == 0
    table.append(pa.table({"r": [{"a": 2, "b": "y", "c": "z"}], "n": pa.array([[2]], number)}))
    assert direct(reader, "SELECT r FROM t") == 1
    with table.update_schema() as update:
        update.rename_column(("r", "b"), "named")
    assert direct(reader, "SELECT r FROM t") == 0
    assert direct(reader, "SELECT n FROM t") == 2
    with table.update_schema() as update:
        update.update_column(("n", "element"), LongType())
    assert direct(reader, "SELECT n FROM t") == 0
    table.append(pa.table({"r": [{"a": 3, "named": "y", "c": "z"}], "n": [[3]]}))
    assert direct(reader, "SELECT n, r FROM t") == 1
    assert sorted(tuples(reader, "SELECT r.a, r.named, r.c, n[1] FROM t")) == [
        (1, "x", None, 1),
        (2, "y", "z", 2),
        (3, "y", "z", 3),
    ]


@pytest.mark.parametrize(
    ("paths", "read"), [(["n.list.element"], True), (["n.list.item"], True), (["n.array"], False), (["n"], False)]
)
def test_lists_of_two_levels_are_the_kernels(paths: list[str], read: bool) -> None:
    """As old writers stored them; their leaf has one part of a path less."""
    type_ = {"type": "list", "element-id": 2, "element": "long", "element-required": False}
    field = {"id": 1, "name": "n", "required": False, "type": type_}
    assert is_stored_as(arrow_field(field), paths, field) is read

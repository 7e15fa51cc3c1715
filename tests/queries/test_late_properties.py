"""Generated tables, with deletes and older schemas, and generated queries: the same rows off, on, and from DuckDB."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyiceberg.table import Table
from pyiceberg.types import LongType

from shared.plan.types import parse_type
from tests.e2e.service import Service
from tests.queries import late_tables
from tests.queries.foreign import foreign_writer
from tests.queries.test_late_materialization import OFF, ON

pytestmark = [pytest.mark.spark, pytest.mark.slow]
FULL = bool(os.environ.get("PROCESSION_TEST_FULL"))
_NUMBERS = itertools.count()

Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "positions", "equal", "rename", "add", "promote"]),
        st.integers(0, 9),
        st.integers(1, 60),
    ),
    max_size=6,
)


@dataclass
class Model:
    """The table as Python sees it: rows by file, those that are deleted gone."""

    table: Table
    text: str = "s"
    added: bool = False
    kind: Any = field(default_factory=pa.int32)
    files: list[tuple[str, list[dict[str, Any] | None]]] = field(default_factory=list)
    count: int = 0

    def schema(self) -> pa.Schema:
        more = [("x", pa.int64())] if self.added else []
        fields = [("id", pa.int64()), ("k", self.kind), (self.text, pa.string()), ("items", pa.list_(pa.int64()))]
        return pa.schema([*fields, ("pair", pa.struct([("p", pa.int64()), ("q", pa.string())])), *more])

    def row(self, i: int) -> dict[str, Any]:
        return {
            "id": i,
            "k": None if i % 7 == 0 else i * 37 % 11,
            self.text: None if i % 5 == 0 else f"tëxt {i}",
            "items": None if i % 4 == 0 else list(range(i % 3)),
            "pair": None if i % 6 == 0 else {"p": i, "q": f"q{i % 3}"},
            "x": i * 2,
        }

    def append(self, rows: int) -> None:
        before = {path for path, _ in self.files}
        made: list[dict[str, Any] | None] = [self.row(self.count + i) for i in range(rows)]
        self.count += rows
        self.table.append(pa.Table.from_pylist(made, schema=self.schema()))
        (path,) = set(self.table.inspect.data_files()["file_path"].to_pylist()) - before
        self.files.append((path, made))

    def apply(self, step: Step, foreign: Any) -> None:
        match step:
            case "append", _, rows:
                self.append(rows)
            case "positions", at, every:
                path, rows = self.files[at % len(self.files)]
                gone = list(range(at, len(rows), every))
                if gone:
                    foreign.delete_positions(self.table, {path: gone})
                    self.files[at % len(self.files)] = path, [None if i in gone else r for i, r in enumerate(rows)]
            case "equal", at, every:
                ids = list(range(at, self.count, every))
                if ids:
                    foreign.delete_equal(self.table, pa.table({"id": pa.array(ids, pa.int64())}))
                    self.files = [
                        (p, [None if r is None or r["id"] in ids else r for r in rows]) for p, rows in self.files
                    ]
            case "rename", _, _ if self.text == "s":
                with self.table.update_schema() as update:
                    update.rename_column("s", "title")
                self.text = "title"
                self.files = [
                    (p, [None if r is None else {("title" if n == "s" else n): v for n, v in r.items()} for r in rows])
                    for p, rows in self.files
                ]
            case "add", _, _ if not self.added:
                self.added = True
                with self.table.update_schema() as update:
                    update.add_column("x", LongType())
                self.files = [(p, [None if r is None else r | {"x": None} for r in rows]) for p, rows in self.files]
            case "promote", _, _ if self.kind == pa.int32():
                with self.table.update_schema() as update:
                    update.update_column("k", LongType())
                self.kind = pa.int64()
            case _:
                pass
        self.table.refresh()

    def rows(self) -> pa.Table:
        return pa.Table.from_pylist([r for _, rows in self.files for r in rows if r is not None], schema=self.schema())


@st.composite
def queries_of(draw: st.DrawFn, name: str, model: Model) -> str:
    names = model.schema().names
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    condition = draw(
        st.sampled_from(
            ["", "k = 3", "k > 4", "k IS NULL", "id IN (1, 5, 44)", "id % 10 = 3", "k < 0", f"{model.text} LIKE '%1'"]
        )
    )
    order = draw(
        st.sampled_from(["k, id", "k DESC, id", "id DESC", "k NULLS FIRST, id", "k DESC NULLS FIRST, id DESC"])
    )
    place = draw(st.sampled_from(["", " LIMIT 5", " LIMIT 1000", " OFFSET 3 LIMIT 7", " OFFSET 500", " LIMIT 0"]))
    join = draw(st.sampled_from(["", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
    if not join:
        where = f" WHERE {condition}" if condition else ""
        return f"SELECT {', '.join(chosen)} FROM {name}{where} ORDER BY {order}{place}"
    other = f"(SELECT * FROM {name}{' WHERE ' + condition if condition else ''})"
    columns = ", ".join(f"{side}.{column} AS {side}_{column}" for column in chosen for side in "ab")
    return f"SELECT {columns} FROM {name} a {join} {other} b ON a.k = b.id ORDER BY a.id, b.id{place}"


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@settings(
    max_examples=40 if FULL else 3,
    deadline=None,
    derandomize=not FULL,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # every step of shrinking would make a table
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data(), st.lists(st.integers(1, 60), min_size=1, max_size=3), STEPS)
def test_same_rows(queries: Service, oracle: Any, data: st.DataObject, sizes: list[int], steps: list[Step]) -> None:
    foreign, lake = foreign_writer(), queries.lake()
    name = f"late_made_{next(_NUMBERS)}"
    lake.create_namespace_if_not_exists("db")
    empty = pa.schema([("id", pa.int64()), ("k", pa.int32()), ("s", pa.string()), ("items", pa.list_(pa.int64()))])
    model = Model(
        lake.create_table(
            f"db.{name}", schema=empty.append(pa.field("pair", pa.struct([("p", pa.int64()), ("q", pa.string())])))
        )
    )
    for size in sizes:
        model.append(size)
    for step in steps:
        model.apply(step, foreign)
    oracle.register(name, model.rows())
    for _ in range(4):
        query = data.draw(queries_of(name, model))
        theirs = oracle.execute(sqlglot.transpile(query, read="presto", write="duckdb")[0]).fetchall()
        for properties in (OFF, ON):
            cursor = queries.cursor(catalog="iceberg", schema="db", session_properties=properties)
            cursor.execute(query)
            found = cursor.fetchall()
            kinds = [parse_type(column[1]) for column in cursor.description]
            ours, expected = (
                [[late_tables.normalized(v, k) for v, k in zip(row, kinds, strict=True)] for row in rows]
                for rows in (found, theirs)
            )
            assert ours == expected, (query, properties)
    oracle.unregister(name)

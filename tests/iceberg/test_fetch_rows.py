"""The second pass on its own: what happens to files, snapshots and positions between the passes.

The first pass is what Spark would answer, made by pyarrow from the files themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.fetch_rows import fetch_rows
from coordinator.explain.operators import Operator
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import FetchRows
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from shared.spi.session import Session
from tests.execution import FakeExecution

PROPERTIES = {
    "engine": "spark",
    "enable_global_late_materialization": "true",
    "global_late_materialization_cost_based": "false",
}


@dataclass
class FirstPass:
    """Spark's place: gives the rows that it was made with, and remembers what it was asked."""

    rows: pa.Table
    lake: Any
    asked: list[str] = field(default_factory=list)

    def run(
        self, sql: str, execution: Any, inputs: Sequence[Any] = (), operators: Any = None
    ) -> Iterator[pa.RecordBatch]:
        self.asked.append(sql)
        yield from self.rows.to_batches()

    shares_disk = True
    largest_page: ClassVar[int | None] = None

    def workers(self, execution: Any) -> Any:
        return self.lake.workers


@dataclass
class Endless(FirstPass):
    """Gives its rows again and again, and remembers how often, and which statements were ended."""

    given: dict[str, int] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)

    def run(
        self, sql: str, execution: Any, inputs: Sequence[Any] = (), operators: Any = None
    ) -> Iterator[pa.RecordBatch]:
        try:
            while True:
                self.given[sql] = self.given.get(sql, 0) + 1
                yield from self.rows.to_batches()
        finally:
            self.ended.append(sql)


def catalogs(lake: Any) -> Catalogs:
    values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": f"file://{lake.home}/wh"}
    properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    return Catalogs([CatalogConfig("lab", "iceberg", properties, lake.home)])


class NoCheckers:
    def validate_intermediate(self, plan: Any, session: Any, warn: Any) -> None: ...

    def validate_final(self, plan: Any, session: Any, warn: Any) -> None: ...


def planned(lake: Any, query: str) -> FetchRows:
    session = Session(user="test", catalog="lab", schema="db", properties=PROPERTIES)
    work = plan_statement(query, session, catalogs(lake), NoCheckers()).work
    assert isinstance(work, FetchRows)
    return work


def files(lake: Any) -> list[str]:
    found = lake.table("t").scan().plan_files()
    return [task.file.file_path for task in sorted(found, key=lambda task: _first(task.file.file_path))]


def _first(path: str) -> int:
    return int(pq.read_table(path.removeprefix("file://")).column("id")[0].as_py())


@pytest.fixture
def table(lake: Any) -> Any:
    parts = []
    for start in (0, 100, 200):
        numbers = range(start, start + 100)
        parts.append(
            pa.table({"id": pa.array(numbers, pa.int64()), "name": [f"n{i}" for i in numbers], "o": ["x"] * 100})
        )
    return lake.create("t", parts)


QUERY = "SELECT id, name, o FROM t ORDER BY id LIMIT 1000"


def run(
    lake: Any, positions: list[tuple[int | None, str | int | None, int | None]], work: FetchRows | None = None
) -> Any:
    rows = pa.table(
        {
            "id": pa.array([p[0] for p in positions], pa.int64()),
            "source": pa.array([p[1] for p in positions]),
            "ref": pa.array([p[2] for p in positions], pa.int64()),
        }
    )
    spark, execution = FirstPass(rows, lake), FakeExecution()
    made = work or planned(lake, QUERY)
    batches: list[Any] = list(fetch_rows(made, execution, spark, catalogs(lake)))
    found = [row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
    return found, spark, execution


def test_rows_in_any_order_with_duplicates_and_gaps(lake: Any, table: Any) -> None:
    """Each row of the first pass gets its own values back; without a position there are NULLs."""
    a, b, c = files(lake)
    wanted: list[Any] = [
        (205, c, 5),
        (7, a, 7),
        (None, None, None),
        (7, a, 7),
        (199, b, 99),
        (0, a, 0),
        (205, c, 5),
    ]
    rows, _, execution = run(lake, wanted)
    assert rows == [(i, None if i is None else f"n{i}", None if i is None else "x") for i, _, _ in wanted]
    assert execution.processed_bytes > 0


def test_files_by_number(lake: Any, table: Any) -> None:
    """What Spark carries through joins and sorts: the 64-bit xxHash of a path, with Spark's seed."""
    a, b, c = (xxhash.xxh64_intdigest(path.encode(), 42) for path in files(lake))
    signed = [n - (1 << 64) if n >> 63 else n for n in (a, b, c)]
    rows, _, _ = run(lake, [(205, signed[2], 5), (None, None, None), (7, signed[0], 7), (101, signed[1], 1)])
    assert rows == [(205, "n205", "x"), (None, None, None), (7, "n7", "x"), (101, "n101", "x")]


def test_an_unknown_number_is_one_pass_instead(lake: Any, table: Any) -> None:
    work = planned(lake, QUERY)
    _, spark, _ = run(lake, [(1, 12345, 1)], work)
    assert spark.asked == [work.first.sql, work.otherwise.sql]


def test_only_rows_without_a_position(lake: Any, table: Any) -> None:
    rows, _, execution = run(lake, [(None, None, None)] * 3)
    assert rows == [(None, None, None)] * 3
    assert execution.processed_bytes == 0


def test_no_rows_no_second_pass(lake: Any, table: Any) -> None:
    rows, spark, execution = run(lake, [])
    assert rows == []
    assert len(spark.asked) == 1
    assert execution.processed_bytes == 0


def test_positions_outlive_a_rewrite(lake: Any, table: Any) -> None:
    """Between the passes every file was rewritten; the snapshot and its files are still there."""
    work, places = planned(lake, QUERY), files(lake)
    lake.rewrite("t", {"rewrite-all": "true"})
    assert set(files(lake)) & set(places) == set()
    rows, _, _ = run(lake, [(150, places[1], 50)], work)
    assert rows == [(150, "n150", "x")]


def test_a_file_that_vanished_is_a_retriable_error(lake: Any, table: Any) -> None:
    work, places = planned(lake, QUERY), files(lake)
    Path(places[1].removeprefix("file://")).unlink()
    with pytest.raises(ProcessionError, match="when the query began, so running it again helps") as caught:
        run(lake, [(1, places[0], 1), (150, places[1], 50)], work)
    assert caught.value.code is ErrorCode.ICEBERG_MISSING_DATA
    assert caught.value.retriable


def test_an_expired_snapshot_is_a_retriable_error(lake: Any, table: Any) -> None:
    work, places = planned(lake, QUERY), files(lake)
    lake.rewrite("t", {"rewrite-all": "true"})
    current = lake.table("t")
    old = [s.snapshot_id for s in current.snapshots() if s.snapshot_id != current.current_snapshot().snapshot_id]
    current.maintenance.expire_snapshots().by_ids(old).commit()
    with pytest.raises(ProcessionError, match="was expired while the query ran") as caught:
        run(lake, [(150, places[1], 50)], work)
    assert caught.value.retriable


def test_too_many_rows_are_one_pass_instead(lake: Any, table: Any) -> None:
    work = replace(planned(lake, QUERY), max_rows=2)
    a, _, _ = files(lake)
    _, spark, _ = run(lake, [(i, a, i) for i in range(3)], work)
    assert spark.asked == [work.first.sql, work.otherwise.sql]


def test_the_first_pass_ends_when_it_gives_too_many(lake: Any, table: Any) -> None:
    """What follows is not asked for: declining costs the beginning of a pass, however many rows there are."""
    work = replace(planned(lake, QUERY), max_rows=25)
    spark = Endless(pa.table({"id": range(10), "source": ["x"] * 10, "ref": range(10)}), lake)
    found = fetch_rows(work, FakeExecution(), spark, catalogs(lake))
    next(found)
    assert spark.given == {work.first.sql: 3, work.otherwise.sql: 1}
    assert spark.ended == [work.first.sql]


def test_explain_analyze_is_told_what_was_fetched(lake: Any, table: Any) -> None:
    a, b, _ = files(lake)
    operators: list[Operator] = []
    rows = pa.table({"id": [7, 102, 7], "source": [a, b, a], "ref": [7, 2, 7]})
    list(fetch_rows(planned(lake, QUERY), FakeExecution(), FirstPass(rows, lake), catalogs(lake), operators))
    (fetch,) = operators
    assert fetch.name == "Fetch"
    assert {name: fetch.metrics[name] for name in ("rows", "files", "files scanned again")} == {
        "rows": 3,
        "files": 2,
        "files scanned again": 0,
    }
    assert 0 < fetch.metrics["bytes"] < 100_000


def test_a_file_of_another_format_is_one_pass_instead(lake: Any, table: Any) -> None:
    work, places = planned(lake, QUERY), files(lake)
    Path(places[0].removeprefix("file://")).write_bytes(b"Obj\x01" + b"\0" * 200)
    _, spark, _ = run(lake, [(1, places[0], 1)], work)
    assert spark.asked == [work.first.sql, work.otherwise.sql]


@pytest.mark.slow
def test_executors_read_long_lists(lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows from several tasks whose answers come in no order."""
    from coordinator.engine import fetch_rows as engine

    monkeypatch.setattr(engine, "_COORDINATOR_ROWS", 10)
    monkeypatch.setattr(engine, "_SCANNED_ROWS", 50)
    paths = files(lake)
    wanted: list[Any] = [(i, paths[i // 100], i % 100) for i in range(299, -1, -1)]
    rows, _, _ = run(lake, wanted)
    assert rows == [(i, f"n{i}", "x") for i in range(299, -1, -1)]
    assert lake.workers.tasks == 2


@pytest.mark.parametrize(("few", "tasks"), [(4, 2), (20, 1)])
def test_only_files_with_many_rows_are_scanned_again(
    few: int, tasks: int, lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By executors; the other files are read by the coordinator unless together they are too many as well."""
    from coordinator.engine import fetch_rows as engine

    monkeypatch.setattr(engine, "_COORDINATOR_ROWS", 10)
    monkeypatch.setattr(engine, "_SCANNED_ROWS", 50)
    lake.workers.parallelism = 1
    a, b, c = files(lake)
    wanted: list[Any] = [(i, a, i) for i in range(90)] + [(100 + i, b, i) for i in range(few)]
    wanted += [(200 + i, c, i) for i in reversed(range(99))]
    rows, _, execution = run(lake, wanted)
    assert rows == [(i, f"n{i}", "x") for i, _, _ in wanted]
    assert lake.workers.tasks == tasks
    assert execution.processed_bytes > 0

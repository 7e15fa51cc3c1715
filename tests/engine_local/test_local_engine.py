"""The embedded DuckDB: types of its Arrow results, Presto's run-time errors, no way out, cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.relations import catalog_table
from coordinator.connectors.registry import Catalogs
from coordinator.engine.local import LocalEngine
from coordinator.engine.local_inputs import ArrowInput
from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from coordinator.unparser import work_of
from coordinator.vocabulary.planned_statement import RunLocally
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from tests.execution import FakeExecution


def batches(text: str) -> list[pa.RecordBatch]:
    plan = plan_query(parse_query(text), Session(user="test"), Catalogs([]))
    work = work_of(plan.root, catalog_table)
    assert isinstance(work, RunLocally)
    return list(LocalEngine().run(work.sql, FakeExecution()))


def answer(text: str) -> pa.Table:
    return pa.Table.from_batches(batches(text))


def rows(text: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in batches(text) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT x / 2, x % 2 FROM (VALUES -7, 7) t(x)", [(-3, -1), (3, 1)]),
        ("SELECT x / 0e0 FROM (VALUES 1e0) t(x)", [(float("inf"),)]),
        ("SELECT x FROM (VALUES 2, NULL, 1) t(x) ORDER BY x DESC", [(2,), (1,), (None,)]),
        ("SELECT CAST(x AS bigint) FROM (VALUES 2.5e0, -2.5e0) t(x) ORDER BY 1", [(-3,), (3,)]),
        ("SELECT 1 WHERE NULL NOT IN (VALUES 1)", []),
        ("SELECT x, count(*) FROM (VALUES 1, 1, 2) t(x) GROUP BY x ORDER BY x", [(1, 2), (2, 1)]),
        ("SELECT count(*), sum(x) FROM (VALUES 1) t(x) WHERE x > 5", [(0, None)]),
        ("SELECT y, o FROM UNNEST(ARRAY['a', 'b']) WITH ORDINALITY AS u(y, o)", [("a", 1), ("b", 2)]),
        ("SELECT sum(x) FROM (VALUES (1, 'a'), (2, 'b')) t(x, k) GROUP BY ROLLUP(k) ORDER BY 1", [(1,), (2,), (3,)]),
        (
            "SELECT x FROM (VALUES 1, 2, 3) t(x) WHERE x > (SELECT avg(y) FROM (VALUES 1, 2) s(y)) ORDER BY 1",
            [(2,), (3,)],
        ),
        ("SELECT x || 'c' FROM (VALUES 'a', NULL) t(x) ORDER BY 1", [("ac",), (None,)]),
        ("SELECT x[2] FROM (VALUES ARRAY[1, 2]) t(x)", [(2,)]),
    ],
)
def test_semantics_are_prestos(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(text) == expected


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("SELECT 1 / x FROM (VALUES 0) t(x)", ErrorCode.DIVISION_BY_ZERO, "/ by zero"),
        ("SELECT CAST(x AS bigint) FROM (VALUES 'x') t(x)", ErrorCode.INVALID_CAST_ARGUMENT,
         "Cannot cast 'x' to BIGINT"),
        ("SELECT CAST(x AS tinyint) FROM (VALUES 300) t(x)", ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE,
         "Out of range for tinyint: 300"),
        ("SELECT x[3] FROM (VALUES ARRAY[1, 2]) t(x)", ErrorCode.INVALID_FUNCTION_ARGUMENT,
         "Array subscript out of bounds"),
        ("SELECT (SELECT x FROM (VALUES 1, 2) t(x))", ErrorCode.SUBQUERY_MULTIPLE_ROWS,
         "Scalar sub-query has returned multiple rows"),
    ],
)  # fmt: skip
def test_errors_are_prestos(text: str, code: ErrorCode, message: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        answer(text)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_arrow_types_follow_the_table() -> None:
    schema = answer(
        "SELECT TINYINT '1', 1, 1.50, DATE '2020-01-01', ARRAY[1e0], MAP(ARRAY['a'], ARRAY[BIGINT '1']), X'00',"
        " CAST(ROW(1) AS ROW(x bigint)), TIMESTAMP '2020-01-01 00:00:00', INTERVAL '1' DAY, TIME '10:00'"
    ).schema
    kinds = [f.type for f in schema]
    assert kinds[:4] == [pa.int8(), pa.int32(), pa.decimal128(3, 2), pa.date32()]
    assert kinds[4].value_type == pa.float64()
    assert (kinds[5].key_type, kinds[5].item_type) == (pa.string(), pa.int64())
    assert kinds[6:] == [
        pa.binary(), pa.struct([("x", pa.int64())]), pa.timestamp("us"), pa.int64(), pa.time64("us"),
    ]  # fmt: skip


@pytest.mark.parametrize("sql", ["SELECT * FROM '/etc/passwd'", "COPY (SELECT 1) TO 'x.csv'", "SET threads = 8"])
def test_files_and_settings_are_out_of_reach(sql: str) -> None:
    with pytest.raises(ProcessionError):
        list(LocalEngine().run(sql, FakeExecution()))


def test_cancelling_interrupts() -> None:
    run = FakeExecution()
    timer = threading.Timer(0.3, run.cancel)
    timer.start()
    with pytest.raises(ProcessionError) as caught:
        list(LocalEngine().run("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", run))
    assert caught.value.code is ErrorCode.USER_CANCELED
    timer.join()


class CancelledBefore(FakeExecution):
    """Asked to end when the database has looked for the last time, and has not begun."""

    def on_cancel(self, callback: Callable[[], None]) -> None:
        interrupted = threading.Event()
        super().on_cancel(lambda: (interrupted.set(), callback())[0])
        self.cancel()
        assert interrupted.wait(60)
        time.sleep(0.05)


def test_an_interruption_that_comes_before_the_statement_counts() -> None:
    with pytest.raises(ProcessionError) as caught:
        list(
            LocalEngine().run(
                "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", CancelledBefore()
            )
        )
    assert caught.value.code is ErrorCode.USER_CANCELED


@pytest.mark.slow
def test_cancelling_ends_functions_of_ours() -> None:
    inner = "reduce(sequence(1, 9999), 0, (a, b) -> a + b, a -> a)"
    slow = f"SELECT reduce(sequence(1, 9999), x, (s, y) -> s + {inner}, s -> s) FROM UNNEST(sequence(1, 999)) t(x)"
    work = work_of(plan_query(parse_query(slow), Session(user="test"), Catalogs([])).root, catalog_table)
    assert isinstance(work, RunLocally)
    run = FakeExecution()
    timer = threading.Timer(0.5, run.cancel)
    timer.start()
    with pytest.raises(ProcessionError) as caught:
        list(LocalEngine().run(work.sql, run))
    assert caught.value.code is ErrorCode.USER_CANCELED
    timer.join()


def test_inputs_are_read_under_their_names(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1, 2], "v": ["a", "b"]}), tmp_path / "part.parquet")
    parquet = ArrowInput("procession_a_0", ds.dataset(str(tmp_path), format="parquet"))
    arrow = ArrowInput("procession_a_1", pa.table({"k": [2, 3], "w": [20, 30]}))
    sql = "SELECT a.v, b.w FROM procession_a_0 a JOIN procession_a_1 b ON a.k = b.k"
    engine = LocalEngine()
    found = pa.Table.from_batches(engine.run(sql, FakeExecution(), (parquet, arrow)))
    assert found.to_pylist() == [{"v": "b", "w": 20}]
    with pytest.raises(ProcessionError):
        list(engine.run("SELECT * FROM procession_a_1", FakeExecution()))


def test_too_many_blocks_within_each_other_are_refused() -> None:
    """As hundreds of different windows are unparsed; DuckDB's own limit keeps its stack whole."""
    engine = LocalEngine()
    sql = "SELECT 1 AS x"
    for _ in range(1200):
        sql = f"SELECT x FROM ({sql})"
    with pytest.raises(ProcessionError, match="statement is too large") as refused:
        list(engine.run(sql, FakeExecution()))
    assert refused.value.code is ErrorCode.NOT_SUPPORTED
    engine.close()

"""The processes of the local engine: what goes in and out, limits of memory, cancelling, crashes, fairness."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.engine.local_inputs import ArrowInput, FilesInput, LocalInput
from coordinator.engine.processes.local_processes import LocalProcesses
from coordinator.engine.processes.messages import LocalProcessSettings
from coordinator.engine.processes.nursery import Nursery
from coordinator.engine.processes.pool import PoolLimits
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from tests.engine_local.dying import killed_at_work
from tests.execution import FakeExecution
from tests.processes import command_of

pytestmark = pytest.mark.slow

SLOW = "SELECT sum(sin(range)) AS n FROM range(1000000000000)"
HEAVY = "SELECT max(length(repeat('abcdefghij' || range, 100000))) AS n FROM range(1000000)"
"""A vector of it takes 2 GB, which DuckDB's own limit does not count."""
GROWING = "SELECT list(repeat('abcdefghij' || range, 1000)) AS n FROM range(100000000)"


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture(scope="module")
def engine(nursery: Nursery) -> Iterator[LocalProcesses]:
    made = LocalProcesses(LocalProcessSettings(256 << 20), nursery, PoolLimits(2, 1), 2 << 30)
    yield made
    made.close()


def rows(engine: LocalProcesses, sql: str, execution: Any = None, *inputs: LocalInput) -> list[dict[str, Any]]:
    batches = list(engine.run(sql, execution or FakeExecution(), inputs))
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def children() -> list[psutil.Process]:
    """Of our own, not those of services that other tests share."""
    forking = [p for p in psutil.Process().children() if "nursery" in command_of(p)]
    return [p for parent in forking for p in parent.children() if p.name() == "sql-local"]


def ended(child: psutil.Process) -> None:
    """Kill it, and wait until it has died: nobody has asked for how."""
    child.kill()
    # Its other threads hold the socket for a moment more.
    threads = Path(f"/proc/{child.pid}/task")
    while child.status() != psutil.STATUS_ZOMBIE or len(list(threads.iterdir())) > 1:
        time.sleep(0.01)


def of(user: str) -> FakeExecution:
    return FakeExecution(session=Session(user=user))


def test_rows_go_in_and_come_out_as_they_are(engine: LocalProcesses, tmp_path: Path) -> None:
    table = pa.table({"k": pa.array(range(30_000), pa.int64()), "v": [None, "é", "x" * 1000] * 10_000})
    pq.write_table(table, tmp_path / "a.parquet")
    stream = ArrowInput("s", pa.RecordBatchReader.from_batches(table.schema, table.to_batches(7000)))
    files = FilesInput("f", (str(tmp_path / "a.parquet"),))
    sql = "SELECT s.k, f.v FROM s JOIN f ON s.k = f.k ORDER BY s.k"
    assert rows(engine, sql, None, stream, files) == table.to_pylist()
    assert rows(engine, "SELECT 1 AS n WHERE false") == []
    nested = "SELECT [{'a': 1, 'b': [1.5, NULL]}] AS x, MAP {'k': TIMESTAMP '2020-01-01 00:00:00'} AS m"
    (row,) = rows(engine, nested)
    assert row["x"] == [{"a": 1, "b": [pytest.approx(1.5), None]}]


def test_an_input_is_asked_for_rows_only_as_they_are_needed(engine: LocalProcesses) -> None:
    made: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(1000):
            made.append(number)
            yield pa.record_batch({"k": [number] * 5000})

    schema = pa.schema({"k": pa.int64()})
    stream = ArrowInput("s", pa.RecordBatchReader.from_batches(schema, batches()))
    assert len(rows(engine, "SELECT k FROM s LIMIT 3", None, stream)) == 3
    assert len(made) < 20


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ProcessionError(ErrorCode.JDBC_ERROR, "the database is gone"), ErrorCode.JDBC_ERROR, "the database is gone"),
        (ValueError("year 10000"), ErrorCode.GENERIC_INTERNAL_ERROR, "Rows cannot be read: year 10000"),
    ],
)
def test_an_input_that_breaks_says_why(engine: LocalProcesses, error: Exception, code: ErrorCode, text: str) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"k": [1]})
        raise error

    stream = ArrowInput("s", pa.RecordBatchReader.from_batches(pa.schema({"k": pa.int64()}), batches()))
    with pytest.raises(ProcessionError, match=text) as raised:
        rows(engine, "SELECT sum(k) AS n FROM s", None, stream)
    assert raised.value.code is code
    assert rows(engine, "SELECT 1 AS n") == [{"n": 1}]


def test_errors_are_prestos(engine: LocalProcesses) -> None:
    with pytest.raises(ProcessionError, match="bigint multiplication overflow") as raised:
        rows(engine, "SELECT (range + 1) * 9223372036854775807 AS n FROM range(5)")
    assert raised.value.code is ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE


def test_a_statement_beyond_the_limit_fails_by_itself(engine: LocalProcesses) -> None:
    for sql in (HEAVY, GROWING):
        with pytest.raises(ProcessionError) as raised:
            rows(engine, sql)
        assert raised.value.code is ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT
        assert rows(engine, "SELECT 1 AS n") == [{"n": 1}]


def test_all_together_have_a_limit(nursery: Nursery) -> None:
    """The largest is ended, whoever runs it."""
    engine = LocalProcesses(LocalProcessSettings(2 << 30), nursery, PoolLimits(2, 1), 300 << 20)
    small, raised = of("small"), []

    def run() -> None:
        try:
            rows(engine, SLOW, small)
        except ProcessionError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        with pytest.raises(ProcessionError, match=r"together exceeded 300MB of memory") as large:
            rows(engine, GROWING, of("large"))
        assert large.value.code is ErrorCode.CLUSTER_OUT_OF_MEMORY
        deadline = time.monotonic() + 60
        while not (small.progress and small.progress[-1].cpu_seconds > 0):  # a busy machine has not run it yet
            assert time.monotonic() < deadline, "limits of CPU time act on local statements"
            time.sleep(0.05)
        small.cancel(wait=True)
        thread.join(60)
        assert [error.code for error in raised] == [ErrorCode.USER_CANCELED]
    finally:
        engine.close()


def test_cancelling_ends_the_statement_at_once(engine: LocalProcesses) -> None:
    execution = FakeExecution()
    threading.Timer(0.5, execution.cancel).start()
    started = time.monotonic()
    with pytest.raises(ProcessionError) as raised:
        rows(engine, SLOW, execution)
    assert raised.value.code is ErrorCode.USER_CANCELED
    assert time.monotonic() - started < 30
    execution.cancel()
    assert rows(engine, "SELECT 2 AS n") == [{"n": 2}], "what is over can no longer be cancelled"


def test_rows_that_nobody_reads_on_end_their_process(engine: LocalProcesses) -> None:
    reading = engine.run("SELECT range AS n FROM range(100000000)", FakeExecution())
    assert next(reading).num_rows > 0
    assert engine.stats().busy == 1
    reading.close()  # type: ignore[attr-defined]
    assert engine.stats().busy == 0
    assert rows(engine, "SELECT 3 AS n") == [{"n": 3}]


def test_a_process_that_dies_costs_one_statement_and_none_when_it_was_idle(engine: LocalProcesses) -> None:
    assert rows(engine, "SELECT 1 AS n") == [{"n": 1}]
    for child in children():
        ended(child)
    assert rows(engine, "SELECT 2 AS n") == [{"n": 2}]
    (child,) = children()
    threading.Thread(target=killed_at_work, args=(child,)).start()
    with pytest.raises(ProcessionError) as raised:
        rows(engine, SLOW)
    assert raised.value.code is ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT
    assert rows(engine, "SELECT 3 AS n") == [{"n": 3}]


def test_what_forks_them_may_die(nursery: Nursery) -> None:
    engine = LocalProcesses(LocalProcessSettings(256 << 20), nursery, PoolLimits(2, 2), 2 << 30)
    try:
        engine.warm_up()
        (child,) = [p for p in children() if p.is_running()][-1:]
        parent = child.parent()
        assert parent is not None
        parent.kill()
        parent.wait(60)
        assert rows(engine, "SELECT 1 AS n") == [{"n": 1}], "it lives on"
        ended(child)
        assert rows(engine, "SELECT 2 AS n") == [{"n": 2}]
    finally:
        engine.close()


def test_one_user_does_not_have_all_processes(engine: LocalProcesses) -> None:
    """Of two processes a user has one here: the second statement waits, that of somebody else does not."""
    greedy, waiting = of("greedy"), of("greedy")
    answers: list[object] = []

    def run(execution: FakeExecution, sql: str) -> None:
        try:
            answers.append(rows(engine, sql, execution))
        except ProcessionError as error:
            answers.append(error.code)

    threads = [threading.Thread(target=run, args=each) for each in ((greedy, SLOW), (waiting, "SELECT 5 AS n"))]
    threads[0].start()
    while not engine.stats().busy:
        time.sleep(0.01)
    threads[1].start()
    time.sleep(0.3)
    assert answers == []
    assert rows(engine, "SELECT 4 AS n", of("modest")) == [{"n": 4}]
    assert answers == []
    greedy.cancel()
    for thread in threads:
        thread.join(60)
    assert sorted(answers, key=str) == [ErrorCode.USER_CANCELED, [{"n": 5}]]


def test_nothing_is_left(nursery: Nursery) -> None:
    engine = LocalProcesses(LocalProcessSettings(256 << 20), nursery, PoolLimits(4, 4), 2 << 30)
    before = set(children())
    reading = engine.run("SELECT range AS n FROM range(100000000)", FakeExecution())
    next(reading)
    engine.warm_up()
    assert len(set(children()) - before) == 2
    engine.close()
    assert set(children()) <= before
    with pytest.raises(ProcessionError):
        list(reading)
    with pytest.raises(ProcessionError) as raised:
        rows(engine, "SELECT 1 AS n")
    assert raised.value.code is ErrorCode.SERVER_SHUTTING_DOWN

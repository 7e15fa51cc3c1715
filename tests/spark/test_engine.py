"""SQL and kernels on the embedded Spark Connect server."""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.engine.inputs import FormatInput
from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.spark import runner
from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.engine import SparkEngine
from coordinator.vocabulary.traced_calls import TracedCalls, collecting
from shared.errors import ErrorCode, ProcessionError

pytestmark = [pytest.mark.spark, pytest.mark.slow]
CORES = os.cpu_count() or 1


def test_rows_arrive_as_arrow(engine: SparkEngine, execution: Any) -> None:
    batches = list(engine.run("SELECT id, CAST(id * 2 AS string) AS text FROM range(3) ORDER BY id", execution))
    assert pa.Table.from_batches(batches).to_pylist() == [{"id": i, "text": str(i * 2)} for i in range(3)]


def test_inputs_are_views_while_the_statement_runs(engine: SparkEngine, execution: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1, 2], "v": ["a", "b"]}), tmp_path / "part.parquet")
    files = FormatInput("procession_a_0", "parquet", (str(tmp_path / "part.parquet"),), {})
    arrow = ArrowInput("procession_a_1", pa.table({"k": [2, 3], "w": [20, 30]}))
    sql = "SELECT a.v, b.w FROM procession_a_0 a JOIN procession_a_1 b ON a.k = b.k"
    found = pa.Table.from_batches(engine.run(sql, execution, (files, arrow)))
    assert found.to_pylist() == [{"v": "b", "w": 20}]
    with pytest.raises(ProcessionError):
        list(engine.run("SELECT * FROM procession_a_1", execution))


def test_a_session_has_settings_of_its_own(engine: SparkEngine, execution: Any) -> None:
    """``spark_settings`` holds for a session's statements, reads and writes, and for nobody else's."""

    def partitions(run: Callable[[str, Any], Iterator[pa.RecordBatch]], one: Any) -> Any:
        rows = pa.Table.from_batches(run("SET spark.sql.shuffle.partitions", one)).to_pylist()
        return rows[0]["value"]

    before = partitions(engine.run, execution)
    given = replace(execution.session, properties={"spark_settings": "spark.sql.shuffle.partitions=3"})
    own = replace(execution, session=given)
    assert [partitions(run, own) for run in (engine.run, engine.write)] == ["3", "3"]
    assert [partitions(run, execution) for run in (engine.run, engine.write)] == [before, before] != ["3", "3"]


def test_rows_stream_before_the_statement_ends(engine: SparkEngine, execution: Any) -> None:
    sql = "SELECT id, sha2(repeat(string(id), 60), 512) AS digest FROM range(0, 500000, 1, 40)"
    begun = time.monotonic()
    stream = engine.run(sql, execution)
    first = next(stream)
    waited = time.monotonic() - begun
    rows = first.num_rows + sum(batch.num_rows for batch in stream)
    assert rows == 500_000
    assert waited < (time.monotonic() - begun) / 2


def test_a_statement_knows_its_operations(engine: SparkEngine, execution: Any) -> None:
    calls = TracedCalls()
    with collecting(calls, "dispatch"):
        list(engine.run("SELECT 1", execution))
    assert len(execution.spark_operations) >= 1
    assert all(uuid.UUID(each) for each in execution.spark_operations)
    call = next(each for each in calls.calls if each.name == "spark.execute")
    assert call.about["operations"] == ",".join(execution.spark_operations)
    assert execution.spark_jobs == [], "to ask for them would take longer than the statement"


def test_jobs_are_asked_for_where_that_takes_no_time(
    engine: SparkEngine, execution: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_WORTH_ASKING_SECONDS", 0.0)
    asked: list[tuple[object, list[str]]] = []

    def jobs_of(connection: Connection, operations: Sequence[str]) -> tuple[int, ...]:
        asked.append((connection, list(operations)))
        return (3, 4)

    connection = engine.connect()
    running = runner.Runner(runner.Fixed(connection), execution, jobs_of=jobs_of)
    list(running.batches(lambda session: session.range(5)))
    assert execution.spark_jobs == [3, 4]
    assert asked == [(connection, execution.spark_operations)]
    with pytest.raises(ProcessionError):
        list(running.batches(lambda session: session.sql("SELECT no_such_column")))
    assert len(asked) == 2, "those of what failed are known too"
    monkeypatch.setattr(runner, "_WORTH_ASKING_SECONDS", 60.0)
    with pytest.raises(ProcessionError):
        list(running.batches(lambda session: session.sql("SELECT no_such_column")))
    assert len(asked) == 2


def test_progress_of_a_statement_is_reported(engine: SparkEngine, execution: Any) -> None:
    list(engine.run("SELECT sum(crc32(string(id))) FROM range(0, 12000000, 1, 16)", execution))
    assert execution.progress
    last = execution.progress[-1]
    assert 0 < last.completed_splits <= last.total_splits
    assert last.total_splits >= 16
    assert last.stages
    assert sum(stage.total_splits for stage in last.stages) == last.total_splits
    assert [int(stage.name) for stage in last.stages] == sorted(int(stage.name) for stage in last.stages)


def test_a_payload_is_a_task_and_every_answer_comes_back(engine: SparkEngine, execution: Any) -> None:
    payloads = [f"payload {i}".encode() * (i + 1) for i in range(17)]
    assert sorted(engine.workers(execution).run_tasks("probes:echo", payloads)) == sorted(payloads)


def test_large_payloads_are_a_task_each_as_well(engine: SparkEngine, execution: Any) -> None:
    payloads = [bytes([i]) * 20_000 for i in range(30)]
    assert sorted(engine.workers(execution).run_tasks("probes:echo", payloads)) == payloads
    slow = [b"0.5" + b" " * 100_000] * (2 * CORES)
    answers = [json.loads(a) for a in engine.workers(execution).run_tasks("probes:where", slow)]
    busiest = max(sum(a["begun"] <= b["begun"] < a["ended"] for a in answers) for b in answers)
    assert (len(answers), busiest) == (2 * CORES, CORES)


def test_no_payloads_are_no_tasks(engine: SparkEngine, execution: Any) -> None:
    assert list(engine.workers(execution).run_tasks("probes:echo", [])) == []


def test_a_task_may_answer_many_times(engine: SparkEngine, execution: Any) -> None:
    answers = list(engine.workers(execution).run_tasks("probes:split", [b"abc", b"de"]))
    assert sorted(answers) == [b"a", b"b", b"c", b"d", b"e"]


@pytest.mark.skipif(CORES < 2, reason="one core runs one task at a time")
def test_tasks_run_on_all_cores(engine: SparkEngine, execution: Any) -> None:
    workers = engine.workers(execution)
    assert workers.parallelism == CORES
    answers = [json.loads(a) for a in workers.run_tasks("probes:where", [b"0.5"] * (2 * CORES))]
    assert len({answer["pid"] for answer in answers}) >= CORES
    busiest = max(sum(a["begun"] <= b["begun"] < a["ended"] for a in answers) for b in answers)
    assert busiest == CORES


def test_all_workers_answer_under_the_name_of_their_executor(engine: SparkEngine, execution: Any) -> None:
    answers = list(engine.workers(execution).run_on_all_workers("probes:where", b"0"))
    # local[*] is one executor; its Python processes answer once each.
    assert len({worker for worker, _ in answers}) == 1
    pids = [json.loads(answer)["pid"] for _, answer in answers]
    assert len(pids) == len(set(pids)) <= CORES


@pytest.mark.parametrize(
    ("kernel", "code", "message"),
    [
        ("probes:refuse", ErrorCode.NOT_FOUND, "no such file: x"),
        (
            "probes:crash",
            ErrorCode.REMOTE_TASK_ERROR,
            "Spark failed: unexpected: no such file: x",
        ),
        ("probes:full_disk", ErrorCode.GENERIC_INSUFFICIENT_RESOURCES, "No space left on an executor's disk"),
        ("probes:nope", ErrorCode.REMOTE_TASK_ERROR, "nope"),
    ],
)
def test_kernel_errors_reach_the_user_without_a_stack(
    engine: SparkEngine, execution: Any, kernel: str, code: ErrorCode, message: str
) -> None:
    with pytest.raises(ProcessionError) as failed:
        list(engine.workers(execution).run_tasks(kernel, [b"no such file: x"]))
    assert failed.value.code is code
    assert message in failed.value.message
    assert "\n" not in failed.value.message
    assert "Traceback" not in failed.value.message


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT 1 / 0", ErrorCode.DIVISION_BY_ZERO),
        ("SELECT CAST('x' AS int)", ErrorCode.INVALID_CAST_ARGUMENT),
        ("SELECT 2147483647 + 1", ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE),
        ("SELECT * FROM no_such_table", ErrorCode.REMOTE_TASK_ERROR),
    ],
)
def test_sql_errors_have_their_code(engine: SparkEngine, execution: Any, sql: str, code: ErrorCode) -> None:
    with pytest.raises(ProcessionError) as failed:
        list(engine.run(sql, execution))
    assert failed.value.code is code
    assert "JVM stacktrace" not in failed.value.message


@pytest.mark.parametrize("kind", ["sql", "kernel"])
def test_cancel_ends_a_running_statement_soon(engine: SparkEngine, executions: Any, kind: str) -> None:
    running = executions(f"20260101_000000_00001_{kind}")
    failures: list[ProcessionError] = []

    def run() -> None:
        try:
            if kind == "sql":
                list(
                    engine.run(
                        # Spark looks whether it is cancelled after each thousand rows of the outer side.
                        "SELECT count(*) FROM range(1000000000) a CROSS JOIN range(10000) b WHERE a.id < b.id",
                        running,
                    )
                )
            else:
                list(engine.workers(running).run_tasks("probes:where", [b"300"] * CORES))
        except ProcessionError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(2)
    assert thread.is_alive()
    begun = time.monotonic()
    running.cancel()
    thread.join(60)
    assert time.monotonic() - begun < 30
    assert [failure.code for failure in failures] == [ErrorCode.USER_CANCELED]
    # The slots are free again: the next statement of another query is not held up.
    begun = time.monotonic()
    assert list(engine.workers(executions("20260101_000000_00002_after")).run_tasks("probes:echo", [b"x"])) == [b"x"]
    assert time.monotonic() - begun < 100


def test_cancel_of_one_query_leaves_another_alone(engine: SparkEngine, executions: Any) -> None:
    kept, dropped = executions("20260101_000000_00003_kept"), executions("20260101_000000_00004_drop")
    answers: list[bytes] = []
    keeping = threading.Thread(target=lambda: answers.extend(engine.workers(kept).run_tasks("probes:where", [b"1.5"])))
    keeping.start()
    with pytest.raises(ProcessionError):
        threading.Timer(0.5, dropped.cancel).start()
        list(engine.workers(dropped).run_tasks("probes:where", [b"30"]))
    keeping.join(60)
    assert len(answers) == 1

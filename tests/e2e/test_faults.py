"""What is left after the worst moments: no lost row, no orphan file, no process, and a clear error."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import prestodb
import psutil
import pyarrow as pa
import pytest
from pyiceberg.table import Table

from benchmarks.chaos.harm import Harm
from benchmarks.chaos.ledger import Verdict
from benchmarks.chaos.rounds import Round, Stage, play
from tests.e2e.service import Service, checksum, start_service, write_etc

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CALL = "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => '{}')"


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that outlives what is done to it."""
    home = tmp_path_factory.mktemp("harmed")
    etc = write_etc(home / "etc")
    with (etc / "config.properties").open("a") as config:
        config.write("spark.master=local[5]\n")  # room for the tasks of four statements
    running = start_service(etc, home / "data", home / "log")
    running.execute("CALL system.clean_data_cache()")
    yield running
    assert running.stop() == 0, (home / "log").read_text()


def wide(seed: int, rows: int = 150_000) -> pa.Table:
    """A part that takes the kernels a while: several megabytes of text."""
    ids = range(seed * rows, (seed + 1) * rows)
    return pa.table({"id": pa.array(ids, pa.int64()), "text": pa.array([f"{i:x}" * 12 for i in ids])})


def data_files(table: Table) -> set[str]:
    """Every file on disk under the table's data folder."""
    folder = Path(table.location().removeprefix("file://")) / "data"
    return {str(file) for file in folder.rglob("*") if file.is_file()}


def referenced(table: Table) -> set[str]:
    tasks = table.refresh().scan().plan_files()
    return {task.file.file_path.removeprefix("file://") for task in tasks}


def eventually(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def in_background(service: Service, sql: str, **options: Any) -> tuple[threading.Thread, list[Any]]:
    """The statement on a thread; its rows or its exception arrive in the list."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(service.execute(sql, **options))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def running_query(service: Service) -> str:
    """The id of the call once its tasks run."""
    found: list[str] = []

    def started() -> bool:
        found[:] = [q["queryId"] for q in service.get("/v1/query") if q["state"] == "RUNNING"]
        return bool(found)

    eventually(started)
    return found[0]


def spark_of(service: Service) -> psutil.Process:
    """Its Spark, which is not the only JVM: another may make the archive of classes."""
    running = (child for child in family(service.process.pid) if child.name() == "java")
    return next(child for child in running if any("SparkConnectServer" in part for part in child.cmdline()))


def family(process_id: int) -> list[psutil.Process]:
    return psutil.Process(process_id).children(recursive=True)


def test_cancelled_call_stops_soon_and_leaves_nothing(harmed: Service) -> None:
    table = harmed.create("cancelled", [wide(i) for i in range(8)])
    before, files = checksum(table), data_files(table)
    thread, outcome = in_background(harmed, CALL.format("cancelled"))
    query = running_query(harmed)
    start = time.monotonic()
    assert httpx.delete(f"{harmed.url}/v1/query/{query}").status_code == 204
    thread.join(timeout=30)
    assert time.monotonic() - start < 2
    assert isinstance(outcome[0], prestodb.exceptions.PrestoUserError)
    assert outcome[0].error_name == "USER_CANCELED"
    eventually(lambda: data_files(table) == files)
    assert checksum(table) == before


def fill(source: str) -> str:
    """Too many rows to end before the test does, in small files, of which the first is there soon."""
    return (
        f'CREATE TABLE iceberg.db.filled_{source} WITH ("write.target-file-size-bytes" = 1000000) AS '
        "SELECT a.id, a.text || CAST(b.id AS varchar) || b.text AS text "
        f"FROM iceberg.db.{source} a CROSS JOIN iceberg.db.{source} b"
    )


def under_warehouse(service: Service) -> set[str]:
    folder = service.data_dir / "iceberg" / "warehouse" / "db"
    try:
        return {str(file) for file in folder.rglob("*") if file.is_file() and not file.name.endswith(".crc")}
    except OSError:
        return {"a folder that goes while it is listed"}


def test_table_of_a_cancelled_query_is_gone_with_its_files(harmed: Service) -> None:
    harmed.create("source", [wide(0, rows=30_000)])
    before, tables = under_warehouse(harmed), harmed.lake().list_tables("db")
    thread, outcome = in_background(harmed, fill("source"))
    eventually(lambda: any(name.endswith(".parquet") for name in under_warehouse(harmed) - before), 300)
    assert httpx.delete(f"{harmed.url}/v1/query/{running_query(harmed)}").status_code == 204
    thread.join(timeout=300)
    assert isinstance(outcome[0], prestodb.exceptions.PrestoUserError)
    assert outcome[0].error_name == "USER_CANCELED"
    eventually(lambda: under_warehouse(harmed) == before, 120)
    assert harmed.lake().list_tables("db") == tables


def test_query_that_runs_out_of_time_leaves_no_table(harmed: Service) -> None:
    harmed.create("late", [wide(0, rows=30_000)])
    before, tables = under_warehouse(harmed), harmed.lake().list_tables("db")
    cursor = harmed.cursor(session_properties={"query_max_execution_time": "15s"})
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as failed:
        cursor.execute(fill("late"))
        cursor.fetchall()
    assert failed.value.error_name == "EXCEEDED_TIME_LIMIT"
    # What another test's table left may go meanwhile: late files, and the file that bars its folder.
    eventually(lambda: under_warehouse(harmed) <= before, 120)
    assert {name for name in before if "/filled_" not in name} <= under_warehouse(harmed)
    assert harmed.lake().list_tables("db") == tables


IN_BETWEEN = "00000-7-5f0c1c1e-9a1b-4c55-8f2e-0123456789ab-0-00001.parquet"
"""What another program wrote and has not committed yet."""
TASK_PER_FILE = {
    **{f"write.{kind}.distribution-mode": "none" for kind in ("delete", "update", "merge")},
    **{f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")},
    **{f"read.split.{what}": "1" for what in ("target-size", "open-file-cost", "planning-lookback")},
    "read.parquet.vectorization.batch-size": "100",  # a task looks after each batch whether it is to end
    "write.distribution-mode": "none",
    "format-version": "2",
}
"""What a task has read it writes, so that the task of a small file ends while that of a large one goes on."""
_SLOWLY = "levenshtein_distance(text, reverse(text))"
WRITES = {
    "insert": f"INSERT INTO iceberg.db.{{t}} SELECT id, text FROM iceberg.db.{{t}} WHERE {_SLOWLY} > 0",
    "delete": f"DELETE FROM iceberg.db.{{t}} WHERE {_SLOWLY} > 0 AND id % 2 = 0",
    "update": f"UPDATE iceberg.db.{{t}} SET text = CAST({_SLOWLY} AS varchar) WHERE id % 2 = 0",
    "merge": "MERGE INTO iceberg.db.{t} AS x USING (SELECT id + 1 AS id FROM iceberg.db.few) AS o ON x.id <> o.id - 1 "
    f"WHEN MATCHED THEN UPDATE SET text = CAST({_SLOWLY} AS varchar) WHEN NOT MATCHED THEN INSERT (id) VALUES (o.id)",
}


def noise(first: int, rows: int) -> pa.Table:
    text = random.Random(first).randbytes(500 * rows).hex()
    return pa.table({"id": range(first, first + rows), "text": [text[i * 1000 : (i + 1) * 1000] for i in range(rows)]})


def whole_files(table: Table) -> set[str]:
    """Data files that are complete: Parquet's last bytes are there. A finished task leaves such ones."""

    def ends_well(file: str) -> bool:
        try:
            with Path(file).open("rb") as source:
                source.seek(-4, os.SEEK_END)
                return source.read() == b"PAR1"
        except OSError:
            return False

    return {file for file in data_files(table) if ends_well(file)}


def files_of(service: Service, tables: Iterable[Table]) -> set[str]:
    folders = [f"/{table.name()[-1]}/" for table in tables]
    return {file for file in under_warehouse(service) if any(folder in file for folder in folders)}


@pytest.mark.parametrize("end", ["cancel", "time limit", "kill spark", "kill coordinator"])
def test_failed_writes_leave_no_file_and_touch_none_of_others(harmed: Service, end: str) -> None:
    """INSERT, DELETE, UPDATE and MERGE at once, each with a whole file on disk when they end."""
    if not harmed.lake().table_exists(("db", "few")):
        harmed.create("few", [pa.table({"id": pa.array([-1], pa.int64())})])
    parts, name = [noise(0, 5_000), noise(10_000, 10)], end.replace(" ", "_")
    tables = {kind: harmed.create(f"{kind}_{name}", parts, properties=TASK_PER_FILE) for kind in WRITES}
    others = [Path(table.location().removeprefix("file://")) / "data" / IN_BETWEEN for table in tables.values()]
    for other in others:
        other.write_bytes(b"not committed yet")
    before = files_of(harmed, tables.values())
    heads = [(checksum(table), table.metadata.current_snapshot_id) for table in tables.values()]
    limit = {"query_max_execution_time": "15s"} if end == "time limit" else {}
    running = [
        in_background(harmed, sql.format(t=f"{kind}_{name}"), session_properties=limit) for kind, sql in WRITES.items()
    ]
    seen: set[str] = set()

    def all_have_written() -> bool:
        seen.update(kind for kind, table in tables.items() if whole_files(table) - before)
        return len(seen) == len(tables)

    eventually(all_have_written, 100)
    match end:
        case "cancel":
            for query in harmed.get("/v1/query"):
                if query["state"] == "RUNNING":
                    assert httpx.delete(f"{harmed.url}/v1/query/{query['queryId']}").status_code == 204
        case "kill spark":
            spark_of(harmed).kill()
        case "kill coordinator":
            harmed.process.kill()
            harmed.process.wait()
            harmed.succeeded_by(start_service(harmed.etc, harmed.data_dir, harmed.etc.parent / "log"))
    for thread, _ in running:
        thread.join(timeout=300)
    expected = {"cancel": "USER_CANCELED", "time limit": "EXCEEDED_TIME_LIMIT", "kill spark": "REMOTE_HOST_GONE"}
    assert [getattr(outcome[0], "error_name", None) for _, outcome in running] == [expected.get(end)] * 4
    eventually(lambda: files_of(harmed, tables.values()) == before, 60)
    assert [(checksum(t), t.metadata.current_snapshot_id) for t in tables.values()] == heads
    assert {other.read_bytes() for other in others} == {b"not committed yet"}
    assert harmed.execute(f"UPDATE iceberg.db.merge_{name} SET text = 'after' WHERE id = 3") == [[1]]


def test_killed_coordinator_leaves_no_orphan_no_half_filled_table_and_no_process(harmed: Service) -> None:
    """A rewrite and a CREATE TABLE AS die with it, both once they have written files; the next tests have its heir."""
    table, _ = harmed.create("t", [wide(i) for i in range(8)]), harmed.create("origin", [wide(0, rows=30_000)])
    before, files, everything = checksum(table), data_files(table), under_warehouse(harmed)
    tables = sorted(harmed.lake().list_tables("db"))
    filling, _ = in_background(harmed, fill("origin"))
    eventually(lambda: any(name.endswith(".parquet") for name in under_warehouse(harmed) - everything), 300)
    rewriting, _ = in_background(harmed, CALL.format("t"))
    eventually(lambda: data_files(table) != files, 120)
    children = family(harmed.process.pid)
    assert children
    harmed.process.kill()
    harmed.process.wait()
    rewriting.join()
    filling.join()
    eventually(lambda: not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children))
    assert len(harmed.lake().list_tables("db")) == len(tables) + 1

    harmed.succeeded_by(start_service(harmed.etc, harmed.data_dir, harmed.etc.parent / "log"))
    assert sorted(harmed.execute("SHOW TABLES FROM iceberg.db")) == [[name] for _, name in tables]
    assert checksum(table) == before
    # What an earlier test's table left may go meanwhile.
    kept = {name for name in everything if "/filled_" not in name and "/cancelled/" not in name}
    assert kept <= under_warehouse(harmed) <= everything
    assert harmed.execute(CALL.format("t"))[0][0] == 8
    assert checksum(table) == before


def test_killed_spark_server_is_a_retriable_error_and_comes_back(harmed: Service) -> None:
    table = harmed.create("survivor", [wide(i, rows=300_000) for i in range(8)])
    before, files = checksum(table), data_files(table)
    java = spark_of(harmed)
    thread, outcome = in_background(harmed, CALL.format("survivor"))
    eventually(lambda: data_files(table) != files)  # earlier than its tasks a new server would just take the call
    java.kill()
    thread.join(timeout=60)
    assert isinstance(outcome[0], prestodb.exceptions.PrestoQueryError)
    assert outcome[0].error_name == "REMOTE_HOST_GONE"
    eventually(lambda: data_files(table) == files)
    assert harmed.execute(CALL.format("survivor"))[0][:2] == [8, 1]
    assert checksum(table) == before
    assert data_files(table) >= referenced(table)


def test_a_query_outlives_its_spark(harmed: Service) -> None:
    """Killed before the first row, it answers all the same."""
    harmed.create("counted", [wide(0, rows=3_000)])
    restarts = harmed.get("/v1/status")["spark"]["restarts"]
    count = (
        "SELECT count(*) FROM iceberg.db.counted a CROSS JOIN iceberg.db.counted b WHERE length(a.text || b.text) > 3"
    )
    thread, outcome = in_background(harmed, count, session_properties={"engine": "SPARK"})
    running_query(harmed)
    first = spark_of(harmed)
    first.kill()
    thread.join(240)
    assert outcome == [[[9_000_000]]]
    assert spark_of(harmed).pid != first.pid
    spark = harmed.get("/v1/status")["spark"]
    assert (spark["state"], spark["restarts"]) == ("UP", restarts + 1)


@pytest.mark.parametrize(
    "this",
    [
        Round(0, "rewrite", Harm("kill", "python worker"), after=0.3, rows=20_000, step="writing"),
        Round(1, "insert", Harm("database", seconds=3), after=0.1, rows=20_000),
    ],
    ids=lambda this: this.operation,
)
def test_a_round_of_chaos(harmed: Service, tmp_path: Path, this: Round) -> None:
    """As ``make bench NAME=chaos`` plays many."""
    if not harmed.lake().table_exists(("db", "probe")):
        harmed.create("probe", [pa.table({"id": pa.array([1], pa.int64())})])
    log: list[str] = []
    outcome = play(Stage(harmed, tmp_path / "log"), this, log)
    assert outcome.verdict == Verdict(0, 0, ()), (log, outcome)
    assert outcome.light is not None
    assert outcome.heavy is not None


def test_without_sidecar_a_statement_is_refused_before_it_runs(harmed: Service) -> None:
    table = harmed.create("unguarded", [wide(i, rows=100) for i in range(6)])
    guard = next(child for child in family(harmed.process.pid) if "sidecar" in " ".join(child.cmdline()))
    guard.kill()
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as refused:
        harmed.execute(CALL.format("unguarded"))
    assert refused.value.error_name == "NATIVEPLANCHECKER_CONNECTION_ERROR"
    assert len(table.refresh().metadata.snapshots) == 6

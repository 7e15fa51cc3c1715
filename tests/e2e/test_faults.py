"""What is left after the worst moments: no lost row, no orphan file, no process, and a clear error."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
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
from tests.processes import command_of
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CALL = "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => '{}')"


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that outlives what is done to it."""
    home = tmp_path_factory.mktemp("harmed")
    etc = write_etc(home / "etc")
    with (etc / "config.properties").open("a") as config:
        config.write("spark.master=local[8]\n")  # room for the tasks of seven statements
    running = start_service(etc, home / "data", home / "log")
    running.execute("CALL system.clean_data_cache()")
    yield running
    assert running.stop() == 0, (home / "log").read_text()


@cache
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


def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> None:
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
    return next(child for child in running if any("SparkConnectServer" in part for part in command_of(child)))


def family(process_id: int) -> list[psutil.Process]:
    return psutil.Process(process_id).children(recursive=True)


def test_cancelled_call_stops_soon_and_leaves_nothing(harmed: Service) -> None:
    table = harmed.create("cancelled", [wide(i) for i in range(8)])
    before, files = checksum(table), data_files(table)
    thread, outcome = in_background(harmed, CALL.format("cancelled"))
    query = running_query(harmed)
    start = time.monotonic()
    assert httpx.delete(f"{harmed.url}/v1/query/{query}", timeout=60).status_code == 204
    thread.join(timeout=60)
    assert time.monotonic() - start < 30
    assert isinstance(outcome[0], prestodb.exceptions.PrestoUserError)
    assert outcome[0].error_name == "USER_CANCELED"
    eventually(lambda: data_files(table) == files)
    assert checksum(table) == before


FILL = (
    'CREATE TABLE iceberg.db.filled_{} WITH ("write.target-file-size-bytes" = 1000000) AS '
    "SELECT a.id, a.text || CAST(b.id AS varchar) || b.text AS text "
    "FROM iceberg.db.source a CROSS JOIN iceberg.db.source b"
)
"""Too many rows to end before the test does, in small files, of which the first is there soon."""


def under_warehouse(service: Service) -> set[str]:
    folder = service.data_dir / "iceberg" / "warehouse" / "db"
    try:
        return {str(file) for file in folder.rglob("*") if file.is_file() and not file.name.endswith(".crc")}
    except OSError:
        return {"a folder that goes while it is listed"}


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


COUNT = "SELECT count(*) FROM iceberg.db.counted a CROSS JOIN iceberg.db.counted b WHERE length(a.text || b.text) > 3"
CANCELLED, TOO_LATE = "USER_CANCELED", "EXCEEDED_TIME_LIMIT"
ENDS = {
    "cancel": CANCELLED,
    "time limit": TOO_LATE,
    "cancel or time limit": None,  # by turns
    "kill spark": "REMOTE_HOST_GONE",
    "kill coordinator": None,  # a client sees a connection that is lost
}


@dataclass(frozen=True)
class Before:
    """What a service has when its statements begin."""

    service: Service
    changed: Mapping[str, Table]
    rewritten: Table
    files: Set[str]
    heads: Sequence[tuple[tuple[int, int], int | None]]
    tables: Sequence[tuple[str, ...]]

    @classmethod
    def of(cls, service: Service, name: str) -> Before:
        if not service.lake().table_exists(("db", "few")):
            service.create("few", [pa.table({"id": pa.array([-1], pa.int64())})])
            service.create("source", [wide(0, rows=30_000)])
            service.create("counted", [wide(0, rows=4_000)])
        parts = [noise(0, 5_000), noise(10_000, 10)]
        changed = {kind: service.create(f"{kind}_{name}", parts, properties=TASK_PER_FILE) for kind in WRITES}
        for table in changed.values():
            _in_between(table).write_bytes(b"not committed yet")
        rows = 200_000 if name.startswith("kill") else 100  # otherwise nobody rewrites it
        rewritten = service.create(f"rewrite_{name}", [wide(i, rows=rows) for i in range(8)])
        made = cls(service, changed, rewritten, frozenset(), (), sorted(service.lake().list_tables("db")))
        return replace(made, files=made.files_now(), heads=made.heads_now())

    def files_now(self) -> Set[str]:
        """Of these tables, and of tables that are being made."""
        folders = [f"/{table.name()[-1]}/" for table in (*self.changed.values(), self.rewritten)]
        found = under_warehouse(self.service)
        return {file for file in found if "/filled_" in file or any(folder in file for folder in folders)}

    def heads_now(self) -> Sequence[tuple[tuple[int, int], int | None]]:
        tables = (*self.changed.values(), self.rewritten)
        return [(checksum(table), table.metadata.current_snapshot_id) for table in tables]

    def all_have_written(self) -> Callable[[], bool]:
        """Whether each change has a whole file on disk, and the table that is made any."""
        seen: set[str] = set()

        def asked() -> bool:
            seen.update(kind for kind, table in self.changed.items() if whole_files(table) - self.files)
            seen.update(
                "made" for file in self.files_now() - self.files if "/filled_" in file and file.endswith(".parquet")
            )
            return len(seen) == len(self.changed) + 1

        return asked

    def assert_untouched(self) -> None:
        eventually(lambda: self.files_now() == self.files, 60)
        assert self.heads_now() == self.heads
        assert sorted(self.service.lake().list_tables("db")) == self.tables
        assert {_in_between(table).read_bytes() for table in self.changed.values()} == {b"not committed yet"}


def _in_between(table: Table) -> Path:
    return Path(table.location().removeprefix("file://")) / "data" / IN_BETWEEN


def states(service: Service) -> dict[str, list[str]]:
    """Ids of queries by their state."""
    found: dict[str, list[str]] = {}
    for query in service.get("/v1/query"):
        found.setdefault(query["state"], []).append(query["queryId"])
    return found


def all_writing(service: Service, before: Before, ends: Mapping[str, str | None]) -> list[tuple[threading.Thread, Any]]:
    """The statements, once each has a file of Spark's on disk.

    A machine that is so busy that one has run out of its time before is given more of it.
    """
    for seconds in (10, 30, 90):
        limit = {"query_max_execution_time": f"{seconds}s"}
        running = [
            in_background(service, sql, session_properties={"engine": "SPARK", **(limit if end == TOO_LATE else {})})
            for sql, end in ends.items()
        ]
        written = before.all_have_written()
        eventually(lambda: written() or any(outcome for _, outcome in running), 100 + seconds)  # noqa: B023
        if written():
            return running
        assert TOO_LATE in ends.values(), [outcome for _, outcome in running]
        for query in states(service).get("RUNNING", ()):
            httpx.delete(f"{service.url}/v1/query/{query}", timeout=60)
        for thread, _ in running:
            thread.join(60)
        eventually(lambda: before.files_now() == before.files, 60)
    raise AssertionError("they end before they have written")


def cancel(service: Service, statements: Set[str]) -> None:
    """All of these, which run."""
    running = [query for query in service.get("/v1/query") if query["state"] == "RUNNING"]
    found = [query["queryId"] for query in running if query["query"] in statements]
    assert len(found) == len(statements)
    for query in found:
        assert httpx.delete(f"{service.url}/v1/query/{query}", timeout=60).status_code == 204


@pytest.mark.parametrize(
    "end",
    some(
        ["cancel or time limit", "kill spark", "kill coordinator"],
        ["cancel", "time limit"],
        "each end of every second kind of statement at once",
    ),
)
def test_failed_statements_leave_no_file_and_touch_none_of_others(harmed: Service, end: str) -> None:
    """INSERT, DELETE, UPDATE, MERGE and CREATE TABLE AS at once, each with a file on disk when they end; a rewrite too.

    A query that has given no row yet when Spark is killed answers all the same.
    """
    name = end.replace(" ", "_")
    before = Before.of(harmed, name)
    statements = [*(sql.format(t=f"{kind}_{name}") for kind, sql in WRITES.items()), FILL.format(name)]
    by_turns = end == "cancel or time limit"
    outcomes = [(CANCELLED, TOO_LATE)[number % 2] if by_turns else ENDS[end] for number in range(len(statements))]
    running = all_writing(harmed, before, dict(zip(statements, outcomes, strict=True)))
    counting, restarts, children = None, harmed.get("/v1/status")["spark"]["restarts"], family(harmed.process.pid)
    if end == "kill spark":
        others = set(states(harmed)["RUNNING"])
        counting = in_background(harmed, COUNT, session_properties={"engine": "SPARK"})
        eventually(lambda: bool(set(states(harmed)["RUNNING"]) - others))
    if end.startswith("kill"):
        running.append(in_background(harmed, CALL.format(f"rewrite_{name}")))
        # Earlier than its tasks a new server would just take the call.
        eventually(lambda: data_files(before.rewritten) != before.files & data_files(before.rewritten), 120)
    match end:
        case "cancel" | "cancel or time limit":
            cancel(harmed, {sql for sql, told in zip(statements, outcomes, strict=True) if told == CANCELLED})
        case "kill spark":
            assert len(states(harmed)["RUNNING"]) == len(running) + 1
            first = spark_of(harmed)
            first.kill()
        case "kill coordinator":
            harmed.process.kill()
            harmed.process.wait()
    for thread, _ in running:
        thread.join(timeout=300)
    outcomes += [ENDS[end]] * (len(running) - len(outcomes))
    assert [getattr(outcome[0], "error_name", None) for _, outcome in running] == outcomes
    if end == "kill coordinator":
        eventually(lambda: not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children))
        assert len(harmed.lake().list_tables("db")) == len(before.tables) + 1
        harmed.succeeded_by(start_service(harmed.etc, harmed.data_dir, harmed.etc.parent / "log"))
        assert sorted(harmed.execute("SHOW TABLES FROM iceberg.db")) == [[table[-1]] for table in before.tables]
    before.assert_untouched()
    if counting is not None:
        counting[0].join(240)
        assert counting[1] == [[[16_000_000]]]
        assert spark_of(harmed).pid != first.pid
        spark = harmed.get("/v1/status")["spark"]
        assert (spark["state"], spark["restarts"]) == ("UP", restarts + 1)
    assert harmed.execute(f"UPDATE iceberg.db.merge_{name} SET text = 'after' WHERE id = 3") == [[1]]
    if end.startswith("kill"):
        assert harmed.execute(CALL.format(f"rewrite_{name}"))[0][:2] == [8, 1]
        assert checksum(before.rewritten) == before.heads[-1][0]
        assert data_files(before.rewritten) >= referenced(before.rewritten)


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
    guard = next(child for child in family(harmed.process.pid) if "sidecar" in " ".join(command_of(child)))
    guard.kill()
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as refused:
        harmed.execute(CALL.format("unguarded"))
    assert refused.value.error_name == "NATIVEPLANCHECKER_CONNECTION_ERROR"
    assert len(table.refresh().metadata.snapshots) == 6

"""``procession up`` with etc/ as shipped and the lines of docs/clusters.md: a standalone Spark cluster of two workers.

One is killed in the middle of a rewrite. Rows are compared by DuckDB over the files that PyIceberg finds in the tables.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.table import Table

from coordinator.engine.spark.settings import DEFAULT_PACKAGES
from tests.deploy.standalone import Cluster, standalone_cluster
from tests.e2e.service import ROOT, Service, start_service

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.full(
        "a Spark that others run in e2e/test_catalog_servers, a killed worker process in a round of test_faults, "
        "calls of all workers in spark/test_engine"
    ),
]
SECRET = "open-sesame-of-the-cluster"
ALL = "options => MAP(ARRAY['rewrite-all', 'target-file-size-bytes'], ARRAY['true', '4000000'])"
SPARK = {"engine": "spark"}
LINES = """
spark.master={master}
spark.conf.spark.authenticate=true
spark.conf.spark.authenticate.secret=${{ENV:CLUSTER_SECRET}}
spark.conf.spark.driver.host=127.0.0.1
spark.conf.spark.executor.memory=512m
spark.conf.spark.eventLog.enabled=true
spark.conf.spark.eventLog.dir=file://{events}
spark.conf.spark.eventLog.compress=false
spark.driver-memory=1g
spark.class-archive=false
eager-plan-validation-thread-pool-size=1
spark.packages={packages}
"""
"""The last four spare the machine, and the events tell what ran where."""


@dataclass
class Deployed:
    """The service with the cluster that its Spark drives."""

    service: Service
    cluster: Cluster
    events: Path

    def executors(self, since: float = 0) -> set[str]:
        """Those that finished tasks without an error since then, by Spark's own log."""
        found = set()
        for file in self.events.rglob("events_*"):
            for line in file.read_text().splitlines():
                event = json.loads(line) if line.endswith("}") else {}
                if event.get("Event") == "SparkListenerTaskEnd" and event["Task End Reason"]["Reason"] == "Success":
                    info = event["Task Info"]
                    if info["Launch Time"] >= since * 1000:
                        found.add(info["Executor ID"])
        return found

    def files(self, table: Table) -> set[str]:
        return {str(file) for file in Path(table.location().removeprefix("file://"), "data").rglob("*.parquet")}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    home = tmp_path_factory.mktemp("cluster")
    etc, events = home / "etc", home / "events"
    shutil.copytree(ROOT / "etc", etc)
    events.mkdir()
    with standalone_cluster(home, SECRET) as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLUSTER_SECRET", SECRET)
        with (etc / "config.properties").open("a") as config:
            config.write(LINES.format(master=cluster.master, events=events, packages=",".join(DEFAULT_PACKAGES[:2])))
        service = start_service(etc, home / "data", home / "log", cold=True)
        try:
            yield Deployed(service, cluster, events)
        finally:
            code, log = service.stop(), (home / "log").read_text()
    assert code == 0, log
    assert "Traceback" not in log, log


def numbers(rows: int, start: int = 0) -> pa.Table:
    """Rows in no order, whose texts do not repeat."""
    count = f"range({start}, {start + rows})"
    return (
        duckdb.sql(
            f"SELECT range AS id, hash(range) % 1000 AS k, hash(range + 1)::DOUBLE / 7 AS x, md5(range::VARCHAR) AS t "
            f"FROM {count} ORDER BY hash(range)"
        )
        .to_arrow_table()
        .cast(pa.schema({"id": pa.int64(), "k": pa.int64(), "x": pa.float64(), "t": pa.string()}))
    )


def differing(table: Table, expected: pa.Table) -> int:
    """Rows that only one side has, counted with repetitions."""
    paths = [task.file.file_path.removeprefix("file://") for task in table.refresh().scan().plan_files()]
    return len(
        duckdb.sql(
            f"WITH a AS (SELECT * FROM read_parquet({paths!r})), b AS (SELECT * FROM expected) "
            "(SELECT * FROM a EXCEPT ALL SELECT * FROM b) UNION ALL (SELECT * FROM b EXCEPT ALL SELECT * FROM a)"
        ).fetchall()
    )


def call(deployed: Deployed, sql: str, **session: str) -> list[list[Any]]:
    return deployed.service.execute(sql, session_properties=session)


def cleaned(deployed: Deployed) -> dict[str, int]:
    """Entries that were dropped, by executor."""
    rows = call(deployed, "CALL iceberg.system.clean_data_cache('ALL_WORKERS')")
    found = {row[0]: row[1] for row in rows}
    assert len(found) == len(rows)
    return found


def test_both_workers_write_rewrite_and_look_up(deployed: Deployed) -> None:
    parts = [numbers(5_000, start) for start in range(0, 20_000, 5_000)]
    expected = pa.concat_tables(parts)
    table = deployed.service.create("packed", parts)
    begun = time.time()
    (packed,) = call(deployed, f"CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'packed', {ALL})")
    assert packed[:2] == [4, 1]
    assert differing(table, expected) == 0

    doubled = "CREATE TABLE iceberg.db.doubled AS SELECT * FROM iceberg.db.packed"
    assert call(deployed, doubled) == [[20_000]]
    # A function that only the kernels have, in a session that writes.
    longer = "SELECT id, k, x, url_extract_host('http://' || t || '/') FROM iceberg.db.packed"
    assert call(deployed, f"INSERT INTO iceberg.db.doubled {longer}") == [[20_000]]
    copy = deployed.service.lake().load_table("db.doubled")
    assert differing(copy, pa.concat_tables([expected, expected])) == 0
    names = "schema => 'db', table_name => 'doubled'"
    for order in ("id", "zorder(id, k)"):
        how = f"strategy => 'sort', sorted_by => ARRAY['{order}'], {ALL}"
        assert call(deployed, f"CALL iceberg.system.rewrite_data_files({names}, {how})")[0][0] >= 1
        assert differing(copy, pa.concat_tables([expected, expected])) == 0

    # The product is added up by methods of our jar, which executors have to find.
    product = "CAST(sum(CAST(id AS decimal(12, 2)) * CAST(k AS decimal(12, 2))) AS varchar)"
    query = f"SELECT k, count(*), sum(id), {product} FROM iceberg.db.packed GROUP BY k ORDER BY k"
    grouped = duckdb.sql(query.replace("iceberg.db.packed", "expected")).fetchall()
    assert call(deployed, query, **SPARK) == [list(row) for row in grouped]
    first = "SELECT * FROM iceberg.db.packed ORDER BY x DESC LIMIT 7"
    small = {**SPARK, "global_late_materialization_min_table_size": "0B"}
    assert "Fetch" in call(deployed, f"EXPLAIN {first}", **small)[0][0]
    top = duckdb.sql("SELECT * FROM expected ORDER BY x DESC LIMIT 7").fetchall()
    assert call(deployed, first, **small) == [list(row) for row in top]
    assert deployed.executors(begun) == {"0", "1"}


def test_every_process_is_cleaned_once(deployed: Deployed) -> None:
    """Each executor has one slot and one process, so that one answer each is all, and a second call finds nothing."""
    table = deployed.service.create("cached", [numbers(50, start) for start in range(0, 2_000, 50)])
    assert len(table.inspect.files()) == 40
    small = ALL.replace("'4000000'", "'10000'")
    call(deployed, f"CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'cached', {small})")
    found = cleaned(deployed)
    assert len(found) == 2
    assert all(entries > 0 for entries in found.values())
    assert cleaned(deployed) == dict.fromkeys(found, 0)
    ours = [{parent(process) for process in deployed.cluster.processes(worker)} for worker in (0, 1)]
    daemons = [int(worker.rpartition(":")[2]) for worker in found]
    assert sorted(sum(daemon in known for daemon in daemons) for known in ours) == [1, 1]


def test_no_secret_is_seen_in_a_list_of_processes(deployed: Deployed) -> None:
    shown = [
        command_line(process)
        for process in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    ]
    assert sum("CoarseGrainedExecutorBackend" in words for words in shown) >= 2
    assert [words for words in shown if SECRET in words] == []


@pytest.mark.parametrize("how", ["", "strategy => 'sort', sorted_by => ARRAY['t']"])
def test_a_worker_that_dies_in_a_rewrite_costs_no_row_and_leaves_no_file(deployed: Deployed, how: str) -> None:
    name = f"killed_{'sorted' if how else 'packed'}"
    parts = [numbers(80_000, start) for start in range(0, 640_000, 80_000)]
    table = deployed.service.create(name, parts)
    known = deployed.files(table)
    sql = (
        ", ".join(
            filter(None, [f"CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => '{name}'", how, ALL])
        )
        + ")"
    )
    ended: list[Any] = []

    def rewrite() -> None:
        try:
            ended.append(call(deployed, sql))
        except Exception as error:
            ended.append(error)

    caller = threading.Thread(target=rewrite)
    caller.start()
    half = killed_while_it_writes(deployed, 1, known, caller)
    caller.join(timeout=120)
    deployed.cluster.start_worker(1)
    assert isinstance(ended[0], list), ended
    assert ended[0][0][0] == len(parts)
    assert differing(table, pa.concat_tables(parts)) == 0
    live = {path.removeprefix("file://") for path in table.refresh().inspect.all_files()["file_path"].to_pylist()}
    assert half not in live
    assert deployed.files(table) == live


def killed_while_it_writes(deployed: Deployed, worker: int, known: set[str], caller: threading.Thread) -> str:
    """The file that a process of the worker had begun when the worker was lost."""
    while caller.is_alive():
        for process in deployed.cluster.processes(worker):
            for file in open_files(process):
                if file.endswith(".parquet") and "/data/" in file and file not in known:
                    deployed.cluster.kill(worker)
                    return file
        time.sleep(0.01)
    raise AssertionError("the rewrite ended before the worker had begun a file")


def open_files(process: int) -> list[str]:
    try:
        return [str(entry.readlink()) for entry in Path(f"/proc/{process}/fd").iterdir()]
    except OSError:
        return []


def command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def parent(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0

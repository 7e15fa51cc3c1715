"""Two whole coordinators with Spark: one is suspended, then killed in the middle of its writes; the other cleans up."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pyiceberg.catalog.sql import SqlCatalog

from tests.databases import new_database
from tests.e2e.service import Service, start_service, write_etc

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.full(
        "each moment of a coordinator that is suspended or dies in test_peer_recovery, two whole ones in "
        "test_two_services, a killed coordinator with Spark in test_faults"
    ),
]
# More rows than any machine inserts meanwhile; those of the first tasks are in files at once.
ENDLESS = (
    "INSERT INTO lake.db.t SELECT a.id FROM lake.db.u a CROSS JOIN lake.db.u b CROSS JOIN lake.db.u c "
    "CROSS JOIN lake.db.u d WHERE (a.id * b.id + c.id * d.id) % 1000 = 7"
)
REWRITE = (
    "CALL lake.system.rewrite_data_files(schema => 'db', table_name => '{}', "
    "options => map(ARRAY['rewrite-all'], ARRAY['true']))"
)


class Cluster:
    """``one`` has a Spark; ``two`` has none as long as no statement asks it for one."""

    def __init__(self, one: Service, two: Service, state: sa.Engine, lake: SqlCatalog) -> None:
        self.one, self.two, self.state, self.lake = one, two, state, lake

    def open(self) -> list[str]:
        """Records without an outcome."""
        found = []
        with self.state.connect() as connection:
            for name, where in (
                ("work_rewrite_calls", "state IN ('BEGUN', 'COMMITTING')"),
                ("work_unfinished_tables", "true"),
                ("work_open_writes", "true"),
                ("work_open_commits", "true"),
                ("work_open_expiries", "true"),
                ("work_open_drops", "true"),
            ):
                rows = connection.exec_driver_sql(f"SELECT owner FROM {name} WHERE {where}").all()
                found += [f"{name} of {owner}" for (owner,) in rows]
        return found

    def data_files(self) -> set[str]:
        folder = Path(self.lake.load_table("db.t").location().removeprefix("file://")) / "data"
        return {str(file) for file in folder.glob("*.parquet")}

    def orphans(self) -> set[str]:
        """Data files that no snapshot names."""
        table = self.lake.load_table("db.t")
        named = table.inspect.all_files().column("file_path").to_pylist()
        return self.data_files() - {"/" + str(path).removeprefix("file:").lstrip("/") for path in named}

    def settled(self) -> None:
        """Wait until nothing is open, and nothing lies about."""
        eventually(lambda: not self.open() and not self.orphans(), told=lambda: (self.open(), self.orphans()))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("sparks")
    url = new_database(postgres, "sparks")
    with ExitStack() as stack:
        services = []
        for node in ("one", "two"):
            etc = write_etc(home / node / "etc", spark=node == "one")
            (etc / "catalog" / "lake.properties").write_text(
                f"connector.name=iceberg\niceberg.catalog.uri={url}\niceberg.catalog.warehouse=file://{home}/wh\n"
                "iceberg.unfinished-table.quiet-time=1s\n"
            )
            (etc / "node.properties").write_text(f"node.id={node}\n")
            with (etc / "config.properties").open("a") as config:
                config.write(f"state.url={url}\ninternal-communication.shared-secret=of-two-sparks\n")
                config.write("cluster.heartbeat-interval=500ms\ncluster.node-timeout=8s\ncluster.recovery-delay=1s\n")
            service = start_service(etc, home / node / "data", home / node / "log")
            stack.callback(_stop, service)
            services.append(service)
        state = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg2:", 1))
        stack.callback(state.dispose)
        lake = SqlCatalog(
            "lake", uri=url.replace("postgresql:", "postgresql+psycopg2:", 1), warehouse=f"file://{home}/wh"
        )
        yield Cluster(services[0], services[1], state, lake)
    for node in ("one", "two"):
        assert "Traceback" not in (home / node / "log").read_text()


def _stop(service: Service) -> None:
    if service.process.poll() is None:
        assert service.stop() == 0
    elif service.process.stdout is not None:
        service.process.stdout.close()


class Statement:
    """On a thread; what became of it is not waited for."""

    def __init__(self, service: Service, sql: str) -> None:
        self.outcome: object = None
        self._thread = threading.Thread(target=self._run, args=(service, sql), daemon=True)
        self._thread.start()

    def _run(self, service: Service, sql: str) -> None:
        try:
            self.outcome = service.execute(sql)
        except Exception as error:
            self.outcome = error

    def ended(self) -> object:
        self._thread.join(90)
        assert not self._thread.is_alive()
        return self.outcome


def eventually(condition: Callable[[], object], seconds: float = 90, told: Callable[[], Any] = lambda: None) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, told()
        time.sleep(0.1)


def test_what_one_leaves_open_the_other_settles(cluster: Cluster) -> None:
    one, two = cluster.one, cluster.two
    one.execute("CREATE SCHEMA lake.db")
    one.execute(
        "CREATE TABLE lake.db.u AS SELECT nationkey AS id FROM (VALUES "
        + ", ".join(f"(BIGINT '{n}')" for n in range(300))
        + ") AS x (nationkey)"
    )
    one.execute("CREATE TABLE lake.db.t (id bigint)")
    with cluster.lake.load_table("db.t").transaction() as change:
        # A file is made when its first row group is full.
        change.set_properties({"write.target-file-size-bytes": "65536", "write.parquet.row-group-size-bytes": "65536"})
    for number in range(3):
        assert one.execute(f"INSERT INTO lake.db.t VALUES {number}, {number + 10}") == [[2]]
    expected = [[0], [1], [2], [10], [11], [12]]
    asked = "SELECT id FROM lake.db.t ORDER BY id"
    assert two.execute(asked) == expected
    # Suspended beyond its lease in the middle of a write.
    before = cluster.data_files()
    write = Statement(one, ENDLESS)
    eventually(lambda: cluster.data_files() - before, told=lambda: write.outcome)
    one.process.send_signal(signal.SIGSTOP)
    try:
        cluster.settled()
        assert two.execute(asked) == expected
    finally:
        one.process.send_signal(signal.SIGCONT)
    assert isinstance(write.ended(), Exception), write.outcome
    assert two.execute(asked) == expected
    # It lives on with a new Spark, and is killed in the middle of a write and a rewrite.
    rewritten = one.execute(REWRITE.format("t"))
    assert rewritten[0][:2] == [3, 1]
    assert one.execute("INSERT INTO lake.db.t VALUES 20") == [[1]]
    expected.append([20])
    before = cluster.data_files()
    Statement(one, ENDLESS)
    eventually(lambda: cluster.data_files() - before, told=lambda: write.outcome)
    Statement(one, REWRITE.format("u"))
    one.process.send_signal(signal.SIGKILL)
    one.process.wait(timeout=60)
    cluster.settled()
    assert two.execute(asked) == expected
    assert two.execute("SELECT count(*) FROM lake.db.u") == [[300]]

"""Iceberg's own REST catalog server over an S3 server: what the tests' small server cannot be asked.

It makes and commits version 3, keeps views and nested namespaces, and lends its keys with every table: the catalog
file has none. Rows are compared with arithmetic and with both engines, files with what PyIceberg's client is told.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import prestodb
import pyarrow.fs as pafs
import pytest
from pyiceberg.catalog.rest import RestCatalog

from tests import tpch_tables
from tests.e2e.service import Service, start_service, write_etc
from tests.e2e.test_faults import eventually, in_background
from tests.e2e.test_valid_calls import ALL, STEPS
from tests.iceberg.vending_store import ROOT, VendingStore, vending_store
from tests.iceberg_rest_server import iceberg_rest_server
from tests.kept_secrets import holding

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
VERSIONS = ("1", "2", "3") if FULL else ("3",)
REWRITE_ALL = "options => map(ARRAY['rewrite-all'], ARRAY['true'])"
MERGE_ON_READ = ", ".join(f"\"write.{kind}.mode\" = 'merge-on-read'" for kind in ("delete", "update", "merge"))


@dataclass
class Served:
    """The service, the store below it, and the server as another client sees it."""

    service: Service
    store: VendingStore
    address: str
    home: Path

    def run(self, sql: str, **session: str) -> list[list[Any]]:
        return self.service.execute(sql, session_properties=session)

    def both(self, sql: str) -> list[list[Any]]:
        """What both engines answer."""
        embedded, spark = (self.run(sql, engine=engine) for engine in ("EMBEDDED", "SPARK"))
        assert embedded == spark
        return embedded

    def totals(self, table: str) -> list[int]:
        return self.both(f"SELECT count(*), sum(id) FROM real.{table}")[0]

    def call(self, procedure: str, table: str, arguments: str = "") -> list[list[Any]]:
        schema, name = table.split(".")
        more = f", {arguments}" if arguments else ""
        return self.run(f"CALL real.system.{procedure}(schema => '{schema}', table_name => '{name}'{more})")

    def files(self, folder: str) -> set[str]:
        selector = pafs.FileSelector(folder.removeprefix("s3://"), recursive=True, allow_not_found=True)
        return {info.path for info in self.store.filesystem().get_file_info(selector) if info.is_file}

    def told(self, table: str) -> Any:
        """The table as PyIceberg's own client is told of it."""
        keys = {**ROOT, **self.store.addresses}
        return RestCatalog("other", uri=self.address, **keys).load_table(table)


@pytest.fixture(scope="module")
def served(spark_engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("served")
    (home / "server").mkdir()
    with pytest.MonkeyPatch.context() as patch, vending_store() as store:
        patch.setenv("NO_PROXY", "127.0.0.1")
        of_store = {**ROOT, **store.addresses, "io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}
        lending = {**of_store, "include-credentials": "true"}
        with iceberg_rest_server(home / "server", "s3://lake/wh", lending) as address:
            etc = write_etc(home / "etc", remote=spark_engine.connect().server.url)
            where = "".join(f"{key}={value}\n" for key, value in store.addresses.items())
            (etc / "catalog" / "real.properties").write_text(
                "connector.name=iceberg\niceberg.catalog.type=rest\niceberg.unfinished-table.quiet-time=1s\n"
                f"iceberg.rest.uri={address}\niceberg.allowed-locations=s3://lake/wh\n{where}"
            )
            (etc / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file())
            service = start_service(etc, home / "data", home / "log")
            made = Served(service, store, address, home)
            made.run("CREATE SCHEMA real.db")
            yield made
            made.service.stop()
    assert store.refused == {}
    assert "Traceback" not in (home / "log").read_text()
    written = [file for file in home.rglob("*") if file.is_file() and home / "server" not in file.parents]
    assert holding(written, [ROOT["s3.secret-access-key"], ROOT["s3.session-token"]]) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_statements_and_rewrites(served: Served, version: str) -> None:
    t = f"db.v{version}"
    columns = "id bigint, p varchar, d decimal(10,2), ts timestamp"
    made = f"WITH (partitioning = ARRAY['p'], \"format-version\" = '{version}')"
    served.run(f"CREATE TABLE real.{t} ({columns}) {made}")
    assert served.told(t).format_version == int(version)
    assert served.told(t).location() == f"s3://lake/wh/db/v{version}", "no other name on the way"
    source = "SELECT nationkey + 10, 'n', DECIMAL '1.00', TIMESTAMP '2026-01-01 00:00:00' FROM tpch.tiny.nation"
    assert served.run(f"INSERT INTO real.{t} {source}") == [[25]]
    assert served.run(f"INSERT INTO real.{t} VALUES (1, 'a', 1.5, NULL), (2, 'b', 2.5, NULL)") == [[2]]
    for merge_on_read in (False, True):
        if merge_on_read and version == "1":
            break
        if merge_on_read:
            served.run(f"ALTER TABLE real.{t} SET PROPERTIES {MERGE_ON_READ}")
        gone = 12 + merge_on_read
        assert served.run(f"DELETE FROM real.{t} WHERE id = {gone}") == [[1]]
        assert served.run(f"UPDATE real.{t} SET d = d + 1 WHERE id IN (1, 14)") == [[2]]
        served.run(
            f"MERGE INTO real.{t} x USING (VALUES (BIGINT '2', 'm'), (BIGINT '{gone}', 'z')) s (k, c) ON x.id = s.k "
            "WHEN MATCHED THEN UPDATE SET p = s.c WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.k, s.c)"
        )
        assert served.totals(t) == [27, 553]
    rows = f"SELECT id, p, d, ts FROM real.{t} ORDER BY id"
    before = served.both(rows)
    assert served.call("rewrite_data_files", t, REWRITE_ALL)[0][-1] > 0
    served.call("rewrite_data_files", t, f"strategy => 'sort', sort_order => 'id DESC', {REWRITE_ALL}")
    assert served.both(rows) == before
    for metadata in ("snapshots", "files", "manifests", "partitions", "properties", "history", "refs"):
        assert served.run(f'SELECT * FROM real.db."v{version}${metadata}"')
    assert "lenttoken" not in str(served.run(f"EXPLAIN SELECT * FROM real.{t}"))
    served.run(f"ALTER TABLE real.{t} ADD COLUMN more bigint")
    served.run(f"INSERT INTO real.{t} VALUES (1000, 'q', 1.00, NULL, 5)")
    served.run(f"ALTER TABLE real.{t} RENAME TO real.db.other{version}")
    assert served.totals(f"db.other{version}") == [28, 1553]
    folder = served.told(f"db.other{version}").location()
    served.run(f"DROP TABLE real.db.other{version}")
    assert served.files(folder) == set()


@pytest.mark.full("replacements in SQL catalogs in spark/test_named_writes and flight/test_whole_ingestion")
def test_a_table_is_replaced(served: Served) -> None:
    served.run("CREATE TABLE real.db.anew AS SELECT nationkey AS id, name FROM tpch.tiny.nation")
    replaced = "CREATE OR REPLACE TABLE real.db.anew AS SELECT id, 'n' AS other FROM real.db.anew WHERE id > 20"
    assert served.run(replaced) == [[4]]
    assert served.totals("db.anew") == [4, 90]
    assert len(served.told("db.anew").metadata.snapshots) == 2


@pytest.mark.full("views and branches of the tests' own REST server in iceberg/test_rest_catalog and e2e/test_branches")
def test_views_and_branches(served: Served) -> None:
    made = "WITH (\"format-version\" = '3') AS SELECT nationkey AS id, name, regionkey FROM tpch.tiny.nation"
    assert served.run(f"CREATE TABLE real.db.b {made}") == [[25]]
    assert served.told("db.b").format_version == 3
    served.run("CREATE VIEW real.db.v AS SELECT regionkey, count(*) n FROM real.db.b GROUP BY 1")
    assert served.both("SELECT sum(n) FROM real.db.v") == [[25]]
    served.run("CREATE OR REPLACE VIEW real.db.v AS SELECT max(name) m FROM real.db.b")
    served.run("ALTER VIEW real.db.v RENAME TO real.db.w")
    assert served.both("SELECT * FROM real.db.w") == [["VIETNAM"]]
    served.run("DROP VIEW real.db.w")
    served.run("CREATE MATERIALIZED VIEW real.db.mv AS SELECT regionkey, count(*) n FROM real.db.b GROUP BY regionkey")
    served.run("REFRESH MATERIALIZED VIEW real.db.mv")
    served.call("create_branch", "db.b", "branch => 'audit'")
    served.run("INSERT INTO real.db.\"b.branch_audit\" VALUES (200, 'y', 8)")
    served.run('DELETE FROM real.db."b.branch_audit" WHERE id = 0')
    assert served.totals("db.b FOR VERSION AS OF 'audit'") == [25, 500]
    assert served.totals("db.b") == [25, 300]
    served.call("rewrite_data_files", "db.b", f"branch => 'audit', {REWRITE_ALL}")
    served.call("fast_forward", "db.b", "branch => 'main', to => 'audit'")
    assert served.totals("db.b") == [25, 500]
    served.run("REFRESH MATERIALIZED VIEW real.db.mv")
    assert served.both("SELECT sum(n), max(regionkey) FROM real.db.mv") == [[25, 8]]
    served.run("DROP MATERIALIZED VIEW real.db.mv")
    assert served.run("SHOW TABLES FROM real.db LIKE 'mv'") == []


def test_namespaces_in_namespaces_and_tables_that_come_back(served: Served) -> None:
    served.run('CREATE SCHEMA real."a.b"')
    t = 'real."a.b"."sp ace é"'
    served.run(f"CREATE TABLE {t} AS SELECT BIGINT '1' id")
    served.run(f"INSERT INTO {t} VALUES 2")
    assert served.both(f"SELECT sum(id) FROM {t}") == [[3]]
    served.run(f"ALTER TABLE {t} RENAME TO real.db.moved")
    served.run('DROP SCHEMA real."a.b"')
    ((file,),) = served.call("unregister_table", "db.moved")
    served.call("register_table", "db.back", f"metadata_file => '{file}'")
    assert served.totals("db.back") == [2, 3]


def test_writers_at_the_same_moment(served: Served) -> None:
    """The server answers 409 to all but one of them: each is run again, and no row is lost or doubled."""
    served.run("CREATE TABLE real.db.raced (id bigint) WITH (\"format-version\" = '3')")
    failed: list[str] = []

    def write(number: int) -> None:
        try:
            served.run(f"INSERT INTO real.db.raced VALUES {number}")
        except prestodb.exceptions.PrestoQueryError as error:
            failed.append(error.error_name)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert served.both("SELECT id FROM real.db.raced ORDER BY id") == [[0], [1], [2], [3]]


@pytest.mark.skipif(not FULL, reason="twelve seconds: PROCESSION_TEST_FULL=1 runs it")
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_procedures(served: Served, version: str) -> None:
    """The walk through every procedure that ``test_valid_calls`` takes, on a table that statements made."""
    t = f"called{version}"
    made = f"WITH (partitioning = ARRAY['day'], \"format-version\" = '{version}')"
    served.run(f"CREATE TABLE real.db.{t} (id bigint, day date) {made}")
    for day in ALL:
        served.run(f"INSERT INTO real.db.{t} VALUES {values(day)}")
    shown = served.run(f'SELECT snapshot_id, committed_at FROM real.db."{t}$snapshots" ORDER BY committed_at')
    served.call("set_table_property", f"db.{t}", "key => 'write.wap.enabled', value => 'true'")
    served.run(f"INSERT INTO real.db.{t} VALUES {values(5)}", **{"real.wap_id": "staged"})
    line = [row[0] for row in shown]
    first = served.told(f"db.{t}").snapshot_by_id(line[0])
    known = {"first": line[0], "second": line[1], "third": line[2], "last": line[-1], "table": t,
             "after_first": after(first.timestamp_ms), "location": served.told(f"db.{t}").location(),
             "home": "s3://lake/wh", "incoming": "nowhere"}  # fmt: skip
    days = ALL
    for step in STEPS:
        if step.procedure in ("add_files", "upgrade_format_version"):
            continue
        arguments = ", ".join(f"{k} => {v.format(**known)}" for k, v in step.arguments.items())
        served.call(step.procedure, f"db.{t}", arguments)
        if step.days is not None:
            days = step.days
            ids = range(days.start * 20, days.stop * 20)
            assert served.run(f"SELECT count(*), sum(id) FROM real.db.{t}") == [[len(ids), sum(ids)]], step
    served.run(f"ALTER TABLE real.db.{t} SET PROPERTIES {MERGE_ON_READ}")
    gone = days.start * 20 + 1
    assert served.run(f"DELETE FROM real.db.{t} WHERE id = {gone}") == [[1]]
    left = [len(days) * 20 - 1, sum(range(days.start * 20, days.stop * 20)) - gone]
    for procedure in ("rewrite_position_delete_files", "compute_table_stats", "rewrite_data_files", "auto_maintain"):
        served.call(procedure, f"db.{t}", REWRITE_ALL if "rewrite" in procedure else "")
        assert served.totals(f"db.{t}") == left


def test_nothing_is_left_of_a_table_that_was_not_filled(served: Served) -> None:
    """What the server does not know of goes by the keys that it lent before the table went."""
    before = served.files("s3://lake/wh")
    source = "SELECT IF(orderkey < 59000, 1, CAST(comment AS bigint)) x FROM tpch.tiny.orders"
    with pytest.raises(prestodb.exceptions.PrestoQueryError, match="Cannot cast"):
        served.run(f"CREATE TABLE real.db.bad AS {source}")
    eventually(lambda: served.files("s3://lake/wh") == before, 60)
    assert served.run("SHOW TABLES FROM real.db LIKE 'bad'") == []


@pytest.mark.full("columns by position with lent keys in test_vended_keys")
def test_columns_are_read_by_position(served: Served) -> None:
    served.run("CREATE TABLE real.db.orders WITH (\"format-version\" = '3') AS SELECT * FROM tpch.tiny.orders")
    sql = "SELECT * FROM {}.orders ORDER BY totalprice DESC LIMIT 3"
    late = {"global_late_materialization_min_table_size": "0B", "engine": "SPARK"}
    assert "Fetch" in served.run("EXPLAIN " + sql.format("real.db"), **late)[0][0]
    assert served.run(sql.format("real.db"), **late) == served.run(sql.format("tpch.tiny"))


@pytest.mark.skipif(not FULL, reason="twelve seconds: PROCESSION_TEST_FULL=1 runs it")
def test_what_a_dead_coordinator_left_is_removed(served: Served) -> None:
    served.run("CREATE TABLE real.db.killed (id bigint, day date) WITH (\"format-version\" = '3')")
    for day in range(3):
        served.run(f"INSERT INTO real.db.killed VALUES {values(day)}")
    folder = served.told("db.killed").location()
    known = served.files(folder)
    served.store.delay = 0.3
    called = f"CALL real.system.rewrite_data_files(schema => 'db', table_name => 'killed', {REWRITE_ALL})"
    thread, _ = in_background(served.service, called)
    eventually(lambda: len(served.files(folder)) > len(known), 120)
    served.service.process.send_signal(signal.SIGKILL)
    thread.join(timeout=60)
    served.service.process.wait()
    served.store.delay = 0.0
    assert served.service.process.stdout is not None
    served.service.succeeded_by(start_service(served.service.etc, served.service.data_dir, served.home / "log"))
    eventually(lambda: served.files(folder) == known, 60)
    assert served.totals("db.killed") == [60, sum(range(60))]


def values(day: int) -> str:
    return ", ".join(f"({n}, DATE '2026-11-{day + 1:02}')" for n in range(day * 20, day * 20 + 20))


def after(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000 + 0.001, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}"[:-3]

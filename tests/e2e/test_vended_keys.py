"""A whole service whose REST catalog lends the keys of its store for half a minute: no other key opens a file.

The catalog file holds no key and no address of the store; both engines, all kinds of statements, every procedure.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tests.e2e.service import Service, start_service, write_etc
from tests.e2e.test_faults import eventually, in_background
from tests.e2e.test_valid_calls import ALL, STEPS, rows_of_day
from tests.iceberg.rest_catalog import serving
from tests.iceberg.rest_habits import Credentials, Habits
from tests.iceberg.vending_store import ROOT, VendingStore, vending_store
from tests.kept_secrets import holding, written_by
from tests.services import SIGNER

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LIFE = 30.0
ALL_FILES = {"options": "MAP(ARRAY['rewrite-all'], ARRAY['true'])"}
CALL = "CALL lent.system.{}(schema => 'db', table_name => '{}'{})"


LOGINS = {
    "by_oauth": ["type=OAUTH2", "oauth2.uri=ADDRESS/v1/oauth/tokens", "oauth2.credential=me:oauthsecret"],
    "by_password": ["type=BASIC", "basic.username=me", "basic.password=basicsecret"],
    "by_signature": ["type=SIGV4", "sigv4.region=us-east-1", "sigv4.name=s3tables"],
}


def admitted(catalog: str, sent: str | None) -> bool:
    """Whether a header is the login of a catalog."""
    match catalog:
        case "by_oauth":
            return sent == "Bearer issuedtoken"
        case "by_password":
            return sent == "Basic bWU6YmFzaWNzZWNyZXQ="
        case _:
            begin, end = "AWS4-HMAC-SHA256 Credential=signer/", "/us-east-1/s3tables/aws4_request,"
            return sent is not None and sent.startswith(begin) and end in sent


def issue(form: dict[str, list[str]]) -> str:
    """A token for who knows the secret."""
    return "issuedtoken" if form["client_secret"] == ["oauthsecret"] else "none"


@dataclass
class Lent:
    """The service, and what it may not touch but by keys that were lent."""

    service: Service
    store: VendingStore
    habits: Habits
    other: SqlCatalog
    home: Path

    def execute(self, sql: str, **session: str) -> list[list[Any]]:
        return self.service.execute(sql, session_properties=session)

    def table(self, name: str) -> Table:
        return self.other.load_table(f"db.{name}")

    def days(self, name: str) -> Table:
        """Five days in five appends."""
        table = self.other.create_table(f"db.{name}", schema=rows_of_day(0).schema)
        with table.update_spec() as spec:
            spec.add_identity("day")
        for number in ALL:
            table.append(rows_of_day(number))
        return table

    def call(self, procedure: str, table: str, **arguments: str) -> list[list[Any]]:
        given = "".join(f", {name} => {value}" for name, value in arguments.items())
        return self.execute(CALL.format(procedure, table, given))

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        found = self.table(name).scan().to_arrow()
        return sorted(tuple(row.values()) for row in found.to_pylist())


@dataclass(frozen=True)
class Lending:
    """The servers, and what the catalog files say of them."""

    store: VendingStore
    habits: Habits
    other: SqlCatalog
    catalogs: dict[str, dict[str, str]]


@contextmanager
def lending(home: Path) -> Iterator[Lending]:
    """A catalog that needs no login, and one for each kind of it, over one store."""
    with vending_store(life=LIFE) as store, ExitStack() as stack:

        def vend(table: Table) -> tuple[dict[str, str], Credentials]:
            keys = store.lend(table.location())
            path = f"v1/namespaces/{table.name()[0]}/tables/{table.name()[-1]}/credentials"
            config = store.addresses | {"client.refresh-credentials-endpoint": path}
            return config, [{"prefix": table.location(), "config": keys.config()}]

        other = SqlCatalog(
            "lent", uri=f"sqlite:///{home}/catalog.db", warehouse="s3://lake/wh", **ROOT, **store.addresses
        )  # fmt: skip
        habits = Habits(vend=vend, etags=True)
        catalogs = {"lent": _rest(stack.enter_context(serving(other, habits)))}
        for name, login in LOGINS.items():
            told = stack.enter_context(serving(other, Habits(vend=vend, admits=partial(admitted, name), token=issue)))
            lines = (line.replace("ADDRESS", told).split("=", 1) for line in login)
            catalogs[name] = _rest(told) | {f"iceberg.rest.auth.{key}": value for key, value in lines}
        yield Lending(store, habits, other, catalogs)


def _rest(address: str) -> dict[str, str]:
    return {"iceberg.catalog.type": "rest", "iceberg.rest.uri": address}


@pytest.fixture(scope="module")
def lent(whole_service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lent]:
    """Catalogs that come to a service which runs already, with its Spark."""
    home = tmp_path_factory.mktemp("lent")
    with pytest.MonkeyPatch.context() as patch, lending(home) as servers:
        patch.setenv("NO_PROXY", "127.0.0.1")
        with whole_service.following(servers.catalogs):
            made = Lent(whole_service, servers.store, servers.habits, servers.other, home)
            made.execute("CREATE SCHEMA lent.db")
            yield made
        _assert_kept(whole_service, servers.store)


@pytest.fixture
def lent_from_the_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lent]:
    """A service of its own, which may be killed, and whose Spark is started with these catalogs."""
    home = tmp_path_factory.mktemp("lent")
    with pytest.MonkeyPatch.context() as patch, lending(home) as servers:
        for name, value in {**SIGNER, "NO_PROXY": "127.0.0.1"}.items():
            patch.setenv(name, value)
        patch.delenv("AWS_SESSION_TOKEN", raising=False)
        etc = write_etc(home / "etc", spark=False)
        for name, given in servers.catalogs.items():
            lines = "".join(f"{key}={value}\n" for key, value in given.items())
            (etc / "catalog" / f"{name}.properties").write_text(f"connector.name=iceberg\n{lines}")
        service = start_service(etc, home / "data", home / "log")
        made = Lent(service, servers.store, servers.habits, servers.other, home)
        made.execute("CREATE SCHEMA lent.db")
        yield made
        made.service.stop()
    _assert_kept(made.service, servers.store)
    assert "Traceback" not in (home / "log").read_text()


def _assert_kept(service: Service, store: VendingStore) -> None:
    """No secret is in a file that the service wrote."""
    written = written_by(service.data_dir.parent)
    assert holding(written, store.secrets()) == []
    # Spark logs in by itself: what its JVM is started with has the login, and nobody else may read that.
    others = [file for file in written if service.etc not in file.parents and file.name != "java.args"]
    assert holding(others, ["oauthsecret", "basicsecret", SIGNER["AWS_SECRET_ACCESS_KEY"]]) == []


@pytest.fixture(autouse=True)
def strict(request: pytest.FixtureRequest) -> Iterator[None]:
    name = "lent" if "lent" in request.fixturenames else "lent_from_the_start"
    store: VendingStore = request.getfixturevalue(name).store
    store.delay = 0.0
    store.refused.clear()
    yield
    assert set(store.refused) <= {"ExpiredToken"}


@pytest.mark.full(
    "statements of all kinds with lent keys in test_iceberg_rest_server; DELETE, rewrites, logins, late columns below"
)
def test_statements_of_every_kind(lent: Lent) -> None:
    t = "lent.db.nation"
    source = "SELECT * FROM tpch.tiny.nation"
    assert lent.execute(f"CREATE TABLE {t} AS {source} WHERE regionkey = 0") == [[5]]
    for region in range(1, 5):
        assert lent.execute(f"INSERT INTO {t} {source} WHERE regionkey = {region}") == [[5]]
    lent.execute(f"DELETE FROM {t} WHERE nationkey = 3")
    lent.execute(f"UPDATE {t} SET comment = 'changed' WHERE nationkey = 4")
    lent.execute(
        f"MERGE INTO {t} USING (VALUES (BIGINT '4', 'merged')) AS s (k, c) ON nationkey = s.k "
        "WHEN MATCHED THEN UPDATE SET comment = s.c"
    )
    lent.execute(f"ALTER TABLE {t} ADD COLUMN added bigint")
    lent.execute(f"INSERT INTO {t} SELECT 100, 'new', 0, NULL, 7")
    lent.execute(f"ANALYZE {t}")
    expected = lent.execute(
        "SELECT nationkey, name, if(nationkey = 4, 'merged', comment), CAST(NULL AS bigint) "
        "FROM tpch.tiny.nation WHERE nationkey <> 3 UNION ALL SELECT 100, 'new', NULL, 7 ORDER BY 1"
    )
    for engine in ("EMBEDDED", "SPARK"):
        sql = f"SELECT nationkey, name, comment, added FROM {t} ORDER BY 1"
        assert lent.execute(sql, engine=engine) == expected
    for metadata in ("snapshots", "files", "manifests", "partitions", "properties", "history", "refs"):
        shown = lent.execute(f'SELECT * FROM lent.db."nation${metadata}"')
        assert shown or metadata == "properties"
        assert not any(secret in str(shown) for secret in lent.store.secrets())
    for plan in ("LOGICAL", "DISTRIBUTED", "IO"):
        assert "lenttoken" not in str(lent.execute(f"EXPLAIN (TYPE {plan}) SELECT * FROM {t}"))
    lent.execute(f"ALTER TABLE {t} RENAME TO lent.db.renamed")
    assert lent.execute("SELECT count(*) FROM lent.db.renamed") == [[25]]
    lent.execute("DROP TABLE lent.db.renamed")


@pytest.mark.parametrize("catalog", LOGINS)
def test_both_engines_log_in(lent: Lent, catalog: str) -> None:
    t = f"{catalog}.db.logged_{catalog}"
    assert lent.execute(f"CREATE TABLE {t} AS SELECT nationkey FROM tpch.tiny.nation") == [[25]]
    for engine in ("EMBEDDED", "SPARK"):
        assert lent.execute(f"SELECT count(*), sum(nationkey) FROM {t}", engine=engine) == [[25, 300]]
    called = f"CALL {catalog}.system.rewrite_data_files(schema => 'db', table_name => 'logged_{catalog}', "
    assert lent.execute(f"{called}options => {ALL_FILES['options']})")[0][1] == 1
    lent.execute(f"DROP TABLE {t}")


def test_columns_are_read_by_position(lent: Lent) -> None:
    lent.execute("CREATE TABLE lent.db.orders AS SELECT * FROM tpch.tiny.orders")
    sql = "SELECT * FROM {}.orders ORDER BY totalprice DESC LIMIT 3"
    late = {"global_late_materialization_min_table_size": "0B", "engine": "SPARK"}
    assert "Fetch" in lent.execute("EXPLAIN " + sql.format("lent.db"), **late)[0][0]
    assert lent.execute(sql.format("lent.db"), **late) == lent.execute(sql.format("tpch.tiny"))


@pytest.mark.full("rewrites, statistics and conversions with lent keys below; every procedure in test_every_procedure")
def test_every_procedure_that_needs_no_folder_of_its_own(lent: Lent) -> None:
    table = lent.days("days")
    line = [snapshot.snapshot_id for snapshot in table.snapshots()][-5:]
    table.append(rows_of_day(5), snapshot_properties={"wap.id": "staged"}, branch=None)
    known = {"first": line[0], "second": line[1], "third": line[2], "last": line[-1], "table": "days",
             "after_first": _after(table, line[0]), "location": table.location(),
             "home": f"{table.location()}/metadata", "incoming": "nowhere"}  # fmt: skip
    failed = {}
    for step in STEPS:
        if step.procedure in ("add_files",):  # another table's files, by Spark's own sessions
            continue
        try:
            lent.call(step.procedure, "days", **{k: v.format(**known) for k, v in step.arguments.items()})
        except Exception as error:
            failed[step.procedure] = str(error)
    assert failed == {}
    assert [row[0] for row in lent.rows("days")] == list(range(20, 120))


def test_rewrites_statistics_and_conversions(lent: Lent) -> None:
    lent.days("worked")
    before = lent.rows("worked")
    assert lent.call("rewrite_data_files", "worked", **ALL_FILES)[0][1] == 5
    lent.call("rewrite_data_files", "worked", strategy="'sort'", sort_order="'id DESC'", **ALL_FILES)
    lent.call("compute_table_stats", "worked")
    lent.call("compute_partition_stats", "worked")
    lent.execute("ALTER TABLE lent.db.worked SET PROPERTIES \"write.delete.mode\" = 'merge-on-read'")
    lent.execute("DELETE FROM lent.db.worked WHERE id % 7 = 0")
    lent.call("rewrite_position_delete_files", "worked")
    lent.call("rewrite_data_files", "worked", **ALL_FILES)
    assert lent.rows("worked") == [row for row in before if row[0] % 7]


@pytest.mark.full("test_tasks_whose_keys_ended_run_again_with_newer_ones and all renewals of iceberg/test_vended_keys")
def test_a_slow_rewrite_outlives_its_keys(lent: Lent) -> None:
    lent.days("slow")
    before, store = lent.rows("slow"), lent.store
    store.life, store.delay = 5.0, 0.3
    began = time.monotonic()
    try:
        lent.call("rewrite_data_files", "slow", **ALL_FILES)
        lasted = time.monotonic() - began
    finally:
        store.life, store.delay = LIFE, 0.0
    assert lasted > 5.0
    assert lent.rows("slow") == before


@pytest.mark.full("a killed coordinator in test_faults; lent keys on both engines in the tests above")
def test_what_a_dead_coordinator_left_is_removed_with_lent_keys(lent_from_the_start: Lent) -> None:
    lent = lent_from_the_start
    table = lent.days("killed")
    before, known = lent.rows("killed"), files(lent, table)
    lent.store.delay = 0.3
    thread, _ = in_background(
        lent.service,
        CALL.format("rewrite_data_files", "killed", ", options => MAP(ARRAY['rewrite-all'], ARRAY['true'])"),
    )
    eventually(lambda: len(files(lent, table)) > len(known), 120)
    lent.service.process.send_signal(signal.SIGKILL)
    thread.join(timeout=60)
    lent.service.process.wait()
    assert lent.service.process.stdout is not None
    lent.service.process.stdout.close()
    lent.store.delay = 0.0
    lent.service = start_service(lent.service.etc, lent.service.data_dir, lent.home / "log")
    eventually(lambda: files(lent, table) == known, 60)
    assert lent.rows("killed") == before
    assert lent.execute("SELECT count(*) FROM lent.db.killed") == [[100]]


def files(lent: Lent, table: Table) -> set[str]:
    selector = pafs.FileSelector(table.location().removeprefix("s3://"), recursive=True)
    return {info.path for info in lent.store.filesystem().get_file_info(selector) if info.is_file}


def _after(table: Table, snapshot: int) -> str:
    found = next(s for s in table.snapshots() if s.snapshot_id == snapshot)
    return f"{datetime.fromtimestamp(found.timestamp_ms / 1000 + 0.001, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3]

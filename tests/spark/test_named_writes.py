"""Files of a write hold its id, whatever the table's layout; a write that was ended commits nothing."""

from __future__ import annotations

import re
import sqlite3
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark import named_writes, our_classes
from coordinator.engine.spark import server as server_module
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.named_writes import Classes, NamedWrites
from coordinator.engine.spark.operations import jobs_of
from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.server import EmbeddedServer, start_server
from coordinator.engine.spark.sessions import drop_session, open_session
from coordinator.engine.spark.settings import SparkSettings
from shared.errors import ProcessionError
from tests.execution import FakeExecution
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]
MERGE_ON_READ = "'write.merge.mode'='merge-on-read', 'write.delete.mode'='merge-on-read'"
CHANGES = (
    "INSERT INTO lake.db.{t} SELECT id, CAST(id % 2 AS INT) FROM range(10)",
    "INSERT OVERWRITE lake.db.{t} SELECT id, CAST(id % 2 AS INT) FROM range(12)",
    "DELETE FROM lake.db.{t} WHERE id = 3",
    "UPDATE lake.db.{t} SET p = 1 WHERE id = 4",
    "MERGE INTO lake.db.{t} t USING (SELECT 4L AS id, 7 AS p UNION ALL SELECT 100L, 8) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET p = s.p WHEN NOT MATCHED THEN INSERT *",
)


class Lake:
    """A catalog that only sessions of these tests know."""

    def __init__(self, server: EmbeddedServer, home: Path) -> None:
        self.server, self.home = server, home
        self.conf = {
            "": "procession.spark.NamedWritesCatalog",
            ".type": "jdbc",
            ".warehouse": f"file://{home}/wh",
            ".uri": f"jdbc:sqlite:{home}/catalog.db",
            ".jdbc.schema-version": "V1",
            ".cache-enabled": "false",
        }
        self.session = self.make(server, ProgressRelay())
        self.writes = NamedWrites(self.make)

    def make(self, server: EmbeddedServer | None, _progress: ProgressRelay) -> SparkSession:
        assert server is not None
        session = open_session(server.url, embedded=True, answer_seconds=60)
        for name, value in self.conf.items():
            session.conf.set(f"spark.sql.catalog.lake{name}", value)
        return session

    def run(self, sql: str, write_id: str = "") -> None:
        self.session.conf.set("spark.procession.write-id", write_id)
        with self.writes.writing(write_id or None, self.server):
            self.session.sql(sql)

    def snapshots(self, table: str) -> int:
        return self.session.sql(f"SELECT count(*) FROM lake.db.{table}.snapshots").collect()[0][0]  # type: ignore[no-any-return]

    def rows(self, table: str) -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in self.session.sql(f"SELECT * FROM lake.db.{table}").collect())

    def metadata(self, table: str) -> str:
        log = f"SELECT file FROM lake.db.{table}.metadata_log_entries ORDER BY timestamp"
        return str(self.session.sql(log).collect()[-1][0])

    def files(self) -> set[Path]:
        there = {file for file in (self.home / "wh").rglob("*") if file.is_file()}
        return {file for file in there if not file.name.endswith((".crc", ".metadata.json"))}


@pytest.fixture(scope="module")
def lake(engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    server = engine.connect().server
    assert server is not None
    lake = Lake(server, tmp_path_factory.mktemp("named"))
    lake.run("CREATE NAMESPACE lake.db")
    yield lake
    drop_session(lake.session, release=True)


@pytest.mark.parametrize(
    ("name", "layout", "properties"),
    [
        *some(
            [("parted", "PARTITIONED BY (p)", f"'format-version'='2', {MERGE_ON_READ}")],
            [("plain", "", "'format-version'='2'")],
            "files of partitions, and of deletes in both forms",
        ),
        ("vectors", "", f"'format-version'='3', 'write.object-storage.enabled'='true', {MERGE_ON_READ}"),
        *some(
            [],
            [("first", "PARTITIONED BY (p)", "'format-version'='1', 'write.object-storage.partitioned-paths'='false'")],
            "files of partitions, and of deletes in both forms",
        ),
    ],
)
def test_every_file_of_a_write_holds_its_id(lake: Lake, name: str, layout: str, properties: str) -> None:
    lake.run(f"CREATE TABLE lake.db.{name} (id bigint, p int) USING iceberg {layout} TBLPROPERTIES ({properties})")
    for change in CHANGES:
        before, write_id = lake.files(), str(uuid4())
        lake.run(change.format(t=name), write_id)
        new = lake.files() - before
        assert new
        assert {file for file in new if write_id not in file.name} == set()
        data = [file for file in new if file.parent.name != "metadata"]
        # No longer than Iceberg's own names.
        assert all(len(re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-", file.name)) == 1 for file in data)
    rows = lake.session.sql(f"SELECT count(*), sum(id), sum(p) FROM lake.db.{name}").collect()[0]
    assert tuple(rows) == (12, 163, 20)


@pytest.mark.parametrize("properties", ["'format-version'='1'", "'format-version'='3'"])
def test_a_table_that_is_replaced_has_files_of_the_write(lake: Lake, properties: str) -> None:
    name = f"anew{properties[-2]}"
    lake.run(f"CREATE TABLE lake.db.{name} (id bigint, p int) USING iceberg TBLPROPERTIES ({properties})")
    before, write_id = lake.files(), str(uuid4())
    lake.run(f"REPLACE TABLE lake.db.{name} USING iceberg AS SELECT id FROM range(10)", write_id)
    new = lake.files() - before
    assert {file.suffix for file in new} == {".parquet", ".avro"}
    assert {file for file in new if write_id not in file.name} == set()
    assert lake.rows(name) == [(n,) for n in range(10)]


def test_a_table_is_replaced_as_it_was_when_its_write_began_or_not_at_all(lake: Lake) -> None:
    """Iceberg would put back the snapshot that was expired, and lose the one that came."""
    lake.run("CREATE TABLE lake.db.raced (id bigint) USING iceberg")
    replaced = lake.metadata("raced")
    lake.run("INSERT INTO lake.db.raced VALUES (1)")
    before, write_id = lake.files(), str(uuid4())
    lake.session.conf.set("spark.procession.replaced-metadata", replaced)
    try:
        with pytest.raises(Exception, match=r"ValidationException|Found conflicting commits"):
            lake.run("REPLACE TABLE lake.db.raced USING iceberg AS SELECT 2L AS id", write_id)
        assert lake.rows("raced") == [(1,)]
        left = lake.files() - before
        assert {file for file in left if write_id not in file.name} == set(), "what is left can be told"
        lake.session.conf.set("spark.procession.replaced-metadata", lake.metadata("raced"))
        lake.run("REPLACE TABLE lake.db.raced USING iceberg AS SELECT 2L AS id", str(uuid4()))
    finally:
        lake.session.conf.set("spark.procession.replaced-metadata", "")
    assert lake.rows("raced") == [(2,)]
    assert lake.snapshots("raced") == 2


def test_rows_for_columns_that_others_replaced_meanwhile_are_not_committed(lake: Lake) -> None:
    """A column of the same name has the same id: nobody could read the table any more."""
    lake.run("CREATE TABLE lake.db.retyped (id string) USING iceberg")
    other, failures = lake.make(lake.server, ProgressRelay()), list[Exception]()
    told = f"probe-{uuid4()}"
    temporary = Path(
        other.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.io.tmpdir')").collect()[0][0]
    )
    met = "coalesce(java_method({}), '') <> 'never'"
    begins = met.format(f"'java.io.File', 'createTempFile', '{told}', '.txt'")
    waits = met.format("'java.lang.Thread', 'sleep', 8000L")

    def write() -> None:
        try:
            query = f"SELECT 'x' AS id FROM range(1) WHERE {begins} AND {waits}"
            lake.run(f"INSERT INTO lake.db.retyped {query}", str(uuid4()))
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while not (found := list(temporary.glob(f"{told}*"))):
            thread.join(0.05)
            assert thread.is_alive(), failures
        # No job, which would wait for the only core.
        other.sql("REPLACE TABLE lake.db.retyped (id bigint) USING iceberg")
        assert thread.is_alive(), "it waited long enough"
        found[0].unlink()
    finally:
        thread.join(120)
        drop_session(other, release=True)
    assert "the table was replaced" in str(failures)
    assert lake.rows("retyped") == []


def test_without_an_id_files_are_named_as_by_iceberg(lake: Lake) -> None:
    lake.run("CREATE TABLE lake.db.unnamed (id bigint) USING iceberg")
    before = lake.files()
    lake.run("INSERT INTO lake.db.unnamed VALUES (1)")
    names = sorted(file.name for file in lake.files() - before)
    drawn = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    shapes = [rf"00000-\d+-{drawn}-0-00001\.parquet", rf"{drawn}-m0\.avro", rf"snap-\d+-1-{drawn}\.avro"]
    assert sorted(shape for shape in shapes for name in names if re.fullmatch(shape, name)) == sorted(shapes)
    assert len(names) == 3


def test_a_write_that_was_ended_while_it_waited_for_spark_never_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(_server: EmbeddedServer | None, _progress: ProgressRelay) -> SparkSession:
        raise AssertionError("nobody is asked about it")

    writes = NamedWrites(make)
    assert writes.end("lake", "early")
    with pytest.raises(ProcessionError, match="ended before it began") as failure, writes.writing("early", None):
        raise AssertionError("it began")
    assert failure.value.retriable
    with writes.writing("another", None):
        pass
    monkeypatch.setattr(named_writes, "_MOST_ENDED", 2)
    assert all(writes.end("lake", f"{n}") for n in range(3))
    assert list(writes._ended) == ["1", "2"]


def test_a_write_that_was_ended_commits_nothing(lake: Lake) -> None:
    lake.run("CREATE TABLE lake.db.ended (id bigint) USING iceberg")
    write_id = str(uuid4())
    with pytest.raises(ZeroDivisionError), lake.writes.writing(write_id, lake.server):
        raise ZeroDivisionError
    assert lake.writes.end("lake", write_id)
    with pytest.raises(Exception, match="given up"):
        lake.run("INSERT INTO lake.db.ended VALUES (1)", write_id)
    assert lake.snapshots("ended") == 0
    lake.run("INSERT INTO lake.db.ended VALUES (2)", str(uuid4()))
    assert lake.snapshots("ended") == 1


def test_a_commit_that_is_under_way_is_waited_for(lake: Lake) -> None:
    """The catalog's database is busy: after ``end``, either the write has landed or it never will."""
    lake.run("CREATE TABLE lake.db.busy (id bigint) USING iceberg")
    write_id, outcome = str(uuid4()), []
    before = lake.files()

    def write() -> None:
        try:
            lake.run("INSERT INTO lake.db.busy VALUES (1)", write_id)
            outcome.append(1)
        except Exception:
            outcome.append(0)

    with sqlite3.connect(lake.home / "catalog.db") as held:
        held.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=write)
        thread.start()
        while not any(file.name.startswith("snap-") for file in lake.files() - before):
            thread.join(0.02)
            assert thread.is_alive(), "it failed before it could commit"
        held.rollback()
    lake.writes._servers[write_id] = lake.server
    assert lake.writes.end("lake", write_id)
    landed = lake.snapshots("busy")
    thread.join(60)
    assert outcome == [landed]
    assert lake.snapshots("busy") == landed


def test_a_catalog_of_another_class_has_no_writes_to_end(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lake.conf, "", "org.apache.iceberg.spark.SparkCatalog")
    write_id = str(uuid4())
    lake.writes._servers[write_id] = lake.server
    assert lake.writes.end("lake", write_id)


@pytest.mark.parametrize("has_it", [True, False])
def test_a_server_of_others_names_files_when_it_has_our_jar(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_it: bool
) -> None:
    """Any embedded server has it: to this one, the other coordinator may be told another class."""
    if not has_it:
        monkeypatch.setattr(our_classes, "_CATALOGS", {"org.apache.iceberg.spark.SparkCatalog": "not.There"})
    conf = {f"spark.sql.catalog.lake{name}": value for name, value in lake.conf.items()}
    conf["spark.sql.catalog.lake"] = "org.apache.iceberg.spark.SparkCatalog"
    name = "of_others" if has_it else "of_others_alone"
    lake.run(f"CREATE TABLE lake.db.{name} (id bigint) USING iceberg")
    before = lake.files()
    remote = SparkEngine(SparkSettings(work_dir=tmp_path, remote=lake.server.url), conf)
    try:
        write_id = remote.new_write_id()
        assert (write_id is not None) == has_it
        list(remote.write(f"INSERT INTO lake.db.{name} VALUES (1)", FakeExecution(), (), write_id))
        new = lake.files() - before
        assert new
        assert all(write_id in file.name for file in new) if write_id is not None else True
        assert remote.end_write("lake", str(uuid4()))
        assert remote.end_earlier_write("lake", str(uuid4()))
        assert remote.status.leaves_files != has_it
    finally:
        remote.stop()


def named_on(url: str, lake: Lake, table: str, work_dir: Path) -> None:
    """Files of a write on a server of others have its id; once it is ended from another session, it commits nothing."""
    conf = {f"spark.sql.catalog.lake{name}": value for name, value in lake.conf.items()}
    conf["spark.sql.catalog.lake"] = "org.apache.iceberg.spark.SparkCatalog"
    remote = SparkEngine(SparkSettings(work_dir=work_dir, remote=url), conf)
    try:
        before, write_id, later = lake.files(), remote.new_write_id(), remote.new_write_id()
        assert write_id is not None
        assert later is not None
        assert remote._classes.sent
        list(remote.write(f"INSERT INTO lake.db.{table} SELECT id FROM range(8)", FakeExecution(), (), write_id))
        new = lake.files() - before
        assert new
        assert {file for file in new if write_id not in file.name} == set()
        assert remote.end_earlier_write("lake", later)
        with pytest.raises(ProcessionError, match="given up"):
            list(remote.write(f"INSERT INTO lake.db.{table} VALUES (1)", FakeExecution(), (), later))
        assert lake.snapshots(table) == 1
        assert not remote.status.leaves_files
    finally:
        remote.stop()


@pytest.mark.parametrize(
    ("answers", "one_process", "found"),
    [
        ([True], True, Classes(there=True)),
        ([False, True], True, Classes(there=True, sent=True)),
        ([False, False], True, Classes()),
        ([False], False, Classes()),
    ],
)
def test_where_a_server_of_others_has_our_classes_from(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    answers: list[bool],
    one_process: bool,
    found: Classes,
) -> None:
    """Executors elsewhere do not find what sessions bring. One line tells that failed writes leave files."""
    left = list(answers)
    monkeypatch.setattr(NamedWrites, "understood", lambda _self, _catalog: left.pop(0))
    tried: list[Classes] = []
    writes = NamedWrites(lambda _server, _progress: pytest.fail("nobody is asked"))
    assert writes.found_classes(["lake"], tried.append, one_process=one_process) == found
    assert left == []
    assert len(tried) == len(answers)
    assert caplog.text.count(named_writes.LEAVES_FILES) == (not found.there)


def test_a_server_of_others_without_our_jar_is_brought_it(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This one has it: it is told so at the second question alone."""
    understood, asked = NamedWrites.understood, list[str]()

    def at_second(self: NamedWrites, catalog: str) -> bool:
        asked.append(catalog)
        return len(asked) > 1 and understood(self, catalog)

    monkeypatch.setattr(NamedWrites, "understood", at_second)
    lake.run("CREATE TABLE lake.db.brought (id bigint) USING iceberg")
    named_on(lake.server.url, lake, "brought", tmp_path)


@pytest.mark.full("a server that has our jar is brought it once more")
def test_sessions_share_what_they_bring_to_a_server_without_our_jar(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has classes of its own."""
    with zipfile.ZipFile(tmp_path / "nothing.jar", "w") as empty:
        empty.writestr("nothing", b"")
    monkeypatch.setattr(server_module, "OUR_JAR", tmp_path / "nothing.jar")
    lake.run("CREATE TABLE lake.db.shared (id bigint) USING iceberg")
    other = start_server(SparkSettings(work_dir=tmp_path / "spark", driver_memory="600m", class_archive=False), {})
    try:
        named_on(other.url, lake, "shared", tmp_path)
    finally:
        other.stop()


def test_the_jobs_of_operations_are_known(lake: Lake) -> None:
    """Each job is one operation's, and they are numbered in their order."""
    relay = ProgressRelay()
    lake.session.client._session_hooks.append(relay)  # type: ignore[arg-type]
    found: list[tuple[int, ...]] = []
    operations: list[list[str]] = []
    for number in range(2):
        operations.append([])
        with relay.reporting(None, operations[-1]):
            lake.session.sql(f"SELECT id % 3, count(*) FROM range(0, 1000, 1, {number + 2}) GROUP BY 1").collect()
        assert operations[-1]
        found.append(jobs_of(lake.session, "lake", operations[-1]))
    first, second = found
    assert first
    assert second
    assert max(first) < min(second)
    assert jobs_of(lake.session, "lake", [*operations[0], *operations[1]]) == first + second
    assert jobs_of(lake.session, "lake", [str(uuid4())]) == ()
    assert jobs_of(lake.session, "no_such_catalog", operations[0]) == (), "as on a Spark without our classes"

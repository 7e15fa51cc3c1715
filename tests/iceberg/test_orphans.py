"""Orphan files: only what no snapshot names goes, however locations are spelled; by PyIceberg's own reading."""

from __future__ import annotations

import importlib.util
import os
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.connectors.iceberg import catalog as catalog_module
from coordinator.connectors.iceberg.maintenance import orphans as orphans_module
from coordinator.connectors.iceberg.maintenance.file_references import FileReferences, Match, spelling
from coordinator.connectors.iceberg.procedures import remove_orphan_files
from shared.errors import ProcessionError
from shared.spi.procedure import ArgumentError

DAYS_AGO = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=5)
_spec = importlib.util.spec_from_file_location("reachable", Path(__file__).with_name("reachable.py"))
assert _spec is not None and _spec.loader is not None
reachable = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reachable)


def plant(path: Path, *, days: float = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"nobody needs this")
    moment = time.time() - days * 86400
    os.utime(path, (moment, moment))
    return path


def age(folder: Path) -> None:
    """Every file as old as an orphan must be."""
    moment = time.time() - 10 * 86400
    for file in folder.rglob("*"):
        if file.is_file():
            os.utime(file, (moment, moment))


def remove(lake: Any, name: str = "t", **arguments: Any) -> list[str]:
    return [row[0] for row in lake.call("remove_orphan_files", schema=lake.schema, table_name=name, **arguments).rows]


@pytest.fixture
def home(lake: Any) -> Path:
    batch = pa.table({"id": pa.array(range(10), pa.int64())})
    lake.create("t", [batch, batch])
    age(lake.home / "wh")
    folder: Path = lake.home / "wh" / "db" / "t"
    return folder


def test_listed_first_and_deleted_when_an_age_is_given(lake: Any, home: Path) -> None:
    needed = {str(file) for file in home.rglob("*") if file.is_file()}
    old = [plant(home / "data" / "p=1" / "old.parquet"), plant(home / "old.avro")]
    young = plant(home / "data" / "young.parquet", days=2)
    hidden = [plant(home / "data" / "_committed"), plant(home / "_tmp" / "x.parquet"), plant(home / ".x.crc")]
    found = remove(lake)
    assert found == sorted(f"file://{path}" for path in old)
    assert all(path.exists() for path in old), "without an age they are only listed"
    assert remove(lake, older_than=DAYS_AGO, dry_run=True) == found
    assert remove(lake, older_than=DAYS_AGO) == found
    left = {str(file) for file in home.rglob("*") if file.is_file()}
    assert left == needed | {str(young), *map(str, hidden)}
    assert remove(lake, older_than=DAYS_AGO) == []
    assert lake.rows("t") == sorted([(i,) for i in range(10)] * 2)
    assert lake.workers.statements == []


@pytest.mark.parametrize("spark", [False, True])
def test_the_hour_that_a_clock_shows_twice(lake: Any, home: Path, monkeypatch: Any, spark: bool) -> None:
    """Berlin's clock shows 02:00 to 03:00 from midnight UTC on, and again an hour later."""
    session = replace(lake.context().session, time_zone="Europe/Berlin")
    lake.context = lambda plain=lake.context: replace(plain(), session=session)
    files = []
    for minute in (15, 45, 75, 105):
        files.append(plant(home / f"{minute}.parquet"))
        moment = datetime(2024, 10, 27, tzinfo=UTC).timestamp() + minute * 60
        os.utime(files[-1], (moment, moment))
    names = [f"file://{file}" for file in files]
    clock = datetime(2024, 10, 27, 2, 30)
    berlin = clock.replace(tzinfo=ZoneInfo("Europe/Berlin"), fold=1)
    utc = datetime(2024, 10, 27, 1, 30, tzinfo=UTC)
    if spark:
        monkeypatch.setattr(remove_orphan_files, "LARGE_MANIFESTS", -1)
    for asked, minutes in ((clock, 30), (berlin.replace(fold=0), 30), (berlin, 90), (utc, 90)):
        if not spark:
            assert remove(lake, older_than=asked, dry_run=True) == sorted(names[: 1 if minutes == 30 else 3])
            continue
        with suppress(ProcessionError):
            remove(lake, older_than=asked, dry_run=True)
        told = f"TIMESTAMP '2024-10-27 {minutes // 60:02}:30:00.000000+00:00'"
        assert told in str(lake.workers.statements[-1])


@pytest.mark.parametrize("ending", ["#backup", "?versionId=1", " copy", "%20", "+1", ".ü雪"])
def test_names_are_letters_and_no_addresses(lake: Any, home: Path, ending: str) -> None:
    live = [file for file in home.rglob("*") if file.is_file() and not file.name.startswith(".")]
    orphans = [plant(file.with_name(file.name + ending)) for file in live]
    assert remove(lake, older_than=DAYS_AGO) == sorted(f"file://{path}" for path in orphans)
    assert [file for file in live if not file.exists()] == []
    assert [file for file in orphans if file.exists()] == []
    # What a view names is deleted in the same way.
    again = [plant(path) for path in orphans]
    view(lake, [f"file://{path}" for path in again], datetime(2020, 1, 1))
    assert len(remove(lake, older_than=DAYS_AGO, file_list_view="db.listing")) == len(again)
    assert [file for file in live if not file.exists()] == []
    assert [file for file in again if file.exists()] == []


def test_a_place_of_its_own_and_a_sample(lake: Any, home: Path) -> None:
    inside = plant(home / "data" / "a" / "x.parquet")
    outside = plant(home / "b.parquet")
    assert remove(lake, location=f"{home}/data", dry_run=False, stream_results=True) == [f"{home}/data/a/x.parquet"]
    assert not inside.exists()
    assert outside.exists()
    with pytest.raises(ProcessionError, match="holds more than the table"):
        remove(lake, location=f"file://{home.parent}", dry_run=False)


def test_the_folder_of_another_table_is_refused(lake: Any, home: Path) -> None:
    """Its files are orphans for this table's metadata, and live."""
    lake.create("other", [pa.table({"id": pa.array([1], pa.int64())})])
    age(lake.home / "wh")
    folder = lake.home / "wh" / "db" / "other"
    for location in (folder, f"file://{folder}/data", lake.home / "wh" / "db" / "other" / "metadata/"):
        with pytest.raises(ProcessionError, match=r"holds files of another table$"):
            remove(lake, location=str(location), older_than=DAYS_AGO)
    assert lake.rows("other") == [(1,)]
    elsewhere = plant(lake.home / "elsewhere" / "x.parquet")
    assert remove(lake, location=str(elsewhere.parent), older_than=DAYS_AGO) == [str(elsewhere)]


@pytest.mark.parametrize("place", ["wh/db/t", "wh/db/t/inner"])
@pytest.mark.parametrize("kind", ["sql", "metastore", "rest"])
def test_a_table_in_the_same_folder(lake: Any, home: Path, monkeypatch: Any, place: str, kind: str) -> None:
    """As after a rename, when another table took the old name and with it the folder."""
    location = f"file:{lake.home}/{place}" if kind != "sql" else f"{lake.home}/{place}/"
    lake.create("other", [pa.table({"id": pa.array([1], pa.int64())})], location=location)
    age(home)
    before = {file for file in home.rglob("*") if file.is_file()}
    if kind != "sql":
        one_by_one(lake, monkeypatch, kind)
        assert remove(lake, older_than=DAYS_AGO, dry_run=True) != [], "what only lists does not ask for each table"
    for argument, asked in (("table_name", None), ("location", str(home))):
        for dry_run in (False, True) if kind == "sql" else (False,):
            with pytest.raises(ProcessionError, match=r"holds files of another table$") as caught:
                remove(lake, older_than=DAYS_AGO, dry_run=dry_run, location=asked)
            assert isinstance(caught.value.__cause__, ArgumentError)
            assert caught.value.__cause__.argument == argument
    assert {file for file in home.rglob("*") if file.is_file()} == before
    lake.call("unregister_table", schema="db", table_name="other")
    left = reachable.needed(lake.table("t"))
    assert {str(file) for file in before} - set(left) == {
        path.removeprefix("file://") for path in remove(lake, older_than=DAYS_AGO)
    }
    assert lake.rows("t") == sorted([(i,) for i in range(10)] * 2)


@pytest.mark.parametrize("kind", ["sql", "metastore", "rest"])
def test_names_in_other_letters_and_neighbours(lake: Any, home: Path, monkeypatch: Any, kind: str) -> None:
    """The table itself is no other table, and a folder is no prefix of a name."""
    lake.create("t2", [pa.table({"id": pa.array([1], pa.int64())})])
    orphan = plant(home / "data" / "old.parquet")
    if kind != "sql":
        one_by_one(lake, monkeypatch, kind)
    assert remove(lake, "T", older_than=DAYS_AGO) == [f"file://{orphan}"]


def one_by_one(lake: Any, monkeypatch: Any, kind: str) -> None:
    """The catalog as one that has to be asked for each table, by a metastore's question or by loading it."""

    class Rest:
        def __init__(self, client: Any) -> None:
            self._client = client

        def __getattr__(self, name: str) -> Any:
            return getattr(self._client, name)

        def load_table(self, identifier: Any) -> Any:
            return self._client.load_table(tuple(part.lower() for part in identifier))

    class Metastore(Rest):
        def metadata_location(self, schema: str, name: str) -> str | None:
            found: str = self._client.load_table((schema, name.lower())).metadata_location
            return found

        def other_tables(self, schema: str) -> list[str]:
            return []

    made = Rest if kind == "rest" else Metastore
    connect = catalog_module._connect
    monkeypatch.setattr(catalog_module, "_connect", lambda *asked: made(connect(*asked)))
    lake.connector = lake.connect()


def test_wrong_arguments_are_refused(lake: Any, home: Path) -> None:
    with pytest.raises(ProcessionError, match="interval less than 24 hours"):
        remove(lake, older_than=datetime.now(UTC).replace(tzinfo=None))
    with pytest.raises(ProcessionError, match="Invalid mode: MAYBE"):
        remove(lake, prefix_mismatch_mode="MAYBE")
    with pytest.raises(ProcessionError, match="max_concurrent_deletes should have value > 0, value: -1"):
        remove(lake, max_concurrent_deletes=-1)
    lake.table("t").transaction().set_properties({"gc.enabled": "false"}).commit_transaction()
    with pytest.raises(ProcessionError, match="GC is disabled"):
        remove(lake)


def view(lake: Any, paths: list[str], modified: datetime) -> None:
    data = pa.table({"file_path": paths, "last_modified": pa.array([modified] * len(paths), pa.timestamp("us", "UTC"))})
    lake.create("listing", [data])


def test_files_of_a_view_under_other_prefixes(lake: Any, home: Path) -> None:
    """What the metadata names under another scheme is neither deleted nor passed over silently."""
    known = lake.table("t").scan().plan_files()
    path = reachable.plain(next(iter(known)).file.file_path)
    orphan = plant(home / "data" / "orphan.parquet")
    view(lake, [f"hdfs://nn{path}", f"file://{orphan}"], datetime.now(UTC) - timedelta(days=9))
    settings = lake.connector.settings
    lake.connector.tables_of.settings = replace(settings, allowed_locations=(f"hdfs://nn{lake.home}",))
    given = {"file_list_view": "db.listing", "location": f"hdfs://nn{home}", "dry_run": True}
    with pytest.raises(ProcessionError, match=r"Conflicting authorities/schemes: \[\(file, hdfs\)\]"):
        remove(lake, **given)
    assert remove(lake, **given, prefix_mismatch_mode="ignore") == []
    assert remove(lake, **given, prefix_mismatch_mode="DELETE") == [f"hdfs://nn{path}"]
    equal = {"equal_schemes": {"hdfs": "file"}, "equal_authorities": {"nn": ""}}
    assert remove(lake, **given, **equal) == []
    assert remove(lake, file_list_view="db.listing", dry_run=True) == [f"file://{orphan}"]


def test_a_view_stands_for_the_listing(lake: Any, home: Path) -> None:
    listed, unlisted = plant(home / "data" / "listed.parquet"), plant(home / "data" / "unlisted.parquet")
    view(lake, [f"file:{listed}"], datetime.now(UTC) - timedelta(days=9))
    assert remove(lake, file_list_view="listing", dry_run=False) == [f"file:{listed}"]
    assert (listed.exists(), unlisted.exists()) == (False, True)


def test_a_file_that_another_writer_takes_in_meanwhile_stays(lake: Any, home: Path, monkeypatch: Any) -> None:
    taken = plant(home / "data" / "taken.parquet")
    pq.write_table(pa.table({"id": pa.array([77], pa.int64())}), taken)
    orphan = plant(home / "data" / "orphan.parquet")
    age(home)
    real = orphans_module.Spool.add

    def add(spool: Any, found: Any) -> None:
        real(spool, found)
        if len(lake.table("t").snapshots()) == 2:
            lake.table("t").add_files([f"file://{taken}"])

    monkeypatch.setattr(orphans_module.Spool, "add", add)
    assert remove(lake, dry_run=False) == [f"file://{orphan}"]
    assert (77,) in lake.rows("t")


def test_prefixes_that_mean_the_same() -> None:
    names = FileReferences(spelling({"s3x, s3y": "s3"}, {"one,two": "both"}))
    names.add(["s3a://one/a//b", "/plain", "file:/x", "hdfs://nn/p"])
    asked = ["s3://both/a/b", "s3y://two/a/b", "s3://other/a/b", "file:///plain", "file:///x", "/y", "s3://nn/p"]
    n, o, c = Match.NAMED, Match.ORPHAN, Match.CONFLICT
    assert names.match(asked) == [n, n, c, n, n, o, c]
    assert names.conflicts == {("s3", "both", "s3", "other"), ("hdfs", "nn", "s3", "nn")}


@settings(deadline=None)
@given(st.sets(st.text("ab/", min_size=1, max_size=6)), st.lists(st.text("ab/", min_size=1, max_size=6), min_size=1))
def test_lookup_is_that_of_a_set(named: set[str], asked: list[str]) -> None:
    names = FileReferences(spelling({}, {}))
    names.add(f"s3://bucket/{name}" for name in named)
    plain = {"/".join(filter(None, f"bucket/{name}".split("/"))) + "/" * name.endswith("/") for name in named}
    expected = ["/".join(filter(None, f"bucket/{a}".split("/"))) + "/" * a.endswith("/") in plain for a in asked]
    assert [match is Match.NAMED for match in names.match([f"s3://bucket/{a}" for a in asked])] == expected


def test_every_table_of_iceberg_java_keeps_its_files(java_lake: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    lake = java_lake(tmp_path)
    age(tmp_path / "wh")
    names = sorted(path.name for path in Path("wh/fx").iterdir())
    assert len(names) >= 25
    for name in names:
        if name == "v3_variant":
            continue  # PyIceberg cannot load the table at all
        table = lake.other.load_table(f"fx.{name}")
        orphan = plant(Path(table.location()) / "data" / "orphan.parquet")
        before = {str(file) for file in Path("wh").rglob("*") if file.is_file()}
        gone = remove(lake, name, dry_run=False)
        left = {str(file) for file in Path("wh").rglob("*") if file.is_file()}
        assert str(orphan) in gone
        assert before - left == set(gone)
        assert not reachable.needed(table) & set(gone), name

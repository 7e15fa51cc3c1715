"""Two coordinators over one journal in a real PostgreSQL: whatever one leaves open the other settles, and it alone."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa

from coordinator.cluster.schema import NODES
from coordinator.cluster.store import ClusterStore, Node
from coordinator.cluster.work import ClusterWork
from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.failures import NotCommittedError
from coordinator.connectors.iceberg.maintenance import unfinished_expiry
from coordinator.connectors.iceberg.manifests import metadata_files
from coordinator.connectors.iceberg.procedures import expire_snapshots
from coordinator.connectors.iceberg.rewrite.committing import one_rewrite, recovery
from coordinator.connectors.iceberg.snapshots.metadata_deletes import delete_files
from coordinator.connectors.iceberg.tables import ddl, late_writes
from coordinator.connectors.iceberg.tables.open_writes import open_write
from coordinator.connectors.iceberg.tables.unfinished import UnfinishedTable
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import NewColumn, TableCreation
from tests.databases import new_database
from tests.iceberg.rest_catalog import serving
from tests.iceberg.test_rest_catalog import over_rest

pytestmark = pytest.mark.slow
EMPTY = TableCreation("db", "fresh", (NewColumn("id", "bigint"),), {})
WORK = ("rewrite_calls", "unfinished_tables", "open_writes", "open_commits", "open_expiries", "open_drops")


def numbers(start: int, count: int = 50) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {i}" for i in ids]})


@pytest.fixture(scope="module")
def url(postgres: str) -> str:
    return new_database(postgres, "work")


@pytest.fixture
def store(url: str) -> Iterator[ClusterStore]:
    opened = ClusterStore(url)
    with opened.engine.begin() as connection:
        connection.execute(sa.delete(NODES))
        known = set(sa.inspect(connection).get_table_names())
        for name in WORK:
            if f"work_{name}" in known:
                connection.exec_driver_sql(f"DELETE FROM work_{name}")
    yield opened
    opened.close()


@dataclass
class Pair:
    """``first`` and ``second`` are the connectors of two coordinators over one catalog."""

    lake: Any
    store: ClusterStore
    first: IcebergConnector
    second: IcebergConnector

    def end_first(self) -> None:
        """As the others see it: its lease ended a while ago, by the database's clock."""
        ended = sa.update(NODES).where(NODES.c.suffix == "aaaaa").values(until=sa.func.now() - timedelta(seconds=60))
        with self.store.engine.begin() as connection:
            connection.execute(ended)

    def wake_first(self) -> None:
        assert self.store.renew("aaaaa", 60)

    def open(self) -> int:
        """Records without an outcome, whosever they are."""
        counted = "SELECT count(*) FROM work_rewrite_calls WHERE state IN ('BEGUN', 'COMMITTING')"
        others = " + ".join(f"(SELECT count(*) FROM work_{name})" for name in WORK[1:])
        with self.store.engine.connect() as connection:
            return int(connection.exec_driver_sql(f"SELECT ({counted}) + {others}").scalar_one())

    def suspended(self) -> None:
        """What a suspension of the first one is to it: when it goes on, the second one has its work."""
        self.end_first()
        self.settle()
        self.wake_first()

    def settle(self) -> list[Any]:
        return list(self.second.recover())


@pytest.fixture
def pair(lake: Any, store: ClusterStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    for name in ("t", "u"):
        lake.create(name, [numbers(i * 50) for i in range(6)])
    pair = joined(lake, store, lake.connect(), monkeypatch)
    yield pair
    pair.second.close()


def joined(lake: Any, store: ClusterStore, second: IcebergConnector, monkeypatch: pytest.MonkeyPatch) -> Pair:
    connectors = [lake.connector, second]
    for suffix, connector in zip(("aaaaa", "bbbbb"), connectors, strict=True):
        assert store.register(Node(suffix, suffix[0], f"http://{suffix}:1", "1"), 60)
        connector.settings = replace(connector.settings, is_file=False)  # here both open the same one
        connector.share_work(ClusterWork(store.engine, suffix, 5.0))
    monkeypatch.setattr(recovery, "_WORKERS_GONE_SECONDS", 0.0)
    monkeypatch.setattr(one_rewrite, "_WORKERS_GONE_SECONDS", 0.2)
    monkeypatch.setattr(late_writes, "DEAD_AFTER_SECONDS", 0.0)
    return Pair(lake, store, *connectors)


def eventually(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


def once(step: Callable[[], None]) -> Callable[[], None]:
    """``step`` at the first call alone."""
    done = []

    def call() -> None:
        if not done:
            done.append(True)
            step()

    return call


def before(function: Any, step: Callable[[], None]) -> Any:
    def call(*args: Any, **named: Any) -> Any:
        step()
        return function(*args, **named)

    return call


def after(function: Any, step: Callable[[], None]) -> Any:
    def call(*args: Any, **named: Any) -> Any:
        answer = function(*args, **named)
        step()
        return answer

    return call


def at(point: str, pair: Pair, step: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """Have ``step`` done by the first coordinator once, in the middle of its next commit or rewrite."""
    journal, commits, step = pair.first.journal, pair.first.tables_of.open_commits, once(step)
    match point:
        case "begun":
            patch.setattr(journal, "begin", after(journal.begin, step))
        case "writing":
            pair.lake.workers.before = lambda _kernel, _number: step()
        case "written":
            patch.setattr(journal, "committing", before(journal.committing, step))
        case "committing":
            patch.setattr(journal, "committing", after(journal.committing, step))
        case "recorded":
            patch.setattr(commits, "begun", after(commits.begun, step))
        case "staged":
            patch.setattr(commits, "check", before(commits.check, step))
        case "checked":
            patch.setattr(commits, "check", after(commits.check, step))
        case "landed":
            patch.setattr(commits, "over", before(commits.over, step))
        case _:
            raise AssertionError(point)


REWRITE_POINTS = ("begun", "writing", "written", "committing", "recorded", "staged", "checked")


@pytest.mark.parametrize("point", REWRITE_POINTS)
def test_a_suspended_rewrite_that_was_taken_over_commits_nothing(
    pair: Pair, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, snapshots = pair.lake.rows("t"), len(pair.lake.table("t").snapshots())
    at(point, pair, pair.suspended, monkeypatch)
    with pytest.raises(ProcessionError) as failure:
        pair.lake.rewrite("t", {"rewrite-all": "true"})
    assert failure.value.retriable
    eventually(lambda: pair.settle() == [] and not pair.open() and pair.lake.orphans("t") == set())
    assert pair.lake.rows("t") == rows
    assert len(pair.lake.table("t").snapshots()) == snapshots
    # It lives on, and what it begins from now on is its own.
    assert pair.lake.rewrite("t")["rewritten_rows_count"] == 300
    assert pair.lake.rows("t") == rows
    assert not pair.open()


@pytest.mark.parametrize("point", ["writing", "committing", "staged"])
def test_a_suspended_rewrite_commits_nothing_through_a_rest_server(
    lake: Any, store: ClusterStore, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server compares heads alone: files of a commit that was about to be sent stay for a while."""
    lake.create("t", [numbers(i * 50) for i in range(6)])
    rows, outcomes = lake.rows("t"), list[str]()
    with serving(lake.other) as address:
        lake.connector = over_rest(lake, address)
        pair = joined(lake, store, over_rest(lake, address), monkeypatch)
        pair.second.tables_of.settings = replace(pair.second.tables_of.settings, unfinished_quiet_time=3600)

        def suspended() -> None:
            pair.end_first()
            outcomes.extend(each.outcome for each in pair.settle())
            pair.wake_first()

        at(point, pair, suspended, monkeypatch)
        with pytest.raises(ProcessionError, match="took this one for gone"):
            lake.rewrite("t", {"rewrite-all": "true"})
        assert outcomes == ["ABORTED" if point == "writing" else "POSTPONED"]
        pair.second.tables_of.settings = replace(pair.second.tables_of.settings, unfinished_quiet_time=0)
        eventually(lambda: pair.settle() == [] and not pair.open() and lake.orphans("t") == set())
        assert lake.rows("t") == rows


def test_a_rewrite_that_was_suspended_after_its_last_look_is_refused_by_a_rest_server(
    lake: Any, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it stood still: the head of the table is another one by then."""
    lake.create("t", [numbers(i * 50) for i in range(6)])
    rows = lake.rows("t")
    with serving(lake.other) as address:
        lake.connector = over_rest(lake, address)
        pair = joined(lake, store, over_rest(lake, address), monkeypatch)
        pair.second.tables_of.settings = replace(pair.second.tables_of.settings, unfinished_quiet_time=0.2)

        def suspended() -> None:
            pair.end_first()
            eventually(lambda: pair.settle() == [] and not pair.open() and lake.orphans("t") == set())
            pair.wake_first()

        at("checked", pair, suspended, monkeypatch)
        with pytest.raises(ProcessionError) as failure:
            lake.rewrite("t", {"rewrite-all": "true"})
        assert failure.value.retriable
        eventually(lambda: not pair.open() and lake.orphans("t") == set())
        assert lake.rows("t") == rows
        assert lake.rewrite("t")["rewritten_rows_count"] == 300


def test_a_rewrite_that_landed_stays_when_its_coordinator_was_suspended(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pair.lake.rows("t")
    outcomes: list[str] = []

    def suspended() -> None:
        pair.end_first()
        outcomes.extend(each.outcome for each in pair.settle())
        pair.wake_first()

    at("landed", pair, suspended, monkeypatch)
    assert pair.lake.rewrite("t", {"rewrite-all": "true"})["rewritten_rows_count"] == 300
    assert outcomes == ["COMMITTED", "COMMITTED"]
    assert pair.lake.rows("t") == rows
    assert pair.lake.orphans("t") == set()
    assert not pair.open()


@pytest.mark.parametrize("point", ["recorded", "staged", "checked"])
def test_a_commit_that_was_taken_over_lands_once_or_never(
    pair: Pair, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyIceberg may try it again with new files, which are its own then."""
    at(point, pair, pair.suspended, monkeypatch)
    try:
        deleted = delete_files(pair.first.tables_of.open("db", "t"), None, {})
    except (ProcessionError, Exception) as error:
        deleted = None
        assert "conflict" in str(error) or "taken" in str(error) or "took" in str(error) or "changed" in str(error)
    assert len(pair.lake.rows("t")) == (300 if deleted is None else 0)
    eventually(lambda: pair.settle() == [] and not pair.open())
    assert pair.lake.orphans("t") == set()


def test_nothing_of_one_that_lives_is_touched(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor of one whose lease has just ended: a call may be in flight."""
    seen: list[object] = []

    def look() -> None:
        seen.extend(pair.settle())
        ended = sa.update(NODES).where(NODES.c.suffix == "aaaaa").values(until=sa.func.now() - timedelta(seconds=2))
        with pair.store.engine.begin() as connection:
            connection.execute(ended)
        seen.extend(pair.settle())
        seen.extend(pair.first.recover())

    at("checked", pair, look, monkeypatch)
    assert pair.lake.rewrite("t", {"rewrite-all": "true"})["rewritten_rows_count"] == 300
    assert seen == []
    assert pair.lake.orphans("t") == set()


@pytest.mark.parametrize("replaced", [False, True])
def test_whoever_counts_as_gone_begins_and_commits_nothing(pair: Pair, replaced: bool) -> None:
    """Even where nobody has taken anything over yet: what it began would be another's at any moment."""
    catalog = pair.first.tables_of
    write, of_another = (open_write(str(uuid.uuid4()), "db", catalog.open("db", "t")) for _ in range(2))
    catalog.open_writes.begin(write)
    ended = {"replaced": True} if replaced else {"until": sa.func.now()}
    with pair.store.engine.begin() as connection:
        connection.execute(sa.update(NODES).where(NODES.c.suffix == "aaaaa").values(**ended))
    with pytest.raises(NotCommittedError, match="for gone") as failure:
        catalog.open_writes.begin(of_another)
    assert failure.value.retriable
    with pytest.raises(NotCommittedError, match="for gone"):
        catalog.open_writes.records.check({"write_id": write.id})
    with pytest.raises(ProcessionError, match="for gone"):
        delete_files(catalog.open("db", "t"), None, {})
    assert len(pair.lake.rows("t")) == 300
    if not replaced:
        pair.wake_first()
        catalog.open_writes.records.check({"write_id": write.id})


@pytest.mark.parametrize("settled", [False, True])
def test_a_write_that_was_taken_over_while_it_ran_is_told_of(pair: Pair, settled: bool) -> None:
    writes = pair.first.tables_of.late_writes
    write = open_write(str(uuid.uuid4()), "db", pair.first.tables_of.open("db", "t"))
    with (
        pytest.raises(ProcessionError, match="may have removed its files") as failure,
        writes.recorded(write, lambda: True),
    ):
        if settled:
            pair.second.tables_of.late_writes._quiet_seconds = 0.0
        pair.suspended()
        if settled:
            eventually(lambda: not pair.open())
    assert not failure.value.retriable


def test_workers_that_write_on_are_swept_again(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_WORKERS_GONE_SECONDS", 0.5)
    call: list[str] = []

    def die() -> None:
        with pair.store.engine.connect() as connection:
            call.append(connection.exec_driver_sql("SELECT call_id FROM work_rewrite_calls").scalar_one())
        raise KeyboardInterrupt

    at("writing", pair, die, monkeypatch)
    monkeypatch.setattr(one_rewrite, "sweep", lambda *_: 0)
    monkeypatch.setattr(one_rewrite, "_WORKERS_GONE_SECONDS", 600.0)  # who is dead looks for nothing again
    with pytest.raises(KeyboardInterrupt):
        pair.lake.rewrite("t", {"rewrite-all": "true"})
    pair.end_first()
    (first,) = pair.settle()
    assert first.outcome == "POSTPONED"
    late = Path(pair.lake.table("t").location().removeprefix("file://")) / "data" / f"00000-0-{call[0]}-late.parquet"
    late.write_bytes(b"late")
    outcomes: list[Any] = []
    eventually(lambda: outcomes.extend(pair.settle()) or [each for each in outcomes if each.outcome == "ABORTED"])
    assert not late.exists()
    assert pair.lake.orphans("t") == set()


def test_a_write_of_a_dead_coordinators_spark_is_cleaned_by_another(pair: Pair) -> None:
    table = pair.first.tables_of.open("db", "t")
    write = open_write(str(uuid.uuid4()), "db", table)
    pair.first.tables_of.open_writes.begin(write)
    left = Path(table.location().removeprefix("file://")) / "data" / f"00003-12-{write.id}-00001.parquet"
    left.write_bytes(b"rows")
    assert pair.settle() == []
    pair.end_first()
    pair.second.tables_of.late_writes._quiet_seconds = 0.2
    asked: list[str] = []
    found = list(pair.second.recover(lambda write_id: asked.append(write_id) is None))
    assert [(each.call_id, each.outcome) for each in found] == [(write.id, "POSTPONED")]
    eventually(lambda: not left.exists() and not pair.open())
    assert asked == [write.id]
    assert pair.lake.orphans("t") == set()


def test_an_expiry_that_was_cut_off_is_finished_by_another(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pair.lake.rows("t")
    pair.lake.rewrite("t", {"rewrite-all": "true"})

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patch:
        patch.setattr(unfinished_expiry, "finish_later", lambda *_: None)
        patch.setattr(expire_snapshots, "delete_all", die)
        pair.lake.call("expire_snapshots", schema="db", table_name="t", older_than=datetime(2100, 1, 1))
    assert (len(pair.lake.orphans("t")) > 6, pair.open(), pair.settle()) == (True, 1, [])
    pair.end_first()
    (found,) = pair.settle()
    assert (found.table, found.outcome) == ("t", "POSTPONED")
    eventually(lambda: not pair.open())
    assert (pair.lake.orphans("t"), pair.lake.rows("t")) == (set(), rows)


def test_a_table_that_was_being_filled_goes_and_gets_no_name(pair: Pair) -> None:
    from coordinator.connectors.iceberg.tables.hidden_tables import appear

    unseen = "procession_unfinished_20260101_000000_00000_aaaaa"
    location = f"file://{pair.lake.home}/wh/db/made-{uuid.uuid4().hex}"
    pair.first.tables_of.unfinished.begin(UnfinishedTable("db", unseen, "made", location))
    pair.lake.other.create_table(f"db.{unseen}", schema=numbers(0).schema, location=location).append(numbers(0))
    pair.end_first()
    pair.second.tables_of.late_files._quiet_seconds = 0.2
    (gone,) = pair.settle()
    assert (gone.table, gone.outcome) == ("made", "ABORTED")
    with pytest.raises(NotCommittedError, match="took this one for gone"):
        appear(pair.first.tables_of, "db", unseen, "made")
    eventually(lambda: not pair.open())
    assert pair.lake.connector.tables("db") == ["t", "u"]


def empty_table(pair: Pair, placed: bool) -> TableCreation:
    """``placed``: in a folder that the user chose."""
    return replace(EMPTY, properties={"location": f"file://{pair.lake.home}/wh/db/chosen"} if placed else {})


@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_the_first_metadata_of_a_table_that_was_killed_goes(
    pair: Pair, named: bool, placed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the catalog names the file, and right after: nobody has seen the table."""
    files, catalog, creation = pair.lake.files(""), pair.first.tables_of, empty_table(pair, placed)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patch:
        if named:
            patch.setattr(ddl, "appear", die)
        else:
            patch.setattr(metadata_files, "write_metadata", after(metadata_files.write_metadata, die))
        patch.setattr(ddl, "remove_unfinished", die)
        pair.lake.change(creation)
    assert len(pair.lake.files("") - files) == 1
    assert pair.settle() == []
    pair.end_first()
    pair.second.tables_of.late_files._quiet_seconds = 0.2
    *of_its_file, gone = sorted(pair.settle(), key=lambda each: each.table == "fresh")
    assert (gone.table, gone.outcome, len(of_its_file)) == ("fresh", "ABORTED", placed and not named)
    eventually(lambda: not pair.open() and pair.lake.files("") == files)
    pair.wake_first()
    pair.lake.change(creation)
    pair.lake.change(replace(creation, if_not_exists=True))
    with pytest.raises(ProcessionError) as failure:
        pair.lake.change(creation)
    assert failure.value.code is ErrorCode.ALREADY_EXISTS
    assert catalog.tables("db") == ["fresh", "t", "u"]
    assert not pair.open()


@pytest.mark.parametrize("point", ["written", "placed", "checked"])
def test_a_suspended_creation_that_was_taken_over_makes_no_table(
    pair: Pair, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on after its file was removed, and has the catalog name it: under a name that it takes back."""
    files, pair.second.tables_of.late_files._quiet_seconds = pair.lake.files(""), 0.2
    write, commits = metadata_files.write_metadata, pair.first.tables_of.open_commits
    creation = empty_table(pair, point != "written")
    if point == "checked":
        monkeypatch.setattr(commits, "check", after(commits.check, once(pair.suspended)))
    else:
        monkeypatch.setattr(metadata_files, "write_metadata", after(write, once(pair.suspended)))
    with pytest.raises(NotCommittedError, match="took this one for gone"):
        pair.lake.change(creation)
    eventually(lambda: not pair.open() and pair.lake.files("") == files)
    assert [name for _, name in pair.first.tables_of.client().list_tables(("db",))] == ["t", "u"]
    pair.lake.change(creation)
    assert pair.lake.table("fresh").scan().to_arrow().num_rows == 0


def test_no_commit_while_the_database_is_away_and_it_heals(pair: Pair) -> None:
    rows = pair.lake.rows("t")
    names = [f"work_{name}" for name in WORK]

    def rename(suffix: str, to: str) -> None:
        with pair.store.engine.begin() as connection:
            for name in names:
                connection.exec_driver_sql(f"ALTER TABLE {name}{suffix} RENAME TO {name}{to}")

    rename("", "_away")
    try:
        with pytest.raises(ProcessionError, match="database of the coordinators") as failure:
            pair.lake.rewrite("t", {"rewrite-all": "true"})
        assert failure.value.retriable
        with pytest.raises(NotCommittedError, match="database of the coordinators"):
            delete_files(pair.first.tables_of.open("db", "t"), None, {})
        assert pair.lake.rows("t") == rows
    finally:
        rename("_away", "")
    assert pair.lake.rewrite("t", {"rewrite-all": "true"})["rewritten_rows_count"] == 300
    assert pair.lake.rows("t") == rows
    assert pair.lake.orphans("t") == set()


def test_a_record_that_could_not_be_closed_is_closed_later(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit landed, and the database went away in between."""
    records = pair.first.journal.records
    settle = records._settle

    def away(*_: object) -> None:
        raise NotCommittedError(ErrorCode.ICEBERG_COMMIT_ERROR, "away")

    monkeypatch.setattr(records, "_settle", away)
    assert pair.lake.rewrite("t", {"rewrite-all": "true"})["rewritten_rows_count"] == 300
    assert pair.open() == 1
    monkeypatch.setattr(records, "_settle", settle)
    assert pair.first.recover() == []
    assert pair.open() == 0


def test_what_the_file_has_is_settled_after_the_move_into_the_database(
    lake: Any, store: ClusterStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator that was alone died, and starts again as one of several."""
    lake.create("t", [numbers(i * 50) for i in range(6)])
    rows, files = lake.rows("t"), lake.files("t")

    def die(_kernel: str, _number: int) -> None:
        raise KeyboardInterrupt

    lake.workers.before = die
    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patch:
        patch.setattr(one_rewrite, "sweep", lambda *_: (_ for _ in ()).throw(OSError("dead")))
        lake.rewrite("t", {"rewrite-all": "true"})
    monkeypatch.setattr(recovery, "_WORKERS_GONE_SECONDS", 0.0)
    again = lake.connect()
    assert store.register(Node("ccccc", "c", "http://c:1", "1"), 60)
    again.settings = replace(again.settings, is_file=False)
    again.share_work(ClusterWork(store.engine, "ccccc", 5.0))
    (found,) = again.recover()
    assert found.outcome == "ABORTED"
    assert (lake.rows("t"), lake.files("t")) == (rows, files)
    assert lake.connect().journal.open_entries("lab") == []


def test_a_catalog_in_a_file_stays_with_its_coordinator(lake: Any, store: ClusterStore, tmp_path: Path) -> None:
    """Others have other tables in theirs: nothing can be told from those."""
    for connector in (IcebergConnector("own", {}, tmp_path), lake.connector):
        connector.share_work(ClusterWork(store.engine, "aaaaa", 5.0))
        assert not connector.shares_work
        assert connector.recover() == []

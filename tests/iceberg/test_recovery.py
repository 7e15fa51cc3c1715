"""A coordinator killed at any point of a call: after recovery the table is right and no file of the call is left."""

from __future__ import annotations

import gzip
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.rewrite.committing import recovery
from coordinator.connectors.iceberg.rewrite.committing.journal import JournalEntry
from coordinator.connectors.iceberg.rewrite.committing.recovery import Recovered, recover
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import NewColumn, TableCreation
from tests import warm


def numbers(start: int, count: int = 50) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {i}" for i in ids]})


@pytest.fixture
def table(lake: Any) -> str:
    for name in ("t", "u"):
        lake.create(name, [numbers(i * 50) for i in range(6)])
    return "t"


def kill(lake: Any, point: str) -> None:
    script = Path(__file__).with_name("killed_call.py")
    child = warm.run([str(script), str(lake.home), point], lake.home)
    assert child.returncode == -9, child.stderr


def test_a_call_waits_for_a_commit_to_its_table_however_that_is_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = JournalEntry("call", "lab", "DB", "Orders", "query", 1, (), "", datetime.now(UTC), "BEGUN")
    commit = Recovered("location", "db", "orders", "POSTPONED")
    monkeypatch.setattr(recovery, "recover_commit", lambda _catalog, _commit, **_named: commit)
    background = SimpleNamespace(later=lambda *_: None)
    catalog: Any = SimpleNamespace(
        work=SimpleNamespace(shared=None),
        background=background,
        open_expiries=SimpleNamespace(open_entries=list),
        open_drops=SimpleNamespace(open_entries=list),
        open_commits=SimpleNamespace(open_entries=lambda: [None]),
        unfinished=SimpleNamespace(open_entries=list),
        late_writes=SimpleNamespace(recover=lambda _end: []),
        settings=SimpleNamespace(catalog="lab"),
    )
    journal: Any = SimpleNamespace(open_entries=lambda _catalog: [entry])
    found, _ = recover(catalog, journal)
    assert (found.outcome, found.problem) == ("POSTPONED", "a commit to the table is not settled yet")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "answers_at_the_start"), [("before-commit", True), ("staged-delete", False), ("staged-table", False)]
)
def test_what_waits_for_the_catalog_is_settled_when_it_answers(
    lake: Any, table: str, point: str, answers_at_the_start: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be away from the start on, or from the moment that its tables are asked for."""
    before, files = lake.rows(table), lake.files("")
    kill(lake, point)
    catalog, pauses = lake.connector.tables_of, list[float]()
    load, later = type(lake.other).load_table, catalog.background.later

    def soon(seconds: float, name: str, step: Callable[[], None]) -> None:
        pauses.append(seconds)
        later(0.05, name, step)

    def away(*_: object) -> None:
        raise ConnectionError("connection refused")

    monkeypatch.setattr(catalog.background, "later", soon)
    catalog.late_files._quiet_seconds = 0.2
    monkeypatch.setattr(type(lake.other), "load_table", away)
    if answers_at_the_start:
        outcomes = recover(catalog, lake.connector.journal)
        assert {each.outcome for each in outcomes} == {"POSTPONED"}
    else:
        lake.connector.recover_later(lambda _: True)
    deadline = time.monotonic() + 60
    while len(pauses) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    monkeypatch.setattr(type(lake.other), "load_table", load)
    while lake.files("") != files:
        assert time.monotonic() < deadline, lake.files("") - files
        time.sleep(0.02)
    assert lake.rows(table) == before
    assert pauses[:3] == [10.0, 20.0, 40.0]
    lake.connector.close()
    lake.connector = lake.connect()
    assert [each for each in lake.connector.recover() if each.outcome != "ABORTED"] == []


@pytest.mark.slow
@pytest.mark.parametrize("point", ["begin", "tasks", "join", "before-commit", "staged"])
def test_killed_before_the_commit_leaves_the_table_as_it_was(lake: Any, table: str, point: str) -> None:
    before, files = lake.rows(table), lake.files(table)
    kill(lake, point)
    recovered, *_of_its_commit = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == "ABORTED"
    assert lake.files(table) == files
    assert lake.rows(table) == before
    assert recover(lake.connector.tables_of, lake.connector.journal) == []
    assert lake.rewrite(table)["rewritten_rows_count"] == 300
    assert lake.rows(table) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "outcome", "count"), [("staged-delete", "ABORTED", 300), ("named-delete", "COMMITTED", 0)]
)
def test_a_commit_that_is_no_rewrite_leaves_no_metadata_behind(
    lake: Any, table: str, point: str, outcome: str, count: int
) -> None:
    """Killed before the catalog names its metadata file, and right after; a writer's own file is not touched."""
    other = Path(lake.table(table).location().removeprefix("file://")) / "metadata" / "00007-not-ours.metadata.json"
    other.write_text("{}")
    files = lake.files(table)
    kill(lake, point)
    left = lake.files(table) - files
    assert len(left) >= 3
    (recovered,) = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == outcome
    assert lake.files(table) == (files if outcome == "ABORTED" else files | left)
    assert lake.table(table).scan().to_arrow().num_rows == count
    assert recover(lake.connector.tables_of, lake.connector.journal) == []


@pytest.mark.slow
@pytest.mark.parametrize(("point", "outcome"), [("staged-table", "ABORTED"), ("named-table", "COMMITTED")])
def test_a_new_table_that_was_never_named_leaves_nothing(lake: Any, table: str, point: str, outcome: str) -> None:
    """Killed before the catalog names the first metadata file, and right after."""
    files = lake.files("")
    kill(lake, point)
    assert len(lake.files("") - files) == 1
    (recovered,) = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == outcome
    assert len(lake.files("") - files) == (outcome == "COMMITTED")
    assert lake.connector.tables_of.client().table_exists(("db", "fresh")) == (outcome == "COMMITTED")
    assert recover(lake.connector.tables_of, lake.connector.journal) == []
    lake.change(TableCreation("db", "fresh", (NewColumn("id", "bigint"),), {}, if_not_exists=True))
    assert lake.table("fresh").scan().to_arrow().num_rows == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "outcome"),
    [("staged-placed-table", "ABORTED"), ("named-placed-table", "COMMITTED"), ("renamed", "COMMITTED")],
)
def test_of_a_new_table_in_a_folder_of_the_users_exactly_its_file_goes(
    lake: Any, table: str, point: str, outcome: str
) -> None:
    """Whatever else came there meanwhile is not touched; nor is the file of a table that has another name by now."""
    kill(lake, point.replace("renamed", "named-placed-table"))
    (first,) = (lake.home / "chosen").rglob("*.metadata.json")
    other = first.with_name(f"00000-{uuid.uuid4()}.metadata.json")
    other.write_text("{}")
    if point == "renamed":
        lake.other.rename_table("db.fresh", "db.renamed")
    (recovered,) = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == outcome
    assert (first.exists(), other.exists()) == (outcome == "COMMITTED", True)
    assert recover(lake.connector.tables_of, lake.connector.journal) == []
    if outcome == "COMMITTED":
        assert lake.table("fresh" if point != "renamed" else point).scan().to_arrow().num_rows == 0


@pytest.mark.slow
def test_killed_after_the_commit_keeps_it(lake: Any, table: str) -> None:
    before = lake.rows(table)
    kill(lake, "after-commit")
    committed = lake.files(table)
    (recovered,) = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == "COMMITTED"
    assert lake.files(table) == committed
    assert lake.rows(table) == before
    assert len(list(lake.table(table).scan().plan_files())) == 1
    assert lake.orphans(table) == set()


@pytest.mark.slow
@pytest.mark.parametrize("is_taken", [False, True])
def test_a_table_that_was_renamed_after_the_commit_keeps_its_files(lake: Any, table: str, is_taken: bool) -> None:
    """Its name may be another table's by now."""
    before = lake.rows(table)
    kill(lake, "after-commit")
    lake.other.rename_table("db.t", "db.renamed")
    if is_taken:
        lake.create("t", [numbers(1000)])
    committed = lake.files(table)
    (recovered,) = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == "COMMITTED"
    assert lake.files(table) == committed
    assert lake.rows("renamed") == before


@pytest.mark.slow
def test_what_was_not_committed_to_a_renamed_table_goes(lake: Any, table: str) -> None:
    before, files = lake.rows(table), lake.files(table)
    kill(lake, "before-commit")
    lake.other.rename_table("db.t", "db.renamed")
    (recovered,) = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == "ABORTED"
    assert lake.files(table) == files
    assert lake.rows("renamed") == before


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_a_table_that_was_unregistered_after_the_commit_keeps_its_files(lake: Any, table: str, packed: bool) -> None:
    """Also where its metadata file is compressed."""
    before = lake.rows(table)
    kill(lake, "after-commit")
    last = lake.table(table).metadata_location.removeprefix("file://")
    lake.other.drop_table("db.t")
    if packed:
        plain = Path(last)
        last = last.replace(".metadata.json", ".gz.metadata.json")
        Path(last).write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    committed = lake.files(table)
    (recovered,) = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == "COMMITTED"
    assert lake.files(table) == committed
    lake.other.register_table("db.again", f"file://{last}")
    assert lake.rows("again") == before


@pytest.mark.slow
def test_dropped_table_is_swept_too(lake: Any, table: str) -> None:
    files = lake.files(table)
    kill(lake, "before-commit")
    lake.other.drop_table("db.t")
    (recovered,) = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == "ABORTED"
    assert lake.files(table) == files


def test_unknown_outcome_keeps_the_files_and_is_resolved_by_the_snapshot(
    lake: Any, table: str, monkeypatch: Any
) -> None:
    """The swap was made and its answer lost: the call finds its snapshot and succeeds."""
    catalog = type(lake.other)
    commit = catalog.commit_table

    def lost_answer(*args: Any) -> Any:
        commit(*args)
        raise ConnectionError("connection reset by peer")

    before = lake.rows(table)
    monkeypatch.setattr(catalog, "commit_table", lost_answer)
    assert lake.rewrite(table)["added_data_files_count"] == 1
    monkeypatch.undo()
    assert lake.rows(table) == before
    assert lake.orphans(table) == set()


def test_unknown_outcome_without_a_snapshot_is_left_to_recovery(lake: Any, table: str, monkeypatch: Any) -> None:
    from coordinator.connectors.iceberg.rewrite.committing import commit

    def no_answer(*_args: Any) -> Any:
        raise ConnectionError("connection reset by peer")

    monkeypatch.setattr(type(lake.other), "commit_table", no_answer)
    monkeypatch.setattr(commit, "_LOOK_AGAIN_SECONDS", (0.0,))
    files = lake.files(table)
    with pytest.raises(ProcessionError, match="unknown whether the commit landed") as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.PROCEDURE_CALL_FAILED
    assert lake.files(table) > files, "files that a late commit may need are kept"
    monkeypatch.undo()
    (recovered,) = recover(lake.connector.tables_of, lake.connector.journal)
    assert recovered.outcome == "ABORTED"
    assert lake.files(table) == files


@pytest.mark.parametrize("lands", [False, True])
def test_an_unknown_outcome_is_settled_once_the_catalog_answers(
    lake: Any, table: str, monkeypatch: pytest.MonkeyPatch, lands: bool
) -> None:
    """No restart is needed. Had it not arrived, it is refused from then on, as its base is an old version."""
    from coordinator.connectors.iceberg.rewrite.committing import commit, unknown_outcomes

    catalog, files, before = type(lake.other), lake.files(table), lake.rows(table)
    base, answers = lake.table(table).metadata_location, list[bool]()
    commit_table, load_table = catalog.commit_table, catalog.load_table

    def away(*_args: Any, **_named: Any) -> Any:
        raise ConnectionError("connection reset by peer")

    def no_answer(*args: Any) -> Any:
        if answers:  # the connector's own catalog has kept this function
            return commit_table(*args)
        answers.append(True)
        if lands:
            commit_table(*args)
        monkeypatch.setattr(catalog, "load_table", away)
        return away()

    monkeypatch.setattr(catalog, "commit_table", no_answer)
    monkeypatch.setattr(commit, "_LOOK_AGAIN_SECONDS", (0.0,))
    monkeypatch.setattr(unknown_outcomes, "_PAUSE_SECONDS", 0.3)
    with pytest.raises(ProcessionError, match="unknown whether the commit landed"):
        lake.rewrite(table)
    assert lake.files(table) > files
    time.sleep(0.5)
    (call_id,) = [entry.call_id for entry in lake.connector.journal.open_entries("lab")]  # nobody can tell yet
    monkeypatch.setattr(catalog, "load_table", load_table)
    deadline = time.monotonic() + 60
    while lake.connector.journal.open_entries("lab") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert lake.connector.journal.open_entries("lab") == []
    assert lake.rows(table) == before
    assert {file for file in lake.orphans(table) if call_id in file} == set()
    assert lake.table(table).metadata_location != base
    assert len(list(lake.table(table).scan().plan_files())) == (1 if lands else 6)


def test_failed_task_leaves_nothing(lake: Any, table: str) -> None:
    def fail(_kernel: str, number: int) -> None:
        if number == 0:
            raise ProcessionError(ErrorCode.REMOTE_HOST_GONE, "executor lost")

    lake.workers.parallelism = 4
    lake.workers.before = fail
    files = lake.files(table)
    with pytest.raises(ProcessionError, match="executor lost"):
        lake.rewrite(table)
    assert lake.files(table) == files


def test_worker_that_outlives_its_cancelled_call_leaves_nothing(lake: Any, table: str, monkeypatch: Any) -> None:
    """A killed task may still write after the call was undone: it is swept a second time."""
    from coordinator.connectors.iceberg.rewrite.committing import one_rewrite

    late: list[Path] = []

    def fail(_kernel: str, _number: int) -> None:
        (entry,) = lake.connector.journal.open_entries("lab")
        late.append(lake.home / "wh/db/t/data" / f"00000-0-{entry.call_id}-abcd.parquet")
        raise ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled")

    monkeypatch.setattr(one_rewrite, "_WORKERS_GONE_SECONDS", 0.3)
    lake.workers.before = fail
    with pytest.raises(ProcessionError, match="Query was canceled"):
        lake.rewrite(table)
    late[0].write_bytes(b"late")
    deadline = time.monotonic() + 60
    while lake.connector.journal.open_entries("lab") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not late[0].exists()
    assert lake.connector.journal.open_entries("lab") == []


def test_what_lost_attempts_of_a_rewrite_that_lands_wrote_is_removed(lake: Any, table: str, monkeypatch: Any) -> None:
    """An executor is lost with a file half written: its task runs elsewhere, and it may write on for a moment."""
    from coordinator.connectors.iceberg.rewrite.committing import one_rewrite

    before, lost = lake.rows(table), []

    def lose(_kernel: str, _number: int) -> None:
        (entry,) = lake.connector.journal.open_entries("lab")
        data = lake.home / "wh/db/t/data"
        lost.extend(data / f"00000-0-{entry.call_id}-{when}.parquet" for when in ("half", "late"))
        lost[0].write_bytes(b"half")
        lake.workers.attempts_lost = True

    monkeypatch.setattr(one_rewrite, "_WORKERS_GONE_SECONDS", 0.3)
    lake.workers.before = lose
    assert lake.rewrite(table)["rewritten_rows_count"] == 300
    assert not lost[0].exists()
    lost[1].write_bytes(b"late")
    deadline = time.monotonic() + 60
    while lake.connector.journal.open_entries("lab") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not lost[1].exists()
    assert lake.connector.journal.open_entries("lab") == []
    assert lake.rows(table) == before
    assert lake.orphans(table) == set()


def test_missing_file_is_named_and_nothing_is_written(lake: Any, table: str) -> None:
    victim = sorted((lake.home / "wh/db/t/data").glob("*.parquet"))[3]
    victim.unlink()
    files = lake.files(table)
    with pytest.raises(ProcessionError, match=victim.name) as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.ICEBERG_MISSING_DATA
    assert lake.files(table) == files


def test_damaged_file_is_named(lake: Any, table: str) -> None:
    victim = sorted((lake.home / "wh/db/t/data").glob("*.parquet"))[3]
    victim.write_bytes(b"not parquet at all")
    with pytest.raises(ProcessionError, match=victim.name) as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.ICEBERG_BAD_DATA


def test_full_disk_is_named_and_nothing_is_written(lake: Any, table: str, monkeypatch: Any) -> None:
    from coordinator.kernels import rewrite

    class FullDisk:
        def __init__(self, sink: Any) -> None:
            self.sink = sink

        def __getattr__(self, name: str) -> Any:
            return getattr(self.sink, name)

        def write(self, _data: Any) -> int:
            raise OSError(28, "No space left on device")

    open_output = rewrite.open_output

    def on_full_disk(*args: Any) -> Any:
        location, sink = open_output(*args)
        return location, FullDisk(sink)

    monkeypatch.setattr(rewrite, "open_output", on_full_disk)
    files = lake.files(table)
    with pytest.raises(ProcessionError, match="No space left on the executor") as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.GENERIC_INSUFFICIENT_RESOURCES
    assert lake.files(table) == files

"""What failed writes left: exactly the files that hold their id and that no snapshot names."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import UNFINISHED
from coordinator.connectors.iceberg.tables.late_writes import LateWrites
from coordinator.connectors.iceberg.tables.open_writes import OpenWrite, OpenWrites, open_write
from coordinator.connectors.iceberg.tables.vanished import watch_vanished
from coordinator.connectors.iceberg.tables.work_records import WorkPlace
from coordinator.connectors.iceberg.tables.write_leftovers import remove_leftovers
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import TableRemoval

ROWS = pa.table({"a": pa.array([1, 2, 3], pa.int64())})
_DRAWN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Broken(Exception):
    """The engine's failure."""


@pytest.fixture
def table(lake: Any) -> Table:
    return lake.create("t", [ROWS])  # type: ignore[no-any-return]


@pytest.fixture
def records(tmp_path: Path) -> OpenWrites:
    return OpenWrites(WorkPlace("iceberg", tmp_path / "writes.db"))


def folder(table: Table) -> Path:
    return Path(table.location().removeprefix("file://"))


def files(table: Table) -> set[Path]:
    return {file for file in folder(table).rglob("*") if file.is_file()}


def left(table: Table, write_id: str, where: str = "data", suffix: str = "-00001.parquet") -> set[Path]:
    """A file as a finished task of Spark leaves it, and Hadoop's checksum beside it."""
    file = folder(table) / where / f"00003-12-{write_id}{suffix}"
    file.parent.mkdir(parents=True, exist_ok=True)
    for each in (found := {file, file.with_name(f".{file.name}.crc")}):
        each.write_bytes(b"rows")
    return found


def committed(table: Table, branch: str = "main") -> tuple[OpenWrite, set[Path]]:
    """A write that landed: its record, as if its files had been named by Spark, and all its files."""
    table.refresh()
    before, record = files(table), open_write("", "db", table)
    table.append(ROWS, branch=branch)
    new = files(table) - before
    (data,) = (file for file in new if file.parent.name == "data")
    drawn = _DRAWN.search(data.name)
    assert drawn is not None
    return OpenWrite(drawn[0], "db", "t", record.table_uuid, record.directories, record.sequence_number), new


def watching(
    lake: Any, records: OpenWrites, quiet: float, find: Callable[[str, str], Table] | None = None
) -> LateWrites:
    catalog = lake.connector.tables_of
    catalog.late_writes = LateWrites(records, quiet, find or catalog.open, catalog.file_io, UNFINISHED)
    watch_vanished(catalog)
    return catalog.late_writes  # type: ignore[no-any-return]


def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def test_files_of_the_write_go_and_those_of_others_stay(table: Table) -> None:
    own, other = str(uuid4()), str(uuid4())
    before = files(table)
    alive = left(table, other) | left(table, other, "metadata", "-m0.avro")
    left(table, own)
    left(table, own, "data/p=1", "-00001-deletes.puffin")
    left(table, own, "metadata", "-m0.avro")
    assert remove_leftovers(table, [open_write(own, "db", table)]) == 6
    assert files(table) == before | alive


def staged(table: Table, name: str, write_id: str, base: str) -> Path:
    """A metadata file as a commit writes it before the catalog names it, with a snapshot of the write."""
    raw = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    listed = f"{table.location()}/metadata/snap-77-1-{write_id}.avro"
    raw["snapshots"].append({**raw["snapshots"][-1], "snapshot-id": 77, "manifest-list": listed})
    raw["metadata-log"] = [*raw.get("metadata-log", []), {"metadata-file": base, "timestamp-ms": 1}]
    file = folder(table) / "metadata" / name
    file.write_text(json.dumps(raw))
    return file


def test_metadata_of_a_commit_that_was_killed_go_and_those_of_others_stay(table: Table) -> None:
    write, other = open_write(str(uuid4()), "db", table), str(uuid4())
    before = files(table)
    staged(table, f"00002-{uuid4()}.metadata.json", write.id, table.metadata_location)
    left(table, write.id, "metadata", "-m0.avro")
    of_others = staged(table, f"00002-{uuid4()}.metadata.json", other, table.metadata_location)
    unsure = staged(table, f"00002-{uuid4()}.metadata.json", write.id, "file:/elsewhere/00001-x.metadata.json")
    broken = folder(table) / "metadata" / f"00002-{uuid4()}.metadata.json"
    broken.write_text(f"{write.id} {{")
    assert remove_leftovers(table, [write]) == 3
    assert files(table) == before | {of_others, unsure, broken}


def test_metadata_with_the_snapshot_of_a_write_that_landed_stay(table: Table) -> None:
    write, _ = committed(table)
    table.refresh()
    named = next(snapshot.manifest_list for snapshot in table.metadata.snapshots if write.id in snapshot.manifest_list)
    assert named
    in_flight = staged(table, f"00003-{uuid4()}.metadata.json", write.id, table.metadata_location)
    remove_leftovers(table, [write])
    assert in_flight.exists()


@pytest.mark.parametrize("branch", ["main", "side"])
def test_what_a_snapshot_names_stays(table: Table, branch: str) -> None:
    if branch != "main":
        table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, branch).commit()  # type: ignore[union-attr]
    write, landed = committed(table, branch)
    stray = left(table, write.id)
    table.refresh()
    before = files(table)
    assert remove_leftovers(table, [write]) == 2
    assert files(table) == before - stray
    assert landed <= files(table)


def test_what_later_snapshots_carry_stays_once_its_own_is_gone(lake: Any, table: Table) -> None:
    """Recovery may come long after the commit; by then another write may have taken its manifests up."""
    write, landed = committed(table)
    table.append(ROWS)
    lake.other.load_table("db.t").maintenance.expire_snapshots().by_ids(
        [s.snapshot_id for s in table.refresh().metadata.snapshots[:-1]]
    ).commit()
    table.refresh()
    assert len(table.metadata.snapshots) == 1
    rows = table.scan().to_arrow().num_rows
    remove_leftovers(table, [write])
    assert {file for file in landed if file.parent.name == "data"} <= files(table)
    assert lake.other.load_table("db.t").scan().to_arrow().num_rows == rows


def test_a_failed_write_leaves_nothing_also_of_what_comes_later(table: Table, lake: Any, records: OpenWrites) -> None:
    write_id, before = str(uuid4()), files(table)
    may_end: list[bool] = []
    late = watching(lake, records, 2.0)
    with (
        pytest.raises(Broken),
        late.recorded(open_write(write_id, "db", table), lambda: bool(may_end)),
    ):
        assert [write.id for write in records.open_entries()] == [write_id]
        left(table, write_id)
        raise Broken
    time.sleep(0.3)
    # It might still commit.
    assert len(files(table)) == len(before) + 2
    may_end.append(True)
    eventually(lambda: files(table) == before)
    left(table, write_id, suffix="-00002.parquet")
    eventually(lambda: files(table) == before)
    eventually(lambda: records.open_entries() == [])


def test_a_write_that_landed_is_not_recorded_any_more(table: Table, lake: Any, records: OpenWrites) -> None:
    late = watching(lake, records, 2.0)
    with late.recorded(open_write(str(uuid4()), "db", table), lambda: True):
        assert len(records.open_entries()) == 1
    assert records.open_entries() == []


def test_the_next_start_removes_what_a_death_left(table: Table, lake: Any, records: OpenWrites) -> None:
    write_id, before = str(uuid4()), files(table)
    records.begin(open_write(write_id, "db", table))
    left(table, write_id)
    late = watching(lake, records, 1.0)
    assert [write.id for write in late.recover(after_seconds=0.2)] == [write_id]
    assert late.recover() == []
    eventually(lambda: files(table) == before)
    eventually(lambda: records.open_entries() == [])


def test_a_catalog_that_is_away_is_asked_again(table: Table, lake: Any, records: OpenWrites) -> None:
    write_id, before = str(uuid4()), files(table)
    answers: Iterator[Exception | None] = iter([ProcessionError(ErrorCode.ICEBERG_COMMIT_ERROR, "away"), OSError()])

    def find(schema: str, name: str) -> Table:
        problem = next(answers, None)
        if problem is not None:
            raise problem
        return lake.connector.tables_of.open(schema, name)  # type: ignore[no-any-return]

    records.begin(open_write(write_id, "db", table))
    left(table, write_id)
    late = watching(lake, records, 1.0, find)
    late.recover(after_seconds=0)
    eventually(lambda: files(table) == before)
    eventually(lambda: records.open_entries() == [])


def test_files_of_a_table_that_was_dropped_meanwhile_go(table: Table, lake: Any, records: OpenWrites) -> None:
    """Another table of that name is another one, and what others keep in the folder stays."""
    write, of_others = open_write(str(uuid4()), "db", table), folder(table) / "data" / f"00001-{uuid4()}.parquet"
    lake.change(TableRemoval("db", "t"))
    left(table, write.id)
    left(table, write.id, "metadata", "-m0.avro")
    of_others.write_bytes(b"rows")
    anew = lake.create("t", [ROWS], location=f"file://{lake.home}/wh/db/t-{uuid4().hex}")
    records.begin(write)
    watching(lake, records, 0.2).recover(after_seconds=0)
    eventually(lambda: records.open_entries() == [])
    assert files(table) == {of_others}
    assert anew.scan().to_arrow() == ROWS


def test_files_in_the_folder_of_another_table_stay(table: Table, lake: Any, records: OpenWrites) -> None:
    write = open_write(str(uuid4()), "db", table)
    lake.change(TableRemoval("db", "t"))
    found = left(table, write.id)
    lake.create("t", [ROWS], location=table.location())
    records.begin(write)
    watching(lake, records, 0.2).recover(after_seconds=0)
    eventually(lambda: records.open_entries() == [])
    assert found <= files(table)


def test_a_commit_that_died_with_its_table_goes_too(table: Table, lake: Any, records: OpenWrites) -> None:
    """Its metadata file is there, and the one that it was made of is not."""
    write, base = open_write(str(uuid4()), "db", table), Path(table.metadata_location.removeprefix("file://"))
    raw = json.loads(base.read_text())
    named = {**raw["snapshots"][0], "manifest-list": f"{table.location()}/metadata/snap-1-1-{write.id}.avro"}
    raw |= {"snapshots": [named], "metadata-log": [{"timestamp-ms": 1, "metadata-file": f"file://{base}"}]}
    (base.parent / "00002-x.metadata.json").write_text(json.dumps(raw))
    left(table, write.id)
    lake.change(TableRemoval("db", "t"))
    assert files(table)
    records.begin(write)
    watching(lake, records, 0.2).recover(after_seconds=0)
    eventually(lambda: records.open_entries() == [])
    assert files(table) == set()


def test_files_in_a_table_that_was_only_unregistered_stay(
    table: Table, lake: Any, records: OpenWrites, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be a table of another catalog, in which the write landed."""
    write = open_write(str(uuid4()), "db", table)
    found = left(table, write.id)
    lake.other.drop_table("db.t")
    records.begin(write)
    watching(lake, records, 0.2).recover(after_seconds=0)
    eventually(lambda: records.open_entries() == [])
    assert found <= files(table)
    assert caplog.text.count("its metadata may be in use elsewhere") == 1


def test_files_of_a_table_that_was_renamed_meanwhile_go(table: Table, lake: Any, records: OpenWrites) -> None:
    landed, kept = committed(table)
    write = open_write(str(uuid4()), "db", table)
    before = files(table)
    left(table, write.id)
    lake.other.create_namespace("moved")
    lake.other.rename_table("db.t", "moved.u")
    for each in (landed, write):
        records.begin(each)
    watching(lake, records, 0.2).recover(after_seconds=0)
    eventually(lambda: records.open_entries() == [])
    assert files(table) == before >= kept


def test_files_of_a_table_that_never_appeared_go_from_a_folder_that_others_share(
    lake: Any, records: OpenWrites, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    hidden = lake.create(f"{UNFINISHED}x", [ROWS], properties={"write.data.path": f"file://{shared}"})
    write = open_write(str(uuid4()), "db", hidden)
    of_others = set(shared.iterdir())
    (shared / f"00000-1-{write.id}-00001.parquet").write_bytes(b"rows")
    lake.other.drop_table(f"db.{UNFINISHED}x")
    records.begin(write)
    watching(lake, records, 0.2).recover(after_seconds=0)
    eventually(lambda: records.open_entries() == [])
    assert set(shared.iterdir()) == of_others


def test_folders_of_the_table_are_those_that_it_names(lake: Any, tmp_path: Path) -> None:
    table = lake.create("elsewhere", [ROWS], properties={"write.data.path": f"file://{tmp_path}/rows"})
    found = open_write("id", "db", table).directories
    assert set(found) == {f"{table.location()}/data", f"{table.location()}/metadata", f"file://{tmp_path}/rows"}

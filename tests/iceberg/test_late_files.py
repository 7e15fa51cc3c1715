"""Files that come after their table was taken away: removed, their writer ended, the record open until all is quiet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.io import load_file_io

from coordinator.connectors.iceberg.tables.late_files import LateFiles, bar_folder
from coordinator.connectors.iceberg.tables.unfinished import UnfinishedTable, UnfinishedTables
from coordinator.connectors.iceberg.tables.work_records import WorkPlace

FOLDER = f"filled-{'0' * 32}"


@pytest.fixture
def records(tmp_path: Path) -> UnfinishedTables:
    records = UnfinishedTables(WorkPlace("iceberg", tmp_path / "journal.db"))
    records.begin(UnfinishedTable("db", "hidden", "filled", f"file://{tmp_path / FOLDER}"))
    return records


def eventually(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def write(folder: Path, number: int) -> None:
    """As Hadoop does: the folders above are made when they are not there."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "data" / f"{number}.parquet").write_bytes(b"rows")


def test_a_writer_that_goes_on_is_ended_and_nothing_of_it_stays(tmp_path: Path, records: UnfinishedTables) -> None:
    folder, ended = tmp_path / FOLDER, []

    def go_on() -> None:
        try:
            for number in range(100_000):
                write(folder, number)
                time.sleep(0.005)
        except OSError as error:
            ended.append(error)

    write(folder, 0)
    writer = threading.Thread(target=go_on, daemon=True)
    writer.start()
    late = LateFiles(records, quiet_seconds=1)
    late.remove(load_file_io({}), "db", "hidden", f"file://{folder}")
    writer.join(timeout=60)
    assert ended, "the writer still writes"
    eventually(lambda: records.open_entries() == [])
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("filled")] == []


def test_the_record_stays_open_while_more_may_come(tmp_path: Path, records: UnfinishedTables) -> None:
    folder = tmp_path / FOLDER
    write(folder, 0)
    late = LateFiles(records, quiet_seconds=3)
    assert late.remove(load_file_io({}), "db", "hidden", f"file://{folder}") == 1
    assert late.watches("db", "hidden")
    assert len(records.open_entries()) == 1
    eventually(lambda: records.open_entries() == [])
    assert not late.watches("db", "hidden")


def test_what_cannot_be_removed_now_is_tried_again(records: UnfinishedTables) -> None:
    answers = iter([False, True])
    asked = []

    def attempt() -> bool:
        asked.append(next(answers))
        return asked[-1]

    LateFiles(records, quiet_seconds=1).again(attempt)
    eventually(lambda: asked == [False, True])


def test_a_barrier_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    write(folder, 0)
    assert bar_folder(folder)
    with pytest.raises(OSError, match=r"File exists|Not a directory"):
        write(folder, 1)
    assert list(tmp_path.iterdir()) == [folder]

"""Tables that were being filled when their coordinator died: gone after recovery, with every file; others stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.catalog import UNFINISHED
from coordinator.connectors.iceberg.rewrite.committing.recovery import recover
from coordinator.connectors.iceberg.tables import dropping
from coordinator.connectors.iceberg.tables.creation import create, new_table
from coordinator.connectors.iceberg.tables.hidden_tables import appear
from shared.spi.catalog_changes import NewColumn, TableCreation

HIDDEN = f"{UNFINISHED}20260101_000000_00001_dead"
ROWS = pa.table({"a": pa.array([1, 2], pa.int64())})


def begin(lake: Any, shown: str = "t") -> Path:
    """What a CTAS makes first; its folder."""
    creation = TableCreation("db", shown, (NewColumn("a", "bigint"),), {})
    create(lake.connector.tables_of, new_table(creation), "db", HIDDEN, shown)
    return Path(lake.other.load_table(f"db.{HIDDEN}").location().removeprefix("file://"))


def reborn(lake: Any) -> list[str]:
    """Outcomes of the recovery that a new coordinator makes."""
    lake.connector = lake.connect()
    found = recover(lake.connector.tables_of, lake.connector.journal)
    assert recover(lake.connector.tables_of, lake.connector.journal) == []
    return [each.outcome for each in found]


def files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def test_a_half_filled_table_goes_with_files_that_no_metadata_knows(lake: Any) -> None:
    folder = begin(lake)
    lake.other.load_table(f"db.{HIDDEN}").append(ROWS)
    (folder / "data" / "00000-7-of-a-killed-task.parquet").write_bytes(b"half a file")
    assert lake.connector.tables("db") == []
    assert reborn(lake) == ["ABORTED"]
    assert lake.other.list_tables("db") == []
    assert files(folder) == []


def test_death_between_the_metadata_file_and_the_catalog(lake: Any) -> None:
    folder = begin(lake)
    # As if the row had never been inserted.
    lake.other.drop_table(f"db.{HIDDEN}")
    assert len(files(folder)) == 1
    assert reborn(lake) == ["ABORTED"]
    assert files(folder) == []


@pytest.mark.parametrize("renamed_again", [False, True])
def test_death_after_the_name_was_given(lake: Any, renamed_again: bool) -> None:
    folder = begin(lake)
    lake.other.load_table(f"db.{HIDDEN}").append(ROWS)
    lake.other.rename_table(f"db.{HIDDEN}", "db.t")
    if renamed_again:
        lake.other.rename_table("db.t", "db.moved")
    kept = files(folder)
    assert reborn(lake) == ["ABORTED" if renamed_again else "COMMITTED"]
    assert files(folder) == kept
    assert lake.other.load_table("db.moved" if renamed_again else "db.t").scan().to_arrow() == ROWS


def test_a_table_that_gets_its_name_while_it_is_taken_away_stays(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begin(lake)
    lake.other.load_table(f"db.{HIDDEN}").append(ROWS)
    kept, purge = files(folder), dropping.purge

    def named_before(*arguments: Any) -> None:
        lake.other.rename_table(f"db.{HIDDEN}", "db.t")
        purge(*arguments)

    monkeypatch.setattr(dropping, "purge", named_before)
    lake.connector = lake.connect()
    outcomes = [recover(lake.connector.tables_of, lake.connector.journal) for _round in range(3)]
    assert [[each.outcome for each in found] for found in outcomes] == [["POSTPONED"], ["COMMITTED"], []]
    assert files(folder) == kept
    assert lake.other.load_table("db.t").scan().to_arrow() == ROWS


def test_nothing_is_recorded_of_a_table_that_appeared(lake: Any) -> None:
    begin(lake)
    appear(lake.connector.tables_of, "db", HIDDEN, "t")
    assert reborn(lake) == []
    assert lake.connector.tables("db") == ["t"]


def test_a_table_of_another_coordinator_is_left_alone(lake: Any) -> None:
    other = f"{UNFINISHED}20260101_000000_00002_alive"
    lake.other.create_table(f"db.{other}", schema=ROWS.schema)
    begin(lake)
    assert reborn(lake) == ["ABORTED"]
    assert lake.other.list_tables("db") == [("db", other)]

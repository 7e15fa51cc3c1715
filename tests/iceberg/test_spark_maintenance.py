"""Procedures that delete and join files: what is gone is what nobody needed; DuckDB reads the same rows as before."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.properties import spark_properties
from shared.errors import ErrorCode, ProcessionError
from tests.iceberg.test_spark_catalogue import Both

NAME = "maintained"
pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def lake(spark_engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    # A session keeps its catalogs by name.
    lake = Both(tmp_path_factory.mktemp("maintained"), spark_engine, NAME)
    for name, value in spark_properties(lake.connector.settings).items():
        spark_engine.connect().session.conf.set(name, value)
    yield lake


def make(lake: Both, name: str, more: str = "") -> None:
    lake.sql(
        f"CREATE TABLE {NAME}.db.{name} (id bigint, v string) USING iceberg "
        f"TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read'{more})"
    )
    for number in range(4):
        lake.sql(f"INSERT INTO {NAME}.db.{name} SELECT id, 'v' || id FROM range({number * 10}, {number * 10 + 10})")


def files(lake: Both, name: str) -> set[Path]:
    folder = lake.home / "wh" / "db" / name
    return {file for file in folder.rglob("*") if file.is_file() and not file.name.startswith(".")}


def rows(lake: Both, name: str) -> list[Any]:
    """By DuckDB on the data files of the current snapshot; for tables without deletes."""
    paths = [task.file.file_path.removeprefix("file://") for task in lake.table(name).scan().plan_files()]
    return duckdb.sql(f"SELECT * FROM read_parquet({paths!r}) ORDER BY ALL").fetchall()


def test_expired_snapshots_and_only_their_files_go(lake: Both) -> None:
    make(lake, "e")
    lake.sql(f"INSERT OVERWRITE {NAME}.db.e SELECT id, 'new' FROM range(5)")
    before, kept = files(lake, "e"), rows(lake, "e")
    lake.twin("e")
    now = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=1)
    (row,) = lake.ours("expire_snapshots", "e", older_than=now, retain_last=1)
    assert row["deleted_data_files_count"] >= 4
    assert row["deleted_manifest_lists_count"] == 4
    gone = before - files(lake, "e")
    assert sum(file.suffix == ".parquet" for file in gone) == row["deleted_data_files_count"]
    assert len(lake.table("e").snapshots()) == 1
    assert rows(lake, "e") == kept


def test_a_wrong_count_is_refused_before_spark(lake: Both) -> None:
    with pytest.raises(ProcessionError, match="must be at least 1") as caught:
        lake.ours("expire_snapshots", "e", retain_last=0)
    assert caught.value.code is ErrorCode.INVALID_PROCEDURE_ARGUMENT


def test_orphans_are_listed_first_and_deleted_when_an_age_is_given(lake: Both) -> None:
    make(lake, "o")
    orphan = lake.home / "wh" / "db" / "o" / "data" / "orphan.parquet"
    pq.write_table(pa.table({"id": [1]}), orphan)
    young = orphan.with_name("young.parquet")
    pq.write_table(pa.table({"id": [1]}), young)
    old = time.time() - 10 * 86400
    os.utime(orphan, (old, old))
    needed = files(lake, "o") - {orphan, young}
    assert [r["orphan_file_location"].rpartition("/")[2] for r in lake.ours("remove_orphan_files", "o")] == [
        orphan.name
    ]
    assert orphan.exists()
    age = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=5)
    (row,) = lake.ours("remove_orphan_files", "o", older_than=age)
    assert row["orphan_file_location"].endswith(orphan.name)
    assert not orphan.exists()
    assert young.exists()
    assert needed <= files(lake, "o")
    with pytest.raises(ProcessionError, match="Invalid mode"):
        lake.ours("remove_orphan_files", "o", prefix_mismatch_mode="MAYBE")
    with pytest.raises(ProcessionError, match="24 hours"):
        lake.ours("remove_orphan_files", "o", older_than=datetime.now(UTC).replace(tzinfo=None))


def test_manifests_are_joined(lake: Both) -> None:
    make(lake, "m")
    kept = rows(lake, "m")
    assert lake.ours("rewrite_manifests", "m") == [{"rewritten_manifests_count": 4, "added_manifests_count": 1}]
    assert len(lake.table("m").current_snapshot().manifests(lake.table("m").io)) == 1
    assert rows(lake, "m") == kept
    assert lake.ours("rewrite_manifests", "m") == [{"rewritten_manifests_count": 0, "added_manifests_count": 0}]
    with pytest.raises(ProcessionError, match="Cannot find spec with id: 7"):
        lake.ours("rewrite_manifests", "m", spec_id=7)


def test_delete_files_are_joined_and_dangling_ones_taken_out(lake: Both) -> None:
    make(lake, "d", ", 'write.delete.granularity'='partition'")
    for number in (1, 11, 21):
        lake.sql(f"DELETE FROM {NAME}.db.d WHERE id = {number}")
    wanted = lake.sql(f"SELECT * FROM {NAME}.db.d ORDER BY id")
    (row,) = lake.ours("rewrite_position_delete_files", "d", options={"rewrite-all": "true"})
    assert (row["rewritten_delete_files_count"], row["added_delete_files_count"]) == (3, 1)
    assert lake.sql(f"SELECT * FROM {NAME}.db.d ORDER BY id") == wanted
    assert lake.ours("remove_dangling_deletes", "d") == [{"removed_delete_files_count": 0}]
    assert lake.sql(f"SELECT * FROM {NAME}.db.d ORDER BY id") == wanted


def test_files_of_a_folder_become_part_of_the_table(lake: Both) -> None:
    make(lake, "a")
    folder = lake.home / "incoming"
    folder.mkdir()
    pq.write_table(pa.table({"id": [100, 101], "v": ["x", "y"]}), folder / "one.parquet")
    (row,) = lake.ours("add_files", "a", source_table=f"`parquet`.`{folder}`")
    assert row["added_files_count"] == 1
    assert lake.sql(f"SELECT count(*) AS n, max(id) AS m FROM {NAME}.db.a") == [{"n": 42, "m": 101}]
    with pytest.raises(ProcessionError):
        lake.ours("add_files", "a", source_table=f"`parquet`.`{folder}`")


def test_paths_are_rewritten_for_a_copy_elsewhere(lake: Both) -> None:
    data = pa.table({"id": [1, 2]})
    # Made by PyIceberg, whose paths all begin as the location does; Spark writes file:/ for some of them.
    table = lake.other.create_table("db.p", schema=data.schema)
    table.append(data)
    location = table.location()
    (row,) = lake.ours("rewrite_table_path", "p", source_prefix=location, target_prefix="file:///elsewhere/p")
    assert row["latest_version"].endswith(".metadata.json")
    assert (row["rewritten_manifest_file_paths_count"], row["rewritten_delete_file_paths_count"]) == (1, 0)
    assert row["file_list_location"]

"""Procedures that only look: against PyIceberg's metadata tables, DuckDB's arithmetic, and the file system."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from shared.errors import ErrorCode, ProcessionError

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "p", StringType()))
SPEC = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"))


def rows(start: int, partition: str, count: int = 10) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64()), "p": [partition] * count})


@pytest.fixture
def table(lake: Any, foreign: Any) -> Any:
    """Appends, a copy-on-write delete, an overwrite and position deletes, over two partitions."""
    made = lake.other.create_table("db.t", schema=SCHEMA, partition_spec=SPEC)
    made.append(rows(0, "a"))
    made.append(pa.concat_tables([rows(10, "a", 50), rows(60, "b", 3)]))
    made.delete("id = 12")
    made.overwrite(rows(100, "b", 7), overwrite_filter="p = 'b'")
    path = next(task.file.file_path for task in made.scan("id = 3").plan_files())
    foreign.delete_positions(lake.table("t"), {path: [0, 1]}, partition=Record("a"))
    return lake.table("t")


def call(lake: Any, procedure: str, **given: Any) -> list[dict[str, Any]]:
    columns = [c.name for c in lake.procedure(procedure).declaration.output]
    result = lake.call(procedure, schema="db", table_name="t", **given)
    return [dict(zip(columns, row, strict=True)) for row in result.rows]


def test_show_snapshots(lake: Any, table: Any) -> None:
    expected = table.inspect.snapshots().to_pylist()
    found = call(lake, "show_snapshots")
    assert [r["snapshot_id"] for r in reversed(found)] == [r["snapshot_id"] for r in expected]
    for row, snapshot in zip(reversed(found), expected, strict=True):
        summary = dict(snapshot["summary"])
        assert row["committed_at"].timestamp() == pytest.approx(snapshot["committed_at"].timestamp(), abs=14 * 3600)
        assert (row["parent_id"], row["operation"]) == (snapshot["parent_id"], snapshot["operation"])
        for column in ("added_data_files", "deleted_data_files", "added_records", "deleted_records", "total_records",
                       "total_data_files", "added_files_size", "removed_files_size"):  # fmt: skip
            assert row[column] == int(summary.get(column.replace("_", "-"), 0)), column
    assert found[0]["refs"] == ["main"]
    assert all(row["is_current_ancestor"] for row in found)
    assert [r["snapshot_id"] for r in call(lake, "show_snapshots", limit=2)] == [r["snapshot_id"] for r in found[:2]]
    assert call(lake, "show_snapshots", ref="main") == found
    with pytest.raises(ProcessionError, match="Ref does not exist: nope"):
        call(lake, "show_snapshots", ref="nope")
    with pytest.raises(ProcessionError, match="limit must be at least 1, got: 0"):
        call(lake, "show_snapshots", limit=0)


def test_files_of_a_snapshot_are_its_manifest_entries(lake: Any, table: Any) -> None:
    for snapshot in table.snapshots():
        found = call(lake, "show_snapshot_files", snapshot_id=snapshot.snapshot_id)
        expected = set()
        for manifest in snapshot.manifests(table.io):
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
                if entry.snapshot_id == snapshot.snapshot_id and entry.status != 0:
                    status = "ADDED" if entry.status == 1 else "DELETED"
                    expected.add((status, entry.data_file.file_path, entry.data_file.record_count))
        assert {(r["status"], r["file_path"], r["record_count"]) for r in found} == expected
        assert {r["partition"] for r in found} <= {"p=a", "p=b"}
        if snapshot == table.snapshots()[-1]:
            continue  # its writer counts nothing
        counts = snapshot.summary.additional_properties
        parts = call(lake, "show_snapshot_partitions", snapshot_id=snapshot.snapshot_id)
        for column, name in (("added_data_files", "added-data-files"), ("deleted_data_files", "deleted-data-files"),
                             ("added_records", "added-records"), ("deleted_records", "deleted-records")):  # fmt: skip
            assert sum(part[column] for part in parts) == int(counts.get(name, 0)), name
        (stats,) = call(lake, "show_snapshot_stats", snapshot_id=snapshot.snapshot_id)
        assert stats["total_records_written"] == int(counts.get("added-records", 0))
        assert stats["total_bytes_written"] == int(counts.get("added-files-size", 0))
    with pytest.raises(ProcessionError, match="Snapshot not found: 5"):
        call(lake, "show_snapshot_files", snapshot_id=5)


def test_show_commits_metadata_has_a_row_a_file(lake: Any, table: Any) -> None:
    found = call(lake, "show_commits_metadata", limit=100)
    files = sum(len(call(lake, "show_snapshot_files", snapshot_id=s.snapshot_id)) for s in table.snapshots())
    assert len(found) == files
    assert [r["commit_time"] for r in found] == sorted((r["commit_time"] for r in found), reverse=True)
    assert all(len(r["commit_time"]) == 17 for r in found)
    assert sum(r["num_inserts"] for r in found if r["action"] == "append") == 70
    oldest = found[-1]
    assert (oldest["action"], oldest["partition"], oldest["previous_commit"]) == ("append", "p=a", None)
    assert (oldest["num_writes"], oldest["num_inserts"], oldest["num_deletes"]) == (10, 10, 0)
    deletes = found[0]
    assert (deletes["num_deletes"], deletes["num_writes"]) == (2, 0)
    assert len(call(lake, "show_commits_metadata", limit=3)) == 3


def test_file_sizes_as_duckdb_counts_them(lake: Any, table: Any) -> None:
    files = [(t.file.partition[0], t.file.file_size_in_bytes) for t in table.scan().plan_files()]
    found = {r["partition"]: r for r in call(lake, "file_size_stats")}
    assert list(found) == ["p=a", "p=b", "ALL"]
    for name, chosen in (("p=a", "a"), ("p=b", "b"), ("ALL", None)):
        sizes = [size for partition, size in files if chosen in (None, partition)]
        data = pa.table({"size": sizes})  # noqa: F841  (DuckDB reads it)
        expected = duckdb.sql(
            "SELECT min(size), quantile_cont(size, 0.1), quantile_cont(size, 0.5), avg(size), "
            "quantile_cont(size, 0.95), max(size), count(*) FROM data"
        ).fetchall()[0]
        assert list(found[name].values())[1:8] == pytest.approx(list(expected))
        assert found[name]["std_dev"] == pytest.approx(statistics.pstdev(sizes))
    first = table.snapshots()[0].snapshot_id
    assert call(lake, "file_size_stats", snapshot_id=first)[-1]["num_files"] == 1


def test_write_amplification(lake: Any, table: Any) -> None:
    found = call(lake, "write_amplification", limit=100)
    assert found[-1]["commit_time"] == "Total"
    appends = [r for r in found[:-1] if r["operation"] == "append"]
    assert all(r["write_amplification_factor"] == 1 for r in appends)
    written = sum(int(s.summary.additional_properties.get("added-files-size", 0)) for s in table.snapshots())
    assert found[-1]["written_bytes"] == written
    assert found[-1]["write_amplification_factor"] == written / found[-1]["new_bytes"] > 1


def test_table_storage_is_what_the_file_system_has(lake: Any, table: Any) -> None:
    root = Path(table.location().removeprefix("file://"))
    stray = root / "data" / "stray.parquet"
    stray.write_bytes(b"x" * 123)
    found = {r["category"]: (r["files"], r["bytes"]) for r in call(lake, "table_storage")}
    stored = [path for path in root.rglob("*") if path.is_file()]
    assert sum(files for files, _ in found.values()) == len(stored)
    assert sum(size for _, size in found.values()) == sum(path.stat().st_size for path in stored)
    assert found["unreferenced"] == (1, 123)
    live = {task.file.file_path: task.file.file_size_in_bytes for task in table.scan().plan_files()}
    assert found["live data"] == (len(live), sum(live.values()))
    assert found["live deletes"][0] == 1
    assert found["metadata"][0] == 1 + len(table.metadata.metadata_log)
    quick = {r["category"]: r for r in call(lake, "table_storage", list_files=False)}
    assert quick["live data"]["bytes"] == sum(live.values())
    assert quick["metadata"]["bytes"] is None
    assert "unreferenced" not in quick


def test_validate_files_tells_of_missing_short_and_broken_files(lake: Any, table: Any) -> None:
    assert call(lake, "validate_files", check_footers=True) == []
    root = Path(table.location().removeprefix("file://"))
    referenced = len(call(lake, "validate_files", verbose=True))
    known = {p for p in root.rglob("*") if p.is_file()}
    assert referenced == len(known) - len(table.metadata.metadata_log)
    live = sorted(Path(task.file.file_path.removeprefix("file://")) for task in table.scan().plan_files())
    missing, short, broken = live[0], live[1], live[2]
    missing.unlink()
    short.write_bytes(short.read_bytes()[:-7])
    size = broken.stat().st_size
    broken.write_bytes(b"x" * size)
    problems = {Path(r["file_path"]).name: r for r in call(lake, "validate_files", check_footers=True)}
    assert set(problems) == {missing.name, short.name, broken.name}
    assert (problems[missing.name]["problem"], problems[missing.name]["is_present_in_fs"]) == ("missing", False)
    assert problems[short.name]["problem"].startswith("has ")
    assert problems[broken.name]["problem"].startswith("footer cannot be read")
    assert set(problems) - {Path(r["file_path"]).name for r in call(lake, "validate_files")} == {broken.name}


def test_validate_files_tells_of_manifests_that_are_missing_or_broken(lake: Any, table: Any) -> None:
    table.append(rows(200, "c"))
    current, oldest = lake.table("t").current_snapshot(), lake.table("t").snapshots()[0]
    live = {task.file.file_path for task in lake.table("t").scan().plan_files()}
    shown = call(lake, "validate_files", verbose=True)
    assert {r["file_path"] for r in shown if r["is_live"] and r["content"] == "data"} == live
    missing, broken, scrambled = (
        Path(m.manifest_path.removeprefix("file://")) for m in current.manifests(table.io)[:3]
    )
    size = missing.stat().st_size
    missing.unlink()
    broken.write_bytes(broken.read_bytes()[:-200] + b"\xd2" * 200)
    scrambled.write_bytes(b"Obj" + bytes(scrambled.stat().st_size - 3))
    listed = Path(oldest.manifest_list.removeprefix("file://"))
    listed.unlink()
    problems = {Path(r["file_path"]).name: r for r in call(lake, "validate_files")}
    assert set(problems) == {missing.name, broken.name, scrambled.name, listed.name}
    row = problems[missing.name]
    assert (row["is_live"], row["problem"], row["fs_size"], row["metadata_size"]) == (True, "missing", None, size)
    assert problems[broken.name]["problem"].startswith(
        f"cannot be read: {current.manifests(table.io)[1].manifest_path}"
    )
    assert "Not an Avro file" in problems[scrambled.name]["problem"]
    assert (problems[listed.name]["is_live"], problems[listed.name]["content"]) == (False, "manifest_list")
    # Others stop before they do anything, with the file's name.
    for name, given in (("remove_orphan_files", {}), ("rewrite_data_files", {"options": {"rewrite-all": "true"}})):
        with pytest.raises(ProcessionError, match=r"is missing|is broken|cannot be used") as refused:
            call(lake, name, **given)
        assert refused.value.code in (ErrorCode.ICEBERG_MISSING_DATA, ErrorCode.ICEBERG_INVALID_METADATA)


def test_commits_compare(lake: Any, table: Any) -> None:
    ids = [s.snapshot_id for s in table.snapshots()]
    call(lake, "create_branch", branch="old", snapshot_id=ids[1])
    lake.table("t").append(rows(500, "c"), branch="old")
    new = lake.table("t").refs()["old"].snapshot_id
    (found,) = call(lake, "commits_compare", ref="old")
    assert (found["ahead"], found["behind"], found["common_ancestor_id"]) == (1, len(ids) - 2, ids[1])
    assert (found["ahead_snapshot_ids"], found["behind_snapshot_ids"]) == ([new], list(reversed(ids[2:])))
    assert found["compare_detail"] == f"old is 1 commits ahead of and {len(ids) - 2} commits behind main"
    assert call(lake, "commits_compare", ref=str(ids[0]), other="old")[0]["behind"] == 2
    (found,) = call(lake, "commits_compare", ref="old", other_table="db.t")
    assert found["compare_detail"].endswith("behind main of db.t")
    with pytest.raises(ProcessionError, match=r"Table other\.t does not exist"):
        call(lake, "commits_compare", other_table="other.t")
    with pytest.raises(ProcessionError, match="Ref does not exist: nope"):
        call(lake, "commits_compare", ref="nope")

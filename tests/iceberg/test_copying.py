"""Rewrites that copy row groups, and the dry run that says so: against PyIceberg's and DuckDB's view of the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import parquet_files_to_data_files, schema_to_pyarrow

from coordinator.connectors.iceberg.rewrite.planning import methods as copying
from coordinator.kernels.tasks import JOIN, REWRITE, WriteTask
from coordinator.kernels.wire import decode


@pytest.fixture(autouse=True)
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "LEAST_ROW_GROUP", 5000)


def values(start: int, rows: int = 2000) -> pa.Table:
    ids = np.arange(start, start + rows)
    ratio = np.random.default_rng(start).normal(size=rows)
    ratio[::17] = np.nan
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "text": [None if i % 7 == 0 else f"name {i % 113}" for i in ids],
            "price": pa.array((ids * 37).tolist(), pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(30, 2)),
            "ratio": ratio,
            "tags": [[f"t{i % 5}", None] if i % 3 else [] for i in ids.tolist()],
        }
    )


def append(lake: Any, name: str, parts: list[pa.Table], **options: Any) -> None:
    """Files with one row group each, as a writer of fat files leaves them."""
    table = lake.table(name)
    arrow = schema_to_pyarrow(table.schema())
    folder = Path(table.location().removeprefix("file://")) / "data"
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for part in parts:
        path = folder / f"in-{len(list(folder.iterdir()))}.parquet"
        pq.write_table(part.cast(arrow), path, **{"compression": "zstd", **options})
        paths.append(f"file://{path}")
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as producer:
        for file in parquet_files_to_data_files(table.io, transaction.table_metadata, iter(paths)):
            producer.append_data_file(file)


def create(lake: Any, parts: list[pa.Table], properties: dict[str, str] | None = None, **options: Any) -> str:
    lake.other.create_table("db.t", schema=parts[0].schema, properties=properties or {})
    append(lake, "t", parts, **options)
    return "t"


def data_files(lake: Any) -> list[Any]:
    return [task.file for task in lake.table("t").scan().plan_files()]


def local(file: Any) -> str:
    return str(file.file_path.removeprefix("file://"))


def ordered_rows(lake: Any) -> list[tuple[Any, ...]]:
    paths = [local(file) for file in data_files(lake)]
    return duckdb.sql(f"SELECT id, text, price, CAST(ratio AS VARCHAR), tags FROM read_parquet({paths!r})").fetchall()


def shown(lake: Any, options: Any = None, **given: Any) -> list[dict[str, Any]]:
    procedure = lake.procedure("rewrite_data_files")
    given |= {"schema": "db", "table_name": "t", "options": options, "dry_run": True}
    result = lake.call("rewrite_data_files", **given)
    columns = procedure.declaration.output_of({"dry_run": True})
    return [dict(zip([c.name for c in columns], row, strict=True)) for row in result.rows]


OPTIONS = {"write_page_index": True, "max_rows_per_page": 500, "row_group_size": 1500}


def test_copied_files_keep_rows_order_statistics_and_page_indexes(lake: Any) -> None:
    create(lake, [values(i * 2000) for i in range(6)], **OPTIONS)
    before = {row[0]: row for row in ordered_rows(lake)}
    inputs = {file.file_path: file for file in data_files(lake)}
    read_before = [pq.ParquetFile(local(file)) for file in inputs.values()]
    (row,) = shown(lake)
    assert (row["method"], row["is_rewritten"], row["expected_files_count"]) == ("copy", True, 1)
    result = lake.rewrite("t")
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (6, 1)
    assert result["rewritten_rows_count"] == 12_000
    (file,) = data_files(lake)
    after = ordered_rows(lake)
    assert {row[0]: row for row in after} == before
    metadata = pq.ParquetFile(local(file)).metadata
    assert metadata.num_row_groups == sum(f.metadata.num_row_groups for f in read_before)
    chunks = [metadata.row_group(g).column(c) for g in range(metadata.num_row_groups) for c in range(5)]
    assert all(chunk.has_offset_index and chunk.has_column_index for chunk in chunks)
    assert all(chunk.compression == "ZSTD" for chunk in chunks)
    for field in (1, 2, 3, 4):
        assert file.value_counts[field] == sum(f.value_counts[field] for f in inputs.values())
        assert file.null_value_counts[field] == sum(f.null_value_counts[field] for f in inputs.values())
        assert file.lower_bounds.get(field) is not None
    assert int.from_bytes(file.lower_bounds[1], "little") == 0
    assert int.from_bytes(file.upper_bounds[1], "little") == 11_999
    assert int.from_bytes(file.upper_bounds[3], "big", signed=True) == 11_999 * 37 * 100
    assert lake.orphans("t") == set()
    assert set(lake.rewrite("t").values()) == {0}


def test_offset_indexes_point_at_the_copied_pages(lake: Any) -> None:
    """DuckDB and Arrow both read by the column chunk; a page that is not where its index says fails its checksum."""
    create(lake, [values(i * 2000) for i in range(5)], write_page_checksum=True, **OPTIONS)
    lake.rewrite("t")
    (file,) = data_files(lake)
    checked = pq.ParquetFile(local(file), page_checksum_verification=True)
    assert checked.read(columns=["id"]).column("id").to_pylist() == sorted(row[0] for row in ordered_rows(lake))


def test_large_files_are_cut_between_row_groups(lake: Any) -> None:
    create(lake, [values(0, 40_000)], row_group_size=2500)
    (size,) = (file.file_size_in_bytes for file in data_files(lake))
    before = ordered_rows(lake)
    result = lake.rewrite("t", {"target-file-size-bytes": str(size // 4), "max-file-size-bytes": str(size // 2)})
    sizes = [file.file_size_in_bytes for file in data_files(lake)]
    assert result["added_data_files_count"] == len(sizes)
    assert max(sizes) < size / 4 * 1.3
    assert sorted(ordered_rows(lake)) == sorted(before)


@pytest.mark.parametrize(
    ("properties", "options", "given", "reason"),
    [
        ({"write.parquet.compression-codec": "gzip"}, {}, {}, "files are compressed by zstd where the table asks for"),
        ({"write.parquet.compression-level": "9"}, {}, {}, "the table asks for a compression level"),
        ({}, {"row_group_size": 5}, {}, "row groups are small"),
        ({}, {}, {"copy-row-groups": "false"}, "copy-row-groups is false"),
    ],
)
def test_what_is_not_alike_is_decoded(
    lake: Any, properties: dict[str, str], options: dict[str, Any], given: dict[str, str], reason: str
) -> None:
    create(lake, [values(i * 2000) for i in range(5)], properties, **options)
    (row,) = shown(lake, given)
    assert row["method"] == "rewrite"
    assert row["method_reason"].startswith(reason)
    before = sorted(ordered_rows(lake))
    assert lake.rewrite("t", given)["rewritten_rows_count"] == 10_000
    assert sorted(ordered_rows(lake)) == before


def test_files_of_an_older_schema_or_another_codec_are_decoded(lake: Any) -> None:
    create(lake, [values(i * 2000) for i in range(3)])
    append(lake, "t", [values(9000)] * 3, compression="snappy")
    assert shown(lake)[0]["method_reason"] == "files differ in compression: snappy, zstd"
    with lake.table("t").update_schema() as update:
        from pyiceberg.types import IntegerType

        update.add_column("more", IntegerType())
    assert shown(lake)[0]["method_reason"].startswith("a file has other columns than the table has today: ")
    lake.rewrite("t")
    assert len(data_files(lake)) == 1


def test_renamed_columns_are_copied_by_their_ids(lake: Any) -> None:
    create(lake, [values(i * 2000) for i in range(5)])
    with lake.table("t").update_schema() as update:
        update.rename_column("text", "label")
    assert shown(lake)[0]["method"] == "copy"
    before = lake.rows("t")
    lake.rewrite("t")
    assert [row[:3] for row in lake.rows("t")] == [row[:3] for row in before]


def test_deleted_rows_are_left_out(lake: Any, foreign: Any) -> None:
    create(lake, [values(i * 2000) for i in range(5)])
    foreign.delete_positions(lake.table("t"), {data_files(lake)[0].file_path: [0, 5]})
    (row,) = shown(lake)
    reason = "1 of 5 row groups have deleted rows, the others are copied"
    assert (row["method"], row["method_reason"]) == ("rewrite", reason)
    assert row["delete_files_count"] == 1
    foreign.delete_equal(lake.table("t"), pa.table({"id": pa.array([7], pa.int64())}))
    assert shown(lake)[0]["method_reason"] == "rows that equality deletes name have to be left out"
    assert lake.rewrite("t")["rewritten_rows_count"] == 9997


def read_by_tasks(lake: Any) -> list[tuple[int, int] | None]:
    """What write tasks of the next calls decode: row groups of files."""
    found: list[tuple[int, int] | None] = []
    real = lake.workers.run_tasks

    def run_tasks(kernel: str, payloads: Any, **given: Any) -> Any:
        if kernel == REWRITE.name:
            tasks = [decode(WriteTask, payload) for payload in payloads]
            found.extend(None if item.groups is None else tuple(item.groups) for t in tasks for item in t.inputs)
        return real(kernel, payloads, **given)

    lake.workers.run_tasks = run_tasks
    return found


WRITERS: dict[str, dict[str, Any]] = {
    "ours": {"store_decimal_as_integer": True},
    "fixed decimals": {},
    "other names inside lists": {"use_compliant_nested_type": False},
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("files", [1, 3])
def test_only_row_groups_with_deleted_rows_are_decoded(lake: Any, foreign: Any, writer: str, files: int) -> None:
    parts = [values(i * 6000, 6000) for i in range(files)]
    parts = [part.set_column(2, "price", part["price"].cast(pa.decimal128(18, 2))) for part in parts]
    create(lake, parts, row_group_size=1000, **WRITERS[writer])
    paths = {file.lower_bounds[1][0:8]: file.file_path for file in data_files(lake)}
    gone = {0: [1000, 1500, 1999, 2000], 2: [5999], 1: []}
    for number, positions in gone.items():
        if number < files and positions:
            foreign.delete_positions(lake.table("t"), {paths[(number * 6000).to_bytes(8, "little")]: positions})
    before = lake.rows("t")
    assert len(before) == 6000 * files - 4 - (files > 2)
    decoded = read_by_tasks(lake)
    options = {"rewrite-all": "true"}
    (row,) = shown(lake, options)
    assert row["method_reason"].endswith("row groups have deleted rows, the others are copied")
    result = lake.rewrite("t", options)
    assert result["rewritten_rows_count"] == len(before)
    assert str(lake.rows("t")) == str(before)
    assert sorted(d or (0, 0) for d in decoded) == ([(1, 3)] if files == 1 else [(1, 3), (5, 6)])
    (file,) = data_files(lake)
    assert file.record_count == len(before)
    metadata = pq.ParquetFile(local(file)).metadata
    kept = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sum(kept) == len(before)
    assert kept.count(1000) >= 4 + 6 * (files > 1)
    assert [row[0] for row in ordered_rows(lake)] == sorted(row[0] for row in before)
    assert list(file.split_offsets) == [
        min(metadata.row_group(g).column(c).dictionary_page_offset or metadata.row_group(g).column(c).data_page_offset
            for c in range(metadata.num_columns))
        for g in range(metadata.num_row_groups)
    ]  # fmt: skip
    assert lake.orphans("t") == set()


def test_deletes_that_arrive_meanwhile_are_carried_over(lake: Any, foreign: Any) -> None:
    create(lake, [values(i * 6000, 6000) for i in range(2)], row_group_size=1000)
    first, second = sorted(data_files(lake), key=lambda file: file.lower_bounds[1])
    foreign.delete_positions(lake.table("t"), {first.file_path: [1000, 1001]})
    came: list[str] = []

    def arrive(kernel: str, _number: int) -> None:
        if kernel == JOIN.name and not came:
            came.append(kernel)
            late = {first.file_path: [0, 1001, 1002, 5999], second.file_path: [3]}
            foreign.delete_positions(lake.table("t"), late)

    lake.workers.before = arrive
    lake.rewrite("t", {"rewrite-all": "true"})
    assert came
    ids = {row[0] for row in lake.rows("t")}
    assert set(range(12_000)) - ids == {0, 1000, 1001, 1002, 5999, 6003}


def test_every_row_of_a_row_group_may_go(lake: Any, foreign: Any) -> None:
    create(lake, [values(0, 6000)], row_group_size=1000)
    path = data_files(lake)[0].file_path
    foreign.delete_positions(lake.table("t"), {path: range(2000, 3000)})
    lake.rewrite("t", {"rewrite-all": "true"})
    assert pq.ParquetFile(local(data_files(lake)[0])).metadata.num_row_groups == 5
    assert len(lake.rows("t")) == 5000
    # A delete file that only names other files leaves nothing to decode.
    foreign.delete_positions(lake.table("t"), {f"{path}-gone": [1]})
    foreign.delete_positions(lake.table("t"), {data_files(lake)[0].file_path: range(5000)})
    assert lake.rewrite("t", {"rewrite-all": "true"})["added_data_files_count"] == 0
    assert lake.rows("t") == []


def test_the_dry_run_gives_a_reason_for_every_file_and_changes_nothing(lake: Any) -> None:
    create(lake, [values(0), values(2000, 30)])
    append(lake, "t", [values(5000, 20_000)])
    before = lake.files("t")
    sizes = sorted(file.file_size_in_bytes for file in data_files(lake))
    target = {"target-file-size-bytes": str(sizes[2]), "min-file-size-bytes": str(sizes[2] - 10)}
    rows = shown(lake, target)
    assert [(r["file_group"], r["is_rewritten"], r["data_files_count"]) for r in rows] == [
        (None, False, 1),
        (None, False, 2),
    ]
    assert rows[0]["reason"].startswith("each file has the right size")
    assert rows[1]["reason"].startswith("2 files are fewer than min-input-files (5)")
    assert sum(row["bytes_count"] for row in rows) == sum(sizes)
    chosen, stays = shown(lake, {**target, "min-input-files": "2"})
    assert (chosen["file_group"], chosen["data_files_count"]) == (0, 2)
    assert chosen["reason"].startswith("2 files of the wrong size")
    assert chosen["expected_seconds"] > 0
    assert not stays["is_rewritten"]
    first, limited = shown(lake, {"rewrite-all": "true", "max-files-to-rewrite": "1"})
    assert (first["is_rewritten"], first["data_files_count"]) == (True, 1)
    assert (limited["reason"], limited["data_files_count"]) == ("max-files-to-rewrite (1) is reached", 2)
    assert lake.files("t") == before
    assert lake.workers.tasks <= 4, "only footers were looked at"
    assert lake.connector.journal.open_entries("lab") == []


def long(number: int) -> bytes:
    return number.to_bytes(8, "little", signed=True)


@pytest.mark.parametrize(
    ("keys", "bounds", "decoded", "reason"),
    [
        ({"id": [1500, 1700, 90_000]}, {"id": (long(1500), long(1999))}, [(1, 2)], "1 of 12 row groups may have"),
        ({"id": [2500], "text": ["a"]}, {"text": (b"a", b"a")}, [], "0 of 12 row groups may have deleted rows"),
        ({"id": [2500], "text": ["name 14"]}, {"text": (b"a", b"name 2")}, None, "12 of 12 row groups may have"),
        ({"id": [2500, None]}, {"id": (long(2500), long(2500))}, [(2, 3)], "1 of 12 row groups may have"),
        ({"text": [None]}, {}, None, "rows that equality deletes name have to be left out"),
    ],
)
def test_row_groups_out_of_the_reach_of_equality_deletes_are_copied(
    lake: Any, foreign: Any, keys: dict[str, Any], bounds: Any, decoded: Any, reason: str
) -> None:
    """By the bounds of the keys and those in the footers."""
    create(lake, [values(i * 6000, 6000) for i in range(2)], row_group_size=1000, store_decimal_as_integer=True)
    rows = {row[0]: row for row in ordered_rows(lake)}
    types = {"id": pa.int64(), "text": pa.string()}
    table = pa.table({name: pa.array(found, types[name]) for name, found in keys.items()})
    foreign.delete_equal(lake.table("t"), table, bounds=bounds)
    gone = {tuple(row.values()) for row in table.to_pylist()}
    place = {"id": 0, "text": 1}
    left = {n: row for n, row in rows.items() if tuple(row[place[name]] for name in keys) not in gone}
    read, options = read_by_tasks(lake), {"rewrite-all": "true"}
    assert shown(lake, options)[0]["method_reason"].startswith(reason)
    result = lake.rewrite("t", options)
    assert result["rewritten_rows_count"] == len(left)
    assert result["removed_delete_files_count"] == 1
    assert {row[0]: row for row in ordered_rows(lake)} == left
    assert decoded is None or read == decoded
    assert lake.orphans("t") == set()

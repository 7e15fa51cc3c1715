"""Row groups that are copied in format version 3: rows keep ids and sequence numbers, as files alone tell."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.rewrite.planning import methods as copying
from coordinator.kernels.tasks import JOIN
from tests.iceberg.test_carried_deletes import _positions, add_vector
from tests.iceberg.test_copying import read_by_tasks, shown, values
from tests.iceberg.test_embedded_geometry import with_types
from tests.iceberg.test_rewritten_values import add

NUMBERS = itertools.count()
ALL = {"rewrite-all": "true"}


@pytest.fixture(autouse=True)
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "LEAST_ROW_GROUP", 5000)


def create(lake: Any) -> Any:
    lake.other.create_table("db.t", schema=values(0, 9).schema)
    with_types(lake, "t", {})
    return lake.connector.tables_of.open("db", "t")


def append(table: Any, *parts: pa.Table, **options: Any) -> None:
    """In one commit; a row group has 1000 rows."""
    folder = Path(table.location().removeprefix("file://")) / "data"
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for part in parts:
        paths.append(folder / f"in-{next(NUMBERS):04}.parquet")
        given = {"compression": "zstd", "row_group_size": 1000, "store_decimal_as_integer": True, **options}
        pq.write_table(part.cast(schema_to_pyarrow(table.schema())), paths[-1], **given)
    add(table, *paths)


def live(lake: Any) -> Any:
    table = lake.connector.tables_of.open("db", "t")
    return read_live(table, table.current_snapshot())


def lineage(lake: Any) -> dict[int, tuple[int, int, str]]:
    """By the column id: row id, sequence number and the rest of each row that lives."""
    found = live(lake)
    deleted = {d.only_data_file: set(_positions(d)) for d in found.deletes}
    rows = {}
    for data in found.data:
        for place, row in enumerate(pq.read_table(data.path.removeprefix("file://")).to_pylist()):
            if place not in deleted.get(data.key, set()):
                number = row.pop("_row_id", None)
                changed = row.pop("_last_updated_sequence_number", None)
                assert data.first_row_id is not None
                number = data.first_row_id + place if number is None else number
                rows[row["id"]] = (number, data.file_sequence_number if changed is None else changed, str(row))
    return rows


def check_read(lake: Any) -> None:
    """DuckDB and Arrow, which looks at checksums, read what is there."""
    for data in live(lake).data:
        path = data.path.removeprefix("file://")
        checked = pq.ParquetFile(path, page_checksum_verification=True).read()
        assert checked.num_rows == data.file.record_count
        (row,) = duckdb.sql(f"SELECT count(*), sum(_row_id), count(text), sum(id) FROM '{path}'").fetchall()
        ids = checked["_row_id"].to_pylist()
        assert row[:2] == (len(ids), sum(ids))
        assert row[3] == sum(checked["id"].to_pylist())
        where = f"SELECT id FROM '{path}' WHERE _row_id = {ids[len(ids) // 2]}"
        assert duckdb.sql(where).fetchall() == [(checked["id"][len(ids) // 2].as_py(),)]


@pytest.mark.parametrize("codec", ["zstd", "snappy", "none"])
def test_copied_rows_keep_their_ids_also_when_they_are_copied_again(lake: Any, codec: str) -> None:
    table = create(lake)
    append(table, values(0, 3000), values(3000, 2000), compression=codec, write_page_checksum=True)
    append(table, values(5000, 2500), compression=codec)
    before, size = lineage(lake), sum(file.size for file in live(lake).data)
    assert len({number for number, _, _ in before.values()}) == 7500
    assert {changed for _, changed, _ in before.values()} == {1, 2}
    decoded = read_by_tasks(lake)
    (row,) = shown(lake, ALL)
    assert (row["method"], row["method_reason"]) == ("copy", "row groups are large and alike, and no row is deleted")
    assert lake.rewrite("t", ALL)["added_data_files_count"] == 1
    assert lineage(lake) == before
    (first,) = live(lake).data
    assert first.size < size + 7500 * 9
    assert first.file.lower_bounds[1] == (0).to_bytes(8, "little")
    metadata = pq.ParquetFile(first.path.removeprefix("file://")).metadata
    assert sorted(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)) == [500] + [1000] * 7
    check_read(lake)
    cut = {"target-file-size-bytes": str(first.size // 3), "max-file-size-bytes": str(first.size // 2)}
    assert lake.rewrite("t", ALL | cut)["added_data_files_count"] > 2
    assert lineage(lake) == before
    check_read(lake)
    append(lake.connector.tables_of.open("db", "t"), values(7500, 3000), compression=codec)
    assert shown(lake, ALL)[0]["method_reason"] == "files differ in schema"
    assert lake.rewrite("t", ALL)["added_data_files_count"] == 1
    assert {k: v for k, v in lineage(lake).items() if k < 7500} == before
    assert len({number for number, _, _ in lineage(lake).values()}) == 10_500
    assert all(item is None or codec for item in decoded)


@pytest.mark.parametrize("options", [{}, {"store_decimal_as_integer": False, "use_compliant_nested_type": False}])
def test_row_groups_without_deleted_rows_are_copied_beside_decoded_ones(lake: Any, options: dict[str, Any]) -> None:
    """And vectors that come meanwhile are carried over."""
    table = create(lake)
    append(table, values(0, 6000), values(6000, 4000), **options)
    first, second = sorted(live(lake).data, key=lambda file: file.file.record_count, reverse=True)
    add_vector(table, first, [1000, 1999, 2500])
    before, decoded = lineage(lake), read_by_tasks(lake)
    came: list[Sequence[int]] = []

    def arrive(kernel: str, _number: int) -> None:
        if kernel == JOIN.name and not came:
            came.append([3, 1500])
            add_vector(lake.connector.tables_of.open("db", "t"), first, [3, 1000, 1500, 1999, 2500])
            add_vector(lake.connector.tables_of.open("db", "t"), second, [3999])

    assert shown(lake, ALL)[0]["method_reason"] == "2 of 10 row groups have deleted rows, the others are copied"
    lake.workers.before = arrive
    lake.rewrite("t", ALL)
    assert came
    assert decoded == [(1, 3)]
    gone = {3, 1500, 9999}
    assert lineage(lake) == {number: row for number, row in before.items() if number not in gone}
    check_read(lake)


def test_files_whose_rows_have_no_ids_yet_are_decoded(lake: Any) -> None:
    """Of a table that was upgraded, and not written since."""
    lake.create("t", [values(i * 3000, 3000) for i in range(2)])
    with_types(lake, "t", {})
    (row,) = shown(lake, ALL)
    assert row["method"] == "rewrite"
    assert row["method_reason"].startswith("its rows have no ids yet: ")

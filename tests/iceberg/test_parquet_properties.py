"""Properties of a table decide over the Parquet files that our kernels write; footers say whether they did."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.kernels.footer import columns, read_footer, row_groups
from coordinator.kernels.thrift import Reader
from shared.errors import ErrorCode, ProcessionError

ROWS = 20_000


def rows(seed: int) -> pa.Table:
    chosen = random.Random(seed)
    return pa.table(
        {
            "id": pa.array([chosen.getrandbits(40) for _ in range(ROWS)], pa.int64()),
            "text": [f"{chosen.getrandbits(30):x}" for _ in range(ROWS)],
            "few": [f"value {i % 50}" for i in range(ROWS)],
        }
    )


def written(lake: Any, properties: Mapping[str, str]) -> pq.FileMetaData:
    """The footer of the one file that a rewrite makes under ``properties``."""
    table = lake.create("t", [rows(1), rows(2)])
    before = lake.rows("t")
    with table.transaction() as transaction:
        transaction.set_properties({f"write.parquet.{name}": value for name, value in properties.items()})
    lake.rewrite("t", {"rewrite-all": "true"})
    assert lake.rows("t") == before
    return pq.read_metadata(path(lake))


def path(lake: Any) -> str:
    (task,) = lake.table("t").scan().plan_files()
    return str(task.file.file_path).removeprefix("file://")


def pages(lake: Any, column: int) -> int:
    """Data pages of a column's first chunk: the length of its offset index."""
    data = Path(path(lake)).read_bytes()
    chunk = columns(row_groups(read_footer(pa.BufferReader(data), len(data)))[0])[column]
    return len(Reader(data, chunk[4][1]).struct()[1][1][1])


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "brotli", "zstd"])
def test_codec(lake: Any, codec: str) -> None:
    footer = written(lake, {"compression-codec": codec})
    chunk = footer.row_group(0).column(0)
    assert chunk.compression.lower() == codec


def test_a_level_counts_only_for_codecs_that_have_one(lake: Any) -> None:
    """Iceberg gives levels to gzip, brotli and zstd; LZ4 and Snappy are written as if there were none."""
    assert written(lake, {"compression-codec": "snappy", "compression-level": "7"}).row_group(0)


def test_higher_levels_make_smaller_files(lake: Any, tmp_path: Any) -> None:
    sizes = []
    for level in ("1", "19"):
        other = type(lake)(tmp_path / level) if (tmp_path / level).mkdir() is None else lake
        written(other, {"compression-level": level})
        sizes.append(lake_size(other))
    assert sizes[1] < sizes[0]


def lake_size(lake: Any) -> int:
    (task,) = lake.table("t").scan().plan_files()
    return int(task.file.file_size_in_bytes)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"compression-codec": "lzo"}, "Table property write.parquet.compression-codec is lzo, which cannot be wr"),
        ({"compression-level": "99"}, "compression-level is 99, which cannot be written; 1 to 22 for zstd can"),
    ],
)
def test_what_cannot_be_written_is_named(lake: Any, properties: dict[str, str], message: str) -> None:
    with pytest.raises(ProcessionError, match=message) as failed:
        written(lake, properties)
    assert failed.value.code is ErrorCode.INVALID_TABLE_PROPERTY
    assert lake.orphans("t") == set()


def test_row_groups_have_the_size_that_is_asked_for(lake: Any) -> None:
    footer = written(lake, {"row-group-size-bytes": "50000"})
    sizes = [
        sum(footer.row_group(i).column(c).total_compressed_size for c in range(footer.num_columns))
        for i in range(footer.num_row_groups)
    ]
    assert len(sizes) > 5
    assert all(35_000 < size < 65_000 for size in sizes[1:-1]), sizes


def test_row_groups_of_another_size_are_not_copied(lake: Any) -> None:
    """As large as they are, they would be joined as they are: the table's word decides."""
    table = lake.create("t", [rows(1), rows(2)])
    with table.transaction() as transaction:
        transaction.set_properties({"write.parquet.row-group-size-bytes": "50000"})
    plan = lake.call("rewrite_data_files", schema="db", table_name="t", options={"rewrite-all": "true"}, dry_run=True)
    assert "the table asks for 50000" in str(plan.rows)


def test_small_targets_have_some_sixteen_row_groups_in_a_file(lake: Any) -> None:
    lake.create("t", [rows(i) for i in range(4)])
    lake.rewrite("t", {"rewrite-all": "true", "target-file-size-bytes": "300000"})
    files = [task.file.file_path.removeprefix("file://") for task in lake.table("t").scan().plan_files()]
    assert len(files) > 2
    assert max(pq.read_metadata(file).num_row_groups for file in files) <= 19


def test_pages(lake: Any) -> None:
    written(lake, {"page-row-limit": "500"})
    assert pages(lake, 0) == pytest.approx(2 * ROWS / 500, rel=0.1)


def test_page_size(lake: Any) -> None:
    written(lake, {"page-size-bytes": "10000", "page-row-limit": "1000000"})
    assert pages(lake, 0) >= 16


def test_page_version(lake: Any) -> None:
    first = written(lake, {"page-version": "v2"}).row_group(0).column(0)
    with Path(path(lake)).open("rb") as file:
        file.seek(first.data_page_offset)
        # The page's kind is the first field of its header: 0 is a page of version 1, 3 one of version 2 (zigzag: 6).
        assert file.read(2) == b"\x15\x06"


def test_dictionary_size(lake: Any) -> None:
    """Columns whose dictionary is larger than allowed fall back to plain values."""
    large = written(lake, {"dict-size-bytes": "100000"}).row_group(0).column(2)
    assert "PLAIN_DICTIONARY" in large.encodings or "RLE_DICTIONARY" in large.encodings
    assert large.total_uncompressed_size < 100_000
    with lake.table("t").transaction() as transaction:
        transaction.set_properties({"write.parquet.dict-size-bytes": "100"})
    lake.rewrite("t", {"rewrite-all": "true"})
    assert pq.read_metadata(path(lake)).row_group(0).column(2).total_uncompressed_size > 300_000


def test_statistics_may_be_left_out(lake: Any) -> None:
    footer = written(lake, {"stats-enabled.column.text": "false", "stats-enabled.column.gone": "false"})
    group = footer.row_group(0)
    assert [group.column(i).statistics is not None for i in range(3)] == [True, False, True]
    (task,) = lake.table("t").scan().plan_files()
    assert set(task.file.lower_bounds) == {1, 3}


def test_bloom_filters_for_few_values_are_small(lake: Any) -> None:
    names = {"bloom-filter-enabled.column.id": "true", "bloom-filter-ndv.column.id": "1000"}
    written(lake, names)
    small = lake_size(lake)
    with lake.table("t").transaction() as transaction:
        transaction.remove_properties("write.parquet.bloom-filter-ndv.column.id")
    lake.rewrite("t", {"rewrite-all": "true"})
    assert lake_size(lake) > small + 50_000


@pytest.mark.parametrize("name", ["row-group-size-bytes", "page-size-bytes", "page-row-limit", "dict-size-bytes"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "9" * 30])
def test_nonsense_is_as_if_it_were_not_said(lake: Any, name: str, value: str) -> None:
    assert written(lake, {name: value}).num_row_groups == 1


@pytest.mark.parametrize("own", [True, False])
def test_delete_files_have_properties_of_their_own(lake: Any, foreign: Any, own: bool) -> None:
    """Those of data files count where there are none."""
    table = lake.create("t", [rows(1)])
    foreign.delete_equal(table, pa.table({"id": table.scan().to_arrow()["id"].slice(0, 7)}))
    given = {"write.parquet.compression-codec": "snappy" if own else "gzip"}
    given |= {"write.delete.parquet.compression-codec": "gzip"} if own else {}
    with lake.table("t").transaction() as transaction:
        transaction.set_properties(given)
    lake.call("convert_equality_deletes", schema="db", table_name="t")
    (task,) = lake.table("t").scan().plan_files()
    (delete,) = task.delete_files
    footer = pq.read_metadata(delete.file_path.removeprefix("file://"))
    assert footer.row_group(0).column(0).compression == "GZIP"

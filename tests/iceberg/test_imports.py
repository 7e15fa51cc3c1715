"""Folders of Parquet files taken in by snapshot and migrate: the rows are those that DuckDB reads from the folder."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.types import LongType, StringType

from shared.errors import ErrorCode, ProcessionError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """In Hive's layout, written by DuckDB and pyarrow; the second half has a column more, and wider numbers."""
    home = tmp_path / "incoming"
    home.mkdir()
    duckdb.sql(
        "COPY (SELECT i::INTEGER AS id, 'n' || i AS name, i / 4 AS price, DATE '2026-11-01' + (i % 3)::INTEGER AS day, "
        f"i % 2 AS k FROM range(60) t(i)) TO '{home}' (FORMAT parquet, PARTITION_BY (day, k))"
    )
    more = home / "day=__HIVE_DEFAULT_PARTITION__" / "k=7"
    more.mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([1000], pa.int64()), "extra": ["x"]}), more / "more.parquet")
    (home / "_SUCCESS").touch()
    (home / ".hidden.crc").write_text("no data")
    return home


def expected(folder: Path) -> list[Any]:
    files = [str(path) for path in folder.rglob("*.parquet")]
    columns = "id::BIGINT, name, price, extra, day, k"
    query = f"SELECT {columns} FROM read_parquet({files!r}, hive_partitioning=true, union_by_name=true)"
    # The folder of NULL keeps its name in DuckDB.
    rows = duckdb.sql(
        f"SELECT * REPLACE (try_cast(nullif(day::VARCHAR, '__HIVE_DEFAULT_PARTITION__') AS DATE) AS day) FROM ({query})"
    )
    return sorted(rows.fetchall(), key=repr)


def found(lake: Any, name: str) -> list[Any]:
    data = lake.table(name).scan().to_arrow().select(["id", "name", "price", "extra", "day", "k"])
    return sorted((tuple(row.values()) for row in data.to_pylist()), key=repr)


def call(lake: Any, procedure: str, **given: Any) -> list[Any]:
    given = {"schema": "db", "table_name": "t", **given}
    return [tuple(row) for row in lake.call(procedure, **given).rows]


def test_a_snapshot_reads_as_its_source_and_never_deletes_from_it(lake: Any, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    count = len(list(folder.rglob("*.parquet")))
    assert call(lake, "snapshot", source_table=f"`parquet`.`{folder}`") == [(count,)]
    table = lake.table("t")
    assert {f.name: str(f.field_type) for f in table.schema().fields} == {
        "id": "long", "name": "string", "price": "double", "extra": "string", "day": "date", "k": "int",
    }  # fmt: skip
    assert [field.name for field in table.spec().fields] == ["day", "k"]
    assert found(lake, "t") == expected(folder)
    assert table.scan(row_filter="day = '2026-11-02' and k = 1").to_arrow().num_rows == 10
    assert (table.properties["gc.enabled"], table.properties["snapshot"]) == ("false", "true")
    assert not table.location().startswith(str(folder))
    table.append(table.scan().to_arrow().slice(0, 1))
    with pytest.raises(ProcessionError, match="GC is disabled"):
        call(lake, "expire_snapshots")
    assert sorted(folder.rglob("*")) == before


def test_a_migrated_folder_is_the_table(lake: Any, folder: Path) -> None:
    rows = expected(folder)
    (count,) = call(lake, "migrate", source_table=f"parquet.`file://{folder}`", properties={"owner": "me"})[0]
    table = lake.table("t")
    assert count == len(table.inspect.files())
    assert table.location() == f"file://{folder}"
    assert (table.properties["migrated"], table.properties["owner"]) == ("true", "me")
    assert found(lake, "t") == rows
    with table.update_schema() as update:
        update.rename_column("name", "label")  # files without field ids keep the name that the mapping has
        update.add_column("note", StringType())
        update.update_column("k", field_type=LongType())
    before = lake.rows("t")
    assert lake.rewrite("t", {"rewrite-all": "true"})["rewritten_rows_count"] == 61
    assert lake.rows("t") == before
    assert sorted(str(row[1]) for row in before) == sorted(str(row[1]) for row in rows), "label has what name had"


def test_a_dry_run_lists_the_files_and_makes_nothing(lake: Any, folder: Path) -> None:
    rows = call(lake, "migrate", source_table=f"`parquet`.`{folder}`", dry_run=True)
    assert {Path(row[0]) for row in rows} == set(folder.rglob("*.parquet"))
    assert sum(row[2] for row in rows) == 61
    assert all(Path(row[0]).stat().st_size == row[3] for row in rows)
    assert rows[0][1] == "day=2026-11-01/k=0"
    assert lake.other.list_tables("db") == []
    assert not (folder / "metadata").exists()


def test_sources_that_do_not_fit_leave_nothing_behind(lake: Any, tmp_path: Path) -> None:
    def refused(text: str, code: ErrorCode, **given: Any) -> None:
        given = {"source_table": f"`parquet`.`{home}`", **given}
        with pytest.raises(ProcessionError, match=text) as caught:
            call(lake, "snapshot", **given)
        assert caught.value.code is code
        assert lake.other.list_tables("db") == []

    home = tmp_path / "in"
    home.mkdir()
    refused("No data files in", ErrorCode.NOT_FOUND)
    pq.write_table(pa.table({"a": [1]}), home / "a.parquet")
    pq.write_table(pa.table({"a": ["x"]}), home / "b.parquet")
    refused("Column a is int64 in .*a.parquet and string in .*b.parquet", ErrorCode.NOT_SUPPORTED)
    (home / "b.parquet").write_bytes(b"no such thing")
    refused(r"Not a Parquet file: .*b\.parquet", ErrorCode.ICEBERG_BAD_DATA)
    (home / "b.parquet").rename(home / ".b.parquet")
    refused("cannot be same as the source", ErrorCode.INVALID_PROCEDURE_ARGUMENT, location=f"file:{home}/")
    refused("Only Parquet folders", ErrorCode.NOT_SUPPORTED, source_table=f"`orc`.`{home}`")
    refused("Schema nope does not exist", ErrorCode.NOT_FOUND, schema="nope")
    refused("format version 2", ErrorCode.NOT_SUPPORTED, properties={"format-version": "3"})
    refused("larger than 0", ErrorCode.INVALID_PROCEDURE_ARGUMENT, parallelism=0)
    lake.create("other", [pa.table({"a": [1]})])
    files = [
        path.removeprefix("file://") for path in lake.table("other").inspect.files().column("file_path").to_pylist()
    ]
    with pytest.raises(ProcessionError, match="holds files of another table"):
        call(lake, "snapshot", source_table=f"`parquet`.`{Path(files[0]).parent}`")
    lake.other.rename_table("db.other", "db.forgotten")
    call(lake, "unregister_table", table_name="forgotten")
    with pytest.raises(ProcessionError, match="File has field ids"):
        call(lake, "snapshot", source_table=f"`parquet`.`{Path(files[0]).parent}`")
    lake.create("other", [pa.table({"a": [1]})])
    with pytest.raises(ProcessionError, match=r"Table db\.other already exists") as caught:
        call(lake, "snapshot", table_name="other", source_table=f"`parquet`.`{home}`")
    assert caught.value.code is ErrorCode.ALREADY_EXISTS


def test_moments_as_spark_writes_them(lake: Any, tmp_path: Path) -> None:
    home = tmp_path / "in"
    home.mkdir()
    moments = pa.array([0, 1_700_000_000_123_456], pa.timestamp("us"))
    pq.write_table(
        pa.table({"at": moments, "day": [date(2026, 1, 1)] * 2}),
        home / "a.parquet",
        use_deprecated_int96_timestamps=True,
    )
    call(lake, "snapshot", source_table=f"`parquet`.`{home}`")
    table = lake.table("t")
    assert str(table.schema().find_type("at")) == "timestamptz"
    assert [at.timestamp() for at in table.scan().to_arrow().column("at").to_pylist()] == [0, 1_700_000_000.123456]


def test_files_are_read_by_names_that_look_like_addresses(lake: Any, tmp_path: Path) -> None:
    """PyIceberg alone would read ``a.parquet`` for ``a.parquet#1``: other rows, without an error."""
    folder = tmp_path / "strange"
    partition = folder / "k=a%3Fb%23c"
    partition.mkdir(parents=True)
    names = ["a.parquet", "a.parquet#1.parquet", "a.parquet?x=2.parquet", "a %20+ü.parquet"]
    for number, name in enumerate(names):
        pq.write_table(pa.table({"id": [number] * (number + 1)}), partition / name)
    assert call(lake, "migrate", source_table=f"`parquet`.`file://{folder}`") == [(len(names),)]
    rows = [(number, "a?b#c") for number in range(len(names)) for _ in range(number + 1)]
    assert call(lake, "validate_files", check_footers=True) == []
    assert lake.rewrite("t", {"rewrite-all": "true"})["rewritten_data_files_count"] == len(names)
    assert lake.rows("t") == rows
    assert sorted(path.name for path in partition.iterdir()) == sorted(names), "of the old snapshot"
    files = [task.file.file_path.removeprefix("file://") for task in lake.table("t").scan().plan_files()]
    read = duckdb.sql(f"SELECT id FROM read_parquet({files!r}) ORDER BY id").fetchall()
    assert read == [(number,) for number, _ in rows]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([4_000_000_000], pa.uint32()),
        pa.array([2**63], pa.uint64()),
        pa.array([[{"n": 4_000_000_000}]], pa.list_(pa.struct([("n", pa.uint32())]))),
    ],
    ids=["uint32", "uint64", "nested"],
)
def test_unsigned_numbers_that_iceberg_would_read_as_negative_ones(lake: Any, tmp_path: Path, column: pa.Array) -> None:
    home = tmp_path / "unsigned"
    home.mkdir()
    pq.write_table(pa.table({"u": column}), home / "a.parquet")
    with pytest.raises(ProcessionError, match=r"Column u has the type uint(32|64), which Iceberg lacks") as caught:
        call(lake, "snapshot", source_table=f"`parquet`.`{home}`")
    assert caught.value.code is ErrorCode.NOT_SUPPORTED
    assert call(lake, "snapshot", source_table=f"`parquet`.`{_small(tmp_path)}`") == [(1,)]
    assert lake.table("t").scan().to_arrow().to_pylist() == [{"small": 200, "smallish": 60_000}]


def _small(folder: Path) -> Path:
    """Unsigned numbers that fit into an int are read as what they are."""
    home = folder / "small"
    home.mkdir()
    rows = {"small": pa.array([200], pa.uint8()), "smallish": pa.array([60_000], pa.uint16())}
    pq.write_table(pa.table(rows), home / "a.parquet")
    return home

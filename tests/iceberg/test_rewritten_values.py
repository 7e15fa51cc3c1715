"""Rewrites of columns whose types Arrow does not have: no value changes, and files say what their values are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table.snapshots import Operation
from pyiceberg.typedef import Record

from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.connectors.iceberg.snapshots.edit_files import EditFiles
from coordinator.kernels.shredded import json_column
from coordinator.kernels.unshredded import WHOLE, whole_column
from coordinator.kernels.variant_bytes import Names
from tests.iceberg.test_carried_deletes import add_vector
from tests.iceberg.test_embedded_geometry import point, with_types
from tests.iceberg.test_embedded_variant import VALUES

SHREDDED = ["'NULL'", "'STRUCT(a BIGINT, b VARIANT[], t TIMESTAMP)'", "'BIGINT[]'", ""]
SORT = {"strategy": "sort", "sorted_by": ["id DESC"]}
PARTS = """SELECT id, v IS NULL, v::json, variant_typeof(v), variant_typeof(v.a), variant_typeof(v.b),
variant_typeof(v.t), variant_typeof(v.z), variant_typeof(v.f), variant_typeof(v.g), variant_typeof(v.u),
variant_typeof(v.h) FROM {} ORDER BY id"""


def typed_table(lake: Any, types: Mapping[str, object]) -> Any:
    """An empty table ``db.t`` of version 3 with an id and columns of such types."""
    fields = [("id", pa.int64()), *((name, pa.binary()) for name in types)]
    lake.other.create_table("db.t", schema=pa.schema(fields))
    with_types(lake, "t", dict(types))
    return lake.connector.tables_of.open("db", "t")


def add(table: Any, *paths: Path) -> None:
    """The files as another writer's."""
    files = []
    for path in paths:
        metadata = pq.read_metadata(path)
        file = DataFile.from_args(
            content=DataFileContent.DATA, file_path=f"file://{path}", file_format=FileFormat.PARQUET,
            partition=Record(), record_count=metadata.num_rows, file_size_in_bytes=path.stat().st_size,
        )  # fmt: skip
        file.spec_id = 0
        files.append(file)
    table.refresh()
    transaction = table.transaction()
    EditFiles(transaction, Operation.APPEND, added=files).stage()
    transaction.commit_transaction()


def files(lake: Any) -> list[LiveFile]:
    table = lake.connector.tables_of.open("db", "t")
    return list(read_live(table, table.current_snapshot()).data)


def read(sql: str, paths: list[str]) -> list[Any]:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        return database.execute(sql.format(f"read_parquet({paths})")).fetchall()


def written(home: Path, name: str, shredded: str, first: int = 0) -> Path:
    path = home / f"{name}.parquet"
    option = shredded and f", SHREDDING {{'v': {shredded}}}"
    values = f"SELECT id + {first} AS id, v FROM ({VALUES})"
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(f"COPY ({values}) TO '{path}' (FORMAT parquet, FIELD_IDS {{id: 1, v: 2}}{option})")
    return path


@pytest.mark.parametrize(
    "given", [{}, SORT, {"options": {"target-file-size-bytes": "3000"}} | SORT], ids=["packed", "sorted", "several"]
)
def test_variants_keep_their_values_however_they_were_shredded(
    lake: Any, tmp_path: Path, given: dict[str, Any]
) -> None:
    table = typed_table(lake, {"v": "variant"})
    paths = [written(tmp_path, f"f{i}", shredded, 100 * i) for i, shredded in enumerate(SHREDDED)]
    pq.write_table(pa.table({"id": [900, 901]}, pa.schema([id_field()])), tmp_path / "none.parquet")
    add(table, *paths, tmp_path / "none.parquet")
    (first,) = [file for file in files(lake) if file.path.endswith("f1.parquet")]
    add_vector(table, first, [0, 69])
    before = [row for row in read(PARTS, [str(path) for path in paths]) if row[0] not in (100, 169)]
    options = {"rewrite-all": "true", **given.get("options", {})}
    result = lake.rewrite("t", options, **{k: v for k, v in given.items() if k != "options"})
    assert lake.workers.statements == []
    assert result["rewritten_data_files_count"] == 5 > result["added_data_files_count"]
    found = files(lake)
    assert (len(found) > 1) == ("options" in given)
    assert sum(file.file.record_count for file in found) == 4 * 70
    new = [file.path.removeprefix("file://") for file in found]
    rows = read(PARTS, new)
    assert [row[:3] for row in rows[-2:]] == [(900, True, None), (901, True, None)]
    assert rows[:-2] == before
    for path, file in zip(new, found, strict=True):
        schema = str(pq.ParquetFile(path).schema)
        assert "optional group field_id=2 v (Variant(1)) {" in schema
        assert "typed_value" not in schema
        statistics = pq.read_metadata(path).row_group(0).column(1).statistics
        assert not statistics.has_min_max
        assert file.file.null_value_counts[2] == sum(row[1] for row in read(PARTS, [path]))
        assert 2 not in file.file.lower_bounds
        ids = pq.read_table(path)["id"].to_pylist()
        assert "strategy" not in given or ids == sorted(ids, reverse=True)
    assert not [name for name in lake.orphans("t") if not name.endswith(".metadata.json")]


def id_field() -> pa.Field:
    return pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})


def test_whole_values_stay_byte_by_byte(lake: Any, tmp_path: Path) -> None:
    table = typed_table(lake, {"v": "variant"})
    paths = [written(tmp_path, f"f{i}", "'NULL'", 100 * i) for i in range(5)]
    add(table, *paths)
    before = pa.concat_tables([pq.read_table(path).select(["id", "v"]) for path in paths]).sort_by("id").to_pylist()
    lake.rewrite("t", {"rewrite-all": "true"})
    (new,) = files(lake)
    assert pq.read_table(new.path.removeprefix("file://")).select(["id", "v"]).sort_by("id").to_pylist() == before


def test_names_that_the_metadata_lacks_are_put_behind_its_own() -> None:
    """As of a writer that lists names of shredded fields nowhere else."""
    metadata = b"\x11\x01\x00\x01z"
    inner = pa.StructArray.from_arrays([pa.array([7], pa.int8())], ["typed_value"])
    typed = pa.StructArray.from_arrays([inner], ["a"])
    rest = b"\x02\x01\x00\x00\x01\x04"  # {"z": true}
    group = pa.StructArray.from_arrays(
        [pa.array([metadata], pa.binary()), pa.array([rest], pa.binary()), typed], ["metadata", "value", "typed_value"]
    )
    (row,) = whole_column(group, "v").to_pylist()
    assert row == {"metadata": b"\x01\x02\x00\x01\x02za", "value": b"\x02\x02\x01\x00\x00\x02\x03\x0c\x07\x04"}
    assert Names(row["metadata"]).known == ["z", "a"]
    assert whole_column(group, "v").type == WHOLE


@pytest.mark.parametrize("given", [{}, SORT], ids=["packed", "sorted"])
def test_geometries_keep_their_bytes_and_files_say_what_they_are(
    lake: Any, tmp_path: Path, given: dict[str, Any]
) -> None:
    types = {"g": "geometry(srid:4326)", "h": "geography(OGC:CRS84, karney)", "v": "variant"}
    table = typed_table(lake, types)
    fields = [id_field(), *(pa.field(n, pa.binary(), metadata={"PARQUET:field_id": i}) for n, i in ("g2", "h3"))]
    paths = []
    for i in range(5):
        columns = [[i, i + 10], [point(i, 1), None], [None, point(2, i)]]
        paths.append(tmp_path / f"{i}.parquet")
        pq.write_table(pa.table([pa.array(c, f.type) for c, f in zip(columns, fields, strict=True)],
                                schema=pa.schema(fields)), paths[-1])  # fmt: skip
    add(table, *paths)
    assert lake.rewrite("t", **given)["added_data_files_count"] == 1
    (new,) = files(lake)
    path = new.path.removeprefix("file://")
    rows = pq.read_table(path).select(["id", "g", "h"]).sort_by("id").to_pylist()
    assert rows == [{"id": i, "g": point(i, 1), "h": None} for i in range(5)] + [
        {"id": i + 10, "g": None, "h": point(2, i)} for i in range(5)
    ]
    schema = str(pq.ParquetFile(path).schema)
    assert "g (Geometry(crs=srid:4326))" in schema
    assert "h (Geography(crs=OGC:CRS84, algorithm=karney))" in schema
    assert (new.file.null_value_counts[2], new.file.lower_bounds.keys() & {2, 3}) == (5, set())


@pytest.mark.parametrize("sorted_by", ["n", "n DESC NULLS FIRST", "zorder(n, id)"])
@pytest.mark.parametrize("several", [False, True])
def test_rows_are_sorted_by_nanoseconds(lake: Any, tmp_path: Path, sorted_by: str, several: bool) -> None:
    table = typed_table(lake, {"n": "timestamp_ns"})
    nanos = pa.field("n", pa.timestamp("ns"), metadata={"PARQUET:field_id": "2"})
    at = [1_700_000_000_000_000_000 + (37 * i) % 500 - 250 * (i % 3) if i % 9 else None for i in range(500)]
    paths = []
    for i in range(5):
        paths.append(tmp_path / f"{i}.parquet")
        part = range(i, 500, 5)
        columns = [pa.array(part, pa.int64()), pa.array([at[n] for n in part], pa.int64()).cast(nanos.type)]
        pq.write_table(pa.table(columns, schema=pa.schema([id_field(), nanos])), paths[-1])
    add(table, *paths)
    options = {"min-overlap-depth": "2"} | ({"target-file-size-bytes": "2000"} if several else {})
    lake.rewrite("t", options, strategy="sort", sorted_by=[sorted_by])
    found = files(lake)
    assert (len(found) > 1) == several
    read = [pq.read_table(file.path.removeprefix("file://")).select(["id", "n"]) for file in found]
    assert all(part["n"].type == nanos.type for part in read)
    rows = [list(zip(p["id"].to_pylist(), p["n"].cast(pa.int64()).to_pylist(), strict=True)) for p in read]
    assert sorted(row for part in rows for row in part) == list(enumerate(at))
    if "zorder" not in sorted_by:
        ends = [[n for _, n in part] for part in rows]
        known = [[n for n in part if n is not None] for part in ends]
        first = "FIRST" in sorted_by or "DESC" not in sorted_by
        assert all((part[0] is None) >= (part[-1] is None) for part in ends) == first
        assert all(part == sorted(part, reverse="DESC" in sorted_by) for part in known)
    assert not [name for name in lake.orphans("t") if not name.endswith(".metadata.json")]


def test_a_table_of_iceberg_java_keeps_its_variants(java_lake: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Three files, in the spelling of our own readers."""
    monkeypatch.chdir(tmp_path)
    fx = java_lake(tmp_path)

    def rows() -> list[tuple[int, str | None]]:
        table = fx.connector.tables_of.open("fx", "v3_variant")
        live = read_live(table, table.current_snapshot())
        read = [pq.read_table(file.path.removeprefix("file:")) for file in live.data]
        found = [(part["id"].to_pylist(), json_column(part["v"].combine_chunks(), "v").to_pylist()) for part in read]
        return sorted((number, text) for ids, texts in found for number, text in zip(ids, texts, strict=True))

    before = rows()
    assert before == [(1, '{"a":1,"b":[true,null,"x"]}'), (2, None), (3, "3.5")]
    assert fx.rewrite("v3_variant", {"rewrite-all": "true"})["added_data_files_count"] == 1
    assert fx.workers.statements == []
    assert rows() == before

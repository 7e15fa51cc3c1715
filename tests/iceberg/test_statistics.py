"""Statistics files beside those that Iceberg Java wrote of the same table, and hashes beside a library's."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import mmh3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.table.puffin import PuffinFile

from coordinator.kernels.theta import NOMINAL, Theta, murmur3, seed_hash, single_values
from shared.errors import ErrorCode, ProcessionError


@settings(deadline=None)
@given(st.integers(0, 70), st.integers(0, 2**32 - 1), st.randoms(use_true_random=False))
def test_hashes_are_murmur3(length: int, seed: int, random: Any) -> None:
    keys = [random.randbytes(length) for _ in range(5)]
    rows = np.frombuffer(b"".join(keys), np.uint8).reshape(5, length)
    assert murmur3(rows, seed).tolist() == [mmh3.hash64(key, seed, signed=False)[0] for key in keys]


def test_the_seed_hash_is_that_of_the_library() -> None:
    assert seed_hash() == 0x93CC


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([1, -2, None], pa.int32()), {b"\1\0\0\0", b"\xfe\xff\xff\xff"}),
        (pa.array([7], pa.int64()), {b"\7" + b"\0" * 7}),
        (pa.array([True, False]), {b"\1", b"\0"}),
        (pa.array([date(1970, 1, 3)]), {b"\2\0\0\0"}),
        (pa.array([datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("us")), {b"\x40\x42\x0f\0\0\0\0\0"}),
        (pa.array(["a", "é", "", "bcd"]), {b"a", "é".encode(), b"bcd"}),
        (pa.array([b"xy", b""], pa.large_binary()), {b"xy"}),
        (pa.array([Decimal("1.00"), Decimal("-1.28"), Decimal("1.28"), Decimal("-655.36"), Decimal("0.00")]),
         {b"\x64", b"\x80", b"\x00\x80", b"\xff\x00\x00", b"\x00"}),
        (pa.array([UUID(int=5).bytes], pa.binary(16)), {UUID(int=5).bytes}),
        (pa.array([], pa.string()), set()),
        (pa.array([1, 2, 3], pa.int32()).slice(2), {b"\3\0\0\0"}),
    ],
)  # fmt: skip
def test_single_values(values: Any, expected: set[bytes]) -> None:
    found = {row.tobytes() for rows in single_values(values.drop_null()) for row in rows}
    assert found == expected


@settings(deadline=None)
@given(st.lists(st.integers(-(10**30), 10**30), min_size=1, max_size=20))
def test_decimals_as_java_big_integers(numbers: list[int]) -> None:
    values = pa.array([Decimal(n) for n in set(numbers)], pa.decimal128(38, 0))
    found = {row.tobytes() for rows in single_values(values) for row in rows}
    expected = {n.to_bytes((n if n >= 0 else ~n).bit_length() // 8 + 1, "big", signed=True) for n in numbers}
    assert found == expected


def test_estimates_and_merging() -> None:
    exact, half, rest = Theta(), Theta(), Theta()
    exact.add(pa.array(range(NOMINAL)))
    assert exact.estimate() == NOMINAL
    half.add(pa.array(range(150_000)))
    rest.add(pa.array(range(100_000, 300_000)))
    half.merge(rest)
    assert half.estimate() == pytest.approx(300_000, rel=0.06)
    whole = Theta()
    whole.add(pa.array(range(300_000)))
    assert whole.to_bytes() == half.to_bytes()


def blobs(path: str) -> dict[tuple[int, ...], tuple[str, dict[str, str], bytes]]:
    file = PuffinFile(Path(path.removeprefix("file://")).read_bytes())
    return {tuple(b.fields): (b.type, b.properties, file.get_blob_payload(b)) for b in file.footer.blobs}


def test_sketches_are_byte_for_byte_those_of_iceberg_java(java_lake: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    lake = java_lake(tmp_path)
    table = lake.other.load_table("fx.stats")
    (java,) = table.metadata.statistics
    expected = blobs(java.statistics_path)
    assert expected
    names = [table.schema().find_field(fields[0]).name for fields in expected]
    ((path,),) = lake.call(
        "compute_table_stats", schema="fx", table_name="stats", columns=names, snapshot_id=java.snapshot_id
    ).rows
    assert path != java.statistics_path
    assert blobs(path) == expected
    (ours,) = lake.other.load_table("fx.stats").metadata.statistics
    assert ours.statistics_path == path
    assert [b.model_dump() for b in ours.blob_metadata] == [b.model_dump() for b in java.blob_metadata]
    assert ours.file_size_in_bytes == Path(path).stat().st_size
    data = Path(path).read_bytes()
    assert data[-ours.file_footer_size_in_bytes :][:4] == b"PFA1"


def call(lake: Any, procedure: str, **given: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in lake.call(procedure, schema="db", table_name="t", **given).rows]


def test_deleted_rows_are_not_counted(lake: Any, foreign: Any) -> None:
    names, kinds = [f"n{j % 7}" for j in range(100)], [None] * 99 + [""]
    parts = [
        pa.table({"id": pa.array(range(i * 100, i * 100 + 100), pa.int64()), "name": names, "kind": kinds})
        for i in range(9)
    ]
    lake.create("t", parts)
    path = next(task.file.file_path for task in lake.table("t").scan("id = 5").plan_files())
    foreign.delete_positions(lake.table("t"), {path: list(range(10))})
    assert call(lake, "compute_table_stats")
    (file,) = lake.table("t").metadata.statistics
    counts = {b.fields[0]: int(b.properties["ndv"]) for b in file.blob_metadata}
    data = lake.table("t").scan().to_arrow()  # noqa: F841  (DuckDB reads it)
    expected = duckdb.sql("SELECT count(DISTINCT id), count(DISTINCT name), 0 FROM data").fetchall()[0]
    assert counts == dict(zip((1, 2, 3), expected, strict=True))


def test_refusals_and_empty_tables(lake: Any) -> None:
    data = pa.table({"id": pa.array([1], pa.int64()), "s": [{"x": 1}]})
    lake.other.create_table("db.t", schema=data.schema)
    assert call(lake, "compute_table_stats") == []
    lake.table("t").append(data)
    for columns, code, message in (
        (["nope"], ErrorCode.COLUMN_NOT_FOUND, "Can't find column nope"),
        (["s"], ErrorCode.INVALID_PROCEDURE_ARGUMENT, "Can't compute stats on non-primitive type column: s"),
    ):
        with pytest.raises(ProcessionError, match=message) as failure:
            call(lake, "compute_table_stats", columns=columns)
        assert failure.value.code is code
    with pytest.raises(ProcessionError, match="Snapshot not found: 7"):
        call(lake, "compute_table_stats", snapshot_id=7)
    with pytest.raises(ProcessionError, match="Spark is not available"):
        call(lake, "compute_table_stats", columns=["s.x"])
    assert "`lab`.system.compute_table_stats(table =>" in lake.workers.statements[-1]
    assert lake.table("t").metadata.statistics == []


def test_partition_statistics_are_those_of_iceberg_java(java_lake: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    lake = java_lake(tmp_path)
    table = lake.other.load_table("fx.stats")
    (java,) = table.metadata.partition_statistics
    given: dict[str, Any] = {"schema": "fx", "table_name": "stats", "snapshot_id": java.snapshot_id}
    assert lake.call("compute_partition_stats", **given).rows == [(java.statistics_path,)], "it is there already"
    with table.transaction() as transaction:
        from pyiceberg.table.update import RemovePartitionStatisticsUpdate

        update = RemovePartitionStatisticsUpdate.model_validate({"snapshot-id": java.snapshot_id})
        transaction._apply((update,), ())
    ((path,),) = lake.call("compute_partition_stats", **given).rows
    ours, theirs = pq.read_table(path), pq.read_table(java.statistics_path)
    assert ours.to_pylist() == theirs.to_pylist()
    assert ours.num_rows > 1
    ids = [[f.metadata[b"PARQUET:field_id"] for f in t.schema] for t in (ours, theirs)]
    assert ids[0] == ids[1]
    assert [f.nullable for f in ours.schema] == [f.nullable for f in theirs.schema]
    (registered,) = lake.other.load_table("fx.stats").metadata.partition_statistics
    assert (registered.statistics_path, registered.snapshot_id) == (path, java.snapshot_id)
    assert registered.file_size_in_bytes == Path(path).stat().st_size


@pytest.mark.parametrize("name", ["part_evolved", "transforms", "v2_posdel_part", "v2_eqdel_part", "v3_dv"])
def test_partition_statistics_add_up(java_lake: Any, tmp_path: Path, monkeypatch: Any, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    lake = java_lake(tmp_path)
    table = lake.other.load_table(f"fx.{name}")
    if all(spec.is_unpartitioned() for spec in table.specs().values()):
        with pytest.raises(ProcessionError, match="Table must be partitioned"):
            lake.call("compute_partition_stats", schema="fx", table_name=name)
        return
    ((path,),) = lake.call("compute_partition_stats", schema="fx", table_name=name).rows
    rows = pq.read_table(path).to_pylist()
    summary = table.current_snapshot().summary
    assert sum(r["data_record_count"] for r in rows) == int(summary["total-records"])
    assert sum(r["data_file_count"] for r in rows) == int(summary["total-data-files"])
    assert sum(r["position_delete_record_count"] for r in rows) == int(summary["total-position-deletes"])
    assert sum(r["equality_delete_record_count"] for r in rows) == int(summary["total-equality-deletes"])
    assert lake.other.load_table(f"fx.{name}").metadata.partition_statistics[0].statistics_path == path


def test_analyze_counts_rows_and_distinct_values(lake: Any) -> None:
    rows = pa.table({"k": pa.array([1, 2, 2, None], pa.int64()), "s": ["a", "b", "c", "c"]})
    lake.create("t", [rows, rows])
    connector = lake.connector
    assert connector.analyze("db", "t", {}, lake.context()) == 8
    assert [(c.column, c.distinct_values) for c in connector.statistics("db", "t").columns] == [("k", 2), ("s", 3)]
    lake.create("chosen", [rows])
    assert connector.analyze("db", "chosen", {"columns": ("S",)}, lake.context()) == 4
    assert [(c.column, c.distinct_values) for c in connector.statistics("db", "chosen").columns] == [
        ("k", None),
        ("s", 3),
    ]
    with pytest.raises(ProcessionError, match="Can't find column nope") as failed:
        connector.analyze("db", "t", {"columns": ("nope",)}, lake.context())
    assert failed.value.code is ErrorCode.INVALID_ANALYZE_PROPERTY
    lake.other.create_table("db.empty", schema=rows.schema)
    assert connector.analyze("db", "empty", {}, lake.context()) == 0


def test_partition_statistics_go_on_from_earlier_ones(lake: Any, foreign: Any, monkeypatch: Any) -> None:
    """Only what changed is read, and the counts are those of counting everything."""
    from coordinator.connectors.iceberg.statistics.partition_statistics import partition_statistics

    days = pa.array([19000, 19001, None, 19001], pa.date32())
    batch = pa.table({"id": pa.array(range(4), pa.int64()), "day": days, "p": ["a", None, "b", "a"]})
    table = lake.create("t", [batch.slice(0, 1)])
    with table.update_spec() as spec:
        spec.add_identity("day")
        spec.add_identity("p")
    table.append(batch)
    path = next(iter(table.scan(row_filter="p = 'b'").plan_files())).file.file_path
    given = {"schema": "db", "table_name": "t"}
    lake.call("compute_partition_stats", **given)
    table.append(batch)
    table.append(batch.slice(2))
    table.delete("p = 'a' and day = '2022-01-09'")
    partition = next(f.file for f in table.scan().plan_files() if f.file.file_path == path).partition
    foreign.delete_positions(table, {path: [0]}, partition)
    lake.call("rewrite_manifests", **given)
    ((continued,),) = lake.call("compute_partition_stats", **given).rows
    table.refresh()
    full = partition_statistics(table, table.current_snapshot())
    counted = [name for name in full.schema.names if not name.startswith("last_updated")]

    def live(rows: pa.Table) -> list[dict[str, Any]]:
        """Partitions that lost everything are listed with zeros as long as somebody remembers them."""
        return [row for row in rows.select(counted).to_pylist() if row["data_file_count"]]

    found = pq.read_table(continued.removeprefix("file://"))
    assert live(found) == live(full)
    assert len(live(found)) >= 3
    assert {f.name: f.type for f in found.schema} == {f.name: f.type for f in full.schema}

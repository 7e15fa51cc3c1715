"""The rewrite kernels on files of every shape, against pyarrow, DuckDB and PyIceberg's own metrics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    pyarrow_to_schema,
)

from coordinator.kernels import cache, join, rewrite
from coordinator.kernels.errors import KernelError


def field(number: int, name: str, kind: Any, *, required: bool = False) -> dict[str, Any]:
    return {"id": number, "name": name, "type": kind, "required": required}


FIELDS = [
    field(1, "id", "long", required=True),
    field(2, "text", "string"),
    field(3, "amount", "decimal(12,2)"),
    field(4, "ratio", "double"),
    field(5, "day", "date"),
    field(6, "raw", "binary"),
    field(7, "at", "timestamptz"),
    field(8, "big", "decimal(38,4)"),
    field(9, "small", "float"),
    field(10, "flag", "boolean"),
]


def with_ids(table: pa.Table, ids: list[int]) -> pa.Table:
    fields = [f.with_metadata({"PARQUET:field_id": str(i)}) for f, i in zip(table.schema, ids, strict=True)]
    return pa.table(table.columns, schema=pa.schema(fields))


def sample(start: int, rows: int) -> pa.Table:
    ids = np.arange(start, start + rows)
    random = np.random.default_rng(start)
    ratio = random.normal(size=rows)
    ratio[:: max(1, rows // 7)] = np.nan
    table = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "text": pa.array([None if i % 11 == 0 else f"täxt-{i % 37}-{'y' * (i % 40)}" for i in ids]),
            "amount": pa.array((ids * 7 % 100_000 - 50_000).tolist(), pa.int64()).cast(pa.decimal128(19, 0)),
            "ratio": ratio,
            "day": pa.array((ids % 20_000 - 5_000).astype("int32")).cast(pa.date32()),
            "raw": pa.array([bytes([i % 256, 255, 255]) * 9 for i in ids.tolist()]),
            "at": pa.array(ids * 1_000_003, pa.timestamp("us", "UTC")),
            "big": pa.array((ids * 12345678901 - 5).tolist(), pa.int64()).cast(pa.decimal128(38, 4)),
            "small": pa.array(random.normal(size=rows).astype("float32")),
            "flag": pa.array((ids % 3 == 0).tolist()),
        }
    )
    table = table.set_column(
        2, "amount", pa.compute.cast(table["amount"], pa.decimal128(22, 2)).cast(pa.decimal128(12, 2))
    )
    schema = table.schema.set(0, table.schema.field(0).with_nullable(False))
    return with_ids(table.cast(schema), list(range(1, 11)))


def write(folder: Path, name: str, table: pa.Table, **options: Any) -> dict[str, Any]:
    path = folder / name
    pq.write_table(table, path, compression="zstd", **options)
    return {"path": str(path), "size": path.stat().st_size}


def run(folder: Path, inputs: list[dict[str, Any]], fields: Any = None, **extra: Any) -> dict[str, Any]:
    output = {"directory": f"file://{folder}/out", "name": "made", **extra.pop("output", {})}
    task = {"fields": fields or FIELDS, "inputs": inputs, "output": output, **extra}
    found: dict[str, Any] = json.loads(rewrite.run(json.dumps(task).encode()))
    return found


def comparable(table: pa.Table) -> pa.Table:
    """The same rows with NaN equal to itself, and without field metadata."""
    text = pa.compute.cast(table["ratio"], pa.string())
    return table.set_column(3, "ratio", text).replace_schema_metadata().combine_chunks()


def local(location: str) -> str:
    return location.removeprefix("file://")


def test_written_file_holds_the_rows_page_indexes_and_small_pages(tmp_path: Path) -> None:
    tables = [sample(i * 30_000, 30_000) for i in range(3)]
    fragment = run(tmp_path, [write(tmp_path, f"{i}.parquet", t) for i, t in enumerate(tables)])
    path = local(fragment["path"])
    assert fragment["rows"] == fragment["read_rows"] == 90_000
    assert fragment["size"] == Path(path).stat().st_size
    assert comparable(pq.read_table(path)).equals(comparable(pa.concat_tables(tables)))
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    assert chunk.has_offset_index
    assert chunk.has_column_index
    assert chunk.compression == "ZSTD"


def test_metrics_equal_pyicebergs(tmp_path: Path) -> None:
    """PyIceberg derives its metrics from Arrow's statistics; ours come from the footer's bytes."""
    inputs = [write(tmp_path, f"{i}.parquet", sample(i * 1_000, 1_000)) for i in range(5)]
    fragment = run(tmp_path, inputs, output={"row_group_bytes": 100_000})
    metadata = pq.ParquetFile(local(fragment["path"])).metadata
    assert metadata.num_row_groups > 3
    schema = pyarrow_to_schema(sample(0, 2).schema)
    theirs = data_file_statistics_from_parquet_metadata(
        metadata, compute_statistics_plan(schema, {}), parquet_path_to_id_mapping(schema)
    )
    ours, serialized = fragment["metrics"], theirs.to_serialized_dict()
    assert {int(k): v for k, v in ours["column_sizes"].items()} == theirs.column_sizes
    assert {int(k): v for k, v in ours["value_counts"].items()} == theirs.value_counts
    assert {int(k): v for k, v in ours["null_counts"].items()} == theirs.null_value_counts
    assert {int(k): bytes.fromhex(v) for k, v in ours["lower_bounds"].items()} == serialized["lower_bounds"]
    assert {int(k): bytes.fromhex(v) for k, v in ours["upper_bounds"].items()} == serialized["upper_bounds"]
    assert ours["split_offsets"] == theirs.split_offsets
    nans = duckdb.sql(f"SELECT count(*) FILTER (isnan(ratio)) FROM '{local(fragment['path'])}'").fetchall()
    assert ours["nan_counts"] == {"4": nans[0][0], "9": 0}


@pytest.mark.parametrize("mode", ["none", "counts", "truncate(3)", "full"])
def test_metrics_modes(tmp_path: Path, mode: str) -> None:
    table = with_ids(pa.table({"text": ["abcdef", "abz\U0010ffff\U0010ffff", None]}), [1])
    fragment = run(tmp_path, [write(tmp_path, "a.parquet", table)], [field(1, "text", "string")], modes={"1": mode})
    metrics = fragment["metrics"]
    assert bool(metrics["value_counts"]) == (mode != "none")
    bounds = {
        "none": (None, None),
        "counts": (None, None),
        "truncate(3)": ("abc", "ab{"),
        "full": ("abcdef", "abz\U0010ffff\U0010ffff"),
    }[mode]
    got = tuple(
        bytes.fromhex(metrics[k]["1"]).decode() if metrics[k] else None for k in ("lower_bounds", "upper_bounds")
    )
    assert got == bounds


def test_upper_bound_that_cannot_be_shortened_is_left_out(tmp_path: Path) -> None:
    table = with_ids(pa.table({"raw": [b"\xff" * 20]}), [1])
    fragment = run(tmp_path, [write(tmp_path, "a.parquet", table)], [field(1, "raw", "binary")])
    assert fragment["metrics"]["lower_bounds"]["1"] == "ff" * 16
    assert fragment["metrics"]["upper_bounds"] == {}


def test_schema_evolution_by_field_id(tmp_path: Path) -> None:
    """Renamed, reordered, promoted, dropped and added columns, inside structs as well."""
    inner = pa.struct(
        [
            pa.field("p", pa.int32(), metadata={"PARQUET:field_id": "11"}),
            pa.field("gone", pa.string(), metadata={"PARQUET:field_id": "12"}),
        ]
    )
    old = pa.table(
        [pa.array([1, 2], pa.int32()), pa.array(["a", None]), pa.array([1.5, -2.0], pa.float32()),
         pa.array([{"p": 1, "gone": "x"}, None], inner), pa.array(["dropped"] * 2)],
        schema=pa.schema([
            pa.field("k", pa.int32(), metadata={"PARQUET:field_id": "1"}),
            pa.field("v", pa.string(), metadata={"PARQUET:field_id": "2"}),
            pa.field("f", pa.float32(), metadata={"PARQUET:field_id": "3"}),
            pa.field("s", inner, metadata={"PARQUET:field_id": "4"}),
            pa.field("z", pa.string(), metadata={"PARQUET:field_id": "5"}),
        ]),
    )  # fmt: skip
    fields = [
        field(6, "z", "date"),
        field(4, "s", {"type": "struct", "fields": [field(13, "new", "string"), field(11, "q", "long")]}),
        field(3, "f", "double"),
        field(1, "key", "long"),
        field(2, "v", "string"),
        field(7, "part", "decimal(9,2)"),
    ]
    item = {**write(tmp_path, "old.parquet", old), "constants": {"7": "12.50"}}
    rows = pq.read_table(local(run(tmp_path, [item], fields)["path"])).to_pylist()
    part = rows[0]["part"]
    assert str(part) == "12.50"
    assert rows == [
        {"z": None, "s": {"new": None, "q": 1}, "f": 1.5, "key": 1, "v": "a", "part": part},
        {"z": None, "s": None, "f": -2.0, "key": 2, "v": None, "part": part},
    ]


def test_file_that_shares_no_column_with_the_table_gives_nulls(tmp_path: Path) -> None:
    item = write(tmp_path, "old.parquet", with_ids(pa.table({"gone": range(10)}), [99]))
    fragment = run(tmp_path, [item], [field(1, "a", "long"), field(2, "b", "string")])
    assert fragment["rows"] == 10
    assert pq.read_table(local(fragment["path"])).to_pylist() == [{"a": None, "b": None}] * 10


def test_files_without_ids_need_a_name_mapping(tmp_path: Path) -> None:
    item = write(tmp_path, "hive.parquet", pa.table({"a": [1, 2], "b": ["x", "y"]}))
    fields = [field(1, "a", "long"), field(2, "renamed", "string")]
    with pytest.raises(KernelError, match="no field ids") as failure:
        run(tmp_path, [item], fields)
    assert failure.value.name == "ICEBERG_BAD_DATA"
    mapping = [{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["b", "renamed"]}]
    fragment = run(tmp_path, [item], fields, name_mapping=mapping)
    assert pq.read_table(local(fragment["path"])).to_pydict() == {"a": [1, 2], "renamed": ["x", "y"]}


def test_position_deletes_by_any_spelling_of_the_path(tmp_path: Path) -> None:
    item = write(tmp_path, "a.parquet", sample(0, 10_000), row_group_size=1_000)
    deleted = [0, 999, 1000, 5555, 9999, 9999]
    paths = [f"file:{item['path']}", f"file://{item['path']}", item["path"], "/else", item["path"], item["path"]]
    deletes = write(tmp_path, "d.parquet", pa.table({"file_path": paths, "pos": pa.array(deleted, pa.int64())}))
    item["positions"] = [0]
    fragment = run(tmp_path, [item], position_deletes=[deletes])
    assert fragment["read_rows"] == 10_000
    kept = pq.read_table(local(fragment["path"]))["id"].to_pylist()
    assert kept == [i for i in range(10_000) if i not in (0, 999, 1000, 9999)]


def test_slices_of_one_file_keep_positions(tmp_path: Path) -> None:
    item = write(tmp_path, "a.parquet", sample(0, 10_000), row_group_size=1_000)
    deletes = write(
        tmp_path, "d.parquet", pa.table({"file_path": [item["path"]] * 2, "pos": pa.array([4_001, 9_000], pa.int64())})
    )
    kept: list[int] = []
    for groups in ([0, 4], [4, 1 << 30]):
        fragment = run(tmp_path, [{**item, "groups": groups, "positions": [0]}], position_deletes=[deletes])
        kept += pq.read_table(local(fragment["path"]))["id"].to_pylist()
    assert kept == [i for i in range(10_000) if i not in (4_001, 9_000)]


def test_equality_deletes_treat_null_as_equal(tmp_path: Path) -> None:
    data = with_ids(pa.table({"a": [1, 1, None, None, 2], "b": ["x", None, "x", None, "y"]}), [1, 2])
    keys = with_ids(pa.table({"b": pa.array([None, "x", "q"]), "a": pa.array([1, None, 2], pa.int32())}), [2, 1])
    fields = [field(1, "a", "long"), field(2, "b", "string")]
    item = {**write(tmp_path, "a.parquet", data), "equality": [0]}
    deletes = {**write(tmp_path, "d.parquet", keys), "fields": [fields[1], fields[0]]}
    fragment = run(tmp_path, [item], fields, equality_deletes=[deletes])
    rows = pq.read_table(local(fragment["path"])).to_pylist()
    assert rows == [{"a": 1, "b": "x"}, {"a": None, "b": None}, {"a": 2, "b": "y"}]


def test_many_equality_keys_against_duckdb(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    data = with_ids(pa.table({"a": random.integers(0, 300, 50_000), "b": random.integers(0, 300, 50_000),
                              "c": [f"s{i}" for i in random.integers(0, 9, 50_000)]}), [1, 2, 3])  # fmt: skip
    keys = with_ids(data.slice(0, 8_000).rename_columns(["a", "b", "c"]), [1, 2, 3])
    fields = [field(1, "a", "long"), field(2, "b", "long"), field(3, "c", "string")]
    item = {**write(tmp_path, "a.parquet", data), "equality": [0]}
    deletes = {**write(tmp_path, "d.parquet", keys), "fields": fields}
    fragment = run(tmp_path, [item], fields, equality_deletes=[deletes])
    wanted = duckdb.sql("SELECT * FROM data ANTI JOIN keys USING (a, b, c)").to_arrow_table()
    assert fragment["rows"] == wanted.num_rows
    assert (
        pq.read_table(local(fragment["path"]))
        .sort_by([("a", "ascending"), ("b", "ascending"), ("c", "ascending")])
        .equals(
            wanted.sort_by([("a", "ascending"), ("b", "ascending"), ("c", "ascending")]).cast(
                pq.read_table(local(fragment["path"])).schema
            )
        )
    )


def test_everything_deleted_writes_no_file(tmp_path: Path) -> None:
    item = write(tmp_path, "a.parquet", sample(0, 10))
    deletes = write(
        tmp_path, "d.parquet", pa.table({"file_path": [item["path"]] * 10, "pos": pa.array(range(10), pa.int64())})
    )
    fragment = run(tmp_path, [{**item, "positions": [0]}], position_deletes=[deletes])
    assert fragment["path"] is None
    assert fragment["read_rows"] == 10
    assert not (tmp_path / "out").exists()


def test_joined_parts_read_as_one_file(tmp_path: Path) -> None:
    tables = [sample(i * 40_000, 40_000) for i in range(3)]
    parts = [
        run(tmp_path, [write(tmp_path, f"{i}.parquet", t)], output={"row_group_bytes": 2_000_000}, final=False)
        for i, t in enumerate(tables)
    ]
    task = {
        "fields": FIELDS,
        "parts": [{"path": part["path"], "size": part["size"]} for part in parts],
        "output": {"directory": str(tmp_path), "name": "joined"},
        "nan_counts": {"4": sum(part["nan_counts"]["4"] for part in parts)},
    }
    fragment = json.loads(join.run(json.dumps(task).encode()))
    whole = pa.concat_tables(tables)
    assert comparable(pq.read_table(fragment["path"])).equals(comparable(whole))
    assert fragment["rows"] == 120_000
    assert fragment["metrics"]["null_counts"]["2"] == whole["text"].null_count
    metadata = pq.ParquetFile(fragment["path"]).metadata
    assert fragment["metrics"]["split_offsets"] == [
        metadata.row_group(i).column(0).dictionary_page_offset or metadata.row_group(i).column(0).data_page_offset
        for i in range(metadata.num_row_groups)
    ]
    # DuckDB uses row group statistics and reads pages by the footer's offsets.
    query = f"SELECT count(*), min(id), max(id) FROM '{fragment['path']}' WHERE id BETWEEN 79_990 AND 80_009"
    assert duckdb.sql(query).fetchall() == [(20, 79_990, 80_009)]


def test_footer_cache_is_bounded_and_cleared() -> None:
    class Footer:
        serialized_size = 40

    footers = cache.FileCache[Footer](lambda footer: footer.serialized_size, limit=100)
    for i in range(5):
        footers.put(f"f{i}", 1, Footer())
    assert footers.get("f0", 1) is None
    assert footers.get("f4", 1) is not None
    assert footers.clear() == (2, 80)
    assert footers.clear() == (0, 0)
    json.loads(cache.clear(b""))
    assert json.loads(cache.clear(b"")) == {"entries": 0, "bytes": 0}


BOUNDED = """
import json, re, sys
from coordinator.kernels import rewrite
fragment = json.loads(rewrite.run(sys.stdin.buffer.read()))
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
print(json.dumps([peak, fragment["rows"]]))
"""


@pytest.mark.slow
def test_memory_stays_bounded_whatever_the_input_is(tmp_path: Path) -> None:
    """A group that decodes to 0.6 GB, one file of it with a single row group, within 400 MB of resident memory.

    ``make test-full``: a group of 2 GB on disk, 10 GB decoded, within the same bound.
    """
    copies = 32 if os.environ.get("PROCESSION_TEST_FULL") else 3
    random = np.random.default_rng(3)
    rows = 400_000
    block = pa.table(
        {"id": pa.array(random.integers(0, 1 << 62, rows)), "text": [random.bytes(150).hex() for _ in range(rows)]}
    )
    table = with_ids(block, [1, 2])
    one = write(tmp_path, "one.parquet", pa.concat_tables([table, table]), row_group_size=10_000_000)
    small = write(tmp_path, "small.parquet", table, row_group_size=50_000)
    task = {
        "fields": [field(1, "id", "long"), field(2, "text", "string")],
        "inputs": [one, *[small] * copies],
        "output": {"directory": str(tmp_path), "name": "made"},
    }
    child = subprocess.run(
        [sys.executable, "-c", BOUNDED], input=json.dumps(task).encode(), capture_output=True, check=True
    )
    peak, written = json.loads(child.stdout)
    assert written == rows * (2 + copies)
    assert peak < 400 << 10, f"{peak >> 10} MB"


@pytest.mark.parametrize("order", [("repeating", "distinct"), ("distinct", "repeating")])
@pytest.mark.slow
def test_distinct_text_beside_repeating_text_does_not_swell_the_output(tmp_path: Path, order: tuple[str, str]) -> None:
    random, rows = np.random.default_rng(5), 200_000
    made = {
        "repeating": [f"value {i % 50}" for i in range(rows)],
        "distinct": [random.bytes(60).hex() for _ in range(rows)],
    }
    inputs = []
    for name in order:
        block = pa.table({"id": pa.array(range(rows), pa.int64()), "text": made[name]})
        inputs.append(write(tmp_path, f"{name}.parquet", with_ids(block, [1, 2]), row_group_size=rows))
    task = {
        "fields": [field(1, "id", "long"), field(2, "text", "string")],
        "inputs": inputs,
        "output": {"directory": str(tmp_path), "name": "made"},
    }
    fragment = json.loads(rewrite.run(json.dumps(task).encode()))
    assert fragment["rows"] == 2 * rows
    assert fragment["size"] < 1.1 * sum(item["size"] for item in inputs)
    read = pq.read_table(local(fragment["path"]))
    assert sorted(read.column("text").to_pylist()) == sorted(made["repeating"] + made["distinct"])

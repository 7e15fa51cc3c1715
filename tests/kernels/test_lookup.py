"""Chosen rows of Parquet files by position, against pyarrow reading the whole file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.kernels import lookup, ranges, wire
from coordinator.kernels.errors import KernelError
from coordinator.kernels.ranges import Traffic
from coordinator.kernels.schema import arrow_field
from coordinator.kernels.tasks import LookUpTask
from coordinator.kernels.thrift import Reader, encode
from tests.kernels.object_store import bucket

pytestmark = pytest.mark.slow

ROWS = 9_000
NEW = {"id": 99, "name": "new", "type": "int", "required": False, "initial-default": 5}
LIST = {"type": "list", "element-id": 10, "element": "long", "element-required": False}
MAP = {"type": "map", "key-id": 11, "key": "string", "value-id": 12, "value": "long", "value-required": False}
INNER = {"type": "struct", "fields": [{"id": 16, "name": "z", "type": "string", "required": False}]}
DEEP = {"type": "list", "element-id": 15, "element-required": False, "element": INNER}
STRUCT = {
    "type": "struct",
    "fields": [
        {"id": 13, "name": "p", "type": "long", "required": False},
        {"id": 14, "name": "q", "required": False, "type": DEEP},
    ],
}
TYPES: dict[str, Any] = {
    "number": "long",
    "repeating": "string",
    "distinct": "string",
    "items": LIST,
    "tags": MAP,
    "deep": STRUCT,
    "flag": "boolean",
    "amount": "decimal(20, 2)",
    "raw": "binary",
    "ratio": "double",
}
FIELDS = [{"id": i, "name": n, "type": t, "required": False} for i, (n, t) in enumerate(TYPES.items(), start=1)]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    numbers = range(ROWS)
    columns = [
        list(numbers),
        [None if i % 7 == 0 else f"wört{i % 50}" for i in numbers],
        [f"text {i * 7919 % ROWS}" for i in numbers],
        [None if i % 5 == 0 else list(range(i % 4)) for i in numbers],
        [[(f"k{j}", i) for j in range(i % 3)] for i in numbers],
        [None if i % 11 == 0 else {"p": i, "q": [{"z": f"z{i}"}] * (i % 3)} for i in numbers],
        [i % 3 == 0 for i in numbers],
        [None] * ROWS,
        [bytes([i % 256]) * (i % 5) for i in numbers],
        [None if i % 13 == 0 else i / 3 for i in numbers],
    ]
    schema = pa.schema([arrow_field(field) for field in FIELDS])
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def fetch(files: list[tuple[str, Any]], fields: list[dict[str, Any]], **common: Any) -> tuple[pa.Table, Traffic]:
    traffic = Traffic()
    task = lookup.with_rows(LookUpTask(fields, **common), files)
    return lookup.read_rows(wire.decode(LookUpTask, wire.encode(task)), traffic), traffic


def same(found: pa.Table, expected: pa.Table) -> None:
    for i, name in enumerate(expected.column_names):
        assert found.column(i).to_pylist() == expected.column(i).to_pylist(), name


CHOICES = {
    "first": np.array([0]),
    "edges": np.array([0, 999, 1000, 2_999, 3_000, ROWS - 1]),
    "few": np.sort(np.random.default_rng(1).choice(ROWS, 100, replace=False)),
    "run": np.arange(2_345, 3_456),
    "all": np.arange(ROWS),
}


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(
    ("codec", "dictionary"), [("zstd", True), ("snappy", False), ("none", True), ("gzip", False), ("lz4", True)]
)
def test_rows_of_every_layout(
    index: bool, version: str, codec: str, dictionary: bool, rows: pa.Table, tmp_path: Path
) -> None:
    path = str(tmp_path / "pägë %20.parquet")
    pq.write_table(
        rows,
        path,
        row_group_size=3_000,
        write_page_index=index,
        data_page_version=version,
        compression=codec,
        use_dictionary=dictionary,
        max_rows_per_page=1000,
    )
    for name, chosen in CHOICES.items():
        found, _ = fetch([(path, chosen)], [*FIELDS, NEW])
        same(found, rows.take(chosen))
        assert set(found.column(len(FIELDS)).to_pylist()) == {5}, name


@pytest.mark.parametrize(
    "encoding",
    [
        {"number": "DELTA_BINARY_PACKED", "distinct": "DELTA_BYTE_ARRAY"},
        {"number": "BYTE_STREAM_SPLIT", "distinct": "DELTA_LENGTH_BYTE_ARRAY", "ratio": "BYTE_STREAM_SPLIT"},
        {"flag": "RLE", "distinct": "PLAIN"},
    ],
)
def test_encodings(encoding: dict[str, str], rows: pa.Table, tmp_path: Path) -> None:
    path, names = str(tmp_path / "f.parquet"), ["number", "distinct", "flag", "ratio"]
    pq.write_table(
        rows.select(names),
        path,
        row_group_size=2_100,
        write_page_index=True,
        max_rows_per_page=150,
        use_dictionary=False,
        column_encoding=encoding,
        data_page_version="2.0",
    )
    fields = [field for field in FIELDS if field["name"] in names]
    for chosen in CHOICES.values():
        found, _ = fetch([(path, chosen)], fields)
        same(found, rows.select(names).take(chosen))


def test_only_pages_with_wanted_rows_are_read(rows: pa.Table, tmp_path: Path) -> None:
    path = str(tmp_path / "f.parquet")
    pq.write_table(rows, path, row_group_size=3_000, write_page_index=True, max_rows_per_page=100, use_dictionary=False)
    size = Path(path).stat().st_size
    _, traffic = fetch([(path, np.array([4_500]))], FIELDS[2:3])
    assert traffic.bytes < size // 4
    _, whole = fetch([(path, np.arange(ROWS))], FIELDS)
    assert size * 0.8 < whole.bytes < size * 1.2


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_without_an_index_are_found_by_their_headers(version: str, rows: pa.Table, tmp_path: Path) -> None:
    """As PyIceberg writes files: of flat columns only the pages with wanted rows are read."""
    path, many = str(tmp_path / "f.parquet"), pa.concat_tables([rows.select(["number", "repeating", "distinct"])] * 20)
    layout = {"row_group_size": 90_000, "max_rows_per_page": 2_000, "use_dictionary": ["repeating"]}
    pq.write_table(many, path, compression="none", data_page_version=version, **layout)
    chosen = np.array([0, 1_999, 2_000, 89_999, 90_000, 150_001, 179_999])
    found, traffic = fetch([(path, chosen)], FIELDS[:3])
    same(found, many.take(chosen))
    assert traffic.bytes < Path(path).stat().st_size // 4


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_dictionary_is_read_for_pages_that_use_it(index: bool, version: str, tmp_path: Path) -> None:
    """A writer that meets too many values gives its dictionary up: pages after that do without."""
    path = str(tmp_path / "f.parquet")
    texts = pa.table(
        {"t": [f"text {i:06d} {i % 9}" for i in range(60_000)]},
        schema=pa.schema([pa.field("t", pa.string(), metadata={"PARQUET:field_id": "1"})]),
    )
    layout = {"dictionary_pagesize_limit": 500_000, "max_rows_per_page": 1000, "data_page_version": version}
    pq.write_table(texts, path, compression="none", write_page_index=index, **layout)
    fields = [{"id": 1, "name": "t", "type": "string", "required": False}]
    read = {}
    for name, chosen in (("coded", [3]), ("plain", [59_998]), ("both", [3, 30_000, 59_998])):
        found, traffic = fetch([(path, np.array(chosen))], fields)
        same(found, texts.take(chosen))
        read[name] = traffic.bytes
    assert read["plain"] < 250_000
    assert read["coded"] > 500_000
    assert read["both"] > 500_000


def test_a_dictionary_that_statistics_deny_is_read_after_all(tmp_path: Path) -> None:
    """Encoding statistics that put all pages without codes, which the pages' own headers do not bear out."""
    path = tmp_path / "f.parquet"
    texts = pa.table(
        {"t": [f"text {i % 30_000}" for i in range(60_000)]},
        schema=pa.schema([pa.field("t", pa.string(), metadata={"PARQUET:field_id": "1"})]),
    )
    pq.write_table(texts, path, compression="none", write_page_index=True, max_rows_per_page=1000)
    with path.open("rb") as file:
        pages_before = file.read()
    footer_size = int.from_bytes(pages_before[-8:-4], "little")
    footer = Reader(pages_before[-8 - footer_size : -8]).struct()
    statistics = footer[4][1][1][0][1][1][1][0][3][1][13][1][1]
    for one in statistics:
        if one[1][1] == 0:
            one[2] = (one[2][0], 0)
    changed = encode(footer)
    path.write_bytes(pages_before[: -8 - footer_size] + changed + len(changed).to_bytes(4, "little") + b"PAR1")
    chosen = [5, 31_000]
    found, traffic = fetch([(str(path), np.array(chosen))], [{"id": 1, "name": "t", "type": "string"}])
    same(found, texts.take(chosen))
    assert traffic.bytes > 300_000


def test_files_are_joined_in_the_order_of_the_task(rows: pa.Table, tmp_path: Path) -> None:
    files = []
    for i in range(5):
        path = str(tmp_path / f"{i}.parquet")
        pq.write_table(rows.slice(i * 1800, 1800), path, write_page_index=i % 2 == 0)
        files.append((path, np.array([1, 17 + i, 1799])))
    found, _ = fetch(files[::-1], FIELDS)
    expected = [i * 1800 + row for i, (_, chosen) in reversed(list(enumerate(files))) for row in chosen.tolist()]
    assert found.column(0).to_pylist() == expected


def test_old_columns_become_todays(tmp_path: Path) -> None:
    """Renamed, promoted and missing columns, by field id; files without ids by the table's name mapping."""
    old = pa.schema(
        [
            pa.field("was", pa.int32(), metadata={"PARQUET:field_id": "1"}),
            pa.field("r", pa.float32(), metadata={"PARQUET:field_id": "2"}),
            pa.field("d", pa.decimal128(5, 2), metadata={"PARQUET:field_id": "3"}),
        ]
    )
    table = pa.table(
        [[1, None, 3], [0.5, 1.5, None], pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)).cast(old[2].type)], old
    )
    path, bare = str(tmp_path / "ids.parquet"), str(tmp_path / "names.parquet")
    pq.write_table(table, path)
    pq.write_table(table.replace_schema_metadata(None).cast(pa.schema([f.remove_metadata() for f in old])), bare)
    fields = [
        {"id": 1, "name": "now", "type": "long", "required": False},
        {"id": 2, "name": "r", "type": "double", "required": False},
        {"id": 3, "name": "d", "type": "decimal(9, 2)", "required": False},
        {"id": 4, "name": "added", "type": "string", "required": False},
    ]
    mapping = [{"field-id": i, "names": [n]} for i, n in ((1, "was"), (2, "r"), (3, "d"))]
    for file in (path, bare):
        found, _ = fetch([(file, np.array([0, 2]))], fields, name_mapping=mapping)
        assert [str(c.type) for c in found.columns] == ["int64", "double", "decimal128(9, 2)", "string"]
        assert found.column(0).to_pylist() == [1, 3]
        assert found.column(1).to_pylist() == [0.5, None]
        assert found.column(3).to_pylist() == [None, None]


def test_what_cannot_be_read_says_so(rows: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(rows.slice(0, 10), path)
    with pytest.raises(KernelError, match="File has no row 10"):
        fetch([(str(path), np.array([10]))], FIELDS)
    with pytest.raises(KernelError, match="ICEBERG_MISSING_DATA"):
        fetch([(str(tmp_path / "gone.parquet"), np.array([0]))], FIELDS)
    (tmp_path / "f.orc").write_bytes(b"ORC" + b"\0" * 100)
    with pytest.raises(KernelError, match="NOT_SUPPORTED: Not a plain Parquet file"):
        fetch([(str(tmp_path / "f.orc"), np.array([0]))], FIELDS)


def test_kernel_answers_with_its_number_and_traffic(rows: pa.Table, tmp_path: Path) -> None:
    path = str(tmp_path / "f.parquet")
    pq.write_table(rows, path, write_page_index=True)
    answer = lookup.look_up(wire.encode(lookup.with_rows(LookUpTask(FIELDS), [(path, np.array([3, 5]))], 7)))
    table = pa.ipc.open_stream(answer).read_all()
    assert table.schema.metadata[b"number"] == b"7"
    assert int(table.schema.metadata[b"bytes"]) > 0
    same(table, rows.take([3, 5]))


def test_ranges_near_each_other_are_one_request() -> None:
    assert ranges.merge([(100, 10), (0, 10), (15, 5)], 10) == [(0, 20), (100, 10)]
    assert ranges.merge([(0, 10), (5, 2)], 0) == [(0, 10)]
    assert ranges.merge([], 10) == []
    far = [(i * (1 << 20), 1 << 20) for i in range(40)]
    assert [length >> 20 for _, length in ranges.merge(far, 1)] == [16, 16, 8]


def test_object_store(rows: pa.Table, tmp_path: Path, s3_server: Any) -> None:
    """Requests and bytes as the server counted them: a few ranged reads, far less than the file."""
    local = tmp_path / "f.parquet"
    wide = pa.table([rows.column(2)] * 8, names=[f"c{i}" for i in range(8)])
    wide = wide.cast(
        pa.schema([pa.field(f"c{i}", pa.string(), metadata={"PARQUET:field_id": f"{i}"}) for i in range(8)])
    )
    big = pa.concat_tables([wide] * 60)
    pq.write_table(
        big, local, row_group_size=200_000, write_page_index=True, max_rows_per_page=1000, use_dictionary=False
    )
    store, storage = bucket(s3_server, "late")
    with store.open_output_stream("late/ordner/f.parquet") as out:
        out.write(local.read_bytes())
    chosen = np.array([5, 300_000, 539_999])
    fields = [{"id": i, "name": f"c{i}", "type": "string", "required": False} for i in (1, 6)]
    found, traffic = fetch([("s3://late/ordner/f.parquet", chosen)], fields, storage=storage)
    assert found.column(1).to_pylist() == big.column(6).take(chosen).to_pylist()
    assert (s3_server.count, s3_server.bytes) == (traffic.requests, traffic.bytes)
    # The footer, then for three row groups the offset indexes, which lie together, and the pages of two columns.
    assert traffic.requests <= 2 + 1 + 6
    assert s3_server.most_at_once >= 3
    # Pages with less than a megabyte between them come with one request.
    _, near = fetch([("s3://late/ordner/f.parquet", np.array([5, 2_500, 300_000, 539_999]))], fields, storage=storage)
    assert near.requests == traffic.requests
    assert near.bytes > traffic.bytes
    assert traffic.bytes < local.stat().st_size // 3

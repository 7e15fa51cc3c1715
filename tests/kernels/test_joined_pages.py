"""Packing that keeps pages, against the rows themselves, DuckDB, and the same rewrite with everything decoded."""

from __future__ import annotations

import base64
import json
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.kernels import join, joined_rewrite, rewrite
from coordinator.kernels.footer import columns, read_footer, row_groups
from coordinator.kernels.schema import arrow_field
from coordinator.kernels.thrift import read_struct
from tests.kernels.test_kernels import field, local, write

pytestmark = pytest.mark.slow

POINT = {"type": "struct", "fields": [field(21, "x", "double"), field(22, "y", "decimal(9, 2)")]}
TAGS = {"type": "list", "element-id": 23, "element": "string", "element-required": False}
FIELDS = [
    field(1, "id", "long", required=True), field(2, "word", "string"), field(3, "point", POINT),
    field(4, "price", "decimal(15, 2)"), field(5, "small", "decimal(7, 3)"), field(6, "ratio", "double"),
    field(7, "day", "date"), field(8, "tags", TAGS), field(9, "comment", "string"), field(10, "raw", "binary"),
    field(11, "at", "timestamptz"), field(12, "flag", "boolean"), field(13, "count", "int"),
    field(14, "big", "decimal(30, 2)"),
]  # fmt: skip
KEPT = {"id", "price", "small", "day", "comment", "raw", "at", "flag", "count"}
DICTIONARY = ["word", "ratio", "point.x", "point.y", "tags.list.element", "big"]
SCHEMA = pa.schema([arrow_field(one) for one in FIELDS])
OPTIONS: dict[str, Any] = {"store_decimal_as_integer": True, "write_page_index": True, "use_dictionary": DICTIONARY}


def sample(rows: int, seed: int, nulls: float = 0.1) -> pa.Table:
    of = random.Random(seed)

    def some(value: Any) -> Any:
        return None if of.random() < nulls else value

    made = [
        {
            "id": of.randint(-(1 << 62), 1 << 62),
            "word": some(of.choice(["a", "bee", "céü"])),
            "point": some(
                {"x": some(of.choice([1.5, float("nan")])), "y": some(Decimal(of.randint(-9, 9)).scaleb(-2))}
            ),
            "price": some(Decimal(of.randint(-(10**15) + 1, 10**15 - 1)).scaleb(-2)),
            "small": some(Decimal(of.randint(-(10**7) + 1, 10**7 - 1)).scaleb(-3)),
            "ratio": some(of.choice([0.5, float("nan"), -1.0])),
            "day": some(date(1960, 1, 1) + timedelta(of.randint(0, 40_000))),
            "tags": some([some("x")] * of.randint(0, 3)),
            "comment": some("é" * of.randint(0, 3) + of.randbytes(of.randint(0, 30)).hex()),
            "raw": some(of.randbytes(of.randint(0, 20))),
            "at": some(datetime(1969, 1, 1, tzinfo=UTC) + timedelta(microseconds=of.randint(0, 1 << 51))),
            "flag": some(of.random() < 0.5),
            "count": some(of.randint(-(1 << 31), (1 << 31) - 1)),
            "big": some(Decimal(of.randint(-9, 9)).scaleb(-2)),
        }
        for _ in range(rows)
    ]
    return pa.Table.from_pylist(made, SCHEMA)


def task_of(folder: Path, inputs: list[dict[str, Any]], **output: Any) -> bytes:
    made = {"directory": str(folder / "out"), "name": "made", **output}
    return json.dumps({"fields": FIELDS, "inputs": inputs, "output": made}).encode()


def pages(path: str) -> dict[str, list[bytes]]:
    """The data pages of each flat column, by the offset index."""
    raw = Path(path).read_bytes()
    found: dict[str, list[bytes]] = {}
    for group in row_groups(read_footer(pa.BufferReader(raw), len(raw))):
        for chunk in columns(group):
            places = read_struct(raw[chunk[4][1] : chunk[4][1] + chunk[5][1]])[1][1][1]
            name = b".".join(chunk[3][1][3][1][1]).decode()
            found.setdefault(name, []).extend(raw[p[1][1] : p[1][1] + p[2][1]] for p in places)
    return found


def checked(folder: Path, inputs: list[dict[str, Any]], rows: pa.Table, **output: Any) -> dict[str, Any]:
    """The fragment of a rewrite that has these rows in any reader, with the metrics of one that decodes."""
    found: dict[str, Any] = json.loads(rewrite.run(task_of(folder, inputs, **output)))
    path = local(found["path"])
    assert found["rows"] == found["read_rows"] == rows.num_rows
    assert found["size"] == Path(path).stat().st_size
    assert repr(pq.read_table(path).to_pylist()) == repr(rows.to_pylist())
    pq.ParquetFile(path).read().validate(full=True)
    names = 'id, word, price, small, ratio, "day", comment, raw, epoch_us("at"), flag, "count", big'
    with duckdb.connect() as connection:
        connection.register("expected", rows)
        read, expected = (connection.sql(f"SELECT {names} FROM {of}").fetchall() for of in (f"'{path}'", "expected"))
    assert repr(read) == repr(expected)
    check_bounds_of_pages(path, rows)
    return found


def check_bounds_of_pages(path: str, rows: pa.Table) -> None:
    """Least and greatest value, NULLs and order of each page, by the rows that the offset index gives it."""
    raw, start = Path(path).read_bytes(), 0
    names = [
        ".".join(part.decode() for part in chunk[3][1][3][1][1])
        for chunk in columns(row_groups(read_footer(pa.BufferReader(raw), len(raw)))[0])
    ]
    for group in row_groups(read_footer(pa.BufferReader(raw), len(raw))):
        for name, chunk in zip(names, columns(group), strict=True):
            if name not in KEPT - {"flag"}:
                continue
            values = rows[name].slice(start, group[3][1])
            index = read_struct(raw[chunk[6][1] : chunk[6][1] + chunk[7][1]])
            places = read_struct(raw[chunk[4][1] : chunk[4][1] + chunk[5][1]])[1][1][1]
            firsts = [place[3][1] for place in places] + [group[3][1]]
            bounds = []
            for number in range(len(places)):
                part = values.slice(firsts[number], firsts[number + 1] - firsts[number])
                assert index[5][1][1][number] == part.null_count
                assert index[1][1][1][number] == (part.null_count == len(part))
                known = stored(part)
                if known:
                    bounds.append((known[0], known[-1]))
                    low, high = (index[i][1][1][number] for i in (2, 3))
                    assert (plain(low, part.type), plain(high, part.type)) == bounds[-1]
            assert (index[4][1] == 1) == (
                bounds == sorted(bounds) and [b[1] for b in bounds] == sorted(b[1] for b in bounds)
            )
        start += group[3][1]


def stored(values: pa.ChunkedArray) -> list[Any]:
    """In the order of the values."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return sorted(int(value.scaleb(kind.scale)) for value in values.drop_null().to_pylist())
    if pa.types.is_temporal(kind):
        values = values.cast(pa.int32() if kind == pa.date32() else pa.int64())
    return sorted(v.encode() if isinstance(v, str) else v for v in values.drop_null().to_pylist())


def plain(raw: bytes, kind: pa.DataType) -> Any:
    return raw if pa.types.is_string(kind) or pa.types.is_binary(kind) else int.from_bytes(raw, "little", signed=True)


def decoded(
    folder: Path, inputs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, **output: Any
) -> dict[str, Any]:
    with monkeypatch.context() as patch:
        patch.setattr(rewrite, "kept_columns", lambda _task: [])
        found: dict[str, Any] = json.loads(rewrite.run(task_of(folder, inputs, **output)))
    return found


def test_pages_are_those_of_the_small_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [sample(rows, rows) for rows in (5_000, 4_200, 6_000)]
    inputs = [write(tmp_path, f"{i}.parquet", table, **OPTIONS) for i, table in enumerate(tables)]
    rows = pa.concat_tables(tables)
    found = checked(tmp_path, inputs, rows)
    made, before = pages(local(found["path"])), [pages(item["path"]) for item in inputs]
    kept = {name for name in made if made[name] == [page for each in before for page in each[name]]}
    assert kept == KEPT
    whole = decoded(tmp_path, inputs, monkeypatch)
    for of in ("value_counts", "null_counts", "nan_counts", "lower_bounds", "upper_bounds"):
        assert found["metrics"][of] == whole["metrics"][of]
    assert found["nan_counts"] == whole["nan_counts"]
    assert pq.read_schema(local(found["path"])).equals(pq.read_schema(local(whole["path"])), check_metadata=True)
    assert pq.ParquetFile(local(found["path"])).schema.equals(pq.ParquetFile(local(whole["path"])).schema)


def test_rows_that_an_input_says_are_deleted_are_left_out(tmp_path: Path) -> None:
    """Of files whose pages would be kept otherwise."""
    tables = [sample(rows, rows) for rows in (5_000, 4_200)]
    inputs = [write(tmp_path, f"{i}.parquet", table, **OPTIONS) for i, table in enumerate(tables)]
    gone = [0, 1, 4_000, 4_199]
    inputs[1]["deleted"] = base64.b64encode(b"".join(n.to_bytes(8, "little") for n in gone)).decode()
    left = [n for n in range(4_200) if n not in gone]
    found = json.loads(rewrite.run(task_of(tmp_path, inputs)))
    assert (found["read_rows"], found["rows"]) == (9_200, 9_196)
    rows = pa.concat_tables([tables[0], tables[1].take(left)])
    assert repr(pq.read_table(local(found["path"])).to_pylist()) == repr(rows.to_pylist())


def test_files_whose_pages_do_not_fit_get_new_ones(tmp_path: Path) -> None:
    """With a dictionary, another codec, no indexes, another page version, few rows, no row, without a column."""
    others: list[dict[str, Any]] = [
        {"use_dictionary": True}, {"compression": "snappy"}, {"write_page_index": False}, {"data_page_version": "2.0"},
        {"store_decimal_as_integer": False}, {"write_statistics": False}, {"row_group_size": 1_500},
        {"row_group_size": 4_100},
    ]  # fmt: skip
    tables = [sample(5_000, 1), *(sample(4_500, 10 + i) for i in range(len(others))), sample(0, 3), sample(7, 4)]
    tables += [sample(4_500, 6, nulls=1.0), sample(4_500, 7, nulls=0.0)]
    inputs = []
    for number, table in enumerate(tables):
        options = {**OPTIONS, "compression": "zstd"} | (others[number - 1] if 0 < number <= len(others) else {})
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path, **options)
        inputs.append({"path": str(path), "size": path.stat().st_size})
    pq.write_table(
        sample(4_500, 8).drop_columns(["comment", "word"]),
        tmp_path / "less.parquet",
        **{**OPTIONS, "use_dictionary": False},
    )
    inputs.append({"path": str(tmp_path / "less.parquet"), "size": (tmp_path / "less.parquet").stat().st_size})
    less = sample(4_500, 8)
    for name in ("comment", "word"):
        place = less.schema.get_field_index(name)
        less = less.set_column(place, SCHEMA.field(name), pa.nulls(less.num_rows, pa.string()))
    found = checked(tmp_path, inputs, pa.concat_tables([*tables, less]))
    assert pages(local(found["path"]))["comment"][0] == pages(inputs[0]["path"])["comment"][0]


def test_row_groups_have_the_size_that_is_asked_for_and_parts_can_be_joined(tmp_path: Path) -> None:
    tables = [sample(4_200, seed) for seed in range(4)]
    inputs = [write(tmp_path, f"{i}.parquet", table, **OPTIONS) for i, table in enumerate(tables)]
    stored = sum(item["size"] for item in inputs)
    found = checked(tmp_path, inputs, pa.concat_tables(tables), row_group_stored=stored // 2 + 10_000)
    groups = pq.read_metadata(local(found["path"]))
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [8_400, 8_400]
    small = checked(tmp_path, inputs, pa.concat_tables(tables), row_group_stored=stored, row_group_bytes=1 << 19)
    assert pq.read_metadata(local(small["path"])).num_row_groups > 2
    parts = [{"path": each["path"], "size": each["size"]} for each in (found, small)]
    task = {"fields": FIELDS, "parts": parts, "output": {"directory": str(tmp_path / "out"), "name": "both"}}
    both = json.loads(join.run(json.dumps(task).encode()))
    assert repr(pq.read_table(local(both["path"])).to_pylist()) == repr(pa.concat_tables(tables * 2).to_pylist())
    check_bounds_of_pages(local(both["path"]), pa.concat_tables(tables * 2))


def test_what_takes_too_much_memory_is_rewritten_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [sample(4_200, seed) for seed in range(2)]
    inputs = [write(tmp_path, f"{i}.parquet", table, **OPTIONS) for i, table in enumerate(tables)]
    monkeypatch.setattr(joined_rewrite, "_MOST_DECODED", 0)
    found = checked(tmp_path, inputs, pa.concat_tables(tables))
    assert [str(file) for file in (tmp_path / "out").iterdir()] == [local(found["path"])], "the attempt left no file"


@pytest.mark.parametrize(
    "output", [{"level": 3}, {"codec": "snappy"}, {"bloom_filters": {"comment": [10, 0.01]}}, {"page_rows": 1_000}]
)
def test_what_a_table_asks_for_is_done_to_all_pages(tmp_path: Path, output: dict[str, Any]) -> None:
    tables = [sample(4_200, seed) for seed in range(2)]
    inputs = [write(tmp_path, f"{i}.parquet", table, **OPTIONS) for i, table in enumerate(tables)]
    found = checked(tmp_path, inputs, pa.concat_tables(tables), **output)
    before = {page for item in inputs for page in pages(item["path"])["comment"]}
    assert not before & set(pages(local(found["path"]))["comment"])


def test_indexes_that_cannot_be_read_are_not_needed(tmp_path: Path) -> None:
    tables = [sample(4_200, seed) for seed in range(2)]
    inputs = [write(tmp_path, f"{i}.parquet", table, **OPTIONS) for i, table in enumerate(tables)]
    broken = Path(inputs[1]["path"])
    raw = bytearray(broken.read_bytes())
    for chunk in columns(row_groups(read_footer(pa.BufferReader(raw), len(raw)))[0]):
        for place, length in ((4, 5), (6, 7)):
            raw[chunk[place][1] : chunk[place][1] + chunk[length][1]] = b"\xff" * chunk[length][1]
    broken.write_bytes(raw)
    checked(tmp_path, inputs, pa.concat_tables(tables))


def test_rows_keep_their_ids(tmp_path: Path) -> None:
    """Of format version 3: the second file holds ids of its own, the first inherits them."""
    lineage = [
        field(2147483540, "_row_id", "long"),
        field(2147483539, "_last_updated_sequence_number", "long"),
    ]
    plain, own = sample(4_200, 1), sample(4_200, 2)
    ids = [7 * i for i in range(4_200)]
    for one in lineage:
        own = own.append_column(arrow_field(one), pa.array(ids, pa.int64()))
    inputs = [write(tmp_path, f"{i}.parquet", table, **OPTIONS) for i, table in enumerate((plain, own))]
    inputs = [item | {"first_row_id": 1_000_000, "sequence": 9} for item in inputs]
    task = json.loads(task_of(tmp_path, inputs)) | {"fields": [*FIELDS, *lineage]}
    path = local(json.loads(rewrite.run(json.dumps(task).encode()))["path"])
    read = pq.read_table(path)
    assert read["_row_id"].to_pylist() == [*range(1_000_000, 1_004_200), *ids]
    assert read["_last_updated_sequence_number"].to_pylist() == [*[9] * 4_200, *ids]
    assert read["comment"].to_pylist() == plain["comment"].to_pylist() + own["comment"].to_pylist()
    assert set(pages(inputs[0]["path"])["comment"]) <= set(pages(path)["comment"])

"""Decimals that a rewrite moves as integers, against files that pyarrow writes from decimals, and against DuckDB."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.kernels import rewrite
from tests.kernels.test_kernels import field, local, with_ids, write

pytestmark = pytest.mark.slow

SHAPES = [(1, 0), (4, 4), (9, 2), (10, 2), (12, 2), (15, 2), (18, 0), (18, 18), (19, 2), (38, 10)]
PLACES = {f"d{precision}_{scale}": (precision, scale) for precision, scale in SHAPES}
FIELDS = [field(i, name, f"decimal({p}, {s})") for i, (name, (p, s)) in enumerate(PLACES.items(), start=1)]


def values(precision: int, scale: int, rows: int, seed: int) -> pa.Array:
    """Random ones of all lengths, NULL, zero, and the ends."""
    of, most = random.Random(f"{seed} {precision} {scale}"), 10**precision - 1
    whole = [0, 1, -1, most, -most] + [
        of.randint(-(10 ** of.randint(1, precision)), 10 ** of.randint(0, precision)) for _ in range(rows)
    ]
    whole = [max(-most, min(most, value)) for value in whole][:rows]
    of.shuffle(whole)
    made = [None if of.random() < 0.1 else exactly(value, scale) for value in whole]
    return pa.array(made, pa.decimal128(precision, scale))


def exactly(value: int, scale: int) -> Decimal:
    """Arithmetic would round to 28 digits."""
    return Decimal((int(value < 0), tuple(int(digit) for digit in str(abs(value))), -scale))


def sample(rows: int, seed: int) -> pa.Table:
    table = pa.table({name: values(*digits, rows, seed) for name, digits in PLACES.items()})
    return with_ids(table, [f["id"] for f in FIELDS])


def rewritten(folder: Path, inputs: Sequence[dict[str, Any]], fields: Any = None, **more: Any) -> dict[str, Any]:
    output = {"directory": str(folder / "out"), "name": "made", **more.pop("output", {})}
    task = {"fields": fields or FIELDS, "inputs": inputs, "output": output, **more}
    found: dict[str, Any] = json.loads(rewrite.run(json.dumps(task).encode()))
    return found


def as_arrow_writes(folder: Path, table: pa.Table, **options: Any) -> bytes:
    """A file that pyarrow makes of decimals by itself, with the options of a rewrite."""
    path = folder / "expected.parquet"
    plain = {
        "compression": "zstd", "use_dictionary": False, "data_page_size": 1 << 20, "max_rows_per_page": 20_000,
        "write_page_index": True, "store_schema": False, "store_decimal_as_integer": True, "version": "2.6",
    }  # fmt: skip
    pq.write_table(table, path, **{**plain, **options})
    return path.read_bytes()


@pytest.mark.parametrize("stored", [(True, True), (False, False), (True, False)])
def test_the_file_is_byte_for_byte_the_one_that_decimals_make(tmp_path: Path, stored: tuple[bool, ...]) -> None:
    """So minimum, maximum, page indexes, sizes and annotations are those of Arrow."""
    tables = [sample(12_000, seed) for seed in (1, 2)]
    inputs = [
        write(
            tmp_path, f"{i}.parquet", t, store_decimal_as_integer=integers, use_dictionary=bool(i), row_group_size=5_999
        )
        for i, (t, integers) in enumerate(zip(tables, stored, strict=True))
    ]
    made = Path(local(rewritten(tmp_path, inputs)["path"]))
    group = pq.read_metadata(made).row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    coded = [chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page]
    assert "d1_0" in coded and "d18_0" not in coded, "by how often values occur"
    whole = pa.concat_tables(tables)
    assert made.read_bytes() == as_arrow_writes(
        tmp_path, whole, use_dictionary=coded, dictionary_pagesize_limit=2 << 20
    )


def test_dictionaries_and_bloom_filters_are_those_of_decimals(tmp_path: Path) -> None:
    fields = [field(1, "price", "decimal(15, 2)"), field(2, "rate", "decimal(4, 2)")]
    few = pa.table({"price": values(15, 2, 20, 5).take(pa.array([i % 20 for i in range(50_000)]))})
    few = few.append_column("rate", values(4, 2, 30, 6).take(pa.array([i % 30 for i in range(50_000)])))
    table = with_ids(few, [1, 2])
    source = write(tmp_path, "a.parquet", table)
    made = rewritten(tmp_path, [source], fields, output={"bloom_filters": {"price": [20, 0.01]}})
    expected = as_arrow_writes(
        tmp_path, table, use_dictionary=["price", "rate"], dictionary_pagesize_limit=2 << 20,
        bloom_filter_options={"price": {"ndv": 20, "fpp": 0.01}},
    )  # fmt: skip
    assert Path(local(made["path"])).read_bytes() == expected
    found = duckdb.sql(f"SELECT count(*) FROM '{local(made['path'])}' WHERE price IS NULL").fetchall()
    assert found == [(table["price"].null_count,)]


def test_bounds_are_the_least_and_greatest_value(tmp_path: Path) -> None:
    table = sample(5_000, 3)
    metrics = rewritten(tmp_path, [write(tmp_path, "a.parquet", table)], modes={})["metrics"]
    for one in FIELDS:
        column = table[one["name"]]
        scale = PLACES[one["name"]][1]
        for bounds, value in zip(
            ("lower_bounds", "upper_bounds"), pa.compute.min_max(column).as_py().values(), strict=True
        ):
            raw = bytes.fromhex(metrics[bounds][str(one["id"])])
            assert exactly(int.from_bytes(raw, "big", signed=True), scale) == value
        assert metrics["null_counts"][str(one["id"])] == column.null_count


def test_decimals_inside_others(tmp_path: Path) -> None:
    inner = {"type": "struct", "fields": [field(2, "net", "decimal(9, 2)"), field(3, "gross", "decimal(18, 4)")]}
    prices = {"type": "list", "element-id": 5, "element": "decimal(12, 2)", "element-required": False}
    rates = {
        "type": "map", "key-id": 7, "key": "decimal(5, 1)", "value-id": 8, "value": "decimal(30, 2)",
        "value-required": False,
    }  # fmt: skip
    fields = [field(1, "sum", inner), field(4, "prices", prices), field(6, "rates", rates)]
    schema = pa.schema([_arrow(one) for one in fields])
    rows = 2_000
    net, gross, price, key, rate = (
        values(*digits, rows, 4).to_pylist() for digits in ((9, 2), (18, 4), (12, 2), (5, 1), (30, 2))
    )
    made = [
        {
            "sum": None if i % 13 == 0 else {"net": net[i], "gross": gross[i]},
            "prices": None if i % 7 == 0 else price[i : i + i % 4],
            "rates": [(key[i], rate[i])] if key[i] is not None else None if i % 2 else [],
        }
        for i in range(rows)
    ]
    table = pa.Table.from_pylist(made, schema)
    for number, integers in enumerate((True, False)):
        source = write(tmp_path, f"{number}.parquet", table, store_decimal_as_integer=integers, row_group_size=333)
        path = local(rewritten(tmp_path, [source], fields)["path"])
        assert pq.read_table(path).equals(table)
        assert Path(path).read_bytes() == as_arrow_writes(tmp_path, table)


def _arrow(one: dict[str, Any]) -> pa.Field:
    from coordinator.kernels.schema import arrow_field

    return arrow_field(one)


def test_promoted_added_and_compared_columns(tmp_path: Path) -> None:
    """Files of before a promotion, of another scale, without ids, and without a column that was added since."""
    narrow, other = values(9, 2, 500, 7), values(5, 1, 500, 8)
    files = [
        (with_ids(pa.table({"old": narrow}), [1]), {"store_decimal_as_integer": True}),
        (with_ids(pa.table({"old": narrow}), [1]), {}),
        (with_ids(pa.table({"amount": other}), [1]), {"store_decimal_as_integer": True}),
        (pa.table({"named": narrow}), {"store_decimal_as_integer": True}),
        (with_ids(pa.table({"amount": pa.array(range(500), pa.int32())}), [1]), {}),
    ]
    inputs = [write(tmp_path, f"{i}.parquet", table, **options) for i, (table, options) in enumerate(files)]
    added = {**field(2, "added", "decimal(18, 6)"), "initial-default": "-12345.678901"}
    fields = [field(1, "amount", "decimal(12, 2)"), added]
    mapping = [{"field-id": 1, "names": ["named"]}]
    made = rewritten(tmp_path, inputs, fields, name_mapping=mapping)
    read = pq.read_table(local(made["path"]))
    whole = [Decimal(number) for number in range(500)]
    expected = [*narrow.to_pylist() * 2, *other.to_pylist(), *narrow.to_pylist(), *whole]
    assert read["amount"].to_pylist() == expected
    assert set(read["added"].to_pylist()) == {Decimal("-12345.678901")}
    assert read.schema.types == [pa.decimal128(12, 2), pa.decimal128(18, 6)]


def test_columns_that_equality_deletes_compare(tmp_path: Path) -> None:
    table = with_ids(pa.table({"amount": values(9, 2, 900, 9), "tax": values(15, 2, 900, 10)}), [1, 2])
    fields = [field(1, "amount", "decimal(9, 2)"), field(2, "tax", "decimal(15, 2)")]
    gone = table.slice(100, 50).select(["amount"])
    for integers in (True, False):
        source = write(tmp_path, "data.parquet", table, store_decimal_as_integer=integers)
        delete = write(tmp_path, "gone.parquet", gone) | {"fields": fields[:1], "keys": 50}
        made = rewritten(tmp_path, [source | {"equality": [0]}], fields, equality_deletes=[delete])
        keys = set(gone["amount"].to_pylist())
        expected = [row for row in table.to_pylist() if row["amount"] not in keys]
        assert pq.read_table(local(made["path"])).to_pylist() == expected


@pytest.mark.parametrize("deleted", [[0], [1, 5, 399], list(range(0, 400, 2))])
def test_position_deletes(tmp_path: Path, deleted: list[int]) -> None:
    table = sample(400, 11)
    source = write(tmp_path, "data.parquet", table, row_group_size=150)
    gone = with_ids(pa.table({"file_path": [source["path"]] * len(deleted), "pos": deleted}), [2147483546, 2147483545])
    made = rewritten(tmp_path, [source | {"positions": [0]}], position_deletes=[write(tmp_path, "gone.parquet", gone)])
    kept = [row for number, row in enumerate(table.to_pylist()) if number not in set(deleted)]
    assert duckdb.sql(f"SELECT * FROM '{local(made['path'])}'").fetchall() == [tuple(row.values()) for row in kept]

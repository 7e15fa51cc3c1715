"""Columns of variant: values of any kind in files, JSON in SQL."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.kernels.errors import KernelError
from coordinator.kernels.shredded import json_column
from coordinator.kernels.variant import variant_json

EMPTY = b"\x01\x00\x00"
VALUES = """SELECT id, CASE id % 7
  WHEN 0 THEN {'a': id, 'b': [id::variant, NULL, ('x' || id)::variant], 'c': {'q': id % 2 = 0, 'é"': 'n\n'}}::variant
  WHEN 1 THEN {'a': 'text', 'z': DATE '2024-02-29' + id::int, 'f': 1.5::float, 'g': id / 3.0}::variant
  WHEN 2 THEN {'t': TIMESTAMP '1969-12-31 23:59:59.25', 'm': TIMESTAMPTZ '2024-01-01 00:00:00+01'}::variant
  WHEN 3 THEN [1, 2, id]::variant WHEN 4 THEN NULL
  WHEN 5 THEN 12345678901234567890.123456789::decimal(38,9)::variant
  ELSE {'u': '00000000-0000-0000-0000-00000000000a'::uuid, 'h': TIME '12:30:00.5', 'i': 9e18::bigint}::variant END v
FROM range(70) r(id)"""


def test_rows_are_those_that_iceberg_java_wrote(java_reader: Any) -> None:
    """tests/data: three files, their rows in expected/v3_variant.jsonl."""
    reader, _ = java_reader
    found = reader.rows("SELECT id, v, CAST(v AS double) AS d FROM v3_variant WHERE id <> 1").to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": 2, "v": None, "d": None},
        {"id": 3, "v": "3.5", "d": 3.5},
    ]
    (row,) = reader.rows("SELECT v, json_extract_scalar(v, '$.b[2]') x FROM v3_variant WHERE id = 1").to_pylist()
    assert row == {"v": '{"a":1,"b":[true,null,"x"]}', "x": "x"}
    assert reader.rows("SELECT count(v) n FROM v3_variant")[0].to_pylist() == [2]


@pytest.mark.parametrize("shredded", ["'NULL'", "'STRUCT(a BIGINT, b VARIANT[], t TIMESTAMP)'", "'BIGINT[]'", ""])
def test_values_are_those_that_duckdb_reads(tmp_path: Path, shredded: str) -> None:
    """As one value a row, and with parts in columns of their own: those that are named, or what DuckDB chooses."""
    path = tmp_path / "v.parquet"
    option = shredded and f", SHREDDING {{'v': {shredded}}}"
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(f"COPY ({VALUES}) TO '{path}' (FORMAT parquet{option})")
        rows = database.execute("SELECT v::json FROM read_parquet($1) ORDER BY id", [str(path)]).fetchall()
    array = pq.read_table(path)["v"].combine_chunks()
    assert ("typed_value" in [field.name for field in array.type]) is (shredded != "'NULL'")
    found = json_column(array, "v").to_pylist()
    assert [None if text is None else json.loads(text) for text in found] == [
        None if text is None else json.loads(text.replace('+00"', '+00:00"')) for (text,) in rows
    ]
    assert found[5] == "12345678901234567890.123456789"
    assert list(json.loads(found[0])) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"\x00", "null"),
        (b"\x04", "true"),
        (b"\x0c\xff", "-1"),
        (b"\x1c" + struct.pack("<d", float("nan")), '"NaN"'),
        (b"\x1c" + struct.pack("<d", 1e21), "1.0E21"),
        (b"\x20\x03" + struct.pack("<i", -5), "-0.005"),
        (b"\x2c" + struct.pack("<i", -1), '"1969-12-31"'),
        (b"\x3c" + struct.pack("<I", 2) + b"\xff\x00", json.dumps(base64.b64encode(b"\xff\x00").decode())),
        (b"\x40" + struct.pack("<I", 3) + "né".encode(), '"né"'),
        (b"\x40" + struct.pack("<I", 6) + "\U0001f600\x1f\x7f".encode(), '"\\uD83D\\uDE00\\u001F\x7f"'),
        (b"\x44" + struct.pack("<q", 1), '"00:00:00.000001"'),
        (b"\x48" + struct.pack("<q", -1), '"1969-12-31 23:59:59.999999999+00:00"'),
        (b"\x02\x00\x00", "{}"),
        (b"\x03\x00\x00", "[]"),
    ],
)  # fmt: skip
def test_single_values(value: bytes, shown: str) -> None:
    assert variant_json(EMPTY, value) == shown


def group(*values: bytes | None) -> pa.Array:
    rows = [None if value is None else {"metadata": EMPTY, "value": value} for value in values]
    return pa.array(rows, pa.struct({"metadata": pa.binary(), "value": pa.binary()}))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "it ends too early"),
        (b"\x1c\x00", "it ends too early"),
        (b"\x17\xff\xff\xff\xff\x00", "it ends too early"),
        (b"\xfc", "primitive type 63 is not known"),
        (b"\x05\xff", "a text is no UTF-8"),
        (b"\x02\x01\x00\x00\x01\x00", "a field has no name"),
        # All elements of each array are the array of the same bytes behind it: few bytes would tell of billions.
        (b"".join([b"\x03\x09" + bytes([0] * 10)] * 12) + b"\x00", "its parts lie within one another"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_value_name_the_column(value: bytes, why: str) -> None:
    with pytest.raises(KernelError) as failure:
        json_column(group(b"\x04", None, value), "v")
    assert (failure.value.name, failure.value.message) == ("ICEBERG_BAD_DATA", f"Column v is no variant: {why}")


def test_values_that_nest_too_deeply_are_refused() -> None:
    value = b"\x00"
    for _ in range(400):
        size = len(value)
        value = b"\x0f\x01" + struct.pack("<II", 0, size) + value  # offsets of four bytes
    with pytest.raises(KernelError, match="nests deeper than 300 levels") as failure:
        json_column(group(value), "v")
    assert failure.value.name == "NOT_SUPPORTED"

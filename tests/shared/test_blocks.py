"""Value blocks: against the bytes of a real coordinator, and there and back for every type."""

from __future__ import annotations

import base64
import gzip
import json
import math
import struct
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.plan.blocks import decode_constant, decode_physical, encode_constant, encode_physical

FRAGMENTS = Path(__file__).parents[1] / "data" / "presto_fragments" / "fragments.jsonl.gz"


def _captured() -> list[tuple[str, str]]:
    found: set[tuple[str, str]] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "valueBlock" in value:
                found.add((value["type"], value["valueBlock"]))
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    with gzip.open(FRAGMENTS, "rt", encoding="utf-8") as lines:
        for line in lines:
            body = json.loads(line)["body"]
            walk(json.loads(body) if isinstance(body, str) else body)
    return sorted(found)


def test_captured_constants_decode_and_encode_to_the_same_bytes() -> None:
    captured = _captured()
    assert len(captured) > 400
    differing = []
    for type_text, block in captured:
        if encode_constant(decode_constant(block, type_text), type_text) != block:
            differing.append((type_text, base64.b64decode(block)))
    # Only Presto's hash table of a map is left out: an optional part, which readers rebuild.
    assert all(t.startswith("map(") for t, _ in differing), differing
    assert len(differing) == 4


@pytest.mark.parametrize(
    ("value", "type_text", "encoding", "tail"),
    [
        (1, "bigint", b"LONG_ARRAY", "01000000 00 0100000000000000"),
        (None, "bigint", b"RLE", "01000000 0a000000 4c4f4e475f4152524159 01000000 01 80"),
        (True, "boolean", b"BYTE_ARRAY", "01000000 00 01"),
        ("a", "varchar", b"VARIABLE_WIDTH", "01000000 01000000 00 01000000 61"),
        (None, "varchar(3)", b"VARIABLE_WIDTH", "01000000 00000000 01 80 00000000"),
        (None, "unknown", b"RLE", "01000000 0a000000 425954455f4152524159 01000000 01 80"),
        (date(1969, 12, 31), "date", b"INT_ARRAY", "01000000 00 ffffffff"),
        (Decimal("-1.5"), "decimal(38,3)", b"INT128_ARRAY", "01000000 00 dc050000000000000000000000000080"),
        (
            UUID("12151fd2-7586-11e9-8f9e-2a86e4085a59"),
            "uuid",
            b"INT128_ARRAY",
            "01000000 00 12151fd2758611e98f9e2a86e4085a59",
        ),
    ],
)
def test_exact_bytes(value: Any, type_text: str, encoding: bytes, tail: str) -> None:
    expected = struct.pack("<i", len(encoding)) + encoding + bytes.fromhex(tail)
    assert base64.b64decode(encode_constant(value, type_text)) == expected


EXAMPLES: list[tuple[Any, str]] = [
    (-128, "tinyint"),
    (-32768, "smallint"),
    (2147483647, "integer"),
    (-(1 << 63), "bigint"),
    (1.5, "real"),
    (-0.1, "double"),
    (Decimal("1.25"), "decimal(10,2)"),
    (Decimal("-12345678901234567890123456789.123456789"), "decimal(38,9)"),
    ("", "varchar(0)"),
    ("zażółć \U0001f642", "varchar"),
    ('{"a":[1,2]}', "json"),
    (b"\x00\xff", "varbinary"),
    (date(9999, 12, 31), "date"),
    (time(1, 2, 3, 456000), "time"),
    (time(1, 2, 3, tzinfo=timezone(timedelta(hours=-5))), "time with time zone"),
    (datetime(1969, 12, 31, 23, 59, 59, 999000), "timestamp"),
    (datetime(2020, 2, 29, 1, 2, 3, tzinfo=UTC), "timestamp with time zone"),
    (datetime(1900, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))), "timestamp with time zone"),
    (timedelta(days=-2, milliseconds=5), "interval day to second"),
    (-14, "interval year to month"),
    (ip_address("10.0.0.1"), "ipaddress"),
    (ip_address("2001:db8::1"), "ipaddress"),
    (ip_network("10.0.0.0/8"), "ipprefix"),
    ((), "array(bigint)"),
    ((1, None, 3), "array(integer)"),
    ((None, None), "array(bigint)"),
    (((1, 2), None, ()), "array(array(bigint))"),
    ({"a": 1, "b": None}, "map(varchar,bigint)"),
    ({}, "map(varchar,bigint)"),
    ((1, None, (True, "x")), 'row(a bigint,b varchar,"C d" row(boolean,varchar(3)))'),
    (((1, "x"), None, (None, "y")), "array(row(bigint,varchar))"),
    ({1: (Decimal("1.1"),)}, "map(integer,array(decimal(3,1)))"),
]


@pytest.mark.parametrize(("value", "type_text"), EXAMPLES)
def test_there_and_back(value: Any, type_text: str) -> None:
    assert decode_constant(encode_constant(value, type_text), type_text) == value
    assert decode_constant(encode_constant(None, type_text), type_text) is None


def test_named_zones_keep_their_names() -> None:
    value = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("America/Los_Angeles"))
    block = encode_constant(value, "timestamp with time zone")
    assert decode_physical(block, "timestamp with time zone") & 0xFFF == 1825
    back = decode_constant(block, "timestamp with time zone")
    assert back == value
    assert back.tzinfo == value.tzinfo


def test_a_zone_without_a_known_key_is_refused() -> None:
    with pytest.raises(ValueError, match="Antarctica/Troll has no Presto key"):
        encode_constant(datetime(2024, 1, 1, tzinfo=ZoneInfo("Antarctica/Troll")), "timestamp with time zone")


@pytest.mark.parametrize(
    ("value", "type_text"),
    [
        ("x", "bigint"),
        (1.5, "bigint"),
        (True, "integer"),
        (1 << 40, "integer"),
        (Decimal("1.234"), "decimal(10,2)"),
        (Decimal("123456789"), "decimal(5,0)"),
        (datetime(2020, 1, 1, tzinfo=UTC), "timestamp"),
        (datetime(2020, 1, 1), "timestamp with time zone"),
        ((1,), "row(a bigint,b bigint)"),
        (1, "unknown"),
        (1, "varchar"),
    ],
)
def test_values_of_another_type_are_refused(value: Any, type_text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        encode_constant(value, type_text)


def _raw(name: bytes, rest: bytes) -> str:
    return base64.b64encode(struct.pack("<i", len(name)) + name + rest).decode()


@pytest.mark.parametrize(
    ("block", "type_text", "message"),
    [
        ("!!", "bigint", "not base64"),
        ("", "bigint", "Truncated"),
        (_raw(b"LONG_ARRAY", b"\1\0\0\0"), "bigint", "Truncated"),
        (_raw(b"INT_ARRAY", b"\1\0\0\0\0\1\0\0\0"), "bigint", "Unexpected Block type: INT_ARRAY"),
        (_raw(b"NO_SUCH", b""), "bigint", "Unexpected Block type: NO_SUCH"),
        (_raw(b"RLE", b"\xff\xff\xff\x7f"), "bigint", "2147483647 rows"),
        (_raw(b"LONG_ARRAY", b"\1\0\0\0\0" + b"\0" * 9), "bigint", "Unexpected bytes"),
        (_raw(b"LONG_ARRAY", b"\2\0\0\0\0" + b"\0" * 16), "bigint", "2 rows"),
        (_raw(b"VARIABLE_WIDTH", b"\1\0\0\0\5\0\0\0\0\1\0\0\0a"), "varchar", "out of order"),
        (_raw(b"RLE", b"\1\0\0\0") * 200, "bigint", r"\w"),
    ],
)
def test_damaged_blocks_are_refused(block: str, type_text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_constant(block, type_text)


def test_dictionary_blocks_are_read() -> None:
    inner = base64.b64decode(encode_physical(7, "bigint"))
    block = _raw(b"DICTIONARY", struct.pack("<i", 1) + inner + struct.pack("<i", 0) + b"\0" * 24)
    assert decode_constant(block, "bigint") == 7


@given(st.binary(max_size=80), st.sampled_from([t for _, t in EXAMPLES]))
def test_any_bytes_are_a_value_or_a_value_error(data: bytes, type_text: str) -> None:
    try:
        decode_constant(base64.b64encode(data).decode(), type_text)
    except ValueError:
        return


@given(st.floats(width=64))
def test_doubles_keep_their_bits(value: float) -> None:
    back = decode_constant(encode_constant(value, "double"), "double")
    assert (
        math.isnan(back) if math.isnan(value) else back == value and math.copysign(1, back) == math.copysign(1, value)
    )

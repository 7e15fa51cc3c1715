"""Texts of ISO 8601 by whole columns give what the kernels give row by row."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from coordinator.kernels.functions.program import Program, evaluate_row

TZ = "timestamp with time zone"
READ: list[object] = ["call", "from_iso8601_timestamp", TZ, ["varchar"], [["column", 0]]]
CASES: dict[str, tuple[list[object], str]] = {
    "itself": (READ, TZ),
    "hour": (["call", "hour", "bigint", [TZ], [READ]], "bigint"),
    "date": (["call", "date", "date", [TZ], [READ]], "date"),
    "day": (["call", "date_trunc", TZ, ["varchar(3)", TZ], [["constant", "day", "varchar(3)"], READ]], TZ),
    "wall": (["cast", False, TZ, "timestamp", READ], "timestamp"),
    "seconds": (["call", "to_unixtime", "double", [TZ], [READ]], "double"),
    "tried": (["try", READ], TZ),
    "only date": (["call", "from_iso8601_date", "date", ["varchar"], [["column", 0]]], "date"),
}
OFFSETS = ("Z", "+00:00", "+02:00", "-05:30", "+14:00", "")
ODD = (
    "2024-02-30T00:00:00Z",
    "2024-02-29T24:00:00Z",
    "2024-02-29T00:00:00+2",
    "2024",
    "2024-W09-4",
    "",
    "x",
    "2024-02-29T10:00z",
)


def program(case: str, zone: str) -> str:
    expression, result = CASES[case]
    return json.dumps(
        {"zone": zone, "columns": ["varchar"], "result": result, "volatile": False, "expression": expression}
    )


def texts(by: random.Random, offset: str, digits: int) -> list[str | None]:
    def one() -> str | None:
        seconds = f":{by.randrange(60):02d}" + (f".{by.randrange(10**digits):0{digits}d}" if digits else "")
        day = f"{by.choice((1000, 1969, 1970, 2024, 2999))}-{by.randrange(1, 13):02d}-{by.randrange(1, 29):02d}"
        return None if by.random() < 0.1 else f"{day}T{by.randrange(24):02d}:{by.randrange(60):02d}{seconds}{offset}"

    return [one() for _ in range(12)]


def instant(value: object) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("case", CASES)
def test_columns_as_rows(case: str, zone: str) -> None:
    by, text = random.Random(case + zone), program(case, zone)
    made = Program(text)
    assert made.by_columns
    for offset in OFFSETS:
        for digits in (0, 1, 3, 6):
            given = texts(by, offset, digits)
            if case == "only date":
                given = [each and each[:10] for each in given]
            whole = made._whole
            assert whole is not None
            found = whole([pa.array(given, pa.string())])
            assert found is not None
            assert [instant(v) for v in found.to_pylist()] == [instant(evaluate_row(text, each)) for each in given]


@pytest.mark.parametrize("odd", ODD)
def test_a_column_with_an_odd_text_is_left_to_the_rows(odd: str) -> None:
    for case in ("itself", "only date"):
        whole = Program(program(case, "UTC"))._whole
        assert whole is not None
        assert whole([pa.array(["2024-02-29T00:00:00Z"[: 10 if case == "only date" else None], odd])]) is None


def test_what_fails_is_null_where_it_is_tried() -> None:
    found = Program(program("tried", "UTC")).run([pa.array(["2024-02-29T00:00:00Z", "2024-02-30T00:00:00Z"])], 2)
    assert [v is None for v in found.to_pylist()] == [False, True]


def test_no_text_at_all() -> None:
    assert Program(program("day", "UTC")).run([pa.array([None, None], pa.string())], 2).null_count == 2

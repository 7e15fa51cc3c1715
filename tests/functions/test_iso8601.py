# ruff: noqa: E501
# A table: one entry beside the other reads better than one below the other.
"""Texts of ISO 8601: the forms that Joda's parsers name, and what they say of others."""

from __future__ import annotations

import json

import pytest

from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.program import evaluate_row

TZ = "timestamp with time zone"


def read(function: str, text: str, zone: str = "UTC") -> str:
    result = TZ if function.endswith("timestamp") else "date"
    call = ["call", function, result, ["varchar"], [["column", 0]]]
    program = {"zone": zone, "columns": ["varchar"], "result": result, "expression": call}
    return str(evaluate_row(json.dumps(program), text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024", "2024-01-01"), ("2024-02", "2024-02-01"), ("2024-02-29", "2024-02-29"), ("2024-060", "2024-02-29"),
        ("2024-W09", "2024-02-26"), ("2024-W09-4", "2024-02-29"), ("2020-W53-5", "2021-01-01"), ("+2024-2-9", "2024-02-09"),
    ],
)  # fmt: skip
def test_dates(text: str, expected: str) -> None:
    assert read("from_iso8601_date", text) == expected
    assert read("from_iso8601_timestamp", text) == f"{expected} 00:00:00+00:00"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-02-29T10", "2024-02-29 09:00:00+00:00"), ("2024-02-29T10:11Z", "2024-02-29 10:11:00+00:00"),
        ("2024-02-29T10:11:12.123456-05:30", "2024-02-29 15:41:12.123000+00:00"), ("T10:30", "1970-01-01 09:30:00+00:00"),
        ("2024-07-01T10.5", "2024-07-01 08:30:00+00:00"), ("2024-02-29T10:11,25+01", "2024-02-29 09:11:15+00:00"),
        ("2024-03-31T02:30:00", "2024-03-31 01:30:00+00:00"), ("2024-02-29t10:11z", "2024-02-29 10:11:00+00:00"),
        ("2024-02-29TZ", "2024-02-29 00:00:00+00:00"),
    ],
)  # fmt: skip
def test_timestamps_in_the_zone_of_a_session(text: str, expected: str) -> None:
    assert read("from_iso8601_timestamp", text, "Europe/Berlin") == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'Invalid format: ""'), ("x", 'Invalid format: "x"'),
        ("2024-02-29 10:00", 'Invalid format: "2024-02-29 10:00" is malformed at " 10:00"'),
        ("2024-13-01", 'Cannot parse "2024-13-01": Value 13 for monthOfYear must be in the range [1,12]'),
        ("2023-366", 'Cannot parse "2023-366": Value 366 for dayOfYear must be in the range [1,365]'),
        ("2024-W53", 'Cannot parse "2024-W53": Value 53 for weekOfWeekyear must be in the range [1,52]'),
    ],
)  # fmt: skip
def test_others(text: str, said: str) -> None:
    for function in ("from_iso8601_date", "from_iso8601_timestamp"):
        with pytest.raises(KernelError) as failed:
            read(function, text)
        assert (failed.value.name, failed.value.message) == ("INVALID_FUNCTION_ARGUMENT", said)

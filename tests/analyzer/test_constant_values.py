"""Constant expressions of CALL arguments: values, coercions, Presto's errors."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from coordinator.analyzer.constants import evaluate_constant_text
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

SESSION = Session(user="test", start=datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1", "bigint", 1),
        ("-9223372036854775808", "bigint", -(2**63)),
        ("1 + 2 * 3", "bigint", 7),
        ("-7 / 2", "integer", -3),
        ("'it''s'", "varchar", "it's"),
        ("NULL", "bigint", None),
        ("DECIMAL '1.50'", "decimal(10,3)", Decimal("1.500")),
        ("1.5", "double", 1.5),
        ("ARRAY['a', 'b']", "array(varchar)", ("a", "b")),
        ("ARRAY[]", "array(bigint)", ()),
        ("MAP(ARRAY['k'], ARRAY['v'])", "map(varchar,varchar)", {"k": "v"}),
        ("ROW(1, 'x')", "row(bigint,varchar)", (1, "x")),
        ("DATE '2020-02-29'", "date", date(2020, 2, 29)),
        ("DATE '2020-01-31' + INTERVAL '1' MONTH", "date", date(2020, 2, 29)),
        ("TIMESTAMP '2020-01-01 01:02:03.456'", "timestamp", datetime(2020, 1, 1, 1, 2, 3, 456000)),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "interval day to second", timedelta(1, 7384, 500000)),
        ("X'00ff'", "varbinary", b"\x00\xff"),
        ("CAST('12' AS bigint)", "bigint", 12),
        ("ARRAY[1, 2][1]", "bigint", 1),
        ("current_timestamp - INTERVAL '3' DAY", "timestamp with time zone", datetime(2026, 5, 1, 3, 2, 1, tzinfo=UTC)),
    ],
)
def test_value(text: str, kind: str, value: Any) -> None:
    assert evaluate_constant_text(text, kind, SESSION) == value


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("current_timestamp", "timestamp with time zone", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        ("now() - INTERVAL '1' HOUR", "timestamp with time zone", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("now() - INTERVAL '5' DAY", "timestamp with time zone", datetime(2026, 10, 20, 1, 30, tzinfo=UTC)),
        ("INTERVAL '1' DAY + TIMESTAMP '2026-03-28 12:00 Europe/Berlin'", "timestamp with time zone",
         datetime(2026, 3, 29, 11, tzinfo=UTC)),
        ("now() - TIMESTAMP '2026-10-25 00:00 Europe/Berlin'", "interval day to second", timedelta(hours=3.5)),
        ("now() > now() - INTERVAL '1' HOUR", "boolean", True),
        ("now() - INTERVAL '1' HOUR BETWEEN TIMESTAMP '2026-10-25 02:30 Europe/Berlin' AND now()", "boolean", True),
        ("now() = TIMESTAMP '2026-10-25 02:30 Europe/Berlin'", "boolean", False),
    ],
)  # fmt: skip
def test_hours_that_a_zone_has_twice_or_not_at_all(text: str, kind: str, value: Any) -> None:
    """Presto counts in instants; it is 02:30 in Berlin for the second time that night."""
    session = Session(user="test", time_zone="Europe/Berlin", start=datetime(2026, 10, 25, 1, 30, tzinfo=UTC))
    found = evaluate_constant_text(text, kind, session)
    assert (found.astimezone(UTC) if isinstance(found, datetime) else found) == value


def test_region_of_a_timestamp_is_kept() -> None:
    text = "TIMESTAMP '2020-07-01 00:00:00 America/New_York'"
    assert evaluate_constant_text(text, "timestamp with time zone", SESSION).tzinfo == ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "kind", "code", "message"),
    [
        ("1", "varchar", ErrorCode.SYNTAX_ERROR, "line 1:1: Cannot cast type integer to varchar"),
        ("1 / 0", "bigint", ErrorCode.DIVISION_BY_ZERO, "line 1:1: / by zero"),
        ("2147483647 + 1", "bigint", ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE,
         "line 1:1: integer addition overflow: 2147483647 + 1"),
        ("CAST('x' AS bigint)", "bigint", ErrorCode.INVALID_CAST_ARGUMENT, "line 1:1: Cannot cast 'x' to BIGINT"),
        ("nope(1)", "bigint", ErrorCode.SYNTAX_ERROR, "line 1:1: Function nope not registered"),
        ("a", "bigint", ErrorCode.SYNTAX_ERROR, "line 1:1: Column 'a' cannot be resolved"),
    ],
)  # fmt: skip
def test_error(text: str, kind: str, code: ErrorCode, message: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        evaluate_constant_text(text, kind, SESSION)
    assert (caught.value.code, caught.value.wire_message) == (code, message)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("date_add('day', -3, DATE '2026-01-02')", "date", date(2025, 12, 30)),
        ("upper('a') || 'b'", "varchar", "Ab"),
        ("transform(ARRAY[1, 2], x -> x * 2)", "array(integer)", (2, 4)),
        (
            "TIMESTAMP '2026-01-02 00:00' AT TIME ZONE 'UTC'",
            "timestamp with time zone",
            datetime(2026, 1, 2, tzinfo=UTC),
        ),
        ("CAST(' 5 ' AS bigint)", "bigint", 5),
        ("CAST(INTERVAL '90' MINUTE AS varchar)", "varchar", "0 01:30:00.000"),
    ],
)
def test_constants_call_functions(text: str, kind: str, value: Any) -> None:
    assert evaluate_constant_text(text, kind, Session(user="test", time_zone="UTC")) == value


def test_what_differs_each_time_is_no_constant() -> None:
    with pytest.raises(ProcessionError, match="Constant expression cannot contain column references or this function"):
        evaluate_constant_text("1 + random()", "double", Session(user="test", time_zone="UTC"))

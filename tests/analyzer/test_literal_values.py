"""Decimals, intervals and the session's values: what Presto's documentation and calendars say they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.literals import parse_decimal, parse_interval
from coordinator.expressions.builders import value_of
from coordinator.sql.parser import parse_expression
from shared.errors import ProcessionError
from shared.plan.expressions import Constant
from shared.spi.session import Session


@pytest.mark.parametrize(
    ("text", "precision", "scale"),
    [("0.05", 2, 2), ("1.50", 3, 2), ("00012", 2, 0), ("-7.", 1, 0), (".5", 1, 1), ("0", 1, 0), ("9" * 38, 38, 0)],
)
def test_a_decimal_has_as_many_digits_as_are_written(text: str, precision: int, scale: int) -> None:
    assert parse_decimal(text) == (Decimal(text), precision, scale)


@pytest.mark.parametrize("text", ["", ".", "-", "1e3", "1_000", "9" * 39, "0." + "1" * 39, "abc"])
def test_no_decimal(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid decimal value"):
        parse_decimal(text)


@pytest.mark.parametrize(
    ("text", "start", "end", "value"),
    [
        ("2", "day", None, timedelta(days=2)),
        ("-2", "day", None, timedelta(days=-2)),
        ("2 3", "day", "hour", timedelta(days=2, hours=3)),
        ("2 3:04:05.678", "day", "second", timedelta(days=2, hours=3, minutes=4, seconds=5, milliseconds=678)),
        ("45:32", "minute", "second", timedelta(minutes=45, seconds=32)),
        ("1.5", "second", None, timedelta(milliseconds=1500)),
        ("3", "week", None, timedelta(days=21)),
        ("3", "month", None, 3),
        ("3", "year", None, 36),
        ("124-30", "year", "month", 1518),
        ("-2-1", "year", "month", -25),
    ],
)
def test_an_interval(text: str, start: str, end: str | None, value: timedelta | int) -> None:
    kind = "interval year to month" if isinstance(value, int) else "interval day to second"
    assert parse_interval(text, 1, start, end) == (kind, value)
    opposite = -value
    assert parse_interval(text, -1, start, end) == (kind, opposite)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("x", "day", None),
        ("1 2 3", "day", "hour"),
        ("1.5", "day", None),
        ("1.5:3", "minute", "second"),
        ("1-2", "month", None),
        ("1-2", "year", None),
        ("", "year", None),
        ("1", "week", "day"),
        ("1", "day", "year"),
        ("1", "fortnight", None),
        ("9" * 20, "day", None),
    ],
)
def test_no_interval(text: str, start: str, end: str | None) -> None:
    with pytest.raises(ValueError, match="Invalid INTERVAL"):
        parse_interval(text, 1, start, end)


SUMMER = datetime(2026, 7, 1, 22, 30, 15, 123_999, tzinfo=UTC)
BERLIN = SUMMER.astimezone(ZoneInfo("Europe/Berlin")).replace(microsecond=123_000)
SESSION = Session(user="ann", catalog="tpch", schema="tiny", time_zone="Europe/Berlin", start=SUMMER)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("current_date", BERLIN.date()),
        ("localtimestamp", BERLIN.replace(tzinfo=None)),
        ("localtime", BERLIN.time()),
        ("current_time", BERLIN.time().replace(tzinfo=timezone(timedelta(hours=2)))),
        ("current_timezone()", "Europe/Berlin"),
        ("current_user", "ann"),
        ("current_catalog()", "tpch"),
        ("current_schema()", "tiny"),
        ("version()", "0.1.0"),
    ],
)
def test_the_clock_is_that_of_the_session_and_stands_still(expression: str, expected: object) -> None:
    """Milliseconds are cut, and the offset of a time is that of the day on which the statement began."""
    value = analyze_expression(parse_expression(expression), Context(SESSION))
    assert isinstance(value, Constant)
    assert value_of(value) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("current_timestamp(3)", "line 1:8: non-default precision not yet supported"),
        ("now(1)", "line 1:8: Unexpected parameters (integer) for function now. Expected: now()"),
        ("IF(true)", "line 1:8: Invalid number of arguments for 'if' function"),
        ("NULLIF(1)", "line 1:8: Invalid number of arguments for 'nullif' function"),
        ("NULLIF(1, 'a')", "line 1:8: Types are not comparable with NULLIF: integer vs varchar(1)"),
        ("coalesce(1)", "line 1:8: The 'coalesce' function must have at least two arguments"),
        ("TRY()", "line 1:8: The 'try' function must have exactly one argument"),
        ("DATE '2024-01-01' + 1", "line 1:26: '+' cannot be applied to date, integer"),
        (
            "INTERVAL '1' DAY + INTERVAL '1' MONTH",
            "line 1:25: '+' cannot be applied to interval day to second, interval year to month",
        ),
        ("true + 1", "line 1:13: '+' cannot be applied to boolean, integer"),
        ("'a' * 2", "line 1:12: '*' cannot be applied to varchar(1), integer"),
        ("MAP() < MAP()", "line 1:14: '<' cannot be applied to map(unknown,unknown), map(unknown,unknown)"),
        ("ARRAY[1] = 1", "line 1:17: '=' cannot be applied to array(integer), integer"),
    ],
)
def test_refused(expression: str, message: str) -> None:
    """The place is that behind ``SELECT``."""
    with pytest.raises(ProcessionError) as caught:
        analyze_expression(parse_expression(f"{'':7}{expression}"), Context(SESSION))
    at = caught.value.location
    assert at is not None
    assert f"line {at.line}:{at.column}: {caught.value.message}".rstrip() == message

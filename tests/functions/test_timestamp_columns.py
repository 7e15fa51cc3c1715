# ruff: noqa: E501
# A table: one entry beside the other reads better than one below the other.
"""Moments by whole columns give what the kernels give row by row."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from coordinator.kernels.functions.program import Program

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu",
    "Asia/Gaza", "Africa/Casablanca", "Pacific/Apia", "America/Boa_Vista", "+05:30", "-11:00",
)  # fmt: skip
TZ = "timestamp with time zone"
UNITS = ("millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
PARTS = (
    "year", "quarter", "month", "day", "day_of_month", "day_of_week", "dow", "day_of_year", "doy", "week", "week_of_year",
    "year_of_week", "yow", "hour", "minute", "second", "millisecond",
)  # fmt: skip
Step = list[object]


def at(zone: str, of: Step) -> Step:
    return ["call", "at_timezone", TZ, [TZ, "varchar(1)"], [of, ["constant", zone, "varchar(1)"]]]


def truncated(unit: str, type_: str, of: Step) -> Step:
    return ["call", "date_trunc", type_, ["varchar(1)", type_], [["constant", unit, "varchar(1)"], of]]


def part(name: str, type_: str, of: Step) -> Step:
    return ["call", name, "bigint", [type_], [of]]


def cast(source: str, target: str, of: Step) -> Step:
    return ["cast", False, source, target, of]


def shown(name: str, pattern: str, of: Step) -> Step:
    return ["call", name, "varchar", [TZ, "varchar(1)"], [of, ["constant", pattern, "varchar(1)"]]]


def later(unit: str, count: int, type_: str, of: Step) -> Step:
    constants: Step = [["constant", unit, "varchar(1)"], ["constant", count, "bigint"]]
    return ["call", "date_add", type_, ["varchar(1)", "bigint", type_], [*constants, of]]


def moved(sign: str, amount: int, kind: str, of: Step) -> Step:
    return ["call", f"$operator${sign}", TZ, [TZ, kind], [of, ["constant", amount, kind]]]


INTERVALS = ((1, "interval year to month"), (-25, "interval year to month"), (90_060_007, "interval day to second"))
MYSQL = ("%Y-%m-%d", "%Y-%m", "%H:%i:%s", "%Y%m%d", "at %d.%m.%Y, %S", "%Y-%m-%d %H", "nothing", "")
JODA = ("yyyy-MM-dd HH:mm:ss.SSS", "yyyyMMdd", "HH 'o''clock'", "yyyy-MM-dd'T'HH:mm")
COLUMN: Step = ["column", 0]


def cases(zone: str) -> list[tuple[str, str, Step]]:
    """The type of the column and of the result, and the expression."""
    there = at(zone, COLUMN)
    placed: Step = [
        "call",
        "with_timezone",
        TZ,
        ["timestamp", "varchar(1)"],
        [COLUMN, ["constant", zone, "varchar(1)"]],
    ]
    dates = [p for p in PARTS if p not in ("hour", "minute", "second", "millisecond")]
    return [
        (TZ, TZ, there), (TZ, "date", cast(TZ, "date", there)), (TZ, "timestamp", cast(TZ, "timestamp", there)),
        (TZ, "double", ["call", "to_unixtime", "double", [TZ], [there]]), ("timestamp", TZ, placed),
        ("timestamp", "double", ["call", "to_unixtime", "double", ["timestamp"], [COLUMN]]),
        ("timestamp", TZ, cast("timestamp", TZ, COLUMN)), ("date", TZ, at(zone, cast("date", TZ, COLUMN))),
        ("timestamp", "date", ["call", "date", "date", [TZ], [at(zone, cast("timestamp", TZ, COLUMN))]]),
        *((TZ, TZ, truncated(unit, TZ, there)) for unit in UNITS),
        *((TZ, "bigint", part("hour", TZ, truncated(unit, TZ, there))) for unit in UNITS),
        *(("timestamp", "timestamp", truncated(unit, "timestamp", COLUMN)) for unit in UNITS),
        *(("date", "date", truncated(unit, "date", COLUMN)) for unit in UNITS[4:]),
        *((TZ, "bigint", part(name, TZ, there)) for name in PARTS),
        *(("timestamp", "bigint", part(name, "timestamp", COLUMN)) for name in PARTS),
        *(("date", "bigint", part(name, "date", COLUMN)) for name in dates),
        (TZ, "varchar", cast(TZ, "varchar", there)), (TZ, "date", ["try", cast(TZ, "date", there)]),
        *((TZ, "varchar", shown("date_format", p, there)) for p in MYSQL),
        *((TZ, "varchar", shown("format_datetime", p, there)) for p in JODA),
        *((TZ, TZ, later(unit, n, TZ, there)) for unit in UNITS for n in (1, -13)),
        *(("timestamp", "timestamp", later(unit, 5, "timestamp", COLUMN)) for unit in UNITS),
        *(("date", "date", later(unit, -1, "date", COLUMN)) for unit in UNITS[4:]),
        *((TZ, TZ, moved(sign, n, kind, there)) for sign in ("add", "subtract") for n, kind in INTERVALS),
        ("double", "timestamp", ["call", "from_unixtime", "timestamp", ["double"], [COLUMN]]),
        ("bigint", TZ, truncated("day", TZ, ["call", "from_unixtime", TZ, ["double", "varchar(1)"],
                                             [cast("bigint", "double", COLUMN), ["constant", zone, "varchar(1)"]]])),
    ]  # fmt: skip


def near_changes(zone: str) -> list[datetime]:
    """Moments around those at which the zone's clocks are changed, of many years, and any."""
    chosen, found = random.Random(zone), []
    known = ZoneInfo(zone) if zone[0] not in "+-" else UTC
    day = datetime(1960, 1, 1, tzinfo=UTC)
    while day.year < 2050:
        following = day + timedelta(days=5)
        if day.astimezone(known).utcoffset() != following.astimezone(known).utcoffset():
            found += [day + timedelta(minutes=15 * n) for n in range(0, 480, chosen.randint(1, 4))]
        day = following
    found = chosen.sample(found, min(len(found), 1500))
    found += [datetime(1, 1, 3, tzinfo=UTC) + timedelta(seconds=chosen.random() * 315_500_000_000) for _ in range(100)]
    found += [
        datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=chosen.randrange(2 * 10**15)) for _ in range(200)
    ]
    return found


def column(type_: str, moments: Sequence[datetime]) -> pa.Array:
    match type_:
        case "date":
            made = pa.array([m.date() for m in moments] + [None], pa.date32())
        case "timestamp":
            made = pa.array([m.replace(tzinfo=None) for m in moments] + [None], pa.timestamp("us"))
        case "double":
            made = pa.array(
                [m.timestamp() for m in moments] + [None, 0.0005, 1.0005, -0.0015, 1e9 + 0.9995], pa.float64()
            )
        case "bigint":
            made = pa.array([int(m.timestamp()) for m in moments] + [None], pa.int64())
        case _:
            made = pa.array([*moments, None], pa.timestamp("us", "UTC"))
    return made


@pytest.mark.parametrize("zone", ZONES)
def test_as_row_by_row(zone: str) -> None:
    moments = near_changes(zone)
    for source, result, expression in cases(zone):
        program = Program(json.dumps({"zone": zone, "columns": [source], "result": result, "expression": expression}))
        given = column(source, moments)
        whole = program._whole
        assert whole is not None, expression
        mine = whole([given])
        assert mine is not None, expression
        program._whole = None
        wanted = program.run([given], len(given))
        assert mine.type == wanted.type
        for value, found, other in zip(given.to_pylist(), mine.to_pylist(), wanted.to_pylist(), strict=True):
            assert found == other, (expression, value)


def test_what_is_left_to_rows() -> None:
    """A year that is none of Python's, what is no second; and the error is that of the row."""
    here = Program(json.dumps({"zone": "UTC", "columns": [TZ], "result": TZ, "expression": at("Asia/Tokyo", COLUMN)}))
    assert here._whole is not None
    assert here._whole([pa.array([253_402_300_799_000_000], pa.int64()).cast(pa.timestamp("us", "UTC"))]) is None
    seconds: Step = ["call", "from_unixtime", "timestamp", ["double"], [COLUMN]]
    there = Program(json.dumps({"zone": "UTC", "columns": ["double"], "result": "timestamp", "expression": seconds}))
    assert there._whole is not None
    for value in (float("nan"), float("inf"), 1e300):
        assert there._whole([pa.array([value])]) is None


@pytest.mark.parametrize("zone", ZONES)
def test_apart_as_row_by_row(zone: str) -> None:
    """Of two columns, either of which is the earlier, each in a zone of its own."""
    moments = near_changes(zone)
    others = random.Random(zone).sample(moments, len(moments))
    for type_, start in ((TZ, at(zone, COLUMN)), ("timestamp", COLUMN), ("date", COLUMN)):
        end: Step = at("Asia/Tokyo", ["column", 1]) if type_ == TZ else ["column", 1]
        for unit in UNITS[4:] if type_ == "date" else UNITS:
            apart = [
                "call",
                "date_diff",
                "bigint",
                ["varchar(1)", type_, type_],
                [["constant", unit, "varchar(1)"], start, end],
            ]
            source = {"zone": zone, "columns": [type_, type_], "result": "bigint", "expression": apart}
            program, given = Program(json.dumps(source)), [column(type_, moments), column(type_, others)]
            assert program._whole is not None
            mine = program._whole(given)
            assert mine is not None
            program._whole = None
            assert mine.to_pylist() == program.run(given, len(moments)).to_pylist(), (type_, unit)

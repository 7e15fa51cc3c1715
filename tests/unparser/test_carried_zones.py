"""Zones that moments are given, across query blocks: what the result shows, beside Python's ``zoneinfo``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.unparser.written import Written

SPRING, SUMMER = datetime(2024, 3, 31, 0, 30, tzinfo=UTC), datetime(2024, 7, 1, 12, tzinfo=UTC)
INSTANTS = f"(VALUES TIMESTAMP '{SPRING:%F %T} UTC', TIMESTAMP '{SUMMER:%F %T} UTC', NULL) t(z)"
TOKYO, BERLIN = "Asia/Tokyo", "Europe/Berlin"
GIVEN = f"(SELECT z, z AT TIME ZONE '{TOKYO}' AS d FROM {INSTANTS})"
DAY = timedelta(days=1)


def _shown(instant: datetime, zone: str = TOKYO) -> str:
    return f"{instant.astimezone(ZoneInfo(zone)):%F %T}.000 {zone}"


BOTH = [_shown(SPRING), _shown(SUMMER)]
MIDNIGHTS = [f"{i.astimezone(ZoneInfo(TOKYO)):%F} 00:00:00.000 {TOKYO}" for i in (SPRING, SUMMER)]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (f"SELECT d FROM {GIVEN}", [*BOTH, "None"]),
        (f"SELECT x FROM (SELECT d AS x FROM {GIVEN})", [*BOTH, "None"]),
        (f"SELECT d FROM {GIVEN} ORDER BY d DESC NULLS LAST LIMIT 1", BOTH[1:]),
        (f"SELECT d FROM {GIVEN} LIMIT 0", []),
        (f"SELECT d FROM {GIVEN} WHERE hour(d) = 9", BOTH[:1]),
        (f"SELECT d FROM {GIVEN} WHERE d > z OR d < z", []),
        (f"SELECT d + INTERVAL '1' DAY FROM {GIVEN}", [_shown(SPRING + DAY), _shown(SUMMER + DAY), "None"]),
        (f"SELECT date_trunc('day', d) FROM {GIVEN}", [*MIDNIGHTS, "None"]),
        (f"SELECT max(d), min(d) FROM {GIVEN}", [f"{BOTH[1]}\t{BOTH[0]}"]),
        (f"SELECT max_by(d, hour(d)) FROM {GIVEN}", BOTH[1:]),
        (f"SELECT d, count(*) FROM {GIVEN} GROUP BY d", [f"{BOTH[0]}\t1", f"{BOTH[1]}\t1", "None\t1"]),
        (f"SELECT d FROM {GIVEN} GROUP BY GROUPING SETS ((d), ())", [*BOTH, "None", "None"]),
        (f"SELECT DISTINCT d FROM {GIVEN} WHERE d IS NOT NULL", BOTH),
        (f"SELECT d FROM {GIVEN} UNION ALL SELECT d FROM {GIVEN}", sorted([*BOTH, "None"] * 2)),
        (f"SELECT coalesce(d, NULL), IF(true, d) FROM {GIVEN} WHERE z IS NOT NULL", [f"{b}\t{b}" for b in BOTH]),
        (f"SELECT greatest(d, d) FROM {GIVEN} WHERE hour(d) > 10", BOTH[1:]),
        (f"SELECT CASE WHEN hour(d) = 9 THEN d END FROM {GIVEN}", [BOTH[0], "None", "None"]),
        (f"SELECT (SELECT max(d) FROM {GIVEN})", BOTH[1:]),
        (f"SELECT a.d FROM {GIVEN} a JOIN {GIVEN} b ON a.d = b.d AND hour(a.d) >= hour(b.d)", BOTH),
        (f"SELECT d FROM {GIVEN} WHERE d IN (SELECT d FROM {GIVEN} WHERE hour(d) = 21)", BOTH[1:]),
        (f"SELECT first_value(d) OVER (ORDER BY z) FROM {GIVEN}", [BOTH[0]] * 3),
        (f"SELECT lag(d) OVER (ORDER BY z) FROM {GIVEN}", [*BOTH, "None"]),
        (
            f"SELECT IF(hour(d) > 10, d, z) FROM {GIVEN}",
            [f"{SPRING:%F %T}.000 UTC", BOTH[1], "None"],
        ),
        (
            f"SELECT z AT TIME ZONE x FROM {INSTANTS} CROSS JOIN (VALUES '{TOKYO}', '{BERLIN}') u(x)",
            sorted([*BOTH, _shown(SPRING, BERLIN), _shown(SUMMER, BERLIN), "None", "None"]),
        ),
        (
            f"SELECT from_unixtime(x, '{BERLIN}') FROM (VALUES 0, 1711846800) t(x)",
            [_shown(datetime.fromtimestamp(n, UTC), BERLIN) for n in (0, 1711846800)],
        ),
        (
            f"SELECT CAST(x AS timestamp with time zone) FROM (VALUES '2024-01-01 10:00 {TOKYO}', '2024-01-02') t(x)",
            [f"2024-01-01 10:00:00.000 {TOKYO}", "2024-01-02 00:00:00.000 UTC"],
        ),
        (
            "SELECT from_iso8601_timestamp(x) FROM (VALUES '2024-01-01T10:00:00+05:30', '2024-01-02T10:00:00') t(x)",
            ["2024-01-01 10:00:00.000 +05:30", "2024-01-02 10:00:00.000 UTC"],
        ),
    ],
)
def test_what_is_shown(written: Written, sql: str, rows: list[str]) -> None:
    assert written.rows(sql)[0] == rows


@pytest.mark.parametrize(
    ("part", "of"),
    [
        ("hour(d)", lambda wall: wall.hour),
        ("day(d)", lambda wall: wall.day),
        ("day_of_week(d)", lambda wall: wall.isoweekday()),
        ("minute(d)", lambda wall: wall.minute),
        ("CAST(d AS date)", lambda wall: wall.date()),
        ("date_format(d, '%Y-%m-%d %H:%i')", lambda wall: f"{wall:%F %H:%M}"),
        ("timezone_hour(d)", lambda wall: 9),
        ("to_unixtime(d)", lambda wall: f"{wall.timestamp():.9g}"),
        ("d = z", lambda wall: True),
        ("d BETWEEN z AND z", lambda wall: True),
        ("format_datetime(d, 'HH:mm')", lambda wall: f"{wall:%H:%M}"),
        ("hour(d + INTERVAL '15' HOUR)", lambda wall: (wall + timedelta(hours=15)).hour),
        ("date_diff('hour', z, d)", lambda wall: 0),
    ],
)
def test_what_is_computed_of_it(written: Written, part: str, of: object) -> None:
    """A later block sees the wall clock of the zone."""
    assert callable(of)
    walls = [instant.astimezone(ZoneInfo(TOKYO)) for instant in (SPRING, SUMMER)]
    rows, _ = written.rows(f"SELECT {part} FROM {GIVEN} WHERE z IS NOT NULL")
    assert rows == sorted(str(of(wall)) for wall in walls)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT d FROM {GIVEN} UNION ALL SELECT z FROM {INSTANTS}",
        f"SELECT z FROM {INSTANTS}",
        f"SELECT count(*) FROM {GIVEN} WHERE d = z",
    ],
)
def test_where_there_is_none(written: Written, sql: str) -> None:
    """Moments of two zones in one column are shown in UTC."""
    rows, _ = written.rows(sql)
    assert rows
    assert not any(TOKYO in row for row in rows)

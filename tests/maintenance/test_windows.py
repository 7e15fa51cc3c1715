"""Windows of maintenance: days, nights, zones and changes of clocks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from coordinator.maintenance.windows import open_until, parse_windows

NIGHTS = "Mon-Fri 22:00-05:00 Europe/Berlin"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("windows", "moment", "until"),
    [
        # 23 November 2026 is a Monday; Berlin is one hour ahead of UTC.
        (NIGHTS, "2026-11-23T20:59", None),
        (NIGHTS, "2026-11-23T21:00", "2026-11-24T04:00"),
        (NIGHTS, "2026-11-24T03:59", "2026-11-24T04:00"),
        (NIGHTS, "2026-11-24T04:00", None),
        (NIGHTS, "2026-11-28T03:00", "2026-11-28T04:00"),  # Friday's night ends on Saturday
        (NIGHTS, "2026-11-28T22:00", None),
        (f"{NIGHTS}; Sat-Sun 00:00-24:00 Europe/Berlin", "2026-11-27T22:30", "2026-11-29T23:00"),
        ("Sun-Mon 08:00-09:00", "2026-11-29T08:30", "2026-11-29T09:00"),
        ("Sun-Mon 08:00-09:00", "2026-11-30T08:30", "2026-11-30T09:00"),
        ("Sun-Mon 08:00-09:00", "2026-12-01T08:30", None),
        ("Wed 10:00-11:00 Asia/Kolkata", "2026-11-25T04:45", "2026-11-25T05:30"),
        # On 25 October 2026 Berlin has the hour from 2 to 3 twice, on 29 March it has none.
        ("Sat 22:00-05:00 Europe/Berlin", "2026-10-24T20:00", "2026-10-25T04:00"),
        ("Sat 22:00-05:00 Europe/Berlin", "2026-03-28T21:00", "2026-03-29T03:00"),
        ("Mon 00:00-24:00; Tue 00:00-12:00", "2026-11-23T06:00", "2026-11-24T12:00"),
    ],
)
def test_until_when_it_is_open(windows: str, moment: str, until: str | None) -> None:
    assert open_until(parse_windows(windows), at(moment)) == (None if until is None else at(until))


def test_without_a_window_it_is_always_open() -> None:
    until = open_until(parse_windows("  "), at("2026-11-23T12:00"))
    assert until is not None
    assert until.year == 9999


def test_windows_without_a_break_do_not_hang() -> None:
    until = open_until(parse_windows("Mon-Sun 00:00-24:00"), at("2026-11-23T12:00"))
    assert until is not None
    assert until > at("2026-12-01T00:00")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("always", "'always' is no window"),
        ("Mon-Fri 22:00", "is no window"),
        ("Mun 22:00-23:00", "'Mun' is no day of the week"),
        ("Mon 22:61-23:00", "'22:61' is no time of day"),
        ("Mon 22:00-24:01", "'24:01' is no time of day"),
        ("Mon 24:00-01:00", "cannot start at 24:00"),
        ("Mon 22:00-23:00 Europe/Bärlin", "is no window"),
        ("Mon 22:00-23:00 Europe/Nowhere", "no time zone is named 'Europe/Nowhere'"),
        ("Mon 22:00-23:00 ../../x", "is no window"),
    ],
)
def test_wrong_windows_say_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_windows(text)

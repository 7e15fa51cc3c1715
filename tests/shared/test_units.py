"""Durations and sizes as airlift writes them; more digits than any has are none."""

from __future__ import annotations

import pytest

from shared.units import parse_data_size, parse_duration


def test_durations_and_sizes() -> None:
    assert (parse_duration("1.50m"), parse_duration(" 2 d "), parse_duration("500ms")) == (90.0, 172_800.0, 0.5)
    assert (parse_data_size("10MB"), parse_data_size("0.5kB"), parse_data_size("1PB")) == (10 << 20, 512, 1 << 50)
    assert parse_data_size("9" * 100 + "PB") > 1 << 300


@pytest.mark.parametrize("text", ["", "10", "m", "10 mb", "-1s", "1..5s", "1" * 101 + "s", "9" * 400 + "PB", "1mmm"])
def test_what_is_neither(text: str) -> None:
    with pytest.raises(ValueError, match="not a valid data duration string"):
        parse_duration(text)
    with pytest.raises(ValueError, match="not a valid data size string"):
        parse_data_size(text)

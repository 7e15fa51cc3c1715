"""Amounts in few characters, as presto-cli writes them: ``1.24K``, ``98.3MB``, ``0:07``."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

_STEP = 1000
_MINUTE = 60


def count(number: float) -> str:
    """``12.3K`` rows."""
    return _scaled(number, ("", "K", "M", "B", "T", "Q"))


def size(number: float) -> str:
    """``98.3MB``"""
    return _scaled(number, ("B", "KB", "MB", "GB", "TB", "PB"))


def rate(number: float, seconds: float) -> float:
    """A second; 0 where no time has passed."""
    return number / seconds if seconds > 0 else 0


def clock(seconds: float) -> str:
    """``1:07``"""
    return f"{int(seconds) // _MINUTE}:{int(seconds) % _MINUTE:02d}"


def duration(seconds: float) -> str:
    """``0.12`` below a minute, then ``1:07``."""
    return f"{seconds:.2f}" if seconds < _MINUTE else clock(seconds)


def _scaled(number: float, units: tuple[str, ...]) -> str:
    """Three digits."""
    at, value = 0, Decimal(number)
    while value >= _STEP and at + 1 < len(units):
        at, value = at + 1, value / _STEP
    digits = Decimal("0.01") if value < 10 else Decimal("0.1") if value < 100 else Decimal(1)
    text = format(value.quantize(digits, ROUND_HALF_UP), "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) + units[at]

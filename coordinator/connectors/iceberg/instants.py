"""Moments as people write them and as Iceberg counts them: milliseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from coordinator.kernels.functions.zones import zone_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_millis(instant: datetime, time_zone: str = "UTC") -> int:
    """Whole milliseconds since 1970; a moment without a zone is in ``time_zone``."""
    aware = instant if instant.tzinfo is not None else instant.replace(tzinfo=zone_of(time_zone))
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def from_millis(milliseconds: int) -> datetime:
    """The moment in UTC."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def instant(milliseconds: int) -> str:
    """A moment as Hudi writes instants, ``yyyyMMddHHmmssSSS`` in UTC.

    >>> instant(1641738289449)
    '20220109142449449'
    """
    at = from_millis(milliseconds)
    return f"{at:%Y%m%d%H%M%S}{at.microsecond // 1000:03d}"


def parse_instant(text: str, time_zone: str = "UTC") -> int | None:
    """Milliseconds of ``yyyyMMddHHmmss[SSS]`` (in UTC) or of an ISO timestamp (in ``time_zone``); None for others."""
    digits = text.strip()
    try:
        if digits.isascii() and digits.isdecimal() and len(digits) in (14, 17):
            instant = datetime.strptime(digits[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
            return to_millis(instant) + int(digits[14:] or 0)
        return to_millis(datetime.fromisoformat(digits), time_zone)
    except (ValueError, OverflowError):
        return None

"""Time zones, by the names and offsets that Presto knows."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from ..kept import kept

_OFFSET = re.compile(r"([+-])([0-9]{1,2}):?([0-9]{2})?")


@kept(1024)
def zone_of(name: str) -> tzinfo:
    """The zone of a name or of an offset such as ``+05:30``; raises ValueError."""
    if name.upper() in ("UTC", "Z", "GMT", "UT", "ETC/UTC"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if minutes > 14 * 60:
            raise ValueError(f"Unknown time-zone ID {name}")
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except Exception as error:
        raise ValueError(f"Unknown time-zone ID {name}") from error


def zone_name(zone: tzinfo) -> str:
    """As Presto shows a zone: its name, or ``+05:30``."""
    if zone is UTC:
        return "UTC"
    name = getattr(zone, "key", None)
    if name is not None:
        return "UTC" if name in ("Etc/UTC", "GMT") else str(name)
    offset = zone.utcoffset(None)
    return offset_text(offset) if offset else "UTC"


def offset_text(offset: timedelta) -> str:
    """``+05:30``."""
    minutes = offset // timedelta(minutes=1)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def offset_now(zone: tzinfo) -> timedelta:
    """The zone's distance from UTC today."""
    return datetime.now(zone).utcoffset() or timedelta()

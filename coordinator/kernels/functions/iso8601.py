"""Texts of ISO 8601 as Presto reads them: Joda's ``dateTimeParser`` and ``dateElementParser``.

A date is ``2024``, ``2024-02``, ``2024-02-29``, ``2024-060`` or ``2024-W09-4``; a time follows a ``T``, with or without
minutes and seconds, a fraction of the last of them, and an offset.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

from .date_formats import assembled, malformed
from .date_texts import local
from .failures import invalid
from .table import Signature
from .zones import zone_of

_YEAR = "[+-]?[0-9]{1,9}"
_DATE = (
    rf"(?:(?P<weekyear>{_YEAR})-W(?P<week>[0-9]{{1,2}})(?:-(?P<weekday>[0-9]))?"
    rf"|(?P<ordinalyear>{_YEAR})-(?P<ordinal>[0-9]{{3}})"
    rf"|(?P<year>{_YEAR})(?:-(?P<month>[0-9]{{1,2}})(?:-(?P<day>[0-9]{{1,2}}))?)?)"
)
_CLOCK = r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2}))?)?"
_TIME = _CLOCK + r"(?:[.,](?P<fraction>[0-9]{1,9})[0-9]*)?"
_OFFSET = r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
_ONLY_DATE = re.compile(_DATE, re.IGNORECASE)
_TIMESTAMP = re.compile(rf"(?:{_DATE})?(?:T(?:{_TIME})?{_OFFSET}?)?", re.IGNORECASE)
_FIELDS = ("year", "weekyear", "month", "day", "ordinal", "week", "weekday", "hour", "minute", "second")


def _read(text: str, pattern: re.Pattern[str]) -> tuple[datetime, tzinfo | None]:
    match = pattern.match(text)
    if match is None or match.end() < len(text) or not text:
        raise invalid(malformed(text, 0 if match is None else match.end()))
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    if "ordinalyear" in groups:
        groups["year"] = groups["ordinalyear"]
    try:
        found = assembled({name: value for name, value in groups.items() if name in _FIELDS})
        zone = zone_of(groups["zone"].upper()) if "zone" in groups else None
        return found + _fraction(groups), zone
    except (ValueError, OverflowError) as error:
        raise invalid(f'Cannot parse "{text}": {error}') from error


def _fraction(groups: dict[str, str]) -> timedelta:
    """Of the last field that is there, in whole milliseconds."""
    digits = groups.get("fraction", "0")
    unit = 1000 if "second" in groups else 60_000 if "minute" in groups else 3_600_000
    return timedelta(milliseconds=int(digits) * unit // 10 ** len(digits))


def from_iso8601_timestamp(signature: Signature, text: str) -> datetime:
    """In the zone of its offset, or of the session; raises INVALID_FUNCTION_ARGUMENT."""
    instant, zone = _read(text, _TIMESTAMP)
    if zone is UTC:
        return instant.replace(tzinfo=UTC)
    return local(instant, zone or signature.zone)


def from_iso8601_date(text: str) -> date:
    """Raises INVALID_FUNCTION_ARGUMENT."""
    return _read(text, _ONLY_DATE)[0].date()

"""Dates by pattern: MySQL's letters (DATE_FORMAT, DATE_PARSE) and Joda's (FORMAT_DATETIME, PARSE_DATETIME)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from ..kept import kept
from .date_texts import local
from .failures import invalid
from .table import Signature, Table, plain, typed
from .zones import offset_text, zone_name, zone_of

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Show = Callable[[datetime], str]


def _hour12(instant: datetime) -> int:
    return instant.hour % 12 or 12


def _half(instant: datetime) -> str:
    return "AM" if instant.hour < 12 else "PM"


_MYSQL: dict[str, Show] = {
    "a": lambda m: _DAYS[m.weekday()][:3], "b": lambda m: _MONTHS[m.month - 1][:3], "c": lambda m: str(m.month),
    "d": lambda m: f"{m.day:02d}", "e": lambda m: str(m.day), "f": lambda m: f"{m.microsecond:06d}",
    "H": lambda m: f"{m.hour:02d}", "h": lambda m: f"{_hour12(m):02d}", "I": lambda m: f"{_hour12(m):02d}",
    "i": lambda m: f"{m.minute:02d}", "j": lambda m: f"{m.timetuple().tm_yday:03d}", "k": lambda m: str(m.hour),
    "l": lambda m: str(_hour12(m)), "M": lambda m: _MONTHS[m.month - 1], "m": lambda m: f"{m.month:02d}",
    "p": _half, "r": lambda m: f"{_hour12(m):02d}:{m.minute:02d}:{m.second:02d} {_half(m)}",
    "S": lambda m: f"{m.second:02d}", "s": lambda m: f"{m.second:02d}",
    "T": lambda m: f"{m.hour:02d}:{m.minute:02d}:{m.second:02d}", "v": lambda m: f"{m.isocalendar().week:02d}",
    "W": lambda m: _DAYS[m.weekday()], "x": lambda m: f"{m.isocalendar().year:04d}", "Y": lambda m: f"{m.year:04d}",
    "y": lambda m: f"{m.year % 100:02d}", "%": lambda _: "%",
}  # fmt: skip


def _literal(text: str) -> Show:
    return lambda _: text


@kept(512)
def _mysql(pattern: str) -> tuple[Show, ...]:
    made: list[Show] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "%" and position + 1 < len(pattern):
            position += 1
            letter = pattern[position]
            if letter in "DUuVwX":
                raise invalid(f"%{letter} not supported in date format string")
            made.append(_MYSQL.get(letter, _literal(letter)))
        else:
            made.append(_literal(character))
        position += 1
    return tuple(made)


def _year(instant: datetime) -> int:
    return instant.year


def _week_year(instant: datetime) -> int:
    return instant.isocalendar().year


def _joda_part(letter: str, count: int) -> Show:
    def padded(number: Callable[[datetime], int]) -> Show:
        return lambda m: str(number(m)).zfill(count)

    match letter:
        case "y" | "Y" | "x":
            year = _week_year if letter == "x" else _year
            return (lambda m: f"{year(m) % 100:02d}") if count == 2 else padded(year)
        case "M":
            if count >= 3:
                return lambda m: _MONTHS[m.month - 1][: None if count > 3 else 3]
            return padded(lambda m: m.month)
        case "E":
            return lambda m: _DAYS[m.weekday()][: None if count > 3 else 3]
        case "S":
            return lambda m: f"{m.microsecond // 1000:03d}"[:count].ljust(count, "0")
        case "z":
            return lambda m: zone_name(m.tzinfo or UTC) if count > 3 else _short_zone(m)
        case "Z":
            return lambda m: _offset(m, count)
        case "G":
            return lambda m: "AD" if m.year > 0 else "BC"
        case "a":
            return _half
    number = _NUMBERS.get(letter)
    if number is None:
        raise invalid(f"Illegal pattern component: {letter * count}")
    return padded(number)


_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "d": lambda m: m.day, "D": lambda m: m.timetuple().tm_yday, "e": lambda m: m.isoweekday(), "H": lambda m: m.hour,
    "h": _hour12, "K": lambda m: m.hour % 12, "k": lambda m: m.hour or 24, "m": lambda m: m.minute,
    "s": lambda m: m.second, "w": lambda m: m.isocalendar().week, "C": lambda m: m.year // 100,
}  # fmt: skip


def _short_zone(instant: datetime) -> str:
    return "UTC" if instant.tzinfo is UTC else str(instant.tzname())


def _offset(instant: datetime, count: int) -> str:
    if count >= 3:
        return zone_name(instant.tzinfo or UTC)
    text = offset_text(instant.utcoffset() or timedelta())
    return text if count == 2 else text.replace(":", "")


_JODA = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")


def joda_tokens(pattern: str) -> list[tuple[str, str]]:
    """Letters and literals: ``("M", "MMM")`` and ``("", "T")``."""
    made: list[tuple[str, str]] = []
    for part in _JODA.finditer(pattern):
        if part[2] is not None:
            made.append((part[2], part[0]))
        else:
            made.append(("", part[0] if part[1] is None else part[1].replace("''", "'") or "'"))
    return made


@kept(512)
def _joda(pattern: str) -> tuple[Show, ...]:
    return tuple(_joda_part(a, len(b)) if a else _literal(b) for a, b in joda_tokens(pattern))


def _zoned_timestamp(value: Any, zone: tzinfo) -> datetime:
    if not isinstance(value, datetime):
        value = datetime.combine(value, datetime.min.time())
    return value if value.tzinfo is not None else local(value, zone)


def _format(compile_pattern: Callable[[str], tuple[Show, ...]]) -> Callable[..., str]:
    def show(signature: Signature, value: object, pattern: str) -> str:
        instant = _zoned_timestamp(value, signature.zone)
        return "".join(part(instant) for part in compile_pattern(pattern))

    return show


_READ: dict[str, tuple[str, str]] = {
    "Y": (r"[+-]?\d{1,9}", "year"), "y": (r"\d{2}", "short"), "m": (r"\d{1,2}", "month"), "c": (r"\d{1,2}", "month"),
    "d": (r"\d{1,2}", "day"), "e": (r"\d{1,2}", "day"), "H": (r"\d{1,2}", "hour"), "k": (r"\d{1,2}", "hour"),
    "h": (r"\d{1,2}", "hour12"), "I": (r"\d{1,2}", "hour12"), "l": (r"\d{1,2}", "hour12"), "i": (r"\d{1,2}", "minute"),
    "s": (r"\d{1,2}", "second"), "S": (r"\d{1,2}", "second"), "f": (r"\d{1,9}", "fraction"),
    "p": (r"[AaPp][Mm]", "half"),
    "M": (r"[A-Za-z]+", "name"), "b": (r"[A-Za-z]{3,}", "name"), "W": (r"[A-Za-z]+", "ignored"),
    "a": (r"[A-Za-z]+", "ignored"),
    "j": (r"\d{1,3}", "ordinal"), "x": (r"\d{4}", "weekyear"), "v": (r"\d{1,2}", "week"),
}  # fmt: skip
Reader = tuple[tuple[str, ...], tuple[str, ...]]
"""The regular expressions of the pattern's parts, and the fields that their groups give."""
_WHOLE = {"T": "%H:%i:%S", "r": "%I:%i:%S %p"}


@kept(512)
def _mysql_reader(pattern: str) -> Reader:
    for letter, long in _WHOLE.items():
        pattern = pattern.replace(f"%{letter}", long)
    made: list[str] = []
    fields: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "%" and position + 1 < len(pattern):
            position += 1
            letter = pattern[position]
            if letter in "DUuVwX":
                raise invalid(f"%{letter} not supported in date format string")
            if letter in _READ:
                made.append(f"({_READ[letter][0]})")
                fields.append(_READ[letter][1])
            else:
                made.append(re.escape(letter))
        else:
            made.append(re.escape(character))
        position += 1
    return tuple(made), tuple(fields)


_JODA_FIELDS = {"d": "day", "H": "hour", "h": "hour12", "m": "minute", "s": "second", "D": "ordinal", "w": "week",
                "e": "weekday", "K": "hour11", "k": "hour24"}  # fmt: skip


@kept(512)
def _joda_reader(pattern: str) -> Reader:
    made: list[str] = []
    fields: list[str] = []
    for letter, text in joda_tokens(pattern):
        if not letter:
            made.append(re.escape(text))
            continue
        kind, digits = _joda_field(letter, len(text))
        made.append(f"({digits})")
        fields.append(kind)
    return tuple(made), tuple(fields)


def _joda_field(letter: str, count: int) -> tuple[str, str]:
    digits = rf"\d{{1,{max(count, 2)}}}"
    match letter:
        case "y" | "Y":
            return ("short", r"\d{2}") if count == 2 else ("year", r"[+-]?\d{1,9}")
        case "x":
            return "weekyear", r"\d{4}"
        case "M":
            return ("name", "[A-Za-z]+") if count >= 3 else ("month", digits)
        case "E":
            return "ignored", "[A-Za-z]+"
        case "S":
            return "fraction", r"\d{1,9}"
        case "a":
            return "half", "[AaPp][Mm]"
        case "Z":
            return "zone", r"Z|[+-]\d{2}:?\d{2}|[A-Za-z][\w/+-]*"
        case "z":
            return "zone", r"[A-Za-z][\w/+-]*"
    if letter not in _JODA_FIELDS:
        raise invalid(f"Illegal pattern component: {letter * count}")
    return _JODA_FIELDS[letter], digits


def _malformed(text: str, parts: tuple[str, ...]) -> str:
    """Joda's text, which says where reading stopped."""
    found = (re.match("".join(parts[:count]), text) for count in range(len(parts), -1, -1))
    end = next(match.end() for match in found if match is not None)
    if not end:
        return f'Invalid format: "{text}"'
    return f'Invalid format: "{text}" is ' + ("too short" if end >= len(text) else f'malformed at "{text[end:]}"')


def _read(text: str, reader: Reader) -> tuple[datetime, tzinfo | None]:
    parts, fields = reader
    match = re.fullmatch("".join(parts), text)
    if match is None:
        raise invalid(_malformed(text, parts))
    found = dict(zip(fields, match.groups(), strict=True))
    try:
        return _assembled(found), zone_of(found["zone"]) if "zone" in found else None
    except (ValueError, OverflowError) as error:
        raise invalid(f'Cannot parse "{text}": {error}') from error


def _assembled(found: dict[str, str]) -> datetime:
    number = {k: int(v) for k, v in found.items() if k not in ("half", "name", "ignored", "fraction", "zone")}
    year = number.get("year", number.get("weekyear", 1970))
    if "short" in number:
        year = number["short"] + (2000 if number["short"] < 70 else 1900)
    month = number.get("month", 1)
    if "name" in found:
        month = next((i for i, m in enumerate(_MONTHS, 1) if m[:3].lower() == found["name"][:3].lower()), 0)
    day = date(year, month, number.get("day", 1))
    if "ordinal" in number:
        day = date(year, 1, 1) + timedelta(days=number["ordinal"] - 1)
    if "week" in number:
        day = date.fromisocalendar(year, number["week"], number.get("weekday", 1))
    hour = number.get("hour", number.get("hour24", 0) % 24)
    if "hour12" in number or "hour11" in number:
        hour = number.get("hour12", number.get("hour11", 0)) % 12
        hour += 12 if found.get("half", "AM").upper() == "PM" else 0
    millis = int(found.get("fraction", "0")[:3].ljust(3, "0"))
    return datetime(year=day.year, month=day.month, day=day.day, hour=hour, minute=number.get("minute", 0),
                    second=number.get("second", 0), microsecond=millis * 1000)  # fmt: skip


def _date_parse(text: str, pattern: str) -> datetime:
    return _read(text, _mysql_reader(pattern))[0]


def _parse_datetime(signature: Signature, text: str, pattern: str) -> datetime:
    instant, zone = _read(text, _joda_reader(pattern))
    return local(instant, zone or signature.zone)


DATE_FORMATS: Table = {
    **plain(date_parse=_date_parse),
    **typed(date_format=_format(_mysql), format_datetime=_format(_joda), parse_datetime=_parse_datetime),
}

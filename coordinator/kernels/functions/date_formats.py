"""Dates by pattern: MySQL's letters (DATE_FORMAT, DATE_PARSE) and Joda's (FORMAT_DATETIME, PARSE_DATETIME)."""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
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


_NAMES = {
    kind: re.compile("|".join(sorted({n for name in names for n in (name, name[:3])}, key=len, reverse=True)), re.I)
    for kind, names in (("month", _MONTHS), ("day", _DAYS))
}
_ZONE_ID = "[A-Za-z][\\w/+-]*+"


def _digits(most: int, least: int = 1, sign: str = "") -> re.Pattern[str]:
    """As many as there are: Joda gives none back to what follows."""
    return re.compile(f"{sign}[0-9]{{{least},{most}}}+")


_TWO, _THREE, _NINE, _EXACTLY_TWO, _FOUR = _digits(2), _digits(3), _digits(9), _digits(2, 2), _digits(4, 4)
_SIGN = "[+-]?"
_YEAR, _HALF = _digits(4, sign=_SIGN), re.compile("[AaPp][Mm]")
Part = tuple[str, re.Pattern[str] | str]
"""A field with what it looks like, or no field with a literal text."""
_READ: dict[str, Part] = {
    "Y": ("year", _YEAR), "y": ("short", _EXACTLY_TWO), "m": ("month", _TWO), "c": ("month", _TWO), "d": ("day", _TWO),
    "e": ("day", _TWO), "H": ("hour", _TWO), "k": ("hour", _TWO), "h": ("hour12", _TWO), "I": ("hour12", _TWO),
    "l": ("hour12", _TWO), "i": ("minute", _TWO), "s": ("second", _TWO), "S": ("second", _TWO),
    "f": ("fraction", _NINE), "p": ("half", _HALF), "M": ("name", _NAMES["month"]), "b": ("name", _NAMES["month"]),
    "W": ("ignored", _NAMES["day"]), "a": ("ignored", _NAMES["day"]), "j": ("ordinal", _THREE),
    "x": ("weekyear", _YEAR), "v": ("week", _TWO),
}  # fmt: skip
_SEVERAL = {"T": "%H:%i:%S", "r": "%I:%i:%S %p"}


@kept(512)
def _mysql_reader(pattern: str) -> tuple[Part, ...]:
    made: list[Part] = []
    characters = iter(pattern)
    for character in characters:
        letter = next(characters, None) if character == "%" else None
        if letter is None:
            made.append(("", character))
        elif letter in "DUuVwX":
            raise invalid(f"%{letter} not supported in date format string")
        elif letter in _SEVERAL:
            made += _mysql_reader(_SEVERAL[letter])
        else:
            made.append(_READ.get(letter, ("", letter)))
    return tuple(made)


_JODA_FIELDS = {"d": "day", "H": "hour", "h": "hour12", "m": "minute", "s": "second", "D": "ordinal", "w": "week",
                "e": "weekday", "K": "hour11", "k": "hour24"}  # fmt: skip
_LONGEST = 9


@kept(512)
def _joda_reader(pattern: str) -> tuple[Part, ...]:
    tokens = joda_tokens(pattern)
    following = [*(_is_number(letter, len(text)) for letter, text in tokens[1:]), False]
    return tuple(
        _joda_field(letter, len(text), before) if letter else ("", text)
        for (letter, text), before in zip(tokens, following, strict=True)
    )


def _is_number(letter: str, count: int) -> bool:
    return letter in _JODA_FIELDS or letter in ("y", "Y", "x", "S") or (letter == "M" and count <= 2)


def _joda_field(letter: str, count: int, before_number: bool) -> Part:
    """Years before another number have as many digits as letters."""
    digits = _digits(min(max(count, 2), _LONGEST))
    match letter:
        case "y" | "Y":
            if count == 2:
                return "short", _EXACTLY_TWO
            return "year", _digits(min(count, _LONGEST) if before_number else _LONGEST, sign=_SIGN)
        case "x":
            return "weekyear", _FOUR
        case "M":
            return ("name", _NAMES["month"]) if count >= 3 else ("month", digits)
        case "E":
            return "ignored", _NAMES["day"]
        case "S":
            return "fraction", _digits(min(count, _LONGEST)) if before_number else _NINE
        case "a":
            return "half", _HALF
        case "Z":
            return "zone", re.compile(rf"{_ZONE_ID}|[+-]\d{{2}}:?\d{{2}}")
        case "z":
            return "zone", re.compile(_ZONE_ID)
    if letter not in _JODA_FIELDS:
        raise invalid(f"Illegal pattern component: {letter * count}")
    return _JODA_FIELDS[letter], digits


def malformed(text: str, end: int) -> str:
    """Joda's text, which says where reading stopped and shows a little of what is there."""
    shown = text if len(text) <= end + 35 else text[: end + 32] + "..."
    if not end:
        return f'Invalid format: "{shown}"'
    return f'Invalid format: "{shown}" is ' + ("too short" if end >= len(text) else f'malformed at "{shown[end:]}"')


def _fields(text: str, parts: tuple[Part, ...]) -> dict[str, str]:
    """One part after the other, each as long as it can be, as Joda reads: time grows with the text alone."""
    found: dict[str, str] = {}
    position = 0
    for field, part in parts:
        if isinstance(part, str):
            end = position + len(part)
            if text[position:end].lower() != part.lower():
                raise invalid(malformed(text, position))
        else:
            match = part.match(text, position)
            if match is None:
                raise invalid(malformed(text, position))
            found[field], end = match[0], match.end()
        position = end
    if position < len(text):
        raise invalid(malformed(text, position))
    return found


def _read(text: str, parts: tuple[Part, ...]) -> tuple[datetime, tzinfo | None]:
    found = _fields(text, parts)
    try:
        return assembled(found), zone_of(found["zone"]) if "zone" in found else None
    except (ValueError, OverflowError) as error:
        raise invalid(f'Cannot parse "{text}": {error}') from error


def assembled(found: dict[str, str]) -> datetime:
    """The timestamp of fields as texts; raises ValueError in Joda's words."""
    number = {k: int(v) for k, v in found.items() if k not in ("half", "name", "ignored", "fraction", "zone")}
    year = number.get("year", number.get("weekyear", 1970))
    if "short" in number:
        year = number["short"] + (2000 if number["short"] < 70 else 1900)
    month = number.get("month", 1)
    if "name" in found:
        month = next(i for i, m in enumerate(_MONTHS, 1) if m[:3].lower() == found["name"][:3].lower())
    clock = timedelta(
        hours=_hour(number, found.get("half", "AM").upper()),
        minutes=_within(number.get("minute", 0), "minuteOfHour", 0, 59),
        seconds=_within(number.get("second", 0), "secondOfMinute", 0, 59),
        milliseconds=int(found.get("fraction", "0")[:3].ljust(3, "0")),
    )
    return datetime.combine(_day(_within(year, "year", 1, 9999), month, number), time()) + clock


def _day(year: int, month: int, number: dict[str, int]) -> date:
    length = monthrange(year, _within(month, "monthOfYear", 1, 12))[1]
    day = date(year, month, _within(number.get("day", 1), "dayOfMonth", 1, length))
    if "ordinal" in number:
        ordinal = _within(number["ordinal"], "dayOfYear", 1, 366 if isleap(year) else 365)
        day = date(year, 1, 1) + timedelta(days=ordinal - 1)
    if "week" in number:
        last = date(year, 12, 28).isocalendar().week
        week = _within(number["week"], "weekOfWeekyear", 1, last)
        day = date.fromisocalendar(year, week, _within(number.get("weekday", 1), "dayOfWeek", 1, 7))
    return day


def _hour(number: dict[str, int], half: str) -> int:
    hour = _within(number.get("hour", 0), "hourOfDay", 0, 23)
    if "hour24" in number:
        hour = _within(number["hour24"], "clockhourOfDay", 1, 24) % 24
    if "hour12" in number or "hour11" in number:
        hour = _within(number.get("hour12", 12), "clockhourOfHalfday", 1, 12) % 12
        hour = _within(number.get("hour11", hour), "hourOfHalfday", 0, 11) + 12 * (half == "PM")
    return hour


def _within(value: int, field: str, least: int, most: int) -> int:
    """The value; raises ValueError in Joda's words."""
    if not least <= value <= most:
        raise ValueError(f"Value {value} for {field} must be in the range [{least},{most}]")
    return value


def _date_parse(text: str, pattern: str) -> datetime:
    return _read(text, _mysql_reader(pattern))[0]


def _parse_datetime(signature: Signature, text: str, pattern: str) -> datetime:
    instant, zone = _read(text, _joda_reader(pattern))
    return local(instant, zone or signature.zone)


DATE_FORMATS: Table = {
    **plain(date_parse=_date_parse),
    **typed(date_format=_format(_mysql), format_datetime=_format(_joda), parse_datetime=_parse_datetime),
}

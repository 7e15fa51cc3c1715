"""Functions of dates and timestamps in the embedded engine's words. Its columns of moments with a zone are in UTC."""

from __future__ import annotations

from coordinator.expressions.builders import value_of
from coordinator.kernels.functions.date_formats import joda_tokens
from coordinator.kernels.functions.zones import zone_of
from coordinator.unparser.session_zone import session_zone
from coordinator.unparser.vectorised.casts import DAY, MOMENT, cast_form, date_of_text, matches, tried
from coordinator.unparser.vectorised.form import Asked, Form, Rule, instant_of_utc, known, quoted, wall_of_utc
from shared.plan.expressions import Constant

_ZONED = "timestamp with time zone"
_MOMENTS = ("date", "timestamp", _ZONED)
_MICROS = {
    "millisecond": 1000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000,
    "week": 604_800_000_000,
}  # fmt: skip
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_DATES = ("day", "week", *_MONTHS)
_DAY_MILLIS = 86_400_000
_FAR = 100_000
"""Days or months that may be added at once: nothing overflows on the way."""


def _wall(value: str, base: str) -> str:
    return wall_of_utc(value) if base == _ZONED else value


def _back(value: str, base: str) -> str:
    """A timestamp as the type it was made from."""
    return instant_of_utc(value) if base == _ZONED else f"CAST({value} AS {base.upper()})"


def _part(template: str, *, clock: bool = False) -> Rule:
    def rule(asked: Asked) -> Form | None:
        base = asked.bases[0]
        if base not in (_MOMENTS[1:] if clock else _MOMENTS):
            return None
        return Form(template.format(_wall(asked.arguments[0], base)))

    return rule


def _date(asked: Asked) -> Form | None:
    if asked.bases[0] == "varchar":
        return date_of_text(asked.arguments[0])
    return cast_form(asked)


def _unit(asked: Asked, base: str) -> str | None:
    """The literal unit, when the type has it."""
    text = asked.constant(0)
    unit = text.lower() if isinstance(text, str) else ""
    units = _DATES if base == "date" else (*_MICROS, *_MONTHS)
    return unit if base in _MOMENTS and unit in units else None


def _trunc(asked: Asked) -> Form | None:
    base = asked.bases[1]
    unit = _unit(asked, base)
    if unit is None:
        return None
    if unit == "day" and base == "date":
        return Form(asked.arguments[1])
    return Form(_back(f"date_trunc('{unit}', {_wall(asked.arguments[1], base)})", base))


def _add(asked: Asked) -> Form | None:
    count, base = asked.arguments[1], asked.bases[2]
    unit = _unit(asked, base)
    plain = known(asked, 1, lambda n: abs(n) <= _FAR, f"({count} BETWEEN -{_FAR} AND {_FAR})")
    if unit is None or plain is None:
        return None
    return Form(_moved(asked.arguments[2], base, count, unit), plain)


def _moved(value: str, base: str, count: str, unit: str) -> str:
    if unit in _MONTHS:
        return _back(f"({_wall(value, base)} + to_months(CAST({count} * {_MONTHS[unit]} AS INTEGER)))", base)
    if base == "date":
        return f"({value} + CAST({count} * {7 if unit == 'week' else 1} AS INTEGER))"
    return f"({value} + to_microseconds(CAST({count} AS BIGINT) * {_MICROS[unit]}))"


def _timestamp_and_interval(sign: str) -> Rule:
    """A literal interval on a moment."""

    def rule(asked: Asked) -> Form | None:
        at = 0 if asked.bases[0] in _MOMENTS else 1
        interval, base = asked.node.arguments[1 - at], asked.bases[at]
        if base not in _MOMENTS or not isinstance(interval, Constant) or (at == 1 and sign == "-"):
            return None
        amount, months = value_of(interval), asked.bases[1 - at] == "interval year to month"
        if amount is None or not asked.bases[1 - at].startswith("interval"):
            return None
        return _by(asked.arguments[at], base, asked.arguments[1 - at], sign, months=months)

    return rule


def _by(value: str, base: str, amount: str, sign: str, *, months: bool) -> Form | None:
    if months:
        return Form(_back(f"({_wall(value, base)} {sign} to_months(CAST({amount} AS INTEGER)))", base))
    if base == "date":
        whole = f"(CAST({amount} AS BIGINT) % {_DAY_MILLIS} = 0)"
        return Form(f"({value} {sign} CAST(CAST({amount} AS BIGINT) // {_DAY_MILLIS} AS INTEGER))", (whole,))
    return Form(f"({value} {sign} to_microseconds(CAST({amount} AS BIGINT) * 1000))")


def _diff(asked: Asked) -> Form | None:
    base = asked.bases[1]
    unit = _unit(asked, base)
    if unit is None or asked.bases[2] != base:
        return None
    start, end = (_wall(a, base) for a in asked.arguments[1:])
    if unit in _MONTHS:
        return Form(_months_between(start, end, _MONTHS[unit]))
    if base == "date":
        return Form(f"(({end} - {start}) // {7 if unit == 'week' else 1})")
    return Form(f"((epoch_us({end}) - epoch_us({start})) // {_MICROS[unit]})")


def _months_between(start: str, end: str, step: int) -> str:
    """Whole months: adding them to the earlier does not pass the later."""
    months = f"((year({end}) - year({start})) * 12 + month({end}) - month({start}))"
    ahead = f"CAST(({start} + to_months(CAST({months} AS INTEGER))) > {end} AS BIGINT)"
    back = f"CAST(({end} + to_months(CAST(-{months} AS INTEGER))) > {start} AS BIGINT)"
    return f"(({months} + CASE WHEN {end} >= {start} THEN -{ahead} ELSE {back} END) // {step})"


_MYSQL = {
    "Y": "%Y", "m": "%m", "d": "%d", "H": "%H", "i": "%M", "s": "%S", "S": "%S", "y": "%y", "c": "%-m", "e": "%-d",
    "k": "%-H", "h": "%I", "I": "%I", "l": "%-I", "p": "%p", "M": "%B", "b": "%b", "W": "%A", "a": "%a", "j": "%j",
    "f": "%f", "x": "%G", "v": "%V", "T": "%H:%M:%S", "r": "%I:%M:%S %p", "%": "%%",
}  # fmt: skip
_JODA = {
    "yyyy": "%Y", "YYYY": "%Y", "yy": "%y", "MM": "%m", "M": "%-m", "MMM": "%b", "MMMM": "%B", "dd": "%d", "d": "%-d",
    "HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "ss": "%S", "SSS": "%g", "EEE": "%a", "EEEE": "%A",
    "a": "%p",
}  # fmt: skip
_BY_DAY = {"%Y-%m-%d": 10, "%Y-%m": 7, "%Y": 4}


def _of_mysql(pattern: str) -> str | None:
    made, position = "", 0
    while position < len(pattern):
        character = pattern[position]
        if character == "%" and position + 1 < len(pattern):
            letter = _MYSQL.get(pattern[position + 1])
            if letter is None:
                return None
            made, position = made + letter, position + 2
        else:
            made, position = made + character.replace("%", "%%"), position + 1
    return made


def _of_joda(pattern: str) -> str | None:
    parts = [_JODA.get(text) if letter else text.replace("%", "%%") for letter, text in joda_tokens(pattern)]
    return None if None in parts else "".join(p for p in parts if p is not None)


def _format(*, joda: bool) -> Rule:
    def rule(asked: Asked) -> Form | None:
        base, pattern = asked.bases[0], asked.constant(1)
        if base not in _MOMENTS or not isinstance(pattern, str) or session_zone() != "UTC":
            return None
        made = _of_joda(pattern) if joda else _of_mysql(pattern)
        if made is None or "\0" in made:
            return None
        value = _wall(asked.arguments[0], base)
        if made in _BY_DAY:
            # Dates show several times as fast.
            return Form(f"left(CAST(CAST({value} AS DATE) AS VARCHAR), {_BY_DAY[made]})")
        return Form(f"strftime({value}, {quoted(made)})" if made else quoted(""))

    return rule


_READ = {"%Y-%m-%d": DAY, "%Y-%m-%d %H:%i:%s": MOMENT.replace("[ T]", " ").partition(r"(\.")[0]}


def _parse(asked: Asked) -> Form | None:
    value, pattern = asked.arguments[0], _READ.get(str(asked.constant(1)))
    if pattern is None or asked.bases[0] != "varchar" or asked.result.base != "timestamp":
        return None
    read = tried(value, "TIMESTAMP")
    return Form(read, (matches(value, pattern), f"({read} IS NOT NULL)"))


_ISO_IN_UTC = DAY + r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-]00:00)"


def _from_iso8601_timestamp(asked: Asked) -> Form | None:
    """The forms that most programs write."""
    value = asked.arguments[0]
    read = tried(value, "TIMESTAMP")
    whole = f"date_trunc('milliseconds', {read})"
    return Form(instant_of_utc(whole), (matches(value, _ISO_IN_UTC), f"({read} IS NOT NULL)"))


def _from_iso8601_date(asked: Asked) -> Form | None:
    value = asked.arguments[0]
    read = tried(value, "DATE")
    return Form(read, (matches(value, DAY), f"({read} IS NOT NULL)"))


def _to_unixtime(asked: Asked) -> Form | None:
    value, base = asked.arguments[0], asked.bases[0]
    if base not in ("timestamp", _ZONED) or (base == "timestamp" and session_zone() != "UTC"):
        return None
    micros = f"epoch_us({_wall(value, base)})"
    return Form(f"(CAST(({micros} - (({micros} % 1000) + 1000) % 1000) // 1000 AS DOUBLE) / CAST(1000 AS DOUBLE))")


def _is_zone(name: object) -> bool:
    """Whether it is a zone's name, of which an instant does not depend."""
    try:
        return isinstance(name, str) and zone_of(name) is not None
    except ValueError:
        return False


def _from_unixtime(asked: Asked) -> Form | None:
    """Whole milliseconds, but near the middle of two, where what stands behind a double decides."""
    zoned = asked.result.base == _ZONED
    if not zoned and (asked.result.base != "timestamp" or session_zone() != "UTC"):
        return None
    if len(asked.arguments) > 2 or (zoned and not _is_zone(asked.constant(1))):
        return None
    value = asked.arguments[0]
    millis = f"({value} * 1000)"
    plain = (f"({value} BETWEEN -8e9 AND 8e9)", f"(abs({millis} - round({millis})) < 0.499)")
    made = f"make_timestamp{'tz' if zoned else ''}(TRY_CAST(round({millis}) AS BIGINT) * 1000)"
    return Form(made, plain)


DATES: dict[str, Rule] = {
    "year": _part("year({0})"), "quarter": _part("quarter({0})"), "month": _part("month({0})"),
    "day": _part("day({0})"), "day_of_month": _part("day({0})"), "week": _part("week({0})"),
    "week_of_year": _part("week({0})"), "year_of_week": _part("isoyear({0})"), "yow": _part("isoyear({0})"),
    "day_of_week": _part("isodow({0})"), "dow": _part("isodow({0})"), "day_of_year": _part("dayofyear({0})"),
    "doy": _part("dayofyear({0})"), "last_day_of_month": _part("last_day({0})"),
    "hour": _part("hour({0})", clock=True), "minute": _part("minute({0})", clock=True),
    "second": _part("second({0})", clock=True), "millisecond": _part("(millisecond({0}) % 1000)", clock=True),
    "date": _date, "date_trunc": _trunc, "date_add": _add, "date_diff": _diff, "date_format": _format(joda=False),
    "format_datetime": _format(joda=True), "date_parse": _parse, "to_unixtime": _to_unixtime,
    "from_unixtime": _from_unixtime, "from_iso8601_timestamp": _from_iso8601_timestamp,
    "from_iso8601_date": _from_iso8601_date, "$operator$add": _timestamp_and_interval("+"),
    "$operator$subtract": _timestamp_and_interval("-"),
}  # fmt: skip

"""Timestamps by whole columns: programs of zones, parts of timestamps and truncation, without a look at each row.

A program that this knows gives what its steps give row by row (``dates``, ``casts``); a column with a timestamp outside
of the years 1 to 9999, or with what is no argument, is left to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ..types import Type
from .arrow_forms import arrow_type
from .column_values import (
    READERS,
    WRITERS,
    Column,
    Numbers,
    RowwiseError,
    Texts,
    Timestamps,
    checked,
    read_date,
)
from .iso8601_columns import read_dates, read_timestamps
from .shown_columns import WHOLE, Piece, joda_pieces, mysql_pieces, shown_walls
from .timestamp_steps import DAY, MONTHS, STEPS, add_months, first_of, month_number, whole_months, whole_steps
from .zone_offsets import SECOND, Micros, zone_table
from .zones import zone_name, zone_of

_MOST_SECONDS = 1e12
"""More than there are in the years."""
Columns = Sequence[pa.Array]
Compute = Callable[[Columns], Column]
Convert = Callable[[Any, tzinfo], Column]


def column_program(
    expression: list[object], types: Sequence[Type], result: Type, zone: tzinfo
) -> Callable[[Columns], pa.Array | None] | None:
    """The program over its columns, which gives None for some; None where there is no such form of it."""
    if expression[0] == "column":
        return None
    compute = _Compiler(types, zone).compute(expression)
    if compute is None or result.base not in WRITERS:
        return None
    write, type_ = WRITERS[result.base], arrow_type(result)

    def run(columns: Columns) -> pa.Array | None:
        try:
            return write(compute(columns), type_)
        except (RowwiseError, OverflowError, ValueError, pa.ArrowException):
            return None

    return run


class _Compiler:
    def __init__(self, types: Sequence[Type], zone: tzinfo) -> None:
        self._types, self._zone = types, zone

    def compute(self, node: list[object]) -> Compute | None:
        match node:
            case ["column", int(index)]:
                read = READERS.get(self._types[index].base)
                return None if read is None else lambda columns: read(columns[index])
            case ["try", list(argument)]:
                # A column in which something fails is gone through row by row.
                return self.compute(argument)
            case ["cast", bool(), str(source), str(target), list(argument)]:
                return self._over(argument, _CASTS.get((source, target)))
            case ["call", str(name), str(result), list(types), list(arguments)]:
                return self._read_or_moved(name, result, arguments) or self._of_timestamps(name, types, arguments)
        return None

    def _read_or_moved(self, name: str, result: str, arguments: list[list[object]]) -> Compute | None:
        match name, arguments:
            case (("from_iso8601_timestamp" | "from_iso8601_date"), [argument]):
                return self._over(argument, _iso_timestamps if name == "from_iso8601_timestamp" else _iso_dates)
            case (("at_timezone" | "with_timezone"), [argument, ["constant", str(zone), _]]):
                return self._zoned(argument, zone, _moved if name == "at_timezone" else _placed)
            case "from_unixtime", [argument, *zones]:
                return self._of_seconds(result, argument, zones)
        return None

    def _of_timestamps(self, name: str, types: list[object], arguments: list[list[object]]) -> Compute | None:
        type_ = str(types[-1]) if types else ""
        match name, arguments:
            case "date", [argument]:
                return self._over(argument, _CASTS.get((type_, "date")))
            case (("date_format" | "format_datetime"), [argument, ["constant", str(pattern), _]]) if types[0] == _ZONED:
                pieces = (mysql_pieces if name == "date_format" else joda_pieces)(pattern)
                return (
                    None if pieces is None else self._over(argument, lambda timestamps, _: _shown(timestamps, pieces))
                )
            case "to_unixtime", [argument] if type_ != "timestamp":
                return self._over(argument, lambda timestamps, _: _unixtime(timestamps))
            case "to_unixtime", [argument]:
                return self._over(argument, lambda timestamps, zone: _unixtime(_placed(timestamps, zone)))
            case (("$operator$add" | "$operator$subtract"), [argument, ["constant", int(amount), str(interval)]]):
                by = _STEP_OF_INTERVALS.get(interval) if types[0] in (_ZONED, "timestamp") else None
                signed = amount if name == "$operator$add" else -amount
                return None if by is None else self._later(by, signed, str(types[0]), argument)
            case _ if type_ not in _TIMESTAMPS:
                return None
            case "date_diff", [["constant", str(unit), _], start, end] if types[1] == type_:
                return self._apart(unit.lower(), start, end)
            case "date_add", [["constant", str(unit), _], ["constant", int(count), _], argument]:
                return self._later(unit.lower(), count, type_, argument)
            case "date_trunc", [["constant", str(unit), _], argument]:
                return self._truncated(unit.lower(), type_, argument)
            case _, [argument] if name in _PARTS:
                part = _PARTS[name]
                return self._over(argument, lambda timestamps, _: Numbers(part(timestamps.walls), timestamps.null))
        return None

    def _over(self, argument: list[object], step: Convert | None) -> Compute | None:
        inner = self.compute(argument)
        if inner is None or step is None:
            return None
        return lambda columns: step(inner(columns), self._zone)

    def _zoned(self, argument: list[object], name: str, step: Convert) -> Compute | None:
        try:
            zone = zone_of(name)
        except ValueError:
            return None
        return self._over(argument, lambda timestamps, _: step(timestamps, zone))

    def _of_seconds(self, result: str, argument: list[object], zones: Sequence[list[object]]) -> Compute | None:
        match zones:
            case []:
                return self._over(argument, lambda numbers, zone: _from_seconds(numbers, zone, result))
            case [["constant", str(name), _]]:
                return self._zoned(argument, name, lambda numbers, zone: _from_seconds(numbers, zone, result))
        return None

    def _apart(self, unit: str, start: list[object], end: list[object]) -> Compute | None:
        first, second = self.compute(start), self.compute(end)
        if first is None or second is None or unit not in (*STEPS, *MONTHS):
            return None
        return lambda columns: _between(first(columns), second(columns), unit)

    def _later(self, unit: str, count: int, type_: str, argument: list[object]) -> Compute | None:
        small = type_ == "date" and unit in _OF_CLOCKS
        if unit not in (*STEPS, *MONTHS) or type_ not in _TIMESTAMPS or small:
            return None
        if abs(count) > _ALL_YEARS // STEPS.get(unit, 31 * DAY):
            return None
        return self._over(argument, lambda timestamps, _: _added(timestamps, unit, count))

    def _truncated(self, unit: str, type_: str, argument: list[object]) -> Compute | None:
        small = type_ == "date" and unit in _OF_CLOCKS
        if unit not in _TRUNCATED or type_ not in _TIMESTAMPS or small:
            return None
        cut = _TRUNCATED[unit]
        later = unit in _OF_CLOCKS
        return self._over(argument, lambda timestamps, _: _set(timestamps, cut(timestamps.walls), by_offset=later))


_ZONED = "timestamp with time zone"
_OF_CLOCKS = ("millisecond", "second", "minute", "hour")
_STEP_OF_INTERVALS = {"interval year to month": "month", "interval day to second": "millisecond"}
_ALL_YEARS = 10_000 * 366 * DAY
"""Steps of more lead out of the years, and further ones out of what numbers hold."""
_TIMESTAMPS = ("date", "timestamp", _ZONED)


def _moved(timestamps: Timestamps, zone: tzinfo) -> Timestamps:
    """The same instants in another zone."""
    walls = timestamps.instants + zone_table(zone).offsets(timestamps.instants)
    return Timestamps(checked(walls, timestamps.null), timestamps.null, timestamps.instants, zone)


def _placed(timestamps: Timestamps, zone: tzinfo) -> Timestamps:
    """Wall's clocks in a zone; what its clocks leave out is later."""
    first = np.zeros(len(timestamps.walls), bool)
    instants = timestamps.walls - zone_table(zone).wall_offsets(timestamps.walls, first)
    return _moved(replace(timestamps, instants=checked(instants, timestamps.null)), zone)


def _shown(timestamps: Timestamps, pieces: tuple[Piece, ...]) -> Texts:
    return Texts(shown_walls(timestamps.walls, timestamps.null, pieces))


def _shown_with_zone(timestamps: Timestamps, _: tzinfo) -> Texts:
    assert timestamps.zone is not None
    return _shown(timestamps, (WHOLE, f" {zone_name(timestamps.zone)}"))


def _walled(timestamps: Timestamps, zone: tzinfo) -> Timestamps:
    """A timestamp of what the clocks of the session show."""
    moved = _moved(timestamps, zone)
    return Timestamps(moved.walls, moved.null, moved.walls)


def _days(timestamps: Timestamps, _: tzinfo) -> Timestamps:
    walls = timestamps.walls // DAY * DAY
    return Timestamps(walls, timestamps.null, walls)


def _midnights(timestamps: Timestamps, _: tzinfo) -> Timestamps:
    return timestamps


def _doubles(numbers: Numbers, _: tzinfo) -> Numbers:
    # Seconds beyond are no timestamps.
    if (np.abs(numbers.values[~numbers.null]) > 1 << 52).any():
        raise RowwiseError
    return Numbers(numbers.values.astype(np.float64), numbers.null)


_CASTS: Mapping[tuple[str, str], Convert] = {
    ("timestamp", _ZONED): _placed, ("date", _ZONED): _placed,
    (_ZONED, "varchar"): _shown_with_zone,
    (_ZONED, "timestamp"): _walled, (_ZONED, "date"): _days,
    ("timestamp", "date"): _days, ("date", "timestamp"): _midnights, ("bigint", "double"): _doubles,
    ("integer", "double"): _doubles,
}  # fmt: skip


def _iso_timestamps(column: Texts, zone: tzinfo) -> Timestamps:
    found = read_timestamps(column.texts)
    if found is None:
        raise RowwiseError
    micros, own = found
    read = Timestamps(micros, column.texts.is_null().to_numpy(zero_copy_only=False), micros)
    return _placed(read, zone) if own is None else _moved(read, own)


def _iso_dates(column: Texts, _: tzinfo) -> Timestamps:
    days = read_dates(column.texts)
    if days is None:
        raise RowwiseError
    return read_date(days)


def _from_seconds(numbers: Numbers, zone: tzinfo, result: str) -> Timestamps:
    seconds = np.where(numbers.null, 0.0, numbers.values)
    if not (np.abs(seconds) < _MOST_SECONDS).all():
        raise RowwiseError
    millis = seconds * 1000
    whole = np.rint(millis)
    # Near the middle of two the exact value decides; so many milliseconds are exact to less than what is near.
    unsure = ((np.abs(millis) > 8e12) | (np.abs(millis - whole) > 0.499)) & (seconds != np.rint(seconds))
    for place in np.flatnonzero(unsure):
        whole[place] = int((Decimal(float(seconds[place])) * 1000).to_integral_value("ROUND_HALF_UP"))
    instants = whole.astype(np.int64) * 1000
    timestamps = _moved(Timestamps(instants, numbers.null, checked(instants, numbers.null)), zone)
    return (
        timestamps
        if result == "timestamp with time zone"
        else Timestamps(timestamps.walls, timestamps.null, timestamps.walls)
    )


def _unixtime(timestamps: Timestamps) -> Numbers:
    return Numbers(timestamps.instants // 1000 / 1000, timestamps.null)


def _set(timestamps: Timestamps, walls: Micros, *, by_offset: bool) -> Timestamps:
    """With other clocks: by the offset that each has, or by that alone where it holds then too, as Joda does."""
    checked(walls, timestamps.null)
    if timestamps.zone is None:
        return Timestamps(walls, timestamps.null, walls)
    offsets = timestamps.walls - timestamps.instants
    instants = walls - offsets
    if not by_offset:
        table = zone_table(timestamps.zone)
        # Of two equal times the first, and gaps are jumped over.
        others = walls - table.wall_offsets(walls, np.zeros(len(walls), bool))
        instants = np.where(table.offsets(instants) == offsets, instants, others)
    moved = replace(timestamps, instants=checked(instants, timestamps.null))
    return _moved(moved, timestamps.zone)


def _between(start: Column, end: Column, unit: str) -> Numbers:
    """Days and more by the clock of the first one's zone."""
    assert isinstance(start, Timestamps)
    assert isinstance(end, Timestamps)
    null = start.null | end.null
    if start.zone is not None:
        end = _moved(end, start.zone)
    if unit in MONTHS:
        return Numbers(whole_months(start.walls, end.walls, MONTHS[unit]), null)
    if unit in _OF_CLOCKS:
        return Numbers(whole_steps(start.instants, end.instants, STEPS[unit]), null)
    return Numbers(whole_steps(start.walls, end.walls, STEPS[unit]), null)


def _added(timestamps: Timestamps, unit: str, count: int) -> Timestamps:
    if timestamps.zone is not None and unit in _OF_CLOCKS:
        instants = checked(timestamps.instants + count * STEPS[unit], timestamps.null)
        return _moved(replace(timestamps, instants=instants), timestamps.zone)
    by_months = unit in MONTHS
    walls = add_months(timestamps.walls, count * MONTHS[unit]) if by_months else timestamps.walls + count * STEPS[unit]
    return _set(timestamps, walls, by_offset=False)


def _by(step: int) -> Callable[[Micros], Micros]:
    return lambda walls: walls // step * step


def _months(walls: Micros, months: int) -> Micros:
    return first_of(month_number(walls) // months * months)


_TRUNCATED: Mapping[str, Callable[[Micros], Micros]] = {
    "millisecond": _by(1000), "second": _by(SECOND), "minute": _by(60 * SECOND), "hour": _by(3600 * SECOND),
    "day": _by(DAY), "week": lambda walls: (walls // DAY - _weekday(walls) + 1) * DAY,
    "month": lambda walls: _months(walls, 1), "quarter": lambda walls: _months(walls, 3),
    "year": lambda walls: _months(walls, 12),
}  # fmt: skip


def _weekday(walls: Micros) -> Micros:
    return (walls // DAY + 3) % 7 + 1


def _day_of_month(walls: Micros) -> Micros:
    return (walls // DAY) - _months(walls, 1) // DAY + 1


def _day_of_year(walls: Micros) -> Micros:
    return (walls // DAY) - _months(walls, 12) // DAY + 1


def _thursday(walls: Micros) -> Micros:
    """Of the same week, which is in the week's year."""
    return (walls // DAY - _weekday(walls) + 4) * DAY


def _clock(step: int, cycle: int) -> Callable[[Micros], Micros]:
    return lambda walls: walls // step % cycle


_YEAR: Callable[[Micros], Micros] = lambda walls: month_number(walls) // 12 + 1970  # noqa: E731
_WEEK: Callable[[Micros], Micros] = lambda walls: (_day_of_year(_thursday(walls)) - 1) // 7 + 1  # noqa: E731
_YEAR_OF_WEEK: Callable[[Micros], Micros] = lambda walls: _YEAR(_thursday(walls))  # noqa: E731
_PARTS: Mapping[str, Callable[[Micros], Micros]] = {
    "year": _YEAR, "quarter": lambda walls: month_number(walls) % 12 // 3 + 1,
    "month": lambda walls: month_number(walls) % 12 + 1, "day": _day_of_month, "day_of_month": _day_of_month,
    "day_of_week": _weekday, "dow": _weekday, "day_of_year": _day_of_year, "doy": _day_of_year,
    "week": _WEEK, "week_of_year": _WEEK, "year_of_week": _YEAR_OF_WEEK, "yow": _YEAR_OF_WEEK,
    "hour": _clock(3600 * SECOND, 24), "minute": _clock(60 * SECOND, 60), "second": _clock(SECOND, 60),
    "millisecond": _clock(1000, 1000),
}  # fmt: skip

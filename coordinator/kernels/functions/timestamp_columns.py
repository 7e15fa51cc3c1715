"""Timestamps by whole columns: programs of zones, parts of timestamps and truncation, without a look at each row.

A program that this knows gives what its steps give row by row (``dates``, ``casts``); a column with a timestamp outside
of the years 1 to 9999, or with what is no argument, is left to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..types import Type
from .arrow_forms import arrow_type
from .iso8601_columns import read_dates, read_timestamps
from .zone_offsets import SECOND, Micros, zone_table
from .zones import zone_of

_DAY = 86_400 * SECOND
_FIRST, _END = (
    np.datetime64(day, "us").astype(np.int64).item() for day in ("0001-01-01", "9999-12-31T23:59:59.999999")
)
_MOST_SECONDS = 1e12
"""More than there are in the years."""
Mask = npt.NDArray[np.bool_]
Values = npt.NDArray[Any]


class RowwiseError(Exception):
    """A column that has to be gone through row by row."""


@dataclass(frozen=True, slots=True)
class Timestamps:
    """Microseconds of the wall's clock, where they are not NULL, and of UTC where the type has a zone.

    Dates are their midnights.
    """

    walls: Micros
    null: Mask
    instants: Micros
    zone: tzinfo | None = None


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values of another type."""

    values: Values
    null: Mask


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts that become timestamps."""

    texts: pa.Array


Column = Timestamps | Numbers | Texts
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
    if compute is None or result.base not in _WRITTEN:
        return None
    write, type_ = _WRITTEN[result.base], arrow_type(result)

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
                read = _READ.get(self._types[index].base)
                return None if read is None else lambda columns: read(columns[index])
            case ["try", list(argument)]:
                # A column in which something fails is gone through row by row.
                return self.compute(argument)
            case ["cast", bool(), str(source), str(target), list(argument)]:
                return self._over(argument, _CASTS.get((source, target)))
            case ["call", ("from_iso8601_timestamp" | "from_iso8601_date") as name, _, _, [list(argument)]]:
                return self._over(argument, _iso_timestamps if name == "from_iso8601_timestamp" else _iso_dates)
            case ["call", "date", _, [str(source)], [list(argument)]]:
                return self._over(argument, _CASTS.get((source, "date")))
            case [
                "call",
                ("at_timezone" | "with_timezone") as name,
                _,
                _,
                [list(argument), ["constant", str(zone), _]],
            ]:
                return self._zoned(argument, zone, _moved if name == "at_timezone" else _placed)
            case ["call", "from_unixtime", str(result), _, [list(argument), *zones]]:
                return self._of_seconds(result, argument, zones)
            case ["call", "to_unixtime", _, ["timestamp with time zone"], [list(argument)]]:
                return self._over(argument, lambda timestamps, _: _unixtime(timestamps))
            case ["call", "to_unixtime", _, ["timestamp"], [list(argument)]]:
                return self._over(argument, lambda timestamps, zone: _unixtime(_placed(timestamps, zone)))
            case ["call", "date_trunc", str(type_), _, [["constant", str(unit), _], list(argument)]]:
                return self._truncated(unit.lower(), type_, argument)
            case ["call", str(name), _, [str(source)], [list(argument)]] if name in _PARTS and source in _TIMESTAMPS:
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

    def _of_seconds(self, result: str, argument: list[object], zones: list[object]) -> Compute | None:
        match zones:
            case []:
                return self._over(argument, lambda numbers, zone: _from_seconds(numbers, zone, result))
            case [["constant", str(name), _]]:
                return self._zoned(argument, name, lambda numbers, zone: _from_seconds(numbers, zone, result))
        return None

    def _truncated(self, unit: str, type_: str, argument: list[object]) -> Compute | None:
        small = type_ == "date" and unit in ("millisecond", "second", "minute", "hour")
        if unit not in _TRUNCATED or type_ not in _TIMESTAMPS or small:
            return None
        cut = _TRUNCATED[unit]
        later = unit in ("millisecond", "second", "minute", "hour")
        return self._over(argument, lambda timestamps, _: _retold(timestamps, cut(timestamps.walls), same_clock=later))


def _checked(micros: Micros, null: Mask) -> Micros:
    if ((micros < _FIRST) | (micros > _END))[~null].any():
        raise RowwiseError
    return micros


def _filled(column: pa.Array, type_: pa.DataType) -> tuple[Values, Mask]:
    null = column.is_null().to_numpy(zero_copy_only=False)
    values = column.cast(type_) if column.type != type_ else column
    if type_ in (pa.timestamp("us"), pa.date32()):
        values = values.cast(pa.int64() if type_ == pa.timestamp("us") else pa.int32())
    return pc.fill_null(values, 0).to_numpy(zero_copy_only=False), null


def _read_timestamp(column: pa.Array) -> Timestamps:
    walls, null = _filled(column, pa.timestamp("us"))
    return Timestamps(_checked(walls, null), null, walls)


def _read_zoned(column: pa.Array) -> Timestamps:
    return replace(_read_timestamp(column), zone=UTC)


def _read_date(column: pa.Array) -> Timestamps:
    days, null = _filled(column, pa.date32())
    walls = days.astype(np.int64) * _DAY
    return Timestamps(_checked(walls, null), null, walls)


def _read_number(type_: pa.DataType) -> Callable[[pa.Array], Numbers]:
    return lambda column: Numbers(*_filled(column, type_))


def _read_text(column: pa.Array) -> Texts:
    return Texts(column if column.type == pa.string() else column.cast(pa.string()))


_READ: Mapping[str, Callable[[pa.Array], Column]] = {
    "timestamp": _read_timestamp, "timestamp with time zone": _read_zoned, "date": _read_date,
    "varchar": _read_text, "bigint": _read_number(pa.int64()),
    "integer": _read_number(pa.int64()), "double": _read_number(pa.float64()),
}  # fmt: skip
_TIMESTAMPS = ("date", "timestamp", "timestamp with time zone")


def _moved(timestamps: Timestamps, zone: tzinfo) -> Timestamps:
    """The same instants in another zone."""
    walls = timestamps.instants + zone_table(zone).offsets(timestamps.instants)
    return Timestamps(_checked(walls, timestamps.null), timestamps.null, timestamps.instants, zone)


def _placed(timestamps: Timestamps, zone: tzinfo) -> Timestamps:
    """Wall's clocks in a zone; what its clocks leave out is later."""
    first = np.zeros(len(timestamps.walls), bool)
    instants = timestamps.walls - zone_table(zone).wall_offsets(timestamps.walls, first)
    return _moved(replace(timestamps, instants=_checked(instants, timestamps.null)), zone)


def _walled(timestamps: Timestamps, zone: tzinfo) -> Timestamps:
    """A timestamp of what the clocks of the session show."""
    moved = _moved(timestamps, zone)
    return Timestamps(moved.walls, moved.null, moved.walls)


def _days(timestamps: Timestamps, _: tzinfo) -> Timestamps:
    walls = timestamps.walls // _DAY * _DAY
    return Timestamps(walls, timestamps.null, walls)


def _midnights(timestamps: Timestamps, _: tzinfo) -> Timestamps:
    return timestamps


def _doubles(numbers: Numbers, _: tzinfo) -> Numbers:
    # Seconds beyond are no timestamps.
    if (np.abs(numbers.values[~numbers.null]) > 1 << 52).any():
        raise RowwiseError
    return Numbers(numbers.values.astype(np.float64), numbers.null)


_CASTS: Mapping[tuple[str, str], Convert] = {
    ("timestamp", "timestamp with time zone"): _placed, ("date", "timestamp with time zone"): _placed,
    ("timestamp with time zone", "timestamp"): _walled, ("timestamp with time zone", "date"): _days,
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
    return _read_date(days)


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
    timestamps = _moved(Timestamps(instants, numbers.null, _checked(instants, numbers.null)), zone)
    return (
        timestamps
        if result == "timestamp with time zone"
        else Timestamps(timestamps.walls, timestamps.null, timestamps.walls)
    )


def _unixtime(timestamps: Timestamps) -> Numbers:
    return Numbers(timestamps.instants // 1000 / 1000, timestamps.null)


def _retold(timestamps: Timestamps, walls: Micros, *, same_clock: bool) -> Timestamps:
    """Timestamps whose clocks were put back to ``walls``; to the same of two equal times where it is not by days."""
    if timestamps.zone is None:
        return Timestamps(walls, timestamps.null, walls)
    table, second = zone_table(timestamps.zone), np.zeros(len(walls), bool)
    if same_clock:
        second = timestamps.walls - timestamps.instants != table.wall_offsets(timestamps.walls, second)
    instants = walls - table.wall_offsets(walls, second)
    return Timestamps(walls, timestamps.null, _checked(instants, timestamps.null), timestamps.zone)


def _by(step: int) -> Callable[[Micros], Micros]:
    return lambda walls: walls // step * step


def _months(walls: Micros, months: int) -> Micros:
    # Counted from January of 1970.
    found: Micros = walls.view("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    first: Micros = (found // months * months).astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
    return first


_TRUNCATED: Mapping[str, Callable[[Micros], Micros]] = {
    "millisecond": _by(1000), "second": _by(SECOND), "minute": _by(60 * SECOND), "hour": _by(3600 * SECOND),
    "day": _by(_DAY), "week": lambda walls: (walls // _DAY - _weekday(walls) + 1) * _DAY,
    "month": lambda walls: _months(walls, 1), "quarter": lambda walls: _months(walls, 3),
    "year": lambda walls: _months(walls, 12),
}  # fmt: skip


def _weekday(walls: Micros) -> Micros:
    return (walls // _DAY + 3) % 7 + 1


def _month_number(walls: Micros) -> Micros:
    found: Micros = walls.view("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    return found


def _day_of_month(walls: Micros) -> Micros:
    return (walls // _DAY) - _months(walls, 1) // _DAY + 1


def _day_of_year(walls: Micros) -> Micros:
    return (walls // _DAY) - _months(walls, 12) // _DAY + 1


def _thursday(walls: Micros) -> Micros:
    """Of the same week, which is in the week's year."""
    return (walls // _DAY - _weekday(walls) + 4) * _DAY


def _clock(step: int, cycle: int) -> Callable[[Micros], Micros]:
    return lambda walls: walls // step % cycle


_YEAR: Callable[[Micros], Micros] = lambda walls: _month_number(walls) // 12 + 1970  # noqa: E731
_WEEK: Callable[[Micros], Micros] = lambda walls: (_day_of_year(_thursday(walls)) - 1) // 7 + 1  # noqa: E731
_YEAR_OF_WEEK: Callable[[Micros], Micros] = lambda walls: _YEAR(_thursday(walls))  # noqa: E731
_PARTS: Mapping[str, Callable[[Micros], Micros]] = {
    "year": _YEAR, "quarter": lambda walls: _month_number(walls) % 12 // 3 + 1,
    "month": lambda walls: _month_number(walls) % 12 + 1, "day": _day_of_month, "day_of_month": _day_of_month,
    "day_of_week": _weekday, "dow": _weekday, "day_of_year": _day_of_year, "doy": _day_of_year,
    "week": _WEEK, "week_of_year": _WEEK, "year_of_week": _YEAR_OF_WEEK, "yow": _YEAR_OF_WEEK,
    "hour": _clock(3600 * SECOND, 24), "minute": _clock(60 * SECOND, 60), "second": _clock(SECOND, 60),
    "millisecond": _clock(1000, 1000),
}  # fmt: skip


def _written(values: Values, null: Mask, type_: pa.DataType) -> pa.Array:
    return pa.array(values, mask=null).cast(type_)


def _write_timestamps(column: Column, type_: pa.DataType) -> pa.Array:
    assert isinstance(column, Timestamps)
    zoned = pa.types.is_timestamp(type_) and type_.tz is not None
    return _written(column.instants if zoned else column.walls, column.null, type_)


def _write_days(column: Column, type_: pa.DataType) -> pa.Array:
    assert isinstance(column, Timestamps)
    days = pa.array((column.walls // _DAY).astype(np.int32), mask=column.null)
    return days.cast(type_)


def _write_numbers(column: Column, type_: pa.DataType) -> pa.Array:
    assert isinstance(column, Numbers)
    return _written(column.values, column.null, type_)


_WRITTEN: Mapping[str, Callable[[Column, pa.DataType], pa.Array]] = {
    "timestamp": _write_timestamps, "timestamp with time zone": _write_timestamps, "date": _write_days,
    "bigint": _write_numbers, "double": _write_numbers,
}  # fmt: skip

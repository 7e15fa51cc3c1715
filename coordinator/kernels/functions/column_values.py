"""Columns of a batch as numpy's values: read from Arrow and written to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .timestamp_steps import DAY
from .zone_offsets import Micros

_FIRST, _END = (
    np.datetime64(day, "us").astype(np.int64).item() for day in ("0001-01-01", "9999-12-31T23:59:59.999999")
)
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


def checked(micros: Micros, null: Mask) -> Micros:
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
    return Timestamps(checked(walls, null), null, walls)


def _read_zoned(column: pa.Array) -> Timestamps:
    return replace(_read_timestamp(column), zone=UTC)


def read_date(column: pa.Array) -> Timestamps:
    days, null = _filled(column, pa.date32())
    walls = days.astype(np.int64) * DAY
    return Timestamps(checked(walls, null), null, walls)


def _read_number(type_: pa.DataType) -> Callable[[pa.Array], Numbers]:
    return lambda column: Numbers(*_filled(column, type_))


def _read_text(column: pa.Array) -> Texts:
    return Texts(column if column.type == pa.string() else column.cast(pa.string()))


READERS: Mapping[str, Callable[[pa.Array], Column]] = {
    "timestamp": _read_timestamp, "timestamp with time zone": _read_zoned, "date": read_date,
    "varchar": _read_text, "bigint": _read_number(pa.int64()),
    "integer": _read_number(pa.int64()), "double": _read_number(pa.float64()),
}  # fmt: skip


def _written(values: Values, null: Mask, type_: pa.DataType) -> pa.Array:
    return pa.array(values, mask=null).cast(type_)


def _write_timestamps(column: Column, type_: pa.DataType) -> pa.Array:
    assert isinstance(column, Timestamps)
    zoned = pa.types.is_timestamp(type_) and type_.tz is not None
    return _written(column.instants if zoned else column.walls, column.null, type_)


def _write_days(column: Column, type_: pa.DataType) -> pa.Array:
    assert isinstance(column, Timestamps)
    days = pa.array((column.walls // DAY).astype(np.int32), mask=column.null)
    return days.cast(type_)


def _write_numbers(column: Column, type_: pa.DataType) -> pa.Array:
    assert isinstance(column, Numbers)
    return _written(column.values, column.null, type_)


def _write_texts(column: Column, type_: pa.DataType) -> pa.Array:
    assert isinstance(column, Texts)
    return column.texts.cast(type_)


WRITERS: Mapping[str, Callable[[Column, pa.DataType], pa.Array]] = {
    "timestamp": _write_timestamps, "timestamp with time zone": _write_timestamps, "date": _write_days,
    "bigint": _write_numbers, "double": _write_numbers, "varchar": _write_texts,
}  # fmt: skip

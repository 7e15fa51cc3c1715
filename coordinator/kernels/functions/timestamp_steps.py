"""Steps between timestamps by whole columns: what ``date_add`` and ``date_diff`` of ``dates`` say row by row."""

from __future__ import annotations

import numpy as np

from .zone_offsets import SECOND, Micros

DAY = 86_400 * SECOND
STEPS = {
    "millisecond": 1000, "second": SECOND, "minute": 60 * SECOND, "hour": 3600 * SECOND, "day": DAY, "week": 7 * DAY,
}  # fmt: skip
MONTHS = {"month": 1, "quarter": 3, "year": 12}


def month_number(walls: Micros) -> Micros:
    """Counted from January of 1970."""
    found: Micros = walls.view("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    return found


def first_of(months: Micros) -> Micros:
    """When months begin."""
    first: Micros = months.astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
    return first


def add_months(walls: Micros, count: Micros | int) -> Micros:
    """As many months later, the last day of a month where it has no such day."""
    months = month_number(walls)
    first = first_of(months + count)
    last = first_of(months + count + 1) - DAY
    begun = walls - first_of(months)
    # The clock of the last day, where the day is one that the month lacks.
    return np.minimum(first + begun, last + begun % DAY)


def whole_months(start: Micros, end: Micros, step: int) -> Micros:
    """From the earlier to the later: adding them does not pass the later."""
    earlier, later = np.minimum(start, end), np.maximum(start, end)
    months = month_number(later) - month_number(earlier)
    months -= add_months(earlier, months) > later
    return np.where(end < start, -(months // step), months // step)


def whole_steps(start: Micros, end: Micros, step: int) -> Micros:
    """Towards zero."""
    gap = end - start
    return np.where(gap < 0, -(-gap // step), gap // step)

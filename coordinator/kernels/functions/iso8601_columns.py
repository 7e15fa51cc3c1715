"""Texts of ISO 8601 by whole columns: timestamps that all end with the same offset, or all with none, and dates."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import tzinfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .zone_offsets import Micros
from .zones import zone_of

_DAY = "[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
_OFFSET = re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}")


def read_timestamps(texts: pa.Array) -> tuple[Micros, tzinfo | None] | None:
    """Microseconds in whole milliseconds, 0 for NULL: instants of the zone that all texts end with, or walls.

    None where some are written otherwise. Raises pyarrow.ArrowInvalid for days that no month has.
    """
    first = next((text.as_py() for text in texts if text.is_valid), None)
    if first is None:
        return np.zeros(len(texts), np.int64), None
    found = _OFFSET.search(first, max(len(first) - 6, 0))
    offset = found[0] if found is not None else ""
    if not _all_match(texts, f"^{_DAY}T{_CLOCK}{re.escape(offset)}$"):
        return None
    read = texts.cast(pa.timestamp("us", "UTC" if offset else None)).cast(pa.int64())
    micros: Micros = pc.fill_null(read, 0).to_numpy(zero_copy_only=False)
    return micros // 1000 * 1000, zone_of(offset) if offset else None


def read_dates(texts: pa.Array) -> pa.Array | None:
    """None where some are written otherwise than ``YYYY-MM-DD``. Raises pyarrow.ArrowInvalid for days of no month."""
    return texts.cast(pa.date32()) if _all_match(texts, f"^{_DAY}$") else None


def _all_match(texts: pa.Array, pattern: str) -> bool:
    """Whether every text has the form; NULL counts as one that does."""
    match: Callable[[pa.Array, str], pa.Array] = vars(pc)["match_substring_regex"]  # pyarrow's types lack it
    return pc.all(match(texts, pattern)).as_py() is not False

"""What a connector knows of the values of a table, for SHOW STATS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """None is unknown. ``data_size`` is in bytes, for columns without a fixed width; bounds are Presto's texts."""

    column: str
    data_size: float | None = None
    distinct_values: float | None = None
    nulls_fraction: float | None = None
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True, slots=True)
class TableStatistics:
    rows: float | None
    columns: tuple[ColumnStatistics, ...]


class StatisticsSource(Protocol):
    """A connector that answers SHOW STATS."""

    def statistics(self, schema: str, table: str) -> TableStatistics | None:
        """None when there is no such table."""
        ...

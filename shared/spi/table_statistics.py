"""What a connector knows of the values of a table, for SHOW STATS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shared.plan.nodes import TableScanNode
from shared.spi.catalog_changes import PropertyDeclaration
from shared.spi.procedure import ProcedureContext
from shared.spi.table_writes import RowFilter


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


class AnalyzableCatalog(Protocol):
    """A connector that has ANALYZE."""

    def analyze_properties(self) -> Sequence[PropertyDeclaration]: ...

    def analyze(self, schema: str, table: str, properties: Mapping[str, object], context: ProcedureContext) -> int:
        """Make statistics; the rows that were analyzed. Raises ProcessionError."""
        ...


class StatisticsSource(Protocol):
    """A connector that answers SHOW STATS."""

    def statistics(self, schema: str, table: str) -> TableStatistics | None:
        """None when there is no such table."""
        ...


@runtime_checkable
class FilteredStatistics(Protocol):
    """A connector that answers SHOW STATS with a WHERE."""

    def filtered_statistics(self, schema: str, table: str, rows: RowFilter) -> TableStatistics | None:
        """Of the rows for which the filter is true; None when metadata does not say exactly which those are."""
        ...


@dataclass(frozen=True, slots=True)
class ValueRange:
    """``rows`` values of a column, NULLs not among them, are from ``low`` to ``high``: those of one file."""

    low: float
    high: float
    rows: int


@runtime_checkable
class ColumnBounds(Protocol):
    """A connector that knows between which numbers the values of columns lie, without a scan."""

    def column_bounds(self, scan: TableScanNode) -> Mapping[str, Sequence[ValueRange]]:
        """By column name, of those where it is known and cheap to tell; dates in days, timestamps in microseconds."""
        ...

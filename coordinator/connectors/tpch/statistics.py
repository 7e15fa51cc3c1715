"""Statistics of TPC-H's columns at the scales where Presto's connector has them: tiny, 1 and 100.

``statistics.tsv`` holds the answers of a Presto 0.296 server to SHOW STATS; a line without a column is the table's.
No column has NULLs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from shared.spi.table_statistics import ColumnStatistics, TableStatistics


def table_statistics(schema: str, table: str, prefix: str) -> TableStatistics | None:
    """Of one table, whose columns have ``prefix`` before their names; None where Presto knows nothing either."""
    lines = _lines().get((schema, table))
    if lines is None:
        return None
    columns, rows = [], None
    for column, size, distinct, count, low, high in lines:
        if not column:
            rows = float(count)
            continue
        columns.append(
            ColumnStatistics(prefix + column, _number(size), _number(distinct), 0.0, low or None, high or None)
        )
    return TableStatistics(rows, tuple(columns))


@lru_cache(maxsize=1)
def _lines() -> Mapping[tuple[str, str], list[list[str]]]:
    text = (files("coordinator.connectors.tpch") / "statistics.tsv").read_text(encoding="utf-8")
    found: dict[tuple[str, str], list[list[str]]] = {}
    for line in text.splitlines()[1:]:
        schema, table, *values = line.split("\t")
        found.setdefault((schema, table), []).append(values)
    return found


def _number(text: str) -> float | None:
    return float(text) if text else None

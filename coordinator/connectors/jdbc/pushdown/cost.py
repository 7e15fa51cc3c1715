"""Whether a pushed join pays: what the database expects of the join against what it expects of its parts.

A join whose result is larger than its inputs would send more rows than reading the tables does. 1.25 as in Trino,
since estimates of distinct values are off. The database is asked (EXPLAIN) only where its statistics, which planning
knows already, leave a doubt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from coordinator.connectors.jdbc.database import Database
from coordinator.connectors.jdbc.dialects.dialect import Estimate
from coordinator.connectors.jdbc.remote_query import KEY, RemoteQuery, render
from shared.plan.nodes import TableScanNode

MOST_GROWTH = 1.25
_UNKNOWN_COLUMN = 16
"""Bytes of a column without statistics."""


def estimate(database: Database, query: RemoteQuery, names: Sequence[str]) -> Estimate | None:
    """The estimate of ``names`` of a query without running it; None where there is none. Raises ProcessionError."""
    explain = database.dialect.explain
    if explain is None:
        return None
    with database.connection() as connection:
        found = explain(connection, render(query, names, database.dialect), _UNKNOWN_COLUMN * max(1, len(names)))
    return None if found is None else replace(found, rows=_at_most(query, found.rows))


def _at_most(query: RemoteQuery, rows: int) -> int:
    """MySQL's EXPLAIN knows neither limits nor groups."""
    return min([rows, *([query.limit] if query.limit is not None else []), *([1] if query.group_by == () else [])])


def of_table(scan: TableScanNode) -> Estimate | None:
    """What statistics say of the columns that a scan of a whole table reads; None without, or for less than a table."""
    layout = scan.table.connectorTableLayout or {}
    if KEY in layout or "estimate" not in layout:
        return None
    widths = [int(scan.assignments[v.key].get("width", _UNKNOWN_COLUMN)) for v in scan.outputVariables]
    return Estimate(int(layout["estimate"]["rows"]), max(1, sum(widths)))


def multiplied(parts: Sequence[Estimate]) -> Estimate:
    """A join without an equality: an inequality keeps about a third of all combinations."""
    rows = math.prod(part.rows for part in parts) // 3 ** (len(parts) - 1)
    return Estimate(rows, sum(part.row_width for part in parts))


def why_not(joined: Estimate, parts: Sequence[Estimate]) -> str | None:
    """The reason against a join of that estimate, None when it pays."""
    together = sum(part.size for part in parts)
    if joined.size <= MOST_GROWTH * together:
        return None
    return f"the join is estimated at {joined.rows} rows of {joined.row_width} bytes, its tables at {together} bytes"


def cheaper(joined: Estimate, parts: Sequence[Estimate]) -> bool:
    """Whether the database itself finds the join less work than reading its tables one by one."""
    costs = [part.cost for part in parts]
    return (
        joined.cost is not None and None not in costs and joined.cost < sum(cost for cost in costs if cost is not None)
    )

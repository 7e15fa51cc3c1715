"""Whether a pushed join pays: what the database expects of the join against what it expects of its parts.

A join whose result is larger than its inputs would send more rows than reading the tables does. 1.25 as in Trino,
since estimates of distinct values are off. The database is asked (EXPLAIN) only where its statistics, which planning
knows already, leave a doubt.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from coordinator.connectors.jdbc.database import Database
from coordinator.connectors.jdbc.remote_query import KEY
from shared.plan.nodes import TableScanNode

MOST_GROWTH = 1.25
_LOCK_SECONDS = 10
_UNKNOWN_COLUMN = 16
"""Bytes of a column without statistics."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the database expects of a query: rows, and bytes a row."""

    rows: int
    row_width: int

    @property
    def size(self) -> int:
        return self.rows * self.row_width


def estimate(database: Database, sql: str) -> Estimate | None:
    """The estimate of a query without running it; None where the dialect has none. Raises ProcessionError."""
    if database.dialect.sqlglot != "postgres":
        return None
    with database.connection() as connection:
        # One round trip and one transaction: a plan must not wait for a table that is being altered.
        asked = f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'; EXPLAIN (FORMAT JSON) {_escaped(sql)}"
        found: Any = connection.execute(sa.text(asked)).scalar_one()
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    return Estimate(int(plan["Plan Rows"]), max(1, int(plan["Plan Width"])))


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


def _escaped(sql: str) -> str:
    return sql.replace(":", r"\:")

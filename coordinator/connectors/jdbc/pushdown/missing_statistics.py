"""Tables whose size the database does not know either: what it expects of their joins is a guess. For EXPLAIN."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from shared.plan.nodes import TableScanNode

WITHOUT_STATISTICS = "withoutStatistics"
"""Of the table layout: the remote tables of the scan that were never analyzed, and views (``table_handle``)."""


def without_statistics(parts: Sequence[TableScanNode]) -> tuple[str, ...]:
    """The remote tables of ``parts`` of which there were no statistics, once each."""
    names: list[str] = []
    for part in parts:
        layout = part.table.connectorTableLayout or {}
        names += layout.get(WITHOUT_STATISTICS, ())
    return tuple(dict.fromkeys(names))


def with_missing_statistics(scan: TableScanNode, parts: Sequence[TableScanNode]) -> TableScanNode:
    """``scan`` in place of ``parts``, with what is not known of them."""
    names = without_statistics(parts)
    if not names:
        return scan
    layout = {**(scan.table.connectorTableLayout or {}), WITHOUT_STATISTICS: list(names)}
    return replace(scan, table=replace(scan.table, connectorTableLayout=layout))

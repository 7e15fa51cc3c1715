"""Why something stays with the engine; for EXPLAIN."""

from __future__ import annotations

import msgspec

from shared.plan.nodes import TableScanNode


class NotPushable(Exception):  # noqa: N818 - a reason, not an error
    """An expression that the remote database does not compute with Presto's meaning; the text says which part."""


def explained(scan: TableScanNode, reason: str, kind: str = "join") -> TableScanNode:
    """As ``shared.spi.pushdown.Pushdown.explained``."""
    layout = dict(scan.table.connectorTableLayout or {})
    layout["notPushed"] = {**layout.get("notPushed", {}), kind: reason}
    return msgspec.structs.replace(scan, table=msgspec.structs.replace(scan.table, connectorTableLayout=layout))

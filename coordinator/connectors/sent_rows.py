"""Rows that clients send along with their statements, for plans: what a scan of them is, and what engines read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shared.plan.nodes import TableHandle, TableScanNode
from shared.spi.connector import TableMetadata
from shared.spi.procedure import Procedure
from shared.spi.relation import SentRelation
from shared.spi.session import SENT_ROWS


def sent_rows_handle() -> TableHandle:
    """Of the table that a plan scans for them; its connector's id is the name of no catalog."""
    handle = {"@type": SENT_ROWS}
    return TableHandle(connectorId=SENT_ROWS, connectorHandle=handle, connectorTableLayout=handle)


class SentRowsConnector:
    """Behind the scans of such rows. It has no tables: statements of ours alone read them."""

    catalog = SENT_ROWS

    def schemas(self) -> Sequence[str]:
        return ()

    def tables(self, schema: str) -> Sequence[str]:
        del schema
        return ()

    def schema_exists(self, schema: str) -> bool:
        del schema
        return False

    def table(self, schema: str, name: str, version: Any = None) -> TableMetadata | None:
        del schema, name, version
        return None

    def relation(self, scan: TableScanNode) -> SentRelation:
        return SentRelation(tuple(str(handle["columnName"]) for handle in scan.assignments.values()))

    def procedures(self) -> Sequence[Procedure]:
        return ()

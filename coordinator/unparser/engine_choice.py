"""Which engine answers a query: the embedded one when all that it reads is at hand and small, else Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from coordinator.unparser.scans import RelationOf
from shared.plan.nodes import PlanNode, TableScanNode
from shared.plan.traversal import sources
from shared.spi.relation import CatalogTable, JdbcRelation, ParquetRelation, Relation, RowsRelation

LOCAL_BYTES = 64 << 20
"""What one query may read in the coordinator: a second of one core, and no more memory than the local engine has."""


def runs_locally(root: PlanNode, relation_of: RelationOf) -> bool:
    """Whether the embedded engine should answer; true for a plan without tables."""
    total = 0
    for scan in scans(root):
        size = _local_bytes(relation_of(scan))
        if size is None:
            return False
        total += size
    return total <= LOCAL_BYTES


def scans(root: PlanNode) -> Iterator[TableScanNode]:
    """Every scan of a plan."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, TableScanNode):
            yield node
        stack.extend(sources(node))


def _local_bytes(relation: Relation) -> int | None:
    """Bytes to read, None for what only Spark should read."""
    match relation:
        case CatalogTable():
            return None
        case RowsRelation():
            return 0
        case ParquetRelation() | JdbcRelation():
            return relation.size_bytes
        case _:
            assert_never(relation)

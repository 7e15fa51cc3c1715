"""Writes the filter of a distributed procedure into its scan's layout as ``fileSelectionPredicate`` (docs/adr/0003).

The whole predicate, also what no domain can say. The connector chooses files by it; no reader applies it to rows.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from coordinator.optimizer.rule import RuleContext
from shared.plan.nodes import CallDistributedProcedureNode, FilterNode, PlanNode, TableScanNode


def rewrite(node: PlanNode, _context: RuleContext) -> PlanNode:
    """The procedure over the same Filter and a scan that carries the predicate."""
    match node:
        case CallDistributedProcedureNode(source=FilterNode(source=TableScanNode() as scan) as filtering):
            layout = scan.table.connectorTableLayout
            if layout is None:
                return node
            selecting = {**layout, "fileSelectionPredicate": msgspec.to_builtins(filtering.predicate)}
            table = replace(scan.table, connectorTableLayout=selecting)
            return replace(node, source=replace(filtering, source=replace(scan, table=table)))
        case _:
            return node

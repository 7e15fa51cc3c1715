"""Drops the Filter under a CallDistributedProcedure (docs/adr/0003).

The filter of a distributed procedure selects *files*. Every row of a selected file must reach the writer: the file is
replaced as a whole, and a row that the filter took out would be lost (presto PR 27838).
"""

from __future__ import annotations

from msgspec.structs import replace

from shared.plan.nodes import CallDistributedProcedureNode, FilterNode, PlanNode
from shared.plan.traversal import rewrite_kinds

_PROCEDURES = frozenset({CallDistributedProcedureNode})


def drop_procedure_filters(plan: PlanNode) -> PlanNode:
    """The plan whose procedures read all rows of the files that the table layout selects."""
    return rewrite_kinds(plan, _PROCEDURES, _without_filter)


def _without_filter(node: PlanNode) -> PlanNode:
    match node:
        case CallDistributedProcedureNode(source=FilterNode(source=source)):
            return replace(node, source=source)
        case _:
            return node

"""OFFSET in the form that Presto's planner gives to workers: numbered rows, those of high numbers kept."""

from __future__ import annotations

from coordinator.expressions.builders import operator
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, Variable
from shared.plan.nodes import Assignments, FilterNode, OffsetNode, PlanNode, ProjectNode, RowNumberNode
from shared.plan.traversal import output_variables
from shared.plan.types import parse_type


def offset_as_row_number(offset: OffsetNode) -> PlanNode:
    """``offset`` as Project / Filter(row_number > n) / RowNumber."""
    number = Variable(name=f"row_number_{offset.id}", type="bigint")
    numbered = RowNumberNode(
        id=f"{offset.id}_number", source=offset.source, partitionBy=(), rowNumberVariable=number, partial=False
    )
    count = Constant(valueBlock=encode_constant(offset.count, "bigint"), type="bigint")
    kept = FilterNode(
        id=f"{offset.id}_filter",
        source=numbered,
        predicate=operator(">", (number, count), parse_type("boolean")),
    )
    passed = {variable.key: variable for variable in output_variables(offset.source)}
    return ProjectNode(id=offset.id, source=kept, assignments=Assignments(assignments=dict(passed)), locality="LOCAL")

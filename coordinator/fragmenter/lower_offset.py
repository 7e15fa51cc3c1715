"""OFFSET as workers run it: rows are numbered and the first ones filtered away (Presto's ImplementOffset)."""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.expressions.builders import constant, operator
from coordinator.expressions.types import BOOLEAN
from coordinator.vocabulary.identifiers import PlanNodeIds, Variables
from shared.plan.expressions import Variable
from shared.plan.nodes import Assignments, FilterNode, OffsetNode, PlanNode, ProjectNode, RowNumberNode
from shared.plan.traversal import output_variables, rewrite_bottom_up, walk
from shared.plan.types import parse_type


def lower_offset(plan: PlanNode, ids: PlanNodeIds) -> PlanNode:
    """``plan`` without OffsetNodes; the same object when it has none."""
    names = Variables()
    for node in walk(plan):
        for variable in output_variables(node):
            names.new(variable.name, variable.type)
    return rewrite_bottom_up(plan, lambda node: _lowered(node, ids, names) if isinstance(node, OffsetNode) else node)


def _lowered(node: OffsetNode, ids: PlanNodeIds, names: Variables) -> PlanNode:
    number: Variable = names.new("row_number", "bigint")
    numbered = RowNumberNode(
        id=ids.next(),
        sourceLocation=node.sourceLocation,
        source=node.source,
        partitionBy=(),
        rowNumberVariable=number,
        partial=False,
    )
    later = operator(">", (number, constant(node.count, parse_type("bigint"))), BOOLEAN)
    kept = FilterNode(id=ids.next(), sourceLocation=node.sourceLocation, source=numbered, predicate=later)
    passed = {variable.key: variable for variable in output_variables(node.source)}
    project = ProjectNode(id=node.id, source=kept, assignments=Assignments(assignments=dict(passed)), locality="LOCAL")
    return replace(project, sourceLocation=node.sourceLocation)

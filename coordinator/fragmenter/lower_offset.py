"""OFFSET as workers run it: rows are numbered and the first ones filtered away (Presto's ImplementOffset)."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from coordinator.expressions.builders import constant, operator
from coordinator.expressions.types import BOOLEAN
from coordinator.vocabulary.identifiers import PlanNodeIds, Variables
from shared.plan.expressions import Variable
from shared.plan.nodes import Assignments, FilterNode, OffsetNode, PlanNode, ProjectNode, RowNumberNode
from shared.plan.traversal import output_variables, rewrite_kinds, walk
from shared.plan.types import parse_type

_OFFSETS = frozenset({OffsetNode})


def lower_offset(plan: PlanNode, ids: PlanNodeIds) -> PlanNode:
    """``plan`` without OffsetNodes; the same object when it has none."""
    nodes = walk(plan)
    if not any(isinstance(node, OffsetNode) for node in nodes):
        return plan
    names = Variables()
    for node in nodes:
        for variable in output_variables(node):
            names.new(variable.name, variable.type)
    return rewrite_kinds(plan, _OFFSETS, lambda node: _lowered(cast(OffsetNode, node), ids, names))


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

"""TABLESAMPLE: BERNOULLI as a filter by chance, as Presto's optimizer makes it, SYSTEM as a node."""

from __future__ import annotations

from coordinator.analyzer.constants import evaluate_constant
from coordinator.analyzer.context import Context
from coordinator.expressions.builders import constant, function_call, operator
from coordinator.expressions.types import BOOLEAN, DOUBLE
from coordinator.planner.query.builder import Ids, RelationPlan
from coordinator.sql.tree.queries import SampledRelation
from shared.plan.nodes import FilterNode, SampleNode


def sampled(ids: Ids, plan: RelationPlan, sample: SampledRelation, context: Context) -> RelationPlan:
    """A part of a relation's rows."""
    tree = sample.percentage
    percent = evaluate_constant(tree, "double", context.session)
    if percent < 0:
        raise context.error(tree, "Sample percentage must be greater than or equal to 0")
    if percent > 100:
        raise context.error(tree, "Sample percentage must be less than or equal to 100")
    if sample.kind == "BERNOULLI":
        chance = function_call("random", (), DOUBLE)
        test = operator("<", (chance, constant(percent / 100, DOUBLE)), BOOLEAN)
        return RelationPlan(FilterNode(id=ids.node(), source=plan.node, predicate=test), plan.fields)
    node = SampleNode(id=ids.node(), source=plan.node, sampleRatio=percent / 100, sampleType=sample.kind)
    return RelationPlan(node, plan.fields)

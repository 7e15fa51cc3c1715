"""What is computed of no rows is no rows, but for an aggregation without keys."""

from __future__ import annotations

import pytest

from coordinator.optimizer.optimize import optimize
from shared.plan.nodes import (
    AggregationNode,
    FilterNode,
    GroupingSets,
    LimitNode,
    PlanNode,
    ValuesNode,
    WindowNode,
    WindowSpecification,
)
from tests.optimizer.test_optimize import SESSION, A, B, constant, output, values

EMPTY = FilterNode(id="1", source=values(), predicate=constant(False, "boolean"))
WINDOW = WindowNode(
    id="2",
    source=EMPTY,
    specification=WindowSpecification(partitionBy=(A,)),
    windowFunctions={},
    prePartitionedInputs=(),
    preSortedOrderPrefix=0,
)


def aggregation(*keys: object) -> AggregationNode:
    sets = GroupingSets(groupingKeys=tuple(keys), groupingSetCount=1, globalGroupingSets=() if keys else (0,))  # type: ignore[arg-type]
    return AggregationNode(id="2", source=EMPTY, aggregations={}, groupingSets=sets, step="SINGLE")


@pytest.mark.parametrize("node", [WINDOW, LimitNode(id="3", source=WINDOW, count=2, step="FINAL"), aggregation(A, B)])
def test_no_rows_go_up(node: PlanNode) -> None:
    plan, fired = optimize(output(node, A, B), SESSION)
    assert isinstance(plan.source, ValuesNode) and plan.source.rows == ()  # type: ignore[union-attr]
    assert "simplify_empty_relations" in [rule.name for rule in fired]


def test_a_global_aggregation_has_its_row() -> None:
    plan, _ = optimize(output(aggregation()), SESSION)
    assert isinstance(plan.source, AggregationNode)  # type: ignore[union-attr]

"""What a planner process sends is what it planned, but for the plans that nobody reads behind it."""

from __future__ import annotations

import pickle
from dataclasses import replace

from coordinator.validation.worker import _without_logical_plans, pickled
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Variable
from shared.plan.fragment import UNGROUPED_EXECUTION, SimplePlanFragment, SubPlan
from shared.plan.nodes import Partitioning, PartitioningHandle, PartitioningScheme, ValuesNode

_SINGLE = PartitioningHandle(connectorHandle={"@type": "$remote", "partitioning": "SINGLE", "function": "SINGLE"})


def values(width: int = 1) -> ValuesNode:
    return ValuesNode(
        id="0", outputVariables=tuple(Variable(name=f"x{i}", type="bigint") for i in range(width)), rows=()
    )


def part(fragment_id: str, *children: SubPlan, width: int = 1) -> SubPlan:
    fragment = SimplePlanFragment(
        id=fragment_id,
        root=values(width),
        variables=(),
        partitioning=_SINGLE,
        tableScanSchedulingOrder=(),
        partitioningScheme=PartitioningScheme(partitioning=Partitioning(handle=_SINGLE, arguments=()), outputLayout=()),
        stageExecutionDescriptor=UNGROUPED_EXECUTION,
        outputTableWriterFragment=False,
    )
    return SubPlan(fragment, children)


def planned(subplan: SubPlan) -> PlannedStatement:
    return PlannedStatement(
        "SELECT", (), ReturnRows(rows=()), initial_plan=values(), logical_plan=values(), subplan=subplan
    )


def received(answer: PlannedStatement) -> SubPlan:
    sent = pickle.loads(pickled(answer))
    assert isinstance(sent, PlannedStatement)
    assert sent.subplan is not None
    return sent.subplan


def test_the_tree_of_fragments_arrives_as_it_was() -> None:
    inner = part("1", part("2", part("3")), part("4", width=5000), part("5"))
    tree = part("0", inner, part("6", part("7")))
    found = received(planned(tree))
    assert [fragment.id for fragment in found.fragments()] == list("01234567")
    assert found == tree
    assert found != part("0", inner)
    assert [each.encoded for each in found.walk()] == [each.encoded for each in tree.walk()]


def test_a_chain_of_fragments_may_be_long() -> None:
    chain = part("0")
    for number in range(1, 500):
        chain = part(str(number), chain)
    found: tuple[SubPlan, ...] = (received(planned(chain)),)
    depth = 0
    while found:
        depth, found = depth + 1, found[0].children
    assert depth == 500


def test_logical_plans_stay() -> None:
    made = planned(part("0"))
    assert _without_logical_plans(made) == replace(made, initial_plan=None, logical_plan=None)
    error = ProcessionError(ErrorCode.NOT_SUPPORTED, "no")
    assert _without_logical_plans(error) is error

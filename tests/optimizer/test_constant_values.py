"""Rows of VALUES are constants; what is none moves above one row, or above rows that are told apart by a number.

The planner makes VALUES of constants itself, so these plans are made by hand.
"""

from __future__ import annotations

from coordinator.expressions.builders import constant, function_call, operator
from shared.plan.expressions import Call, RowExpression, Variable
from shared.plan.nodes import OutputNode, ValuesNode
from shared.plan.types import parse_type
from tests.drawing import drawn
from tests.optimizer.rule_cases import alone

RULE = "constant_values"
BIGINT, DOUBLE = parse_type("bigint"), parse_type("double")
A, B = Variable(name="a", type="bigint"), Variable(name="b", type="double")


def one(value: int) -> RowExpression:
    return constant(value, BIGINT)


def random() -> Call:
    return function_call("random", (), DOUBLE)


def values(*rows: tuple[RowExpression, ...]) -> OutputNode:
    source = ValuesNode(id="0", outputVariables=(A, B), rows=rows)
    return OutputNode(id="1", source=source, columnNames=("a", "b"), outputVariables=(A, B))


def test_cells_are_computed() -> None:
    plan = values((operator("+", (one(1), one(2)), BIGINT), constant(0.5, DOUBLE)))
    assert drawn(plan.source) == "Values[a, b: (1 + 2, 0.5)]"
    assert drawn(alone(RULE, plan)) == "Output[a, b]\n  Values[a, b: (3, 0.5)]"


def test_constants_rest() -> None:
    plan = values((one(1), constant(0.5, DOUBLE)))
    assert alone(RULE, plan) is plan


def test_a_single_row_is_computed_above_an_empty_one() -> None:
    plan = values((one(1), random()))
    assert drawn(alone(RULE, plan)) == "Output[a, b]\n  Project[a := 1, b := random()]\n    Values[: ()]"


def test_several_rows_are_told_apart_by_a_number() -> None:
    plan = values((one(1), random()), (one(2), constant(0.5, DOUBLE)), (one(3), random()))
    assert drawn(alone(RULE, plan)).splitlines() == [
        "Output[a, b]",
        "  Project[a, b := IF(row_2 = 0, random(), IF(row_2 = 1, 0.5, random()))]",
        "    Values[row_2, a: (0, 1), (1, 2), (2, 3)]",
    ]


def test_what_fails_fails_when_it_runs() -> None:
    plan = values((operator("/", (one(1), one(0)), BIGINT), constant(0.5, DOUBLE)))
    assert drawn(alone(RULE, plan)) == "Output[a, b]\n  Project[a := 1 / 0, b := 0.5]\n    Values[: ()]"


def test_very_many_rows_are_left() -> None:
    plan = values(*((one(1), random()) for _ in range(65)))
    assert drawn(alone(RULE, plan)) == drawn(plan)

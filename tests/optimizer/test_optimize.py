"""The driver of the rules: order, switches, and what happens to a rule that is wrong."""

from __future__ import annotations

import pytest

from coordinator.optimizer.optimize import RULES, SWITCHES, optimize
from coordinator.optimizer.rule import Rule, RuleContext
from shared.errors import ErrorCode, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, Variable
from shared.plan.nodes import Assignments, FilterNode, OutputNode, PlanNode, ProjectNode, ValuesNode
from shared.spi.session import Session

A, B = Variable(name="a", type="bigint"), Variable(name="b", type="varchar")
SESSION = Session(user="t")


def constant(value: object, kind: str) -> Constant:
    return Constant(valueBlock=encode_constant(value, kind), type=kind)


def values() -> ValuesNode:
    return ValuesNode(id="0", outputVariables=(A, B), rows=((constant(1, "bigint"), constant("x", "varchar")),))


def output(source: PlanNode, *variables: Variable) -> OutputNode:
    return OutputNode(
        id="9", source=source, columnNames=tuple(v.name for v in variables), outputVariables=tuple(variables)
    )


def filtered(value: bool | None) -> OutputNode:
    return output(FilterNode(id="1", source=values(), predicate=constant(value, "boolean")), A, B)


def test_every_rule_is_described_and_can_be_switched_off() -> None:
    for rule in RULES:
        assert rule.description
        assert SWITCHES[f"optimizer_rule_{rule.name}"].description == f"Optimizer rule: {rule.description}"


def test_a_true_filter_goes() -> None:
    plan, fired = optimize(filtered(True), SESSION)
    assert plan == output(values(), A, B)
    assert [rule.name for rule in fired] == ["remove_trivial_filters"]
    assert fired[-1].plan == plan


@pytest.mark.parametrize("value", [False, None])
def test_a_filter_that_nothing_passes_is_no_rows(value: bool | None) -> None:
    plan, _ = optimize(filtered(value), SESSION)
    assert isinstance(plan, OutputNode)
    assert plan.source == ValuesNode(id="10", outputVariables=(A, B), rows=())


def test_a_switched_off_rule_does_not_run() -> None:
    session = Session(user="t", properties={"optimizer_rule_remove_trivial_filters": "false"})
    plan, fired = optimize(filtered(True), session)
    assert (plan, fired) == (filtered(True), ())


def test_columns_that_nothing_reads_go() -> None:
    passed = ProjectNode(id="1", source=values(), assignments=Assignments(assignments={A.key: A, B.key: B}))
    plan, fired = optimize(output(passed, B), SESSION)
    assert plan == output(ValuesNode(id="0", outputVariables=(B,), rows=((constant("x", "varchar"),),)), B)
    assert [rule.name for rule in fired] == ["prune_unreferenced_outputs", "remove_redundant_projections"]


def test_a_rule_that_changes_the_output_is_named() -> None:
    rule = Rule("remove_trivial_filters", lambda _plan, _context: output(values(), B, A))
    with pytest.raises(ProcessionError) as caught:
        optimize(output(values(), A, B), SESSION, (rule,))
    assert caught.value.code is ErrorCode.INVALID_PLAN_ERROR
    assert caught.value.message == (
        "Optimizer rule remove_trivial_filters changed the output of the plan "
        "from [bigint, varchar] to [varchar, bigint]"
    )


def test_a_rule_that_fails_is_named() -> None:
    def fail(_plan: PlanNode, _context: RuleContext) -> PlanNode:
        raise KeyError("x")

    with pytest.raises(ProcessionError) as caught:
        optimize(output(values(), A, B), SESSION, (Rule("remove_trivial_filters", fail),))
    assert caught.value.message == "Optimizer rule remove_trivial_filters failed: KeyError: 'x'"
    assert caught.value.code is ErrorCode.GENERIC_INTERNAL_ERROR

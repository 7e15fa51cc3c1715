"""Conditions as Iceberg takes them right: true for the same values, and saying what Iceberg has to be told."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import UTC

import pytest

from coordinator.expressions.builders import (
    conjunction,
    conjuncts,
    constant,
    disjunction,
    function_call,
    not_,
    operator,
    special,
)
from coordinator.expressions.folding import evaluate
from coordinator.expressions.types import BOOLEAN
from coordinator.unparser.iceberg_conditions import for_iceberg
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable
from shared.plan.types import parse_type

VALUES: dict[str, list[object]] = {
    "double": [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf],
    "real": [0.0, -0.0, 0.5, math.nan, math.inf],
    "bigint": [0, 1, -1, 2**63 - 1], "varchar": ["", "a", "b"], "boolean": [True, False],
}  # fmt: skip
SYMBOLS = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")


def column(type_: str) -> Variable:
    return Variable(name="p", type=type_)


def random_condition(of: random.Random, type_: str, depth: int) -> RowExpression:
    """With AND, OR and NOT around comparisons of the column, constants on either side."""
    p = column(type_)

    def value() -> Constant:
        return constant(of.choice(VALUES[type_]), parse_type(type_))

    match of.randrange(7 if depth else 4):
        case 0 | 1:
            pair: Sequence[RowExpression] = (p, value()) if of.random() < 0.7 else (value(), p)
            return operator(of.choice(SYMBOLS), pair, BOOLEAN)
        case 2:
            found: list[RowExpression] = [p, *(value() for _ in range(of.randint(1, 4)))]
            if of.random() < 0.2:
                of.shuffle(found)
            return special("IN", BOOLEAN, *found)
        case 3:
            if type_ == "boolean":
                return special("IS_NULL", BOOLEAN, p)
            ends: list[RowExpression] = [p, value(), value()]
            if of.random() < 0.2:
                of.shuffle(ends)
            return function_call("$operator$between", ends, BOOLEAN, display="BETWEEN")
        case 4:
            return not_(random_condition(of, type_, depth - 1))
        case _:
            form = "AND" if of.random() < 0.5 else "OR"
            return special(form, BOOLEAN, *(random_condition(of, type_, depth - 1) for _ in range(2)))  # type: ignore[arg-type]


def of_value(node: RowExpression, value: object) -> RowExpression:
    match node:
        case Variable():
            return constant(value, parse_type(node.type))
        case Call():
            return type(node)(**{**_fields(node), "arguments": tuple(of_value(each, value) for each in node.arguments)})
        case SpecialForm():
            return type(node)(**{**_fields(node), "arguments": tuple(of_value(each, value) for each in node.arguments)})
        case _:
            return node


def _fields(node: Call | SpecialForm) -> dict[str, object]:
    return {name: getattr(node, name) for name in node.__struct_fields__}


@pytest.mark.parametrize("type_", VALUES)
def test_it_is_true_for_the_same_values(type_: str) -> None:
    of = random.Random(type_)
    changed = 0
    for _ in range(300):
        condition = random_condition(of, type_, 2)
        made = for_iceberg(condition)
        changed += made != condition
        for value in [*VALUES[type_], None]:
            before, after = (evaluate(of_value(each, value), UTC) is True for each in (condition, made))
            assert before is after, (condition, made, value)
    assert changed > 50


def shown(node: RowExpression) -> str:
    match node:
        case Variable():
            return node.name
        case Constant():
            return str(evaluate(node, UTC))
        case Call(displayName=name) | SpecialForm(form=name):
            return f"{name}({', '.join(map(shown, node.arguments))})"
        case _:
            raise AssertionError(node)


def compared(symbol: str, value: object, type_: str) -> RowExpression:
    return operator(symbol, (column(type_), constant(value, parse_type(type_))), BOOLEAN)


def test_what_all_rows_must_meet_is_left_to_spark() -> None:
    for condition in (compared("<>", 1, "bigint"), compared("<", "a", "varchar"), not_(compared("=", True, "boolean"))):
        assert for_iceberg(condition) == condition


def test_inside_of_or_null_is_no_value() -> None:
    either = special("OR", BOOLEAN, compared("<>", 1, "bigint"), compared("<", 5, "bigint"))
    one, other = for_iceberg(either).arguments  # type: ignore[union-attr]
    assert shown(one) == "AND(not(IS_NULL(p)), NOT_EQUAL(p, 1))"
    assert shown(other) == "AND(not(IS_NULL(p)), LESS_THAN(p, 5))"
    equal = special("OR", BOOLEAN, compared("=", 1, "bigint"), compared("=", 1.5, "double"))
    assert for_iceberg(equal) == equal, "no value is equal to NULL there either"
    turned = not_(special("AND", BOOLEAN, compared("=", 1, "bigint"), compared("=", 2, "bigint")))
    assert shown(for_iceberg(turned)).startswith("OR(AND(not(IS_NULL(p)), not(EQUAL(p, 1))), AND(")


def test_lists_of_texts_meet_no_null() -> None:
    listed = special("IN", BOOLEAN, column("varchar"), *(constant(text, parse_type("varchar")) for text in "ab"))
    assert shown(for_iceberg(listed)) == "AND(not(IS_NULL(p)), IN(p, a, b))"
    either = special("OR", BOOLEAN, not_(listed), compared("=", "c", "varchar"))
    one, _ = for_iceberg(either).arguments  # type: ignore[union-attr]
    assert shown(one) == "AND(not(IS_NULL(p)), not(IN(concat(p, ), a, b)))", "none that Iceberg sees"
    assert for_iceberg(not_(not_(listed))) == for_iceberg(listed)
    numbers = special("IN", BOOLEAN, column("bigint"), constant(1, parse_type("bigint")))
    assert for_iceberg(numbers) == numbers


def test_many_values_become_a_list_as_elsewhere() -> None:
    """Each with IS NOT NULL beside it, an engine would try thousands of terms one by one."""
    many = disjunction([compared("=", number, "bigint") for number in range(1_000)])
    made = for_iceberg(many)
    assert isinstance(made, SpecialForm) and made.form == "IN" and len(made.arguments) == 1_001
    others = conjunction([compared("<>", number, "bigint") for number in range(1_000)])
    either = special("OR", BOOLEAN, others, compared("=", 5, "bigint"))
    one, _ = for_iceberg(either).arguments  # type: ignore[union-attr]
    assert shown(one).startswith("AND(not(IS_NULL(p)), not(IN(p, 0, 1, 2")


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("=", "OR(EQUAL(p, 0.0), EQUAL(p, -0.0))"), ("<>", "AND(NOT_EQUAL(p, 0.0), NOT_EQUAL(p, -0.0))"),
        ("<", "LESS_THAN(p, -0.0)"), ("<=", "LESS_THAN_OR_EQUAL(p, 0.0)"),
        (">", "OR(GREATER_THAN(p, 0.0), EQUAL(p, nan))"), (">=", "OR(GREATER_THAN_OR_EQUAL(p, -0.0), EQUAL(p, nan))"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_both_zeros_are_one_number_and_nan_is_above(symbol: str, expected: str, zero: float) -> None:
    assert shown(for_iceberg(compared(symbol, zero, "double"))) == expected


def test_between_two_numbers_there_is_no_nan() -> None:
    ends = (constant(value, parse_type("double")) for value in (1.0, 2.0))
    between = function_call("$operator$between", (column("double"), *ends), BOOLEAN, display="BETWEEN")
    assert [shown(each) for each in conjuncts(for_iceberg(between))] == [
        "GREATER_THAN_OR_EQUAL(p, 1.0)", "LESS_THAN_OR_EQUAL(p, 2.0)",
    ]  # fmt: skip

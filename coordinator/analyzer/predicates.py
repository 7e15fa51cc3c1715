"""Comparisons, tests and logic."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from coordinator.analyzer.call_binding import common_type
from coordinator.analyzer.context import Analyze, Context, SubexpressionCollector
from coordinator.analyzer.operators import between, comparison, in_list, like
from coordinator.expressions.builders import coerce, not_, special, typed
from coordinator.expressions.types import BOOLEAN, type_text
from coordinator.sql.tree.expressions import (
    BetweenPredicate,
    ComparisonExpression,
    ExistsPredicate,
    Expression,
    InListExpression,
    InPredicate,
    IsNotNullPredicate,
    IsNullPredicate,
    LikePredicate,
    LogicalExpression,
    NotExpression,
    QuantifiedComparisonExpression,
)
from coordinator.sql.tree.node import Node
from shared.plan.expressions import RowExpression, SpecialFormName

_BALANCED_FROM = 100
"""Terms of AND or OR from which they are no chain, which would nest as deeply as there are terms."""

Predicate = (
    ComparisonExpression
    | LogicalExpression
    | NotExpression
    | IsNullPredicate
    | IsNotNullPredicate
    | BetweenPredicate
    | InPredicate
    | LikePredicate
    | ExistsPredicate
    | QuantifiedComparisonExpression
)


def analyze_logic(node: Predicate, context: Context, analyze: Analyze) -> RowExpression:
    """A boolean expression."""
    match node:
        case ComparisonExpression():
            left = analyze(node.left, context)
            return comparison(node, node.operator, left, analyze(node.right, context), context)
        case LogicalExpression():
            return _logical(node, context, analyze)
        case NotExpression():
            return not_(boolean_operand(node.value, context, analyze, "Value of logical NOT expression"))
        case IsNullPredicate():
            return special("IS_NULL", BOOLEAN, analyze(node.value, context))
        case IsNotNullPredicate():
            test = special("IS_NULL", BOOLEAN, analyze(node.value, context))
            return not_(replace(test, sourceLocation=context.place(node)))
        case BetweenPredicate():
            value, low = analyze(node.value, context), analyze(node.min, context)
            return between(node, value, low, analyze(node.max, context), context)
        case LikePredicate():
            value, pattern = analyze(node.value, context), analyze(node.pattern, context)
            escape = None if node.escape is None else analyze(node.escape, context)
            return like(node, value, pattern, escape, context)
        case InPredicate() | ExistsPredicate() | QuantifiedComparisonExpression():
            return _over_rows(node, context, analyze)
        case _:
            assert_never(node)


def boolean_operand(node: Expression, context: Context, analyze: Analyze, what: str) -> RowExpression:
    """What must be boolean inside an expression; NULL becomes a NULL boolean."""
    value = analyze(node, context)
    type_ = typed(value)
    if type_.base not in ("boolean", "unknown"):
        raise context.error(node, f"{what} must evaluate to a boolean (actual: {type_text(type_)})")
    return coerce(value, BOOLEAN)


def _logical(node: LogicalExpression, context: Context, analyze: Analyze) -> RowExpression:
    form: SpecialFormName = node.operator
    sides = ("Left", *["Right"] * (len(node.terms) - 1))
    terms = [
        boolean_operand(term, context, analyze, f"{side} side of logical expression")
        for term, side in zip(node.terms, sides, strict=True)
    ]
    if len(terms) > _BALANCED_FROM:
        return _balanced(form, terms)
    result = terms[0]
    for term in terms[1:]:
        result = special(form, BOOLEAN, result, term)
    return result


def _balanced(form: SpecialFormName, terms: list[RowExpression]) -> RowExpression:
    while len(terms) > 1:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [special(form, BOOLEAN, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return terms[0]


def _over_rows(
    node: InPredicate | ExistsPredicate | QuantifiedComparisonExpression, context: Context, analyze: Analyze
) -> RowExpression:
    """What looks into a list or into the rows of a subquery."""
    if isinstance(node, ExistsPredicate):
        return _collector(node, context).exists(node, context)
    value = analyze(node.value, context)
    if isinstance(node, QuantifiedComparisonExpression):
        return _collector(node, context).quantified(node, value, context)
    if isinstance(node.value_list, InListExpression):
        items = node.value_list.values
        values = [value, *(analyze(item, context) for item in items)]
        common = common_type((node.value, *items), values, "IN value and list items", context)
        return in_list(values, common, context)
    return _collector(node, context).in_subquery(node, value, node.value_list, context)


def _collector(node: Node, context: Context) -> SubexpressionCollector:
    if context.collector is None:
        raise context.unsupported(node, "Subquery here")
    return context.collector

"""What every branch of an OR asks of one table is asked of that table too.

``(a.x = 1 AND b.y = 2) OR (a.x = 2 AND b.y = 1)`` over a join of a and b keeps only rows with ``a.x = 1 OR a.x = 2``,
so that few rows of a reach the join (TPC-H 7). The OR itself stays. Only what cannot fail is asked there: beside
``a.x = 1`` a division by ``b.y`` may never meet the rows of b where it is zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.analyzer.determinism import deterministic
from coordinator.expressions.builders import NAMESPACE, OPERATORS, conjunction, conjuncts, disjunction, typed
from coordinator.expressions.types import can_coerce
from coordinator.optimizer.join_tree import flatten, is_tree, with_leaves
from coordinator.optimizer.rule import RuleContext
from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm, StaticFunctionHandle
from shared.plan.nodes import FilterNode, PlanNode
from shared.plan.traversal import free_variables, output_variables, sources, walk_expression, with_sources

_MOST_BRANCHES = 20


def apply(plan: PlanNode, context: RuleContext) -> PlanNode:
    """The plan with such filters above what inner joins join."""
    if is_tree(plan):
        tree = flatten(plan, lambda leaf: apply(leaf, context))
        ors = [branches for term in tree.terms if (branches := _branches(term))]
        return with_leaves(plan, [_asked(leaf, ors, context) for leaf in tree.leaves])
    below = [apply(source, context) for source in sources(plan)]
    changed = any(new is not old for new, old in zip(below, sources(plan), strict=True))
    return with_sources(plan, below) if changed else plan


def _branches(term: RowExpression) -> list[list[RowExpression]]:
    """The terms of each branch of an OR, none for another expression."""
    if not isinstance(term, SpecialForm) or term.form != "OR" or not deterministic(term):
        return []
    found = [conjuncts(branch) for branch in _disjuncts(term)]
    return found if len(found) <= _MOST_BRANCHES else []


def _disjuncts(expression: RowExpression) -> list[RowExpression]:
    if isinstance(expression, SpecialForm) and expression.form == "OR":
        return [branch for argument in expression.arguments for branch in _disjuncts(argument)]
    return [expression]


def _asked(leaf: PlanNode, ors: Sequence[list[list[RowExpression]]], context: RuleContext) -> PlanNode:
    names = {v.name for v in output_variables(leaf)}
    known = conjuncts(leaf.predicate) if isinstance(leaf, FilterNode) else []
    made: list[RowExpression] = []
    for branches in ors:
        own = [[t for t in terms if (used := _names(t)) and used <= names and _is_harmless(t)] for terms in branches]
        if all(own):
            asked = disjunction([conjunction(terms) for terms in own])
            made += [asked] if asked not in (*known, *made) else []
    if not made:
        return leaf
    predicate = conjunction([*known, *made])
    source = leaf.source if isinstance(leaf, FilterNode) else leaf
    return FilterNode(id=context.ids.next(), source=source, predicate=predicate)


_HARMLESS = frozenset(
    {
        *(f"$operator${OPERATORS[sign]}" for sign in ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")),
        "$operator$between",
        "like",
        "not",
    }
)


def _is_harmless(term: RowExpression) -> bool:
    """Whether a term has a value for every row."""
    return all(_has_value(part) for part in walk_expression(term))


def _has_value(part: RowExpression) -> bool:
    """Whether it has one where its arguments do."""
    match part:
        case Call(functionHandle=StaticFunctionHandle(signature=signature)):
            name = signature.name.removeprefix(NAMESPACE)
            widening = name == "$operator$cast" and can_coerce(typed(part.arguments[0]), typed(part))
            return name in _HARMLESS or widening or part.returnType.lower() == "likepattern"
        case Call() | Lambda():
            return False
        case _:
            return True


def _names(term: RowExpression) -> set[str]:
    return {v.name for v in free_variables(term)}

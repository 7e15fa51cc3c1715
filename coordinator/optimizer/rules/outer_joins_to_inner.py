"""An outer join is an inner one where the filter above passes no row that has only NULLs on one side.

``a LEFT JOIN b … WHERE b.x = 1``: a row of a without a partner has NULL for b.x, which the filter drops. Then each side
can be filtered first, and the joins around can be ordered (the part of Presto's PredicatePushDown that does so).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from coordinator.analyzer.determinism import deterministic
from coordinator.expressions.builders import conjuncts
from coordinator.optimizer.never_true import never_true
from coordinator.optimizer.rule import RuleContext
from coordinator.planner.query.builder import replace as in_terms_of
from coordinator.planner.query.pushdown import push_filter
from coordinator.vocabulary.identifiers import PlanNodeIds
from shared.plan.expressions import RowExpression
from shared.plan.nodes import FilterNode, JoinNode, PlanNode, ProjectNode
from shared.plan.traversal import output_variables, rewrite_bottom_up, variable_of_key


@dataclass(frozen=True, slots=True)
class _Ids:
    """What pushes filters down asks for ids in its own words."""

    ids: PlanNodeIds
    guards: tuple[str, ...] = ()

    def node(self) -> str:
        return self.ids.next()


def rewrite(node: PlanNode, context: RuleContext) -> PlanNode:
    """The filter over an outer join as what it is: an inner join, or of a full one a left or right one."""
    match node:
        case FilterNode(source=JoinNode(type="LEFT" | "RIGHT" | "FULL") as join):
            kind = _kind(join, conjuncts(node.predicate))
            if kind == join.type:
                return node
            pushed = push_filter(replace(join, type=kind), node.predicate, _Ids(context.ids))
            # The filter may stand over another outer join now.
            return rewrite_bottom_up(pushed, lambda below: rewrite(below, context))
        case FilterNode(source=ProjectNode(source=JoinNode(type="LEFT" | "RIGHT" | "FULL") as join) as project):
            kind = _kind(join, _below(project, node.predicate))
            return (
                node if kind == join.type else replace(node, source=replace(project, source=replace(join, type=kind)))
            )
        case _:
            return node


def _below(project: ProjectNode, predicate: RowExpression) -> list[RowExpression]:
    """The terms of a filter above in terms of what is below the projection."""
    columns: dict[RowExpression, RowExpression] = {
        variable_of_key(key): value for key, value in project.assignments.assignments.items() if deterministic(value)
    }
    return [in_terms_of(term, columns) for term in conjuncts(predicate)]


def _kind(join: JoinNode, terms: Sequence[RowExpression]) -> Literal["INNER", "LEFT", "RIGHT", "FULL"]:
    """The join that gives the same rows below the filter."""
    keeps_left, keeps_right = join.type in ("LEFT", "FULL"), join.type in ("RIGHT", "FULL")
    if keeps_left and _drops_nulls(terms, join.right):
        keeps_left = False  # rows of the left side without a partner
    if keeps_right and _drops_nulls(terms, join.left):
        keeps_right = False
    if keeps_left:
        return "FULL" if keeps_right else "LEFT"
    return "RIGHT" if keeps_right else "INNER"


def _drops_nulls(terms: Sequence[RowExpression], side: PlanNode) -> bool:
    """Whether no row passes that has NULL in all columns of a side."""
    names = frozenset(v.name for v in output_variables(side))
    return any(never_true(term, names) for term in terms)

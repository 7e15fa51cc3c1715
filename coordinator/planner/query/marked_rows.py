"""An outer relation beside the rows that a correlated subquery has for each of its rows.

Every outer row is there at least once; ``mark`` is true for the rows that the subquery really has. A subquery whose
outer columns stand in conditions becomes a LEFT JOIN on them; one that computes from the outer row itself (UNNEST of
its arrays, a SELECT without FROM) is computed on top of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace as changed

from coordinator.expressions.builders import (
    conjunction,
    conjuncts,
    constant,
    disjunction,
    function_call,
    operator,
    special,
    typed,
)
from coordinator.expressions.types import BIGINT, BOOLEAN
from coordinator.planner.query.builder import Ids
from coordinator.planner.query.correlation import NotDecorrelatedError, Outer, correlated, pull
from coordinator.planner.query.joins import extend, join, join_on, project
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import FilterNode, JoinNode, PlanNode, ProjectNode, SortNode, UnnestNode, ValuesNode
from shared.plan.traversal import output_variables, variable_of_key

TRUE = constant(True, BOOLEAN)
FALSE = constant(False, BOOLEAN)


@dataclass(frozen=True, slots=True)
class MarkedRows:
    """``mark`` None: every row is real. ``single``: at most one real row an outer row.

    ``mixed``: rows that are not real may stand beside real ones of the same outer row.
    """

    node: PlanNode
    mark: Variable | None
    single: bool
    mixed: bool = False

    def real(self, value: RowExpression) -> RowExpression:
        """``value`` for real rows, NULL for others."""
        if self.mark is None:
            return value
        type_ = typed(value)
        return special("IF", type_, self.mark, value, constant(None, type_))


def marked_rows(ids: Ids, left: PlanNode, inner: PlanNode, outer: Outer) -> MarkedRows:
    """The rows of ``inner`` for each row of ``left``; raises NotDecorrelatedError."""
    try:
        return _joined(ids, left, inner, outer)
    except NotDecorrelatedError:
        return _computed(ids, left, inner, outer)


def inner_rows(ids: Ids, left: PlanNode, inner: PlanNode, outer: Outer) -> PlanNode:
    """Each row of ``left`` with each of its rows of ``inner``, as CROSS JOIN LATERAL; raises NotDecorrelatedError."""
    try:
        pulled = pull(ids, inner, outer)
    except NotDecorrelatedError:
        rows = _computed(ids, left, inner, outer)
        if rows.mark is None:
            return rows.node
        return FilterNode(id=ids.node(), source=rows.node, predicate=rows.mark)
    node: PlanNode
    if pulled.conditions:
        node = join_on(ids, "INNER", left, pulled.node, conjunction(pulled.conditions))
    else:
        node = join(ids, "INNER", left, pulled.node)
    return extend(ids, node, _variables(pulled.deferred))


def _variables(deferred: dict[RowExpression, RowExpression]) -> dict[Variable, RowExpression]:
    return {v: e for v, e in deferred.items() if isinstance(v, Variable)}


def _joined(ids: Ids, left: PlanNode, inner: PlanNode, outer: Outer) -> MarkedRows:
    pulled = pull(ids, inner, outer)
    if not pulled.conditions and isinstance(pulled.node, ValuesNode) and pulled.node.rows == ((),):
        return MarkedRows(extend(ids, left, _variables(pulled.deferred)), None, True)
    mark = ids.variable("non_null", "boolean")
    right = extend(ids, pulled.node, {mark: TRUE})
    condition = conjunction(pulled.conditions) if pulled.conditions else TRUE
    node: PlanNode = join_on(ids, "LEFT", left, right, condition)
    return MarkedRows(extend(ids, node, _variables(pulled.deferred)), mark, pulled.single)


def _computed(ids: Ids, left: PlanNode, inner: PlanNode, outer: Outer) -> MarkedRows:
    if not correlated(inner, outer) and not isinstance(inner, ValuesNode):
        return _joined(ids, left, inner, outer)
    match inner:
        case ValuesNode() if inner.rows == ((),):
            return MarkedRows(left, None, True)
        case SortNode():
            return _computed(ids, left, inner.source, outer)
        case ProjectNode():
            rows = _computed(ids, left, inner.source, outer)
            kept: dict[str, RowExpression] = {v.key: v for v in output_variables(left)}
            kept |= inner.assignments.assignments
            if rows.mark is not None:
                kept[rows.mark.key] = rows.mark
            return MarkedRows(project(ids, rows.node, kept), rows.mark, rows.single, rows.mixed)
        case FilterNode():
            rows = _computed(ids, left, inner.source, outer)
            return _narrowed(ids, rows, conjuncts(inner.predicate))
        case JoinNode() if inner.type == "INNER" and not correlated(inner.right, outer):
            rows = _computed(ids, left, inner.left, outer)
            terms: list[RowExpression] = [operator("=", (c.left, c.right), BOOLEAN) for c in inner.criteria]
            terms += conjuncts(inner.filter) if inner.filter is not None else []
            return _narrowed(ids, _beside(ids, rows, inner.right), terms)
        case UnnestNode():
            return _unnested(ids, _computed(ids, left, inner.source, outer), inner)
    raise NotDecorrelatedError(type(inner).__name__)


def _narrowed(ids: Ids, rows: MarkedRows, terms: list[RowExpression]) -> MarkedRows:
    mark = ids.variable("non_null", "boolean")
    known = [rows.mark, *terms] if rows.mark is not None else terms
    test = special("COALESCE", BOOLEAN, conjunction(known), FALSE)
    return MarkedRows(extend(ids, rows.node, {mark: test}), mark, rows.single, True)


def _beside(ids: Ids, rows: MarkedRows, right: PlanNode) -> MarkedRows:
    found = ids.variable("non_null", "boolean")
    joined = join(ids, "LEFT", rows.node, extend(ids, right, {found: TRUE}), condition=TRUE)
    return _narrowed(ids, MarkedRows(joined, rows.mark, False), [found])


def _unnested(ids: Ids, rows: MarkedRows, node: UnnestNode) -> MarkedRows:
    """UNNEST of an outer row's arrays: one of NULL stands for none, so that the outer row stays."""
    arrays = [variable_of_key(key) for key in node.unnestVariables]
    if any(typed(a).base != "array" for a in arrays):
        raise NotDecorrelatedError("UNNEST of a map")
    sizes = [
        special("COALESCE", BIGINT, function_call("cardinality", (a,), BIGINT), constant(0, BIGINT)) for a in arrays
    ]
    any_element = disjunction([operator(">", (size, constant(0, BIGINT)), BOOLEAN) for size in sizes])
    mark = ids.variable("non_null", "boolean")
    type_ = typed(arrays[0])
    element = type_.arguments[0]
    none = constant(None, element)
    padded = ids.variable(arrays[0].name, arrays[0].type)
    instead = function_call("array_constructor", (none,), type_, display="ARRAY")
    below = extend(ids, rows.node, {mark: any_element, padded: special("IF", type_, any_element, arrays[0], instead)})
    unnested = {padded.key if i == 0 else a.key: node.unnestVariables[a.key] for i, a in enumerate(arrays)}
    replicated = tuple(v for v in output_variables(below) if v != padded)
    made = changed(node, source=below, replicateVariables=replicated, unnestVariables=unnested)
    return _narrowed(ids, MarkedRows(made, rows.mark, False), [mark])

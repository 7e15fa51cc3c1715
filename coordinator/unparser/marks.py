"""``value IN (query)`` as a column: true, false, or NULL where NULLs leave it open.

As a value Spark says false for all that is not true. Below a filter that is enough, and it knows NOT IN there;
elsewhere what Spark leaves out is asked of the query once more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace
from sqlglot import exp

from coordinator.expressions.builders import conjuncts
from coordinator.unparser.block import Block, Rendering, passed_on, select_of
from coordinator.unparser.compared_maps import compared
from coordinator.unparser.trees import binary, call, case, column, is_null, name, number
from shared.plan.expressions import Call, RowExpression, SpecialForm, Variable
from shared.plan.nodes import FilterNode, PlanNode, ProjectNode, SemiJoinNode
from shared.plan.traversal import free_variables, output_variables

_EMPTY, _WITHOUT_NULL, _WITH_NULL = 0, 1, 2


def semi_join(rendering: Rendering, node: SemiJoinNode) -> Block:
    """The rows of the source with the mark."""
    source = rendering.plain(node.source)
    inner = rendering.block(node.filteringSource)
    wrapped = rendering.wrap(inner, inner.variables)
    wanted, dialect = node.filteringSourceJoinVariable, rendering.dialect
    query = select_of(replace(wrapped, columns=((compared(wanted, dialect), wanted.name),)))
    test: exp.Expr = exp.Paren(
        this=exp.In(this=compared(node.sourceJoinVariable, dialect), query=exp.Subquery(this=query))
    )
    if dialect == "spark" and node.semiJoinOutput.name not in rendering.decided:
        test = _with_null(test, column(node.sourceJoinVariable.name), query, wanted.name)
    columns = (*passed_on(source.variables), (test, node.semiJoinOutput.name))
    return replace(source, columns=columns, variables=output_variables(node))


def _with_null(test: exp.Expr, value: exp.Expr, query: exp.Expr, found: str) -> exp.Expr:
    rows, known = call("count", exp.Star()), call("count", column(found))
    kind = case(
        [
            (binary(exp.EQ, rows, number(0)), number(_EMPTY)),
            (binary(exp.EQ, rows.copy(), known), number(_WITHOUT_NULL)),
        ],
        number(_WITH_NULL),
    )
    asked = exp.Select(expressions=[exp.Alias(this=kind, alias=name("kind"))])
    asked.set("from_", exp.From(this=exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=name("asked")))))
    false = exp.Boolean(this=False)
    otherwise = exp.Case(
        this=exp.Subquery(this=asked),
        ifs=[exp.If(this=number(_EMPTY), true=false), exp.If(this=number(_WITH_NULL), true=exp.Null())],
        default=case([(exp.Not(this=is_null(value)), false.copy())]),
    )
    return case([(test, exp.Boolean(this=True))], otherwise)


def decided_marks(node: FilterNode, kept: Collection[str] | None) -> set[str]:
    """The marks below a filter for which false does as well as NULL.

    Those that are a term of the condition are known above it. Others must end there: ``kept`` are the variables that
    are read above, None where that is not known.
    """
    marks = {mark.semiJoinOutput.name for mark in _semi_joins(node.source)}
    if not marks:
        return marks
    terms = conjuncts(node.predicate)
    leaves = [leaf for term in terms for leaf in _leaves(term)]
    open_ = {v.name for leaf in leaves if _mark(leaf) is None for v in free_variables(leaf)}
    known = {_mark(term) for term in terms}
    return {m for m in marks - open_ if m in known or (kept is not None and m not in kept)}


def _semi_joins(node: PlanNode) -> Iterator[SemiJoinNode]:
    """Those between which and the filter nothing reads their marks."""
    passed: set[str] = set()
    while isinstance(node, SemiJoinNode | ProjectNode):
        if isinstance(node, SemiJoinNode):
            if node.semiJoinOutput.name not in passed:
                yield node
            passed.add(node.sourceJoinVariable.name)
        else:
            for key, assigned in node.assignments.assignments.items():
                if not (isinstance(assigned, Variable) and assigned.key == key):
                    passed |= {v.name for v in free_variables(assigned)}
        node = node.source


def _leaves(term: RowExpression) -> Iterator[RowExpression]:
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if isinstance(one, SpecialForm) and one.form in ("AND", "OR"):
            waiting += one.arguments
        else:
            yield one


def _mark(term: RowExpression) -> str | None:
    match term:
        case Variable():
            return term.name
        case Call(displayName="not", arguments=(Variable() as mark,)):
            return mark.name
    return None

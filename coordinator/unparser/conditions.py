"""AND and OR in Presto's order: a term is computed for the rows that the terms before it have not decided.

DuckDB does so in filters, term by term, and computes every term for every row elsewhere: in a select list, in an
aggregate's argument, in the condition of a join. Its CASE computes a branch for the rows that take it.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from coordinator.expressions.failing import may_fail
from coordinator.unparser.trees import binary, case
from shared.plan.expressions import RowExpression, SpecialForm

Render = Callable[[RowExpression], exp.Expr]


def in_order(form: SpecialForm, dialect: str, render: Render) -> exp.Expr:
    """The tree of an AND or OR."""
    kind: type[exp.Expr] = exp.And if form.form == "AND" else exp.Or
    terms = _terms(form, form.form)
    if dialect != "duckdb" or not any(may_fail(term) for term in terms[1:]):
        return binary(kind, render(form.arguments[0]), render(form.arguments[1]))
    trees = [render(term) for term in terms]
    every = trees[0]
    for tree in trees[1:]:
        every = binary(kind, every, tree)
    decided = [(exp.Not(this=tree.copy()) if kind is exp.And else tree.copy()) for tree in trees[:-1]]
    return exp.Paren(this=case([(test, exp.Boolean(this=kind is exp.Or)) for test in decided], every))


def _terms(node: RowExpression, form: str) -> list[RowExpression]:
    if isinstance(node, SpecialForm) and node.form == form:
        return [term for argument in node.arguments for term in _terms(argument, form)]
    return [node]

"""AND and OR in Presto's order: a term is computed for the rows that the terms before it have not decided.

DuckDB does so in filters, term by term, and computes every term for every row elsewhere: in a select list, in an
aggregate's argument, in the condition of a join. Its CASE computes a branch for the rows that take it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from coordinator.expressions.builders import NAMESPACE, conjunction, disjunction, not_, special, typed, value_of
from coordinator.expressions.failing import may_fail
from coordinator.expressions.types import BOOLEAN
from coordinator.unparser.repeated_values import MOST_TWICE, repeatable
from coordinator.unparser.trees import binary, case
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable

Render = Callable[[RowExpression], exp.Expr]


MANY = 4
"""Comparisons of a column with values that become a list."""
_LISTED = frozenset(("tinyint", "smallint", "integer", "bigint", "date", "decimal", "varchar"))


def in_order(form: SpecialForm, dialect: str, render: Render) -> exp.Expr:
    """The tree of an AND or OR."""
    kind: type[exp.Expr] = exp.And if form.form == "AND" else exp.Or
    terms = terms_of(form, form.form)
    if len(terms) >= MANY and len(made := as_lists(terms, form.form)) < len(terms):
        return render(joined(made, form.form))
    if dialect != "duckdb" or not any(may_fail(term) for term in terms[1:]):
        return binary(kind, render(form.arguments[0]), render(form.arguments[1]))
    trees = [render(term) for term in terms]
    every = trees[0]
    for tree in trees[1:]:
        every = binary(kind, every, tree)
    tests = [repeatable(tree, MOST_TWICE).copy() for tree in trees[:-1]]
    decided = [exp.Not(this=test) if kind is exp.And else test for test in tests]
    return exp.Paren(this=case([(test, exp.Boolean(this=kind is exp.Or)) for test in decided], every))


def terms_of(node: RowExpression, form: str) -> list[RowExpression]:
    if isinstance(node, SpecialForm) and node.form == form:
        return [term for argument in node.arguments for term in terms_of(argument, form)]
    return [node]


def as_lists(terms: Sequence[RowExpression], form: str) -> list[RowExpression]:
    """The terms, with ``x IN (1, 2, …)`` for ``x = 1 OR x = 2 OR …``, and ``NOT`` of it for ``x <> 1 AND x <> 2 …``.

    Engines look up a value of a list, and compute terms one by one. None of the terms fails, so that their order is
    nobody's concern.
    """
    if any(may_fail(term) for term in terms):
        return list(terms)
    name = "equal" if form == "OR" else "not_equal"
    groups: dict[Variable, list[RowExpression]] = {}
    for term in terms:
        if (found := compared(term, name)) is not None:
            groups.setdefault(found[0], []).append(found[1])
    made: list[RowExpression] = []
    for term in terms:
        found = compared(term, name)
        values = [] if found is None else groups.get(found[0], [])
        if found is None or 0 < len(values) < MANY:
            made.append(term)
        elif values:
            listed = special("IN", BOOLEAN, found[0], *values)
            made.append(listed if form == "OR" else not_(listed))
            groups[found[0]] = []
    return made


def compared(term: RowExpression, name: str) -> tuple[Variable, Constant] | None:
    """The column and the value of a comparison, of a type whose values are equal where they are the same."""
    if not isinstance(term, Call) or len(term.arguments) != 2:
        return None
    signature = getattr(term.functionHandle, "signature", None)
    left, right = term.arguments
    if signature is None or signature.name != f"{NAMESPACE}$operator${name}":
        return None
    column, value = (left, right) if isinstance(left, Variable) else (right, left)
    if not isinstance(column, Variable) or not isinstance(value, Constant) or column.type != value.type:
        return None
    plain = typed(column).base in _LISTED and value_of(value) is not None
    return (column, value) if plain else None


def joined(terms: Sequence[RowExpression], form: str) -> RowExpression:
    return disjunction(terms) if form == "OR" else conjunction(terms)

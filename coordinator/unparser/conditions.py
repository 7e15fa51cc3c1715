"""AND and OR in Presto's order: a term is computed for the rows that the terms before it have not decided.

DuckDB does so in filters, term by term, and computes every term for every row elsewhere: in a select list, in an
aggregate's argument, in the condition of a join. Its CASE computes a branch for the rows that take it.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from coordinator.expressions.builders import NAMESPACE, typed
from coordinator.expressions.types import INTEGERS
from coordinator.unparser.trees import binary, case
from shared.plan.expressions import (
    Call,
    Constant,
    Lambda,
    RowExpression,
    SpecialForm,
    StaticFunctionHandle,
    Variable,
)

_NEVER_FAIL = frozenset(
    {
        "not", "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal",
        "between", "is_distinct_from", "like", "lower", "upper", "length", "trim", "ltrim", "rtrim", "strpos",
        "starts_with", "year", "month", "day", "is_nan",
    }
)  # fmt: skip
"""Functions and operators that have a value for all arguments."""
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


def may_fail(node: RowExpression) -> bool:
    """Whether computing the expression for some row could be an error; for what is not known here, it could."""
    match node:
        case Variable() | Constant():
            return False
        case Lambda():
            return True
        case SpecialForm():
            return any(may_fail(argument) for argument in node.arguments)
        case Call():
            return not _always_has_a_value(node) or any(may_fail(argument) for argument in node.arguments)


def _terms(node: RowExpression, form: str) -> list[RowExpression]:
    if isinstance(node, SpecialForm) and node.form == form:
        return [term for argument in node.arguments for term in _terms(argument, form)]
    return [node]


def _always_has_a_value(call: Call) -> bool:
    handle = call.functionHandle
    if not isinstance(handle, StaticFunctionHandle):
        return False
    name = handle.signature.name.removeprefix(NAMESPACE).removeprefix("$operator$")
    if name == "cast":
        source, target = typed(call.arguments[0]).base, typed(call).base
        return source in INTEGERS and target in ("bigint", "double", "varchar")
    return name in _NEVER_FAIL

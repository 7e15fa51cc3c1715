"""Conditions over Iceberg tables on Spark, so that Iceberg, which skips files and partitions by them, takes them right.

What it decides by partitions alone is not looked at again. It takes NULL for a value that differs from all others, and
fails on NULL before a list of texts; Spark says ``IS NOT NULL`` beside what all rows must meet, but not inside of OR.
It takes the two zeros for two numbers. NaN is above all numbers, and in no bounds of a file: with NaN beside a
condition, it looks at counts of NaN as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC

from msgspec.structs import replace

from coordinator.expressions.builders import (
    conjunction,
    constant,
    disjunction,
    function_call,
    not_,
    operator,
    special,
    typed,
    value_of,
)
from coordinator.expressions.folding import folded
from coordinator.expressions.types import BOOLEAN
from coordinator.unparser.conditions import MANY, as_lists, joined, terms_of
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable
from shared.plan.traversal import free_variables

_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "IS DISTINCT FROM": "IS DISTINCT FROM"}
_SYMBOLS = {
    "EQUAL": "=", "NOT_EQUAL": "<>", "LESS_THAN": "<", "LESS_THAN_OR_EQUAL": "<=", "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=", "IS_DISTINCT_FROM": "IS DISTINCT FROM",
}  # fmt: skip
_NEGATED = {
    "=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
    "IS DISTINCT FROM": "IS NOT DISTINCT FROM", "IS NOT DISTINCT FROM": "IS DISTINCT FROM",
}  # fmt: skip
"""Of numbers with NaN above all of them."""
_DISTINCT = ("IS DISTINCT FROM", "IS NOT DISTINCT FROM")
_FLOATING, _TEXTS = ("double", "real"), ("varchar", "char", "varbinary")
_MEETS_BOTH = {"<=": 0.0, ">": 0.0, ">=": -0.0, "<": -0.0}
"""The zero on whose sides both zeros are where Presto has them."""


def for_iceberg(condition: RowExpression) -> RowExpression:
    """A condition of a filter that is true for the same rows; to a filter NULL is as good as false."""
    return _made(condition, within_or=False)


def _made(node: RowExpression, *, within_or: bool) -> RowExpression:
    match node:
        case SpecialForm(form="AND" | "OR" as form):
            terms = terms_of(node, form)
            if len(terms) >= MANY and len(listed := as_lists(terms, form)) < len(terms):
                return _made(joined(listed, form), within_or=within_or)
            inside = within_or or form == "OR"
            return special(form, BOOLEAN, *(_made(each, within_or=inside) for each in node.arguments))
        case Call(displayName="not", arguments=(SpecialForm(form="AND" | "OR" as form) as inner,)):
            # Spark does so as well, and leaves the comparisons without IS NOT NULL.
            turned = special("OR" if form == "AND" else "AND", BOOLEAN, *map(not_, inner.arguments))
            return _made(turned, within_or=within_or)
        case Call(displayName="not", arguments=(Call(displayName="not", arguments=(inner,)),)):
            return _made(inner, within_or=within_or)
        case _:
            return _leaf(node, within_or=within_or)


def _leaf(node: RowExpression, *, within_or: bool) -> RowExpression:
    """A term without AND and OR around its comparison."""
    negated = isinstance(node, Call) and node.displayName == "not"
    inner = _with_numbers(node.arguments[0] if isinstance(node, Call) and negated else node)
    column = _column(inner)
    if column is None:
        return node
    if typed(column).base in _FLOATING:
        if isinstance(inner, Call):
            return _made_of(_bounds(inner, column, negated=negated), column, within_or=within_or)
        inner = _with_both_zeros(inner, column)
    if within_or and isinstance(inner, SpecialForm) and typed(column).base in _TEXTS:
        inner = _unseen(inner, column)
    made = not_(inner) if negated else inner
    is_list_of_texts = isinstance(inner, SpecialForm) and typed(column).base in _TEXTS
    return (
        _not_null(column, made) if (within_or and not _is_known(inner, negated=negated)) or is_list_of_texts else made
    )


def _is_known(node: RowExpression, *, negated: bool) -> bool:
    """Whether Iceberg knows of a term that NULL does not meet it, though it has NULL before all values."""
    if isinstance(node, SpecialForm):
        return not negated
    assert isinstance(node, Call)
    return node.displayName == "IS_DISTINCT_FROM" or (node.displayName == "EQUAL" and not negated)


def _with_numbers(node: RowExpression) -> RowExpression:
    """A comparison with the value of ``infinity()`` and the like, which conditions of changes still hold."""
    if not isinstance(node, Call | SpecialForm):
        return node
    parts = tuple(
        folded(each, UTC) if typed(each).base in _FLOATING and not free_variables(each) else each
        for each in node.arguments
    )
    return node if parts == node.arguments else replace(node, arguments=parts)


def _unseen(node: SpecialForm, column: Variable) -> RowExpression:
    """A list of texts that Iceberg is not asked for: it looks NULL up in it, and fails, whatever stands beside."""
    empty = constant(b"" if typed(column).base == "varbinary" else "", typed(column))
    same = function_call("concat", (column, empty), typed(column))
    return special("IN", BOOLEAN, same, *node.arguments[1:])


def _not_null(column: Variable, term: RowExpression) -> RowExpression:
    return conjunction([not_(special("IS_NULL", BOOLEAN, column)), term])


def _column(node: RowExpression) -> Variable | None:
    """The column that a term compares with constants; of BETWEEN and IN the first argument."""
    if not isinstance(node, Call | SpecialForm):
        return None
    columns = [each for each in node.arguments if not isinstance(each, Constant)]
    if len(columns) != 1 or not isinstance(columns[0], Variable):
        return None
    is_first = columns[0] is node.arguments[0]
    match node:
        case SpecialForm(form="IN") | Call(displayName="BETWEEN"):
            return columns[0] if is_first else None
        case Call(displayName=name, arguments=(_, _)) if name in _SYMBOLS:
            return columns[0]
        case _:
            return None


def _bounds(node: Call, column: Variable, *, negated: bool) -> list[tuple[str, Constant]]:
    """A comparison as an operator and a value, ``x BETWEEN low AND high`` as two, of which ``negated`` one holds."""
    if node.displayName == "BETWEEN":
        _, low, high = node.arguments
        found = [(">=", low)] if _is_nan(high) else [(">=", low), ("<=", high)]
    else:
        left, right = node.arguments
        symbol = _SYMBOLS[node.displayName]
        found = [(symbol, right) if left is column else (_FLIPPED[symbol], left)]
    return [(_NEGATED[symbol] if negated else symbol, value) for symbol, value in found if isinstance(value, Constant)]


def _made_of(bounds: Sequence[tuple[str, Constant]], column: Variable, *, within_or: bool) -> RowExpression:
    if bounds[0][0] in _DISTINCT:
        return _distinct(bounds[0], column)
    is_either = len(bounds) == 2 and bounds[0][0] == "<"
    terms = [_compared(column, symbol, value) for symbol, value in bounds]
    if is_either or len(terms) == 1:
        above = any(symbol in (">", ">=") and _is_number(value_of(value)) for symbol, value in bounds)
        terms += [operator("=", (column, constant(math.nan, typed(column))), BOOLEAN)] if above else []
        made = disjunction(terms)
    else:
        made = conjunction(terms)
    is_equal = bounds[0][0] == "="
    return _not_null(column, made) if (within_or and not is_equal) or is_either else made


def _distinct(bound: tuple[str, Constant], column: Variable) -> RowExpression:
    symbol, value = bound
    values = [_zero(column, sign) for sign in (0.0, -0.0)] if _is_zero(value_of(value)) else [value]
    terms = [operator("IS DISTINCT FROM", (column, each), BOOLEAN) for each in values]
    return conjunction(terms) if symbol == "IS DISTINCT FROM" else disjunction([not_(term) for term in terms])


def _with_both_zeros(node: RowExpression, column: Variable) -> RowExpression:
    """A list of values."""
    assert isinstance(node, SpecialForm)
    _, *values = node.arguments
    if not any(isinstance(each, Constant) and _is_zero(value_of(each)) for each in values):
        return node
    return special("IN", BOOLEAN, column, *values, _zero(column, 0.0), _zero(column, -0.0))


def _compared(column: Variable, symbol: str, value: Constant) -> RowExpression:
    if not _is_zero(value_of(value)):
        return operator(symbol, (column, value), BOOLEAN)
    if symbol in _MEETS_BOTH:
        return operator(symbol, (column, _zero(column, _MEETS_BOTH[symbol])), BOOLEAN)
    both = [operator(symbol, (column, _zero(column, sign)), BOOLEAN) for sign in (0.0, -0.0)]
    return disjunction(both) if symbol == "=" else conjunction(both)


def _is_nan(node: RowExpression) -> bool:
    value = value_of(node) if isinstance(node, Constant) else None
    return isinstance(value, float) and math.isnan(value)


def _is_number(value: object) -> bool:
    return isinstance(value, float) and not math.isnan(value)


def _is_zero(value: object) -> bool:
    return isinstance(value, float) and value == 0


def _zero(column: Variable, value: float) -> Constant:
    return constant(value, typed(column))

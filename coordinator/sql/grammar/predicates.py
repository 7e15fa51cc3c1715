"""What follows a value and makes a condition of it: comparisons, IS, BETWEEN, IN and LIKE."""

from __future__ import annotations

from coordinator.sql.grammar.calls import expressions
from coordinator.sql.grammar.subqueries import is_single_parenthesis, query_in_parentheses, starts_query, subquery
from coordinator.sql.grammar.words import Words
from coordinator.sql.tree.expressions import (
    BetweenPredicate,
    ComparisonExpression,
    Expression,
    InListExpression,
    InPredicate,
    IsNotNullPredicate,
    IsNullPredicate,
    LikePredicate,
    NotExpression,
    QuantifiedComparisonExpression,
    SubqueryExpression,
)
from shared.plan.expressions import SourceLocation

_COMPARISONS = frozenset(("=", "<>", "!=", "<", "<=", ">", ">="))
STARTS = _COMPARISONS | {"IS", "NOT", "BETWEEN", "IN", "LIKE"}
"""The words that begin a predicate behind its value."""


def predicate(words: Words, value: Expression) -> Expression:
    """The condition on a value that has been read; at one of STARTS."""
    if words.word in _COMPARISONS:
        return _comparison(words, value)
    if words.word == "IS":
        return _is(words, value)
    begin, place = words.position, words.place()
    negated = words.accept("NOT")
    made: Expression
    match words.word:
        case "BETWEEN":
            made = _between(words, value, place)
        case "IN":
            made = _in(words, value, begin)
        case "LIKE":
            made = _like(words, value, place)
        case _:
            raise words.mismatch(("'BETWEEN'", "'IN'", "'LIKE'"))
    return NotExpression(location=place, value=made) if negated else made


def _comparison(words: Words, left: Expression) -> Expression:
    place = words.place()
    operator = "<>" if words.word == "!=" else words.word
    words.position += 1
    if words.word in ("ALL", "SOME", "ANY") and words.ahead(1) == "(" and starts_query(words, 2):
        quantifier = "ALL" if words.word == "ALL" else "ANY"
        words.position += 1
        compared = subquery(words, words.place(words.position + 1))
        return QuantifiedComparisonExpression(
            location=place,
            operator=operator,  # type: ignore[arg-type]
            quantifier=quantifier,  # type: ignore[arg-type]
            value=left,
            subquery=compared,
        )
    if words.kind == "end" or words.word == "=":
        raise words.mismatch(("'ALL'", "'ANY'", "'SOME'", "<expression>"))
    right = words.rules.value(words)
    return ComparisonExpression(location=place, operator=operator, left=left, right=right)  # type: ignore[arg-type]


def _is(words: Words, value: Expression) -> Expression:
    place = words.place()
    words.position += 1
    negated = words.accept("NOT")
    if words.accept("DISTINCT"):
        words.expect("FROM")
        right = words.rules.value(words)
        made = ComparisonExpression(location=place, operator="IS DISTINCT FROM", left=value, right=right)
        return NotExpression(location=place, value=made) if negated else made
    if not words.accept("NULL"):
        raise words.mismatch(("'DISTINCT'", "'NOT'", "'NULL'"))
    return (IsNotNullPredicate if negated else IsNullPredicate)(location=place, value=value)


def _between(words: Words, value: Expression, place: SourceLocation) -> BetweenPredicate:
    words.position += 1
    low = words.rules.value(words)
    words.expect("AND")
    high = words.rules.value(words)
    return BetweenPredicate(location=place, value=value, min=low, max=high)


def _in(words: Words, value: Expression, begin: int) -> InPredicate:
    """A list that is none makes ANTLR refuse the whole predicate, where it begins."""
    place = words.place(begin)
    words.position += 1
    listed = words.is_closed() and words.ahead(1) != ")"
    if not listed:
        words.position = begin
        raise words.mismatch(("'AND'", "'OR'"))
    value_list: InListExpression | SubqueryExpression
    # Where both fit, ANTLR takes the first: ((query)) is a list of one.
    if words.word == "(" and starts_query(words, 1) and not _one_listed(words):
        value_list = SubqueryExpression(location=place, query=query_in_parentheses(words))
    else:
        words.expect("(")
        value_list = InListExpression(location=place, values=expressions(words))
        words.expect(")")
    return InPredicate(location=place, value=value, value_list=value_list)


def _one_listed(words: Words) -> bool:
    words.position += 1
    found = is_single_parenthesis(words)
    words.position -= 1
    return found


def _like(words: Words, value: Expression, place: SourceLocation) -> LikePredicate:
    words.position += 1
    pattern = words.rules.value(words)
    escape = None
    if words.accept("ESCAPE"):
        escape = words.rules.value(words)
    return LikePredicate(location=place, value=value, pattern=pattern, escape=escape)

"""Expressions between brackets or keywords: CASE, CAST, ARRAY, EXISTS, parentheses, rows and lambdas."""

from __future__ import annotations

from coordinator.sql.grammar.calls import expressions
from coordinator.sql.grammar.subqueries import starts_query, subquery
from coordinator.sql.grammar.words import Words
from coordinator.sql.tree.expressions import (
    ArrayConstructor,
    Cast,
    ExistsPredicate,
    Expression,
    Identifier,
    LambdaExpression,
    Row,
    SearchedCaseExpression,
    SimpleCaseExpression,
    SubqueryExpression,
    WhenClause,
)


def case(words: Words) -> Expression:
    """CASE with or without an operand."""
    place = words.place()
    words.position += 1
    operand = None if words.word == "WHEN" else words.rules.expression(words)
    clauses = [_when(words)]
    while words.word == "WHEN":
        clauses.append(_when(words))
    default = None
    if words.accept("ELSE"):
        default = words.rules.expression(words)
    elif words.word != "END":
        raise words.mismatch(("'WHEN'", "<expression>"))
    words.expect("END")
    if operand is None:
        return SearchedCaseExpression(location=place, when_clauses=tuple(clauses), default=default)
    return SimpleCaseExpression(location=place, operand=operand, when_clauses=tuple(clauses), default=default)


def _when(words: Words) -> WhenClause:
    place = words.place()
    words.expect("WHEN")
    condition = words.rules.expression(words)
    words.expect("THEN")
    return WhenClause(location=place, operand=condition, result=words.rules.expression(words))


def cast(words: Words) -> Cast:
    """``CAST(expression AS type)`` and TRY_CAST."""
    place, safe = words.place(), words.word == "TRY_CAST"
    words.position += 1
    words.expect("(")
    value = words.rules.expression(words)
    words.expect("AS")
    type_text = _type_to_parenthesis(words)
    words.expect(")")
    return Cast(location=place, expression=value, type=type_text, safe=safe)


def _type_to_parenthesis(words: Words) -> str:
    """A type, up to the parenthesis that closes the cast; its own form is read where types are."""
    depth, start = 0, words.position
    while words.kind != "end" and (depth or words.word != ")"):
        depth += {"(": 1, ")": -1}.get(words.word, 0)
        words.position += 1
        if words.word == ")" and words.ahead(-1) == "(":
            raise words.mismatch(("<integer>", "<type>"))
    if words.position == start or words.kinds[start] not in ("name", "word", "quoted"):
        words.position = start
        raise words.mismatch(("<type>",))
    return words.source(start)


def exists(words: Words) -> ExistsPredicate:
    """``EXISTS (query)``."""
    place = words.place()
    words.position += 1
    return ExistsPredicate(location=place, subquery=subquery(words, place))


def array(words: Words) -> ArrayConstructor:
    """``ARRAY[…]``."""
    place = words.place()
    words.position += 2
    values = () if words.word == "]" else expressions(words)
    words.expect("]")
    return ArrayConstructor(location=place, values=values)


def row(words: Words) -> Row:
    """``ROW(a, …)``."""
    place = words.place()
    words.position += 2
    items = expressions(words)
    words.expect(")")
    return Row(location=place, items=items, keyword=True)


def parenthesized(words: Words) -> Expression:
    """``(expression)``, ``(a, b)``, ``(query)`` or ``(x, y) -> …``."""
    begin = words.position
    if _starts_lambda(words):
        return _lambda(words)
    words.position += 1
    made: Expression
    if starts_query(words):
        made = SubqueryExpression(location=words.place(begin), query=words.rules.query(words))
    else:
        made = words.rules.expression(words)
        if words.accept(","):
            made = Row(location=words.place(begin), items=(made, *expressions(words)))
    words.expect(")")
    return made


def _starts_lambda(words: Words) -> bool:
    """Whether nothing but names stands in the parentheses, and an arrow behind them."""
    ahead = 1
    if words.is_identifier(ahead):
        ahead += 1
        while words.ahead(ahead) == "," and words.is_identifier(ahead + 1):
            ahead += 2
    return words.ahead(ahead) == ")" and words.ahead(ahead + 1) == "->"


def _lambda(words: Words) -> LambdaExpression:
    place = words.place()
    words.position += 1
    arguments: list[Identifier] = []
    while words.word != ")":
        arguments.append(words.identifier())
        words.accept(",")
    words.position += 2
    return LambdaExpression(location=place, arguments=tuple(arguments), body=words.rules.expression(words))

"""Expressions. Chains of operators are read in a loop, so that only parentheses, calls and subqueries nest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coordinator.sql.grammar import calls, forms, literals, predicates
from coordinator.sql.grammar.words import EXPRESSION, Words
from coordinator.sql.reserved_words import RESERVED
from coordinator.sql.tree.expressions import (
    ArithmeticBinaryExpression,
    ArithmeticUnaryExpression,
    AtTimeZone,
    BooleanLiteral,
    Concatenation,
    DereferenceExpression,
    Expression,
    FunctionCall,
    Identifier,
    LambdaExpression,
    LogicalExpression,
    NotExpression,
    NullLiteral,
    Parameter,
    SubscriptExpression,
)
from shared.plan.expressions import SourceLocation

_PRECEDENCE = {"*": 3, "/": 3, "%": 3, "+": 2, "-": 2, "||": 1}
_SIGNS = frozenset(("-", "+"))
_CALLED = frozenset(("EXTRACT", "NORMALIZE", "GROUPING"))
_SESSION_NAMES = frozenset(("CURRENT_CATALOG", "CURRENT_SCHEMA"))
"""Called without parentheses; no words of Presto's grammar."""
_BEGINNING = calls.NILADIC | _CALLED | {"NULL", "TRUE", "FALSE", "CASE", "CAST", "EXISTS", "NOT"}
_NO_EXPRESSION = RESERVED - _BEGINNING


def begins_expression(words: Words) -> bool:
    """Whether the next word may be the first of one."""
    if words.kind == "word":
        return words.word not in _NO_EXPRESSION
    return words.kind != "end" and (words.kind != "sign" or words.word in ("(", "?", "+", "-"))


def expression(words: Words) -> Expression:
    """Any expression: AND binds closer than OR."""
    disjuncts: list[Expression] = []
    conjuncts: list[Expression] = []
    either = both = None
    while True:
        conjuncts.append(_negated(words))
        word = words.words[words.position]
        if word == "AND":
            both = words.place()
        else:
            disjuncts.append(_chain("AND", conjuncts, both))
            if word != "OR":
                return _chain("OR", disjuncts, either)
            either = words.place()
            conjuncts = []
        words.position += 1


def _chain(operator: str, terms: list[Expression], place: SourceLocation | None) -> Expression:
    if len(terms) == 1 or place is None:
        return terms[0]
    return LogicalExpression(location=place, operator=operator, terms=tuple(terms))  # type: ignore[arg-type]


def _negated(words: Words) -> Expression:
    """``[NOT …] value [predicate]``."""
    places = []
    while words.words[words.position] == "NOT":
        places.append(words.place())
        words.position += 1
    made = value(words)
    if words.words[words.position] in predicates.STARTS:
        made = predicates.predicate(words, made)
    for place in reversed(places):
        made = NotExpression(location=place, value=made)
    return made


def value(words: Words) -> Expression:
    """Without predicates and logic: what stands on the sides of a comparison."""
    left = _signed(words) if words.words[words.position] in _SIGNS else _postfix(words)
    precedence = _PRECEDENCE.get(words.words[words.position])
    if precedence is None:
        return left
    operands = [left]
    operators: list[tuple[int, str, SourceLocation]] = []
    while precedence is not None:
        while operators and operators[-1][0] >= precedence:
            _reduce(operands, operators)
        operators.append((precedence, words.word, words.place()))
        words.position += 1
        operands.append(_signed(words))
        precedence = _PRECEDENCE.get(words.words[words.position])
    while operators:
        _reduce(operands, operators)
    return operands[0]


def _reduce(operands: list[Expression], operators: list[tuple[int, str, SourceLocation]]) -> None:
    _, sign, place = operators.pop()
    right = operands.pop()
    left = operands.pop()
    if sign == "||":
        operands.append(Concatenation(location=place, left=left, right=right))
    else:
        operands.append(
            ArithmeticBinaryExpression(location=place, operator=sign, left=left, right=right)  # type: ignore[arg-type]
        )


def _signed(words: Words) -> Expression:
    word = words.words[words.position]
    signs = []
    while word in _SIGNS:
        signs.append((word, words.place()))
        words.position += 1
        word = words.words[words.position]
    made = _postfix(words)
    for sign, place in reversed(signs):
        made = ArithmeticUnaryExpression(location=place, sign=sign, value=made)  # type: ignore[arg-type]
    return made


def _postfix(words: Words) -> Expression:
    """A primary with fields, subscripts and AT TIME ZONE behind it."""
    begin = words.position
    made = _primary(words)
    while True:
        match words.words[words.position]:
            case ".":
                words.position += 1
                field = words.identifier()
                if words.words[words.position] == "(":
                    made = calls.call(words, (*_parts(words, made), field), words.place(begin))
                else:
                    made = DereferenceExpression(location=words.place(begin), base=made, field=field)
            case "[":
                words.position += 1
                index = value(words)
                if words.word != "]":
                    raise words.mismatch(("']'",))
                words.position += 1
                made = SubscriptExpression(location=words.place(begin), base=made, index=index)
            case "AT" if words.ahead(1) == "TIME":
                place = words.place()
                words.position += 2
                words.expect("ZONE")
                made = AtTimeZone(location=place, value=made, time_zone=_primary(words))
            case _:
                return made


def _parts(words: Words, node: Expression) -> tuple[Identifier, ...]:
    """The names before the last one of a function; the call is at its parenthesis."""
    if isinstance(node, Identifier):
        return (node,)
    if isinstance(node, DereferenceExpression):
        return (*_parts(words, node.base), node.field)
    raise words.mismatch(EXPRESSION)


def _primary(words: Words) -> Expression:
    match words.kinds[words.position]:
        case "name":
            return _name(words)
        case "number":
            return literals.number(words)
        case "string" | "unicode":
            return literals.text_literal(words)
        case "word":
            return _reserved(words)
        case "sign" if words.word == "(":
            return forms.parenthesized(words)
        case "sign" if words.word == "?":
            return _parameter(words)
        case "quoted":
            return _quoted(words)
        case "binary":
            return literals.binary(words)
        case "digits" | "backquoted":
            return words.identifier()
        case _:
            raise words.mismatch(EXPRESSION)


def _parameter(words: Words) -> Parameter:
    made = Parameter(location=words.place(), position=words.parameters)
    words.parameters += 1
    words.position += 1
    return made


def _name(words: Words) -> Expression:
    """What begins with a word that is not reserved."""
    position = words.position
    match words.words[position + 1] if words.kinds[position + 1] not in ("string", "unicode") else "'":
        case "(":
            return _call(words)
        case "[" if words.word == "ARRAY":
            return forms.array(words)
        case "'":
            return literals.interval(words) if words.word == "INTERVAL" else literals.typed(words)
        case "+" | "-" if words.word == "INTERVAL" and words.kind_ahead(2) in ("string", "unicode"):
            return literals.interval(words)
        case "PRECISION" if words.word == "DOUBLE" and words.kind_ahead(2) in ("string", "unicode"):
            return literals.typed(words, 2)
        case "->":
            return _lambda(words)
        case _ if words.word in _SESSION_NAMES:
            place = words.place()
            return FunctionCall(location=place, name=(words.identifier(),))
        case _:
            return words.identifier()


def _call(words: Words) -> Expression:
    match words.word:
        case "TRY_CAST":
            return forms.cast(words)
        case "ROW" if words.ahead(2) != ")":
            return forms.row(words)
        case _:
            place = words.place()
            return calls.call(words, (words.identifier(),), place)


def _quoted(words: Words) -> Expression:
    match words.words[words.position + 1]:
        case "(":
            place = words.place()
            return calls.call(words, (words.identifier(),), place)
        case "->":
            return _lambda(words)
        case _ if words.kind_ahead(1) in ("string", "unicode"):
            return literals.typed(words)
        case _:
            return words.identifier()


def _lambda(words: Words) -> LambdaExpression:
    argument = words.identifier()
    words.position += 1
    return LambdaExpression(location=argument.location, arguments=(argument,), body=expression(words))


def _reserved(words: Words) -> Expression:
    """What begins with a reserved word."""
    form = _FORMS.get(words.word)
    if form is None or (words.word in ("NORMALIZE", "GROUPING") and words.ahead(1) != "("):
        raise words.mismatch(EXPRESSION)
    return form(words)


def _constant(words: Words) -> Expression:
    place, word = words.place(), words.word
    words.position += 1
    return NullLiteral(location=place) if word == "NULL" else BooleanLiteral(location=place, value=word == "TRUE")


_FORMS: Mapping[str, Callable[[Words], Expression]] = {
    "NULL": _constant,
    "TRUE": _constant,
    "FALSE": _constant,
    "CASE": forms.case,
    "CAST": forms.cast,
    "EXISTS": forms.exists,
    "EXTRACT": calls.extract,
    "NORMALIZE": calls.normalize,
    "GROUPING": calls.grouping,
    **dict.fromkeys(calls.NILADIC, calls.current_time),
}
"""By the reserved words that begin an expression."""

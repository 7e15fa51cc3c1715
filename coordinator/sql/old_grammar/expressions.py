"""Expressions. Chains of operators are read in a loop, so that only parentheses, calls and subqueries nest."""

from __future__ import annotations

from coordinator.sql.old_grammar.words import (
    AFTER_EXPRESSION,
    AFTER_PREDICATE,
    EXPRESSION,
    OPERATORS,
    Expected,
    Words,
)
from coordinator.sql.tokens import RESERVED
from shared.errors import ErrorCode, ProcessionError

QUERY_WORDS = frozenset(("SELECT", "WITH", "VALUES", "TABLE"))
_COMPARISONS = frozenset(("=", "<>", "!=", "<", "<=", ">", ">="))
_AFTER_DIRECTION = ("','", "'FETCH'", "'LIMIT'", "'NULLS'", "'OFFSET'", "<EOF>")
_BINARY = frozenset(("+", "-", "*", "/", "%", "||"))
_AFTER_QUERY = frozenset(("UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT", "OFFSET", "FETCH"))
_FIELDS = frozenset(("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"))
_NILADIC = frozenset(("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"))
_NILADIC |= {"CURRENT_USER", "CURRENT_ROLE"}
_AFTER_ELEMENT = tuple(sorted({"']'", *OPERATORS}))
_CALLED = frozenset(("EXTRACT", "NORMALIZE", "GROUPING"))
"""Reserved words that are called as functions are."""
_BEGINNING = _NILADIC | _CALLED | {"NULL", "TRUE", "FALSE", "CASE", "CAST", "EXISTS", "NOT"}
NO_EXPRESSION = (RESERVED - _BEGINNING) | {",", ")", ";", "@", "="}
"""What can begin no expression."""


def expression(words: Words) -> None:
    """Any expression."""
    while True:
        while words.accept("NOT"):
            pass
        value(words)
        complete = _predicate(words) and words.follow
        words.expected = tuple(sorted((*AFTER_PREDICATE, *words.follow))) if complete else AFTER_EXPRESSION
        if not (words.accept("AND") or words.accept("OR")):
            return


def expressions(words: Words) -> None:
    """One or more, separated by commas."""
    expression(words)
    while words.accept(","):
        expression(words)


def value(words: Words) -> None:
    """Without predicates and logic: what stands on the sides of a comparison."""
    while True:
        while words.accept("+") or words.accept("-"):
            pass
        _primary(words)
        _postfix(words)
        words.expected = AFTER_EXPRESSION
        if words.kind != "sign" or words.word not in _BINARY:
            return
        words.position += 1


def condition(words: Words, follow: Expected) -> None:
    """An expression before what may follow it."""
    outside, words.follow = words.follow, follow
    expression(words)
    words.follow = outside


def _predicate(words: Words) -> bool:
    """Whether one was there that ends with a value."""
    if words.kind == "sign" and words.word in _COMPARISONS:
        return _comparison(words)
    if words.word == "IS":
        return _is(words)
    begin = words.position
    if words.word == "NOT":
        words.position += 1
        if words.word not in ("BETWEEN", "IN", "LIKE"):
            raise words.mismatch(("'BETWEEN'", "'IN'", "'LIKE'"))
    if words.accept("BETWEEN"):
        value(words)
        if words.word != "AND":
            raise words.mismatch(tuple(sorted({"'AND'", *OPERATORS})))
        words.position += 1
        value(words)
        return True
    if words.accept("IN"):
        _in(words, begin)
    elif words.accept("LIKE"):
        value(words)
        if words.accept("ESCAPE"):
            value(words)
            return True
    return False


def _comparison(words: Words) -> bool:
    words.position += 1
    if words.word in ("ALL", "SOME", "ANY") and words.ahead(1) == "(" and starts_query(words, 2):
        words.position += 1
        _parenthesized_query(words)
        return False
    if words.kind == "end" or words.word == "=":
        raise words.mismatch(("'ALL'", "'ANY'", "'SOME'", "<expression>"))
    value(words)
    return True


def _is(words: Words) -> bool:
    words.position += 1
    words.accept("NOT")
    if words.accept("DISTINCT"):
        words.expect("FROM")
        value(words)
        return True
    if not words.accept("NULL"):
        raise words.mismatch(("'DISTINCT'", "'NOT'", "'NULL'"))
    return False


def _in(words: Words, begin: int) -> None:
    """A list that is none makes ANTLR refuse the whole predicate, where it begins."""
    listed = words.is_closed() and words.ahead(1) != ")"
    if words.follow and not listed:
        words.position = begin
        raise words.mismatch(tuple(sorted({"'AND'", "'OR'", *words.follow})))
    words.expect("(")
    _query_or_expressions(words)
    words.expect(")")


def starts_query(words: Words, count: int = 0) -> bool:
    """Whether a query begins ``count`` words ahead, perhaps in parentheses, and is no part of an expression."""
    if words.ahead(count) != "(" or words.kind_ahead(count) != "sign":
        return words.ahead(count) in QUERY_WORDS and words.kind_ahead(count) == "word"
    if not starts_query(words, count + 1):
        return False
    after = words.after_parenthesis(words.position + count)
    return words.words[after] in _AFTER_QUERY or words.words[after] in (")", "")


def _query_or_expressions(words: Words) -> None:
    if starts_query(words):
        _query(words)
    else:
        expressions(words)


def _query(words: Words) -> None:
    from coordinator.sql.old_grammar.queries import query  # queries hold expressions, which hold queries

    query(words)


def _parenthesized_query(words: Words) -> None:
    words.expect("(")
    if not starts_query(words):
        raise words.mismatch(("<query>",))
    _query(words)
    words.expect(")")


def _postfix(words: Words) -> None:
    while True:
        if words.accept("."):
            if words.accept("*"):
                return
            words.identifier()
            if words.word == "(":
                _call(words)
        elif words.accept("["):
            value(words)
            if words.word != "]":
                raise words.mismatch(_AFTER_ELEMENT)
            words.position += 1
        elif words.word == "AT" and words.ahead(1) == "TIME":
            words.position += 2
            words.expect("ZONE")
            _primary(words)
        else:
            return


def _primary(words: Words) -> None:
    match words.kind:
        case "string" | "literal":
            words.position += 1
        case "unicode":
            words.position += 1
            if words.accept("UESCAPE"):
                _string(words)
        case "number":
            _number(words)
        case "sign":
            _sign(words)
        case "word" | "quoted":
            _named(words)
        case _:
            raise words.mismatch(EXPRESSION)


def _number(words: Words) -> None:
    here, following = words.places[words.position], words.places[words.position + 1]
    if words.kind_ahead(1) == "word" and following[0] == here[1] + 1:
        message = "identifiers must not start with a digit; surround the identifier with double quotes"
        raise words.error(message)
    words.position += 1


def _sign(words: Words) -> None:
    if words.accept("?"):
        return
    if words.word == "." and words.kind_ahead(1) == "number":
        words.position += 2
        return
    if words.word != "(":
        raise words.mismatch(EXPRESSION)
    after = words.after_parenthesis(words.position)
    if words.words[after] == "->":
        _lambda(words, after)
        return
    words.position += 1
    outside, words.follow = words.follow, ()
    if starts_query(words):
        _query(words)
    else:
        expressions(words)
        words.expected = EXPRESSION
    words.follow = outside
    words.expect(")")


def _lambda(words: Words, after: int) -> None:
    words.position += 1
    while words.position < after - 1:
        words.identifier()
        if words.position < after - 1:
            words.expect(",")
    words.position = after + 1
    expression(words)


def _named(words: Words) -> None:  # noqa: C901 - one case a form
    word = words.word if words.kind == "word" else ""
    following = words.ahead(1)
    match word:
        case "NULL" | "TRUE" | "FALSE":
            words.position += 1
        case "CASE":
            _case(words)
        case "CAST" | "EXTRACT" if following != "(":
            words.position += 1
            words.expect("(")
        case "CAST" | "TRY_CAST" if following == "(":
            _cast(words)
        case "EXISTS":
            words.position += 1
            _parenthesized_query(words)
        case "INTERVAL" if words.kind_ahead(1) == "string" or following in ("+", "-"):
            _interval(words)
        case "ARRAY" if following == "[":
            words.position += 2
            if words.word != "]":
                expressions(words)
            if words.word != "]":
                raise words.mismatch(_AFTER_ELEMENT)
            words.position += 1
        case "DOUBLE" if following == "PRECISION" and words.kind_ahead(2) == "string":
            words.position += 3
        case _ if word in _NILADIC:
            words.position += 1
            if words.accept("("):
                if words.kind == "number":
                    words.position += 1
                words.expect(")")
        case _ if (word in _CALLED and following == "(") or words.is_identifier():
            _name(words)
        case _:
            raise words.mismatch(EXPRESSION)


def _name(words: Words) -> None:
    if words.word not in RESERVED or words.kind == "quoted":
        words.identifier()
    else:
        words.position += 1
    if words.kind == "string":  # a typed literal
        words.position += 1
    elif words.word == "(" and words.kind == "sign":
        _call(words)
    elif words.accept("->"):
        expression(words)


def _string(words: Words) -> None:
    if words.kind != "string":
        raise words.mismatch(("<string>",))
    words.position += 1


def _case(words: Words) -> None:
    words.position += 1
    if words.word != "WHEN":
        expression(words)
    while True:
        words.expect("WHEN")
        expression(words)
        if words.word != "THEN":
            raise words.mismatch(words.expected)
        words.position += 1
        expression(words)
        if words.word != "WHEN":
            break
    if words.accept("ELSE"):
        expression(words)
    elif words.word != "END":
        raise words.mismatch(("'WHEN'", "<expression>"))
    words.expect("END")


def _cast(words: Words) -> None:
    words.position += 2
    expression(words)
    if words.word != "AS":
        raise words.mismatch(words.expected)
    words.position += 1
    type_to_parenthesis(words)
    words.expected = ("'.'", "<type>")
    if words.word != ")":
        raise words.mismatch(words.expected)
    words.position += 1


def type_to_parenthesis(words: Words) -> None:
    """A type, up to the parenthesis that closes the cast; its own form is read where types are."""
    depth, start = 0, words.position
    while words.kind != "end" and (depth or words.word != ")"):
        depth += {"(": 1, ")": -1}.get(words.word, 0)
        words.position += 1
    if words.position == start or words.kinds[start] not in ("word", "quoted"):
        words.position = start
        raise words.mismatch(("<type>",))
    words.expected = ()


def _interval(words: Words) -> None:
    begin = words.position
    words.position += 1
    signed = words.word in ("+", "-")
    words.position += signed
    start, end = words.places[words.position]
    _string(words)
    fields = words.word
    if fields not in _FIELDS and not signed:  # a literal of a type of that name
        words.position = begin
        raise words.error(
            f"Unknown type: {words.text[slice(*words.places[begin])]}{words.text[words.places[begin][1]]}"
        )
    words.identifier(("'DAY'", "'HOUR'", "'MINUTE'", "'MONTH'", "'SECOND'", "'YEAR'"))
    if words.word == "TO" and words.is_identifier(1):
        fields += f" TO {words.ahead(1)}"
        words.position += 2
    value = words.text[start + 1 : end]
    if any(character.isalpha() for character in value):
        message = f"Invalid INTERVAL {fields} value: {value}"
        raise ProcessionError(ErrorCode.INVALID_FUNCTION_ARGUMENT, message)


def _call(words: Words) -> None:
    name = words.ahead(-1)
    words.position += 1
    if name == "GROUPING":
        _names_of_grouping(words)
        return
    if words.word != ")":
        _arguments(words, name)
        if words.expected == AFTER_EXPRESSION:
            words.expected = ("','", "<expression>")
    words.expect(")")
    _after_call(words)


def _names_of_grouping(words: Words) -> None:
    if words.kind == "end" or not words.is_identifier():
        raise words.mismatch(EXPRESSION)
    while words.word != ")":
        words.identifier()
        while words.accept("."):
            words.identifier()
        if words.word not in (",", ")"):
            raise words.mismatch(("')'", "','"))
        words.accept(",")
    words.position += 1


def _arguments(words: Words, name: str) -> None:
    if words.accept("*"):
        return
    if words.word in ("DISTINCT", "ALL"):
        words.position += 1
    if name == "POSITION":
        value(words)
        if words.accept("IN"):
            value(words)
            return
    elif name == "EXTRACT":
        words.identifier()
        words.expect("FROM")
        value(words)
        return
    elif name == "TRIM" and words.word in ("BOTH", "LEADING", "TRAILING") and words.ahead(1) not in (",", ")", "."):
        words.position += 1
        if words.word != "FROM":
            expression(words)
    else:
        expression(words)
    if name in ("SUBSTRING", "TRIM") and words.accept("FROM"):
        expression(words)
        if words.accept("FOR"):
            expression(words)
        return
    while words.accept(","):
        expression(words)
    if words.accept("ORDER"):
        words.expect("BY")
        sort_items(words)


def _after_call(words: Words) -> None:
    if words.word == "FILTER" and words.ahead(1) == "(" and words.ahead(2) == "WHERE":
        words.position += 3
        expression(words)
        words.expect(")")
    if words.word in ("IGNORE", "RESPECT") and words.ahead(1) == "NULLS":
        words.position += 2
    if words.word == "OVER" and (words.ahead(1) == "(" or words.is_identifier(1)):
        words.position += 1
        if words.accept("("):
            window(words)
            words.expect(")")
        else:
            words.identifier()


def window(words: Words) -> None:
    """What stands in the parentheses of OVER."""
    if words.is_identifier() and words.word not in ("PARTITION", "RANGE", "ROWS", "GROUPS"):
        words.identifier()
    words.expected = ()
    if words.accept("PARTITION", "BY"):
        expressions(words)
    if words.accept("ORDER", "BY"):
        sort_items(words)
        words.expected = ("','", "'GROUPS'", "'RANGE'", "'ROWS'")
    if words.word in ("RANGE", "ROWS", "GROUPS"):
        words.position += 1
        if words.accept("BETWEEN"):
            _bound(words)
            words.expect("AND")
        _bound(words)
        words.expected = ()


def _bound(words: Words) -> None:
    if words.accept("CURRENT", "ROW"):
        return
    if (words.word == "UNBOUNDED" and words.kind_ahead(1) != "sign") or words.word == "UNBOUNDED" == words.ahead(0):
        words.position += 1
        words.expect("FOLLOWING", "PRECEDING")
        return
    if words.kind == "end":
        raise words.mismatch(("'CURRENT'", "'UNBOUNDED'", "<expression>"))
    expression(words)
    if words.word not in ("FOLLOWING", "PRECEDING"):
        raise words.mismatch(words.expected)
    words.position += 1


def sort_items(words: Words) -> None:
    """``expression [ASC | DESC] [NULLS FIRST | LAST]``, …"""
    while True:
        expression(words)
        if words.word in ("ASC", "DESC"):
            words.position += 1
            words.expected = _AFTER_DIRECTION
        if words.accept("NULLS"):
            words.expect("FIRST", "LAST")
        if not words.accept(","):
            return

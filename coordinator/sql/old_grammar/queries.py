"""Queries: WITH, set operations, query blocks, relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot.tokens import Token

from coordinator.sql.old_grammar.expressions import (
    NO_EXPRESSION,
    QUERY_WORDS,
    condition,
    expression,
    expressions,
    sort_items,
    starts_query,
    value,
    window,
)
from coordinator.sql.old_grammar.words import IDENTIFIER, Expected, Words
from coordinator.sql.tokens import location_of, too_large

_END: Expected = ("<EOF>",)
_TAIL = ("EXCEPT", "FETCH", "INTERSECT", "LIMIT", "OFFSET", "ORDER", "UNION")
_CLAUSES = ("EXCEPT", "FETCH", "GROUP", "HAVING", "INTERSECT", "LIMIT", "OFFSET", "ORDER", "UNION", "WHERE")
_JOINS = ("CROSS", "FULL", "INNER", "JOIN", "LEFT", "NATURAL", "RIGHT", "TABLESAMPLE")


def _listed(*words: str) -> Expected:
    return tuple(f"'{word}'" for word in sorted(words))


_AFTER_ALIAS = (*_listed(",", "FROM", *_CLAUSES), "<EOF>")
_AFTER_TABLE = (*_listed(",", ".", "AS", "FOR", *_CLAUSES, *_JOINS), "<EOF>", "<identifier>")
_AFTER_RELATION = (*_listed(",", "AS", *_CLAUSES, *_JOINS), "<EOF>", "<identifier>")
_AFTER_TABLE_ALIAS = (*_listed("(", ",", *_CLAUSES, *_JOINS), "<EOF>")
_AFTER_COLUMN_ALIASES = (*_listed(",", *_CLAUSES, *_JOINS), "<EOF>")
_AFTER_WHERE = (*_listed("GROUP", "HAVING", *_TAIL), "<EOF>")
_AFTER_HAVING = (*_listed(*_TAIL), "<EOF>")
_RELATION = (*_listed("(", "LATERAL", "TABLE", "UNNEST"), "<identifier>")
_BEHIND_RELATIONS = _listed(",", *_CLAUSES)
_GROUPING = (*_listed("(", "CUBE", "GROUPING", "ROLLUP"), "<expression>")


_TERM = _listed("(", "SELECT", "TABLE", "VALUES")
_QUANTIFIABLE = _listed("(", "ALL", "DISTINCT", "SELECT", "TABLE", "VALUES")
_SELECTED: Expected = ("'*'", "<expression>", "<identifier>")


def check_query(text: str, tokens: Sequence[Token]) -> None:
    """Raises Presto's SYNTAX_ERROR unless ``tokens`` are one query and nothing more."""
    _check(text, tokens, query)


def check_relation(text: str, tokens: Sequence[Token]) -> None:
    """Raises Presto's SYNTAX_ERROR unless ``tokens`` are one relation of FROM and nothing more."""
    _check(text, tokens, _relation)


def _check(text: str, tokens: Sequence[Token], rule: Callable[[Words], None]) -> None:
    words = Words(text, tokens)
    try:
        rule(words)
    except RecursionError as error:
        raise too_large(location_of(text, tokens[0].start)) from error
    if words.kind != "end":
        raise words.mismatch(words.expected or _END)


def query(words: Words) -> None:
    """A query with everything that may stand before and behind its blocks."""
    if words.accept("WITH"):
        recursive = words.accept("RECURSIVE")
        _named_query(words, IDENTIFIER if recursive else ("'RECURSIVE'", "<identifier>"))
        while words.accept(","):
            _named_query(words, IDENTIFIER)
    _terms(words)
    if words.accept("ORDER"):
        words.expect("BY")
        sort_items(words)
    if words.accept("OFFSET"):
        expected = ("'?'", "<integer>")
        _count(words, expected)
        if words.word in ("ROW", "ROWS"):
            words.position += 1
    if words.accept("LIMIT"):
        if not words.accept("ALL"):
            _count(words, ("'ALL'", "<integer>"))
        words.expected = _END
    elif words.accept("FETCH"):
        _fetch(words)


def _fetch(words: Words) -> None:
    words.expect("FIRST", "NEXT")
    if words.word not in ("ROW", "ROWS"):
        _count(words, ("<integer>",))
    words.expect("ROW", "ROWS")
    if not words.accept("WITH", "TIES"):
        words.expect("ONLY")
    words.expected = _END


def _count(words: Words, expected: Expected) -> None:
    if not words.word.isdigit() and words.word != "?":
        raise words.mismatch(expected)
    words.position += 1
    words.expected = _END


def _named_query(words: Words, expected: Expected) -> None:
    words.identifier(expected)
    if words.word == "(":
        _names(words)
    elif words.word != "AS":
        raise words.mismatch(_listed("(", "AS"))
    words.expect("AS")
    words.expect("(")
    _inner_query(words)
    words.expect(")")


def _inner_query(words: Words) -> None:
    if words.word not in QUERY_WORDS and words.word != "(":
        raise words.mismatch(("<query>",))
    query(words)


def _names(words: Words) -> None:
    words.expect("(")
    words.identifier()
    while words.accept(","):
        words.identifier()
    words.expected = ("','",)
    words.expect(")")


def _terms(words: Words) -> None:
    quantifiable = False
    while True:
        _term(words, quantifiable)
        if words.word not in ("UNION", "EXCEPT", "INTERSECT"):
            return
        words.position += 1
        quantifiable = words.word not in ("ALL", "DISTINCT")
        words.position += not quantifiable


def _term(words: Words, quantifiable: bool) -> None:
    if words.accept("SELECT"):
        _block(words)
    elif words.accept("VALUES"):
        expressions(words)
    elif words.accept("TABLE"):
        _qualified_name(words)
        words.expected = (*_listed(".", *_TAIL), "<EOF>")
    elif words.accept("("):
        if words.word not in QUERY_WORDS and words.word != "(":
            raise words.mismatch(_TERM)
        query(words)
        words.expect(")")
        words.expected = _END
    else:
        raise words.mismatch(_QUANTIFIABLE if quantifiable else _TERM)


def _block(words: Words) -> None:
    quantified = words.word in ("ALL", "DISTINCT")
    words.position += quantified
    _select_item(words, _SELECTED if quantified else (*_listed("*", "ALL", "DISTINCT"), "<expression>", "<identifier>"))
    while words.accept(","):
        _select_item(words, _SELECTED)
    if words.accept("FROM"):
        _relation(words)
        while words.accept(","):
            _relation(words)
    if words.accept("WHERE"):
        condition(words, _AFTER_WHERE)
    if words.accept("GROUP"):
        words.expect("BY")
        _group_by(words)
    if words.accept("HAVING"):
        condition(words, _AFTER_HAVING)
    if words.word == "WINDOW" and words.ahead(2) == "AS":
        _windows(words)


def _select_item(words: Words, expected: Expected) -> None:
    if words.accept("*"):
        words.expected = _AFTER_ALIAS
        return
    if words.kind == "end" or (words.word in NO_EXPRESSION and words.kind in ("word", "sign")):
        raise words.mismatch(expected)
    if words.is_identifier() and words.ahead(1) == "." and words.kind_ahead(2) == "end":
        words.position += 2
        raise words.mismatch(_SELECTED)
    expression(words)
    if words.ahead(-1) == "*" and words.kind_ahead(-1) == "sign":  # of ``relation.*``
        words.expected = _AFTER_ALIAS
    if words.accept("AS") or (words.is_identifier() and not _begins_clause(words)):
        words.identifier()
        words.expected = _AFTER_ALIAS


def _begins_clause(words: Words) -> bool:
    """Words that are names too begin a clause where the clause goes on."""
    if words.kind != "word":
        return False
    match words.word:
        case "LIMIT":
            return words.kind_ahead(1) == "number" or words.ahead(1) in ("ALL", "?")
        case "OFFSET":
            return words.kind_ahead(1) == "number" or words.ahead(1) == "?"
        case "FETCH":
            return words.ahead(1) in ("FIRST", "NEXT")
        case "WINDOW":
            return words.ahead(2) == "AS"
        case "TABLESAMPLE":
            return words.ahead(1) in ("BERNOULLI", "SYSTEM")
        case _:
            return False


def _windows(words: Words) -> None:
    words.position += 1
    while True:
        words.identifier()
        words.expect("AS")
        words.expect("(")
        window(words)
        words.expect(")")
        if not words.accept(","):
            return


def _group_by(words: Words) -> None:
    if words.word in ("ALL", "DISTINCT"):
        words.position += 1
    elif words.kind == "end":
        raise words.mismatch(tuple(sorted({*_listed("ALL", "DISTINCT"), *_GROUPING})))
    _grouping_element(words)
    while words.accept(","):
        _grouping_element(words)


def _grouping_element(words: Words) -> None:
    if words.word in ("ROLLUP", "CUBE"):
        words.position += 1
        words.expect("(")
        if words.kind == "end":
            raise words.mismatch(("')'", "<expression>"))
        if words.word != ")":
            expressions(words)
        words.expect(")")
    elif words.word == "GROUPING" and words.ahead(1) != "(":
        words.position += 1
        words.expect("SETS")
        words.expect("(")
        if words.kind == "end":
            raise words.mismatch(("'('", "<expression>"))
        _grouping_element(words)
        while words.accept(","):
            _grouping_element(words)
        words.expect(")")
    elif not words.accept("(", ")"):
        if words.kind == "end":
            raise words.mismatch(_GROUPING)
        expression(words)


def _relation(words: Words) -> None:
    _sampled(words)
    while True:
        if words.accept("CROSS"):
            words.expect("JOIN")
            _sampled(words)
        elif words.accept("NATURAL"):
            if words.word not in ("LEFT", "RIGHT", "FULL", "INNER", "JOIN"):
                raise words.mismatch(_listed("FULL", "INNER", "JOIN", "LEFT", "RIGHT"))
            _join_type(words)
            words.expect("JOIN")
            _sampled(words)
        elif words.word in ("JOIN", "INNER", "LEFT", "RIGHT", "FULL"):
            _join_type(words)
            words.expect("JOIN")
            _relation(words)
            _criteria(words)
        else:
            return


def _join_type(words: Words) -> None:
    if words.word in ("LEFT", "RIGHT", "FULL"):
        words.position += 1
        if not words.accept("OUTER") and words.word != "JOIN":
            raise words.mismatch(_listed("JOIN", "OUTER"))
    else:
        words.accept("INNER")


def _criteria(words: Words) -> None:
    if words.accept("ON"):
        expression(words)
    elif words.accept("USING"):
        _names(words)
        words.expected = _AFTER_COLUMN_ALIASES
    else:
        kept = {*_listed(*_JOINS, ".", "AS", "FOR", "("), "<identifier>"} & set(words.expected)
        if words.kind == "end":
            kept = set()
        raise words.mismatch(tuple(sorted({*kept, "'ON'", "'USING'"})))


def _sampled(words: Words) -> None:
    _aliased(words)
    if words.word == "TABLESAMPLE":
        words.position += 1
        words.expect("BERNOULLI", "SYSTEM")
        words.expect("(")
        expression(words)
        words.expect(")")
        words.expected = _AFTER_COLUMN_ALIASES
        if words.word == "AS" or (words.is_identifier() and not _begins_clause(words)):
            _alias(words)


def _aliased(words: Words) -> None:
    _relation_primary(words)
    if words.word == "AS" or (words.is_identifier() and not _begins_clause(words)):
        _alias(words)


def _alias(words: Words) -> None:
    words.accept("AS")
    words.identifier()
    words.expected = _AFTER_TABLE_ALIAS
    if words.word == "(":
        _names(words)
        words.expected = _AFTER_COLUMN_ALIASES


def _relation_primary(words: Words) -> None:
    if words.accept("UNNEST"):
        words.expect("(")
        expressions(words)
        words.expect(")")
        words.accept("WITH", "ORDINALITY")
        words.expected = _AFTER_RELATION
    elif words.accept("LATERAL"):
        words.expect("(")
        _inner_query(words)
        words.expect(")")
        words.expected = _AFTER_RELATION
    elif words.word == "TABLE" and words.ahead(1) == "(":
        _table_function(words)
    elif words.accept("("):
        if words.kind == "end":
            raise words.mismatch((*_RELATION, "<query>"))
        if starts_query(words):
            query(words)
        else:
            _relation(words)
            words.expected = tuple(e for e in words.expected if e not in _BEHIND_RELATIONS)
        words.expect(")")
        words.expected = _AFTER_RELATION
    else:
        _qualified_name(words, _RELATION)
        words.expected = _AFTER_TABLE
        if words.word == "FOR":
            _version(words)


def _table_function(words: Words) -> None:
    """``TABLE(f(…))``: there are none here, and Presto's text says so at the name."""
    words.position += 2
    start, _ = words.places[words.position]
    at = words.position
    _qualified_name(words)
    if words.word != "(":
        raise words.mismatch(("'('", "'.'"))
    name = words.text[start : words.places[words.position - 1][1] + 1]
    words.position = at
    raise words.error(f"Table function {name} not registered")


def _version(words: Words) -> None:
    words.position += 1
    words.expect("SYSTEM_TIME", "SYSTEM_VERSION", "TIMESTAMP", "VERSION")
    if not words.accept("BEFORE"):
        if words.word != "AS":
            raise words.mismatch(("'AS'", "'BEFORE'"))
        words.position += 1
        words.expect("OF")
    value(words)


def _qualified_name(words: Words, expected: Expected = IDENTIFIER) -> None:
    words.identifier(expected)
    while words.accept("."):
        words.identifier()

"""Queries in parentheses inside expressions and relations, and how they are told from expressions."""

from __future__ import annotations

from coordinator.sql.grammar.words import Words
from coordinator.sql.tree.expressions import SubqueryExpression
from coordinator.sql.tree.queries import Query
from shared.plan.expressions import SourceLocation

QUERY_WORDS = frozenset(("SELECT", "WITH", "VALUES", "TABLE"))
_AFTER_QUERY = frozenset(("UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT", "OFFSET", "FETCH", ")"))


def starts_query(words: Words, count: int = 0) -> bool:
    """Whether a query begins ``count`` words ahead, perhaps in parentheses, and is no part of an expression."""
    position = words.position + count
    found = words.words
    inside = position
    while found[inside] == "(":
        inside += 1
    if found[inside] not in QUERY_WORDS:
        return False
    ends = [words.after_parenthesis(index) for index in range(position, inside)]
    return all(found[end] in _AFTER_QUERY or words.kinds[end] == "end" for end in ends)


def is_single_parenthesis(words: Words) -> bool:
    """Whether the parenthesis that comes next is all that stands before another one that closes."""
    return words.word == "(" and words.words[words.after_parenthesis(words.position)] == ")"


def query_in_parentheses(words: Words) -> Query:
    """``(query)``."""
    words.expect("(")
    if not starts_query(words):
        raise words.mismatch(("<query>",))
    query = words.rules.query(words)
    words.expect(")")
    return query


def subquery(words: Words, place: SourceLocation) -> SubqueryExpression:
    """``(query)`` as an expression that stands at ``place``."""
    return SubqueryExpression(location=place, query=query_in_parentheses(words))

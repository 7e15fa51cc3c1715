"""Text to trees of Presto's grammar, in one pass that refuses as Presto does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from coordinator.sql.cursor import RULES
from coordinator.sql.expected.refusal import in_prestos_words
from coordinator.sql.grammar.expressions import expression
from coordinator.sql.grammar.queries import END, query
from coordinator.sql.grammar.words import Words
from coordinator.sql.lexer import too_large
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.queries import Query
from shared.errors import ErrorLocation, ProcessionError

Tree = TypeVar("Tree")


def parse_expression(text: str) -> Expression:
    """The one expression in ``text``; raises a located SYNTAX_ERROR."""
    try:
        return _parse(text, expression)
    except ProcessionError as error:
        raise in_prestos_words(text, error, "start_expression") from None


def parse_query(text: str) -> Query:
    """The one query in ``text``; raises a located SYNTAX_ERROR."""
    return _parse(text, query)


def _parse(text: str, rule: Callable[[Words], Tree]) -> Tree:
    words = Words(text, RULES)
    try:
        made = rule(words)
    except RecursionError as error:
        raise too_large(ErrorLocation(1, 1)) from error
    if words.kind != "end":
        raise words.mismatch(END)
    return made

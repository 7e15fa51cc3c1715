"""What queries and relations share: expected lists, lists of names, and words that are names and begin clauses."""

from __future__ import annotations

from coordinator.sql.grammar.words import IDENTIFIER, Expected, Words
from coordinator.sql.tree.expressions import Identifier


def listed(*words: str) -> Expected:
    """Words as expected lists show them."""
    return tuple(f"'{word}'" for word in sorted(words))


def names(words: Words) -> tuple[Identifier, ...]:
    """``(a, b, …)``."""
    words.expect("(")
    found = [words.identifier()]
    while words.accept(","):
        found.append(words.identifier())
    words.expect(")")
    return tuple(found)


def qualified_name(words: Words, expected: Expected = IDENTIFIER) -> tuple[Identifier, ...]:
    """``a.b.c``; the analysis tells which part of a table's name is empty."""
    found = [words.identifier(expected, may_be_empty=True)]
    while words.accept("."):
        found.append(words.identifier(may_be_empty=True))
    return tuple(found)


def begins_clause(words: Words) -> bool:
    """Words that are names too begin a clause where the clause goes on."""
    if words.kind != "name":
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

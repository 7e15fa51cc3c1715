"""Text to one Statement. What sqlglot leaves opaque (CALL, EXPLAIN, SHOW, PREPARE, …) is read here, token by token."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coordinator.sql.parse_call import parse_call
from coordinator.sql.parse_explain import parse_explain
from coordinator.sql.parse_session import (
    parse_deallocate,
    parse_execute,
    parse_prepare,
    parse_reset,
    parse_set,
    parse_start_transaction,
    parse_use,
)
from coordinator.sql.parse_show import parse_describe, parse_show
from coordinator.sql.queries import parse_query
from coordinator.sql.statements import Commit, OtherStatement, Query, Rollback, Statement
from coordinator.sql.tokens import Cursor, tokenize

QUERY_WORDS = frozenset(("SELECT", "WITH", "VALUES", "TABLE", "("))

OTHER_KINDS: Mapping[str, frozenset[str]] = {
    "ALTER": frozenset(("TABLE", "FUNCTION", "SCHEMA", "VIEW")),
    "ANALYZE": frozenset(),
    "CREATE": frozenset(("TABLE", "VIEW", "SCHEMA", "FUNCTION", "ROLE", "TYPE")),
    "DELETE": frozenset(),
    "DROP": frozenset(("TABLE", "VIEW", "SCHEMA", "FUNCTION", "ROLE")),
    "GRANT": frozenset(),
    "INSERT": frozenset(),
    "MERGE": frozenset(),
    "REFRESH": frozenset(),
    "REVOKE": frozenset(),
    "TRUNCATE": frozenset(("TABLE",)),
    "UPDATE": frozenset(),
}

_FIRST_WORDS = """
ALTER ANALYZE CALL COMMIT CREATE DEALLOCATE DELETE DESC DESCRIBE DROP EXECUTE EXPLAIN GRANT INSERT MERGE PREPARE
REFRESH RESET REVOKE ROLLBACK SET SHOW START TRUNCATE UPDATE USE
"""
_EXPECTED = (*(f"'{word}'" for word in _FIRST_WORDS.split()), "<query>")


def parse_statement(text: str) -> Statement:
    """The statement in ``text``.

    Raises ProcessionError SYNTAX_ERROR with Presto's ``mismatched input … Expecting: …`` and the exact line and
    column; also for a trailing semicolon, which Presto's server refuses and clients strip.
    """
    return parse(Cursor(text, tokenize(text)))


def parse(cursor: Cursor) -> Statement:
    """The statement from the cursor to the end of the text."""
    word = cursor.keyword()
    if word in QUERY_WORDS:
        tokens = cursor.tokens[cursor.position :]
        parse_query(cursor.text, tokens)
        cursor.position = len(cursor.tokens)
        return Query(tuple(tokens))
    if word in OTHER_KINDS:
        return _parse_other(cursor)
    reader = _READERS.get(word)
    if reader is None:
        raise cursor.mismatch(*_EXPECTED)
    statement = reader(cursor)
    cursor.end()
    return statement


def _parse_other(cursor: Cursor) -> Statement:
    location = cursor.location
    word = cursor.expect(*OTHER_KINDS)
    objects = OTHER_KINDS[word]
    ahead = 2 if cursor.keyword() == "OR" else 0  # CREATE OR REPLACE
    kind = f"{word} {cursor.keyword(ahead)}" if cursor.keyword(ahead) in objects else word
    return OtherStatement(kind, location)


def _parse_transaction_end(cursor: Cursor) -> Statement:
    word = cursor.expect("COMMIT", "ROLLBACK")
    cursor.accept("WORK")
    return Commit() if word == "COMMIT" else Rollback()


_READERS: Mapping[str, Callable[[Cursor], Statement]] = {
    "CALL": parse_call,
    "COMMIT": _parse_transaction_end,
    "DEALLOCATE": parse_deallocate,
    "DESC": parse_describe,
    "DESCRIBE": parse_describe,
    "EXECUTE": parse_execute,
    "EXPLAIN": lambda cursor: parse_explain(cursor, parse),
    "PREPARE": lambda cursor: parse_prepare(cursor, parse),
    "RESET": parse_reset,
    "ROLLBACK": _parse_transaction_end,
    "SET": parse_set,
    "SHOW": parse_show,
    "START": parse_start_transaction,
    "USE": parse_use,
}

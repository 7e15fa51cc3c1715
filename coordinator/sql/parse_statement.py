"""Text to one Statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coordinator.sql.cursor import Cursor
from coordinator.sql.expected.refusal import in_prestos_words
from coordinator.sql.lexer import too_large
from coordinator.sql.parse_alter import parse_alter
from coordinator.sql.parse_call import parse_call
from coordinator.sql.parse_ddl import parse_analyze, parse_comment, parse_create, parse_drop, parse_truncate
from coordinator.sql.parse_dml import parse_delete, parse_insert, parse_merge, parse_update
from coordinator.sql.parse_explain import parse_explain
from coordinator.sql.parse_materialized_views import parse_refresh
from coordinator.sql.parse_roles import parse_grant, parse_revoke
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
from coordinator.sql.statements import Commit, Rollback, Statement
from shared.errors import ErrorLocation, ProcessionError

QUERY_WORDS = frozenset(("SELECT", "WITH", "VALUES", "TABLE", "("))

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
    try:
        return parse(Cursor(text))
    except ProcessionError as error:
        raise in_prestos_words(text, error) from None
    except RecursionError as error:
        raise too_large(ErrorLocation(1, 1)) from error


def parse(cursor: Cursor) -> Statement:
    """The statement from the cursor to the end of the text."""
    word = cursor.word
    if word in QUERY_WORDS:
        return cursor.query_to_end()
    reader = _READERS.get(word)
    if reader is None:
        raise cursor.refuse(*_EXPECTED)
    statement = reader(cursor)
    cursor.end()
    return statement


def _parse_transaction_end(cursor: Cursor) -> Statement:
    word = cursor.expect("COMMIT", "ROLLBACK")
    cursor.accept("WORK")
    return Commit() if word == "COMMIT" else Rollback()


_READERS: Mapping[str, Callable[[Cursor], Statement]] = {
    "ALTER": parse_alter,
    "ANALYZE": parse_analyze,
    "CALL": parse_call,
    "COMMENT": parse_comment,
    "COMMIT": _parse_transaction_end,
    "CREATE": parse_create,
    "DEALLOCATE": parse_deallocate,
    "DELETE": parse_delete,
    "DESC": parse_describe,
    "DESCRIBE": parse_describe,
    "DROP": parse_drop,
    "EXECUTE": parse_execute,
    "EXPLAIN": lambda cursor: parse_explain(cursor, parse),
    "GRANT": parse_grant,
    "INSERT": parse_insert,
    "MERGE": parse_merge,
    "PREPARE": lambda cursor: parse_prepare(cursor, parse),
    "REFRESH": parse_refresh,
    "RESET": parse_reset,
    "REVOKE": parse_revoke,
    "ROLLBACK": _parse_transaction_end,
    "SET": parse_set,
    "SHOW": parse_show,
    "START": parse_start_transaction,
    "TRUNCATE": parse_truncate,
    "UPDATE": parse_update,
    "USE": parse_use,
}

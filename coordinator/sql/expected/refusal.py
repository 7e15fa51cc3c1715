"""The error of a text that our parser refused, in Presto's words, where Presto's grammar refuses it too."""

from __future__ import annotations

from coordinator.sql.expected.explain import explain
from coordinator.sql.lexer import Tokens
from shared.errors import ErrorCode, ProcessionError

_PREFIX = "mismatched input "
_OURS = {
    "ALTER": {"AUTHORIZATION", "CATALOG", "DATA", "EXECUTE", "MATERIALIZED", "SET"},
    "CREATE": {"CATALOG", "GRACE", "IN", "MATERIALIZED", "WHEN"},
    "DELETE": {"@"},
    "DESC": {"INPUT", "OUTPUT"},
    "DROP": {"CATALOG", "IN"},
    "GRANT": {"IN"},
    "INSERT": {"@"},
    "MERGE": {"@", "AND", "DELETE"},
    "REVOKE": {"IN"},
    "SET": {"IN", "TIME"},
    "SHOW": {"LIMIT", "VALUES"},
    "UPDATE": {"@"},
}
"""By the first word of a statement those at which we read on, for Trino's clauses and ours, and Presto does not."""

_ANYWHERE = {"?", "CATALOG", "IMMEDIATE", "NATIVE", "ROW", "ROWS", "TIES", "VERBOSE", "WINDOW"}
_PREFIXED = 8
"""EXPLAIN and PREPARE may stand before a statement's first word."""


def in_prestos_words(text: str, error: ProcessionError, rule: str = "start") -> ProcessionError:
    """``error`` with the list of what Presto expects; as it is for other errors, and for what only we understand."""
    if error.code is not ErrorCode.SYNTAX_ERROR or not error.message.startswith(_PREFIX) or error.location is None:
        return error
    tokens = Tokens(text)
    found = explain(tokens, rule)
    if found is None or _goes_on(tokens, found.index, error):
        return error
    end = tokens.kinds[found.index] == "end"
    written = "<EOF>" if end else text[tokens.starts[found.index] : tokens.ends[found.index]]
    message = f"{_PREFIX}'{written}'. Expecting: {', '.join(found.expected)}"
    return ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=tokens.location(tokens.starts[found.index]))


def _goes_on(tokens: Tokens, index: int, error: ProcessionError) -> bool:
    """Whether Presto stops at a word of ours, and our parser has come further."""
    if index and tokens.words[index - 1] == "IMMEDIATE":
        return True
    here, theirs = tokens.location(tokens.starts[index]), error.location
    if theirs is None or (here.line, here.column) >= (theirs.line, theirs.column):
        return False
    words = tokens.words
    before = words[index - 1] if index else ""
    begun = next((word for word in words[:_PREFIXED] if word in _OURS), "")
    anywhere = words[index] in _ANYWHERE or before in _ANYWHERE or before == "OVER"
    return anywhere or words[0] == "COMMENT" or words[index] in _OURS.get(begun, ())

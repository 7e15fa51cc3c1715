"""What kind of statement a text is, by its first words; for selectors. Source: Presto's QueryType."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shared.spi.session import Session

_GAP = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_FIRST = re.compile(rf"{_GAP}\(?{_GAP}([A-Za-z]+)(?:{_GAP}([A-Za-z_]\w*|\"(?:[^\"]|\"\")+\"))?", re.DOTALL)
_LOOKED_AT = 10_000
"""Characters; a statement whose comments are longer has no type."""

_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("SELECT", "WITH", "VALUES", "TABLE"), "SELECT"),
    "EXPLAIN": "EXPLAIN",
    **dict.fromkeys(("SHOW", "DESCRIBE", "DESC"), "DESCRIBE"),
    **{word: word for word in ("INSERT", "UPDATE", "DELETE", "MERGE", "ANALYZE")},
    **dict.fromkeys(("SET", "RESET", "USE", "START", "COMMIT", "ROLLBACK", "PREPARE", "DEALLOCATE"), "CONTROL"),
    **dict.fromkeys(("CREATE", "DROP", "ALTER", "GRANT", "REVOKE", "TRUNCATE", "REFRESH", "CALL"), "DATA_DEFINITION"),
}


def query_type_of(text: str, session: Session) -> str | None:
    """None for what is no statement. EXECUTE is what it executes."""
    match = _FIRST.match(text[:_LOOKED_AT])
    if match is None:
        return None
    word, following = match[1].upper(), match[2]
    if word == "EXECUTE" and following is not None:
        name = following[1:-1].replace('""', '"') if following.startswith('"') else following.lower()
        prepared = session.prepared_statements.get(name)
        return None if prepared is None else _plain_type(prepared)
    return _TYPES.get(word)


def _plain_type(text: str) -> str | None:
    match = _FIRST.match(text[:_LOOKED_AT])
    return None if match is None else _TYPES.get(match[1].upper())

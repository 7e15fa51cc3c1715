"""What kind of statement a text is, by its first words; for selectors. Source: Presto's QueryType."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from coordinator.sql.blanks import BLANKS
from shared.spi.session import Session

_FIRST = re.compile(rf"{BLANKS}\(?{BLANKS}([A-Za-z]++)(?:{BLANKS}([A-Za-z_]\w*|\"(?:[^\"]|\"\")+\"))?")
_LOOKED_AT = 10_000
"""Characters; a statement whose comments are longer has no type."""

_NAME = r"(?:\w++|\"[^\"]++\")"
_CALLED = re.compile(rf"{BLANKS}CALL{BLANKS}(?>(?:{_NAME}{BLANKS}\.{BLANKS})*)({_NAME}){BLANKS}\(", re.IGNORECASE)
_EXECUTED = re.compile(rf"{BLANKS}ALTER{BLANKS}TABLE\b.+?\bEXECUTE{BLANKS}({_NAME})", re.DOTALL | re.IGNORECASE)
_SPELLINGS: Mapping[str, str] = {"optimize": "rewrite_data_files"}
"""Of ALTER TABLE … EXECUTE, as other engines have it."""

_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("SELECT", "WITH", "VALUES", "TABLE"), "SELECT"),
    "EXPLAIN": "EXPLAIN",
    **dict.fromkeys(("SHOW", "DESCRIBE", "DESC"), "DESCRIBE"),
    **{word: word for word in ("INSERT", "UPDATE", "DELETE", "MERGE", "ANALYZE")},
    **dict.fromkeys(("SET", "RESET", "USE", "START", "COMMIT", "ROLLBACK", "PREPARE", "DEALLOCATE"), "CONTROL"),
    **dict.fromkeys(("CREATE", "DROP", "ALTER", "GRANT", "REVOKE", "TRUNCATE", "REFRESH", "CALL"), "DATA_DEFINITION"),
}


def query_type_of(text: str, session: Session, distributed: Collection[str] = ()) -> str | None:
    """None for what is no statement. EXECUTE is what it executes; ``distributed`` names the distributed procedures."""
    match = _FIRST.match(text[:_LOOKED_AT])
    if match is None:
        return None
    word, following = match[1].upper(), match[2]
    if word == "EXECUTE" and following is not None:
        name = following[1:-1].replace('""', '"') if following.startswith('"') else following.lower()
        prepared = session.prepared_statements.get(name)
        return None if prepared is None else _plain_type(prepared, distributed)
    return _plain_type(text, distributed)


def _plain_type(text: str, distributed: Collection[str]) -> str | None:
    match = _FIRST.match(text[:_LOOKED_AT])
    if match is None:
        return None
    word = match[1].upper()
    called = {"CALL": _CALLED, "ALTER": _EXECUTED}.get(word)
    if called is not None and (found := called.match(text[:_LOOKED_AT])):
        name = found[1].strip('"').lower()
        if _SPELLINGS.get(name, name) in distributed:
            return "CALL_DISTRIBUTED_PROCEDURE"
    return _TYPES.get(word)

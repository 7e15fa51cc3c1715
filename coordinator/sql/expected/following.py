"""What may stand at a cursor: words of the grammar, and whether names may."""

from __future__ import annotations

import re

import msgspec

from coordinator.sql.expected.explain import continuations
from coordinator.sql.lexer import Tokens
from shared.errors import ProcessionError

_LONGEST = 3_000
"""Characters: a statement of that length is read in tenths of a second."""
_WORD = re.compile(r"'([A-Z_]+)'")
_BEGINNINGS = {
    "<query>": ("SELECT", "TABLE", "VALUES", "WITH"),
    "<expression>": (
        *("ARRAY", "CASE", "CAST", "CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_USER", "DATE", "EXISTS", "FALSE"),
        *("INTERVAL", "NOT", "NULL", "ROW", "TIMESTAMP", "TRUE", "TRY_CAST"),
    ),
    "<type>": (
        *("ARRAY", "BIGINT", "BOOLEAN", "CHAR", "DATE", "DECIMAL", "DOUBLE", "INTEGER", "JSON", "MAP", "REAL", "ROW"),
        *("SMALLINT", "TIME", "TIMESTAMP", "TINYINT", "VARBINARY", "VARCHAR"),
    ),
}
_NAMES = frozenset({"<identifier>", "<expression>"})


class Following(msgspec.Struct, frozen=True):
    """``known`` says whether the grammar could tell; ``names``: tables, columns and such may stand there."""

    known: bool
    names: bool = False
    words: tuple[str, ...] = ()


def what_follows(text: str) -> Following:
    """Behind ``text``, which ends before the word that is being typed. Blocks for a while."""
    if len(text) > _LONGEST:
        return Following(known=False)
    try:
        tokens = _last_statement(text)
    except ProcessionError:
        return Following(known=False)
    if _is_quoted(text, tokens):
        return Following(known=True)
    expected = continuations(tokens)
    words = {word[1] for each in expected if (word := _WORD.fullmatch(each))}
    words.update(*(_BEGINNINGS[each] for each in expected if each in _BEGINNINGS))
    return Following(bool(expected), not _NAMES.isdisjoint(expected), tuple(sorted(words)))


def _is_quoted(text: str, tokens: Tokens) -> bool:
    """Whether the cursor is in a comment, or in a text or name whose closing quote is still to be typed."""
    last = max((end for end, kind in zip(tokens.ends, tokens.kinds, strict=True) if kind != "end"), default=0)
    return "--" in text[last:].rpartition("\n")[2] or not {"'", '"'}.isdisjoint(tokens.words)


def _last_statement(text: str) -> Tokens:
    tokens = Tokens(text)
    ends = [end for word, end in zip(tokens.words, tokens.ends, strict=True) if word == ";"]
    return Tokens(text[ends[-1] :]) if ends else tokens

"""Where one statement of a typed or piped text ends: at a ``;`` outside quotes and comments."""

from __future__ import annotations

import re

# Quotes and block comments that are still open run to the end of the text.
_PIECE = re.compile(r"'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)|;|.", re.DOTALL)
_BLANK = re.compile(r"(?:\s|--[^\n]*|/\*.*?\*/)*", re.DOTALL)


def split_statements(text: str) -> tuple[list[str], str]:
    """The complete statements without their ``;``, and what follows the last one.

    >>> split_statements("SELECT ';'; SELECT 2")
    (["SELECT ';'"], 'SELECT 2')
    """
    statements: list[str] = []
    start = 0
    for piece in _PIECE.finditer(text):
        if piece[0] == ";":
            statements.append(text[start : piece.start()].strip())
            start = piece.end()
    return [s for s in statements if not is_blank(s)], text[start:].strip()


def is_blank(text: str) -> bool:
    """Nothing but white space and comments."""
    return _BLANK.fullmatch(text) is not None

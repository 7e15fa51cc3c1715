"""Numbers that metadata says: properties and summaries are texts that anybody may have written.

Of a summary PyIceberg keeps whatever JSON has there, which need not be a text.
"""

from __future__ import annotations

_MOST = (1 << 63) - 1
"""Iceberg's ``long``."""


def whole_number(text: str | None) -> int | None:
    """The number; None for what is no plain one. Never raises (``int`` does for '²' and for 5,000 digits)."""
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > len(str(_MOST)):
        return None
    number = int(text)
    return number if number <= _MOST else None


def number_or(text: str | None, default: int) -> int:
    """The number, or ``default``."""
    found = whole_number(text)
    return default if found is None else found


def integer(text: str | None) -> int | None:
    """The number, which may be below zero."""
    if not isinstance(text, str):
        return None
    found = whole_number(text.removeprefix("-"))
    return -found if found is not None and text.startswith("-") else found

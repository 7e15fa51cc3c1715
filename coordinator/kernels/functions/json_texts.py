"""Strings of JSON as Presto writes them."""

from __future__ import annotations

import json
import re

_ESCAPED = re.compile(r"\\\\|\\u[0-9a-f]{4}|[\ud800-\udfff\U00010000-\U0010ffff]")
"""A backslash comes with what it escapes, so that the text of two is none."""


def text_json(text: str) -> str:
    """A JSON string, as Jackson writes bytes: digits in capitals, and what is two characters in Java as two."""
    made = json.dumps(text, ensure_ascii=False)
    return made if made.isascii() and "\\u" not in made else _ESCAPED.sub(_escape, made)


def _escape(found: re.Match[str]) -> str:
    text = found[0]
    if text == "\\\\":
        return text
    if text[0] == "\\":
        return "\\u" + text[2:].upper()
    units = text.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

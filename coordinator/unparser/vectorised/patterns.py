"""Regular expressions in the embedded engine's words, where they mean the same in its library and in Presto's.

Both search from the left and prefer the first alternative. They differ in what letters, blanks and lines are, so texts
of anything but ASCII, or of several lines, are left to the programs, and patterns of anything but the tokens below.
"""

from __future__ import annotations

import re

from coordinator.expressions.builders import value_of
from coordinator.unparser.vectorised.form import Asked, Form, Rule, quoted
from shared.plan.expressions import Call, Constant

_WORDS = re.compile(r"[A-Za-z0-9 _,:/@=-]+(\|[A-Za-z0-9 _,:/@=-]+)*")
"""Patterns that mean the same in every library, for any text."""
_CLASS = r"\[\^?(?:\\[dws.\-]|[A-Za-z0-9 _.,:/@=%#*+]|[A-Za-z0-9]-[A-Za-z0-9])+-?\]"
_TOKEN = (
    r"[A-Za-z0-9 _,:/@=<>\"'!#%;~-]|\\[.\-/\[\](){}*+?^$|dwsDWS]|\.|" + _CLASS + r"|\((?:\?:|(?!\?))|\)|\||\^|\$|"
    r"(?:[*+?]|\{[0-9]{1,2}(?:,[0-9]{0,2})?\})\??(?![*+?{])"
)
"""No look-arounds, flags, comments or possessive quantifiers, which one of the libraries refuses."""
_PATTERN = re.compile(rf"(?:\(\?i\))?(?:{_TOKEN})+")
_PRINTABLE = r"[^ -~]"
_LONGEST = 200


def _pattern(asked: Asked) -> str | None:
    """A literal pattern over texts."""
    node = asked.node.arguments[1]
    inner = node.arguments[0] if isinstance(node, Call) else node
    text = value_of(inner) if isinstance(inner, Constant) else None
    return text if isinstance(text, str) and asked.bases[0] == "varchar" else None


def _same_everywhere(pattern: str) -> re.Pattern[str] | None:
    if len(pattern) > _LONGEST or pattern.count("{") > 1 or not _PATTERN.fullmatch(pattern):
        return None
    try:
        return re.compile(pattern)
    except (re.error, OverflowError):
        return None


def _plain(value: str, pattern: str) -> tuple[str, ...]:
    """Of ASCII and one line; printable where the pattern asks for blanks, which are not the same control characters."""
    if re.search(r"\\[sS]", pattern):
        return (f"NOT regexp_matches({value}, {quoted(_PRINTABLE)})",)
    lines = (f"NOT contains({value}, chr({code}))" for code in (10, 13))
    return (f"(strlen({value}) = length({value}))", *lines)


def _like(asked: Asked) -> Form | None:
    pattern, value = _pattern(asked), asked.arguments[0]
    if pattern is None:
        return None
    if _WORDS.fullmatch(pattern):
        return Form(f"({' OR '.join(f'contains({value}, {quoted(word)})' for word in pattern.split('|'))})")
    if _same_everywhere(pattern) is None:
        return None
    return Form(f"regexp_matches({value}, {quoted(pattern)})", _plain(value, pattern))


def _extract(asked: Asked) -> Form | None:
    """The match, or a group that takes part in each match."""
    pattern, value = _pattern(asked), asked.arguments[0]
    known = None if pattern is None else _same_everywhere(pattern)
    group = asked.constant(2) if len(asked.arguments) > 2 else 0
    if pattern is None or known is None or not isinstance(group, int) or not 0 <= group <= min(known.groups, 9):
        return None
    if group and ("|" in pattern or re.search(r"\)[*+?{]", pattern)):
        return None
    found = f"regexp_extract({value}, {quoted(pattern)}, {group})"
    if not group and known.search("") is None:  # each match has a character
        # As nullif, which is a macro: what it says twice is seen, and counted, here.
        return Form(f"CASE WHEN {found} <> '' THEN {found} END", _plain(value, pattern))
    return Form(f"CASE WHEN regexp_matches({value}, {quoted(pattern)}) THEN {found} END", _plain(value, pattern))


def _replace(asked: Asked) -> Form | None:
    """Of matches that are never empty, by a text without references to groups."""
    pattern, value = _pattern(asked), asked.arguments[0]
    known = None if pattern is None else _same_everywhere(pattern)
    new = asked.constant(2) if len(asked.arguments) > 2 else ""
    if pattern is None or known is None or not isinstance(new, str) or set(new) & set("$\\"):
        return None
    if known.search("") is not None or set(pattern) & set("^$") or len(new) > _LONGEST:
        return None
    return Form(f"regexp_replace({value}, {quoted(pattern)}, {quoted(new)}, 'g')", _plain(value, pattern))


PATTERNS: dict[str, Rule] = {"regexp_like": _like, "regexp_extract": _extract, "regexp_replace": _replace}

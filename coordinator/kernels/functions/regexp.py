"""Regular expressions. Python's syntax stands in for RE2's and Java's; where they differ the pattern is rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..kept import kept
from .bounds import check_text
from .failures import check, invalid
from .linear_regexp import BoundedPattern
from .table import Table, plain

_NAMED = re.compile(r"\(\?<([A-Za-z]\w*)>")
_POSIX = {
    "Alpha": "A-Za-z", "Digit": "0-9", "Alnum": "A-Za-z0-9", "Upper": "A-Z", "Lower": "a-z", "Space": r"\s",
    "Punct": r"!-/:-@\[-`{-~", "XDigit": "0-9A-Fa-f", "L": r"^\W\d_", "N": r"\d", "Lu": "A-Z", "Ll": "a-z",
}  # fmt: skip


_LONGEST = 100_000
_MOST_GROUPS = 1000
_MOST_PARTS = 1 << 23
"""Of replacements, in all matches together."""


@kept(512, longest=10_000)
def pattern_of(text: str) -> BoundedPattern:
    """The compiled pattern; raises INVALID_FUNCTION_ARGUMENT."""
    check(len(text) <= _LONGEST, f"Regular expression has {len(text)} characters (at most {_LONGEST})")
    made = _NAMED.sub(r"(?P<\1>", text)
    made = re.sub(r"\\p\{(\w+)\}", lambda m: f"[{_POSIX[m[1]]}]" if m[1] in _POSIX else m[0], made)
    made = made.replace(r"\z", r"\Z").replace(r"\h", r"[ \t]")
    # Flags anywhere but at the start are an error in Python.
    flags = "".join(re.findall(r"\(\?([imsx]+)\)", made))
    made = re.sub(r"\(\?[imsx]+\)", "", made)
    try:
        pattern = BoundedPattern(re.compile((f"(?{flags})" if flags else "") + made))
    except (RecursionError, OverflowError) as error:
        raise invalid("Regular expression is nested too deeply or repeats too often") from error
    except re.error as error:
        if "missing )" in str(error) or "unbalanced parenthesis" in str(error):
            raise invalid(f"{'end pattern with ' if 'missing' in str(error) else ''}unmatched parenthesis") from error
        raise invalid(f"Invalid regular expression: {text}: {error}") from error
    check(pattern.groups <= _MOST_GROUPS, f"Regular expression has {pattern.groups} groups (at most {_MOST_GROUPS})")
    return pattern


def _group(pattern: BoundedPattern, group: int) -> int:
    check(group >= 0, "Group cannot be negative")
    check(group <= pattern.groups, f"Pattern has {pattern.groups} groups. Cannot access group {group}")
    return group


def _extract(text: str, source: str, group: int = 0) -> str | None:
    pattern = pattern_of(source)
    _group(pattern, group)
    found = pattern.search(text)
    return None if found is None else found[group]


def _extract_all(text: str, source: str, group: int = 0) -> tuple[str | None, ...]:
    pattern = pattern_of(source)
    _group(pattern, group)
    return tuple(m[group] for m in pattern.finditer(text))


def _replacement(pattern: BoundedPattern, text: str) -> Callable[[Any], str]:
    """``$1`` and ``${name}`` are groups, a backslash takes the next character as it is."""
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            check(position + 1 < len(text), f"Illegal replacement sequence: {text}")
            parts.append(text[position + 1])
            position += 2
        elif character == "$":
            number, position = _reference(pattern, text, position + 1)
            parts.append(number)
        else:
            parts.append(character)
            position += 1
    made = work = 0

    def replaced(match: Any) -> str:
        nonlocal made, work
        work += len(parts)
        check(work <= _MOST_PARTS, "Replacement of regexp_replace has too many parts for so many matches")
        found = "".join(p if isinstance(p, str) else (match[p] or "") for p in parts)
        made += len(found)
        check_text(made, "regexp_replace")
        return found

    return replaced


def _reference(pattern: BoundedPattern, text: str, position: int) -> tuple[int, int]:
    """The group named after a ``$`` and where its name ends: as many digits as still name a group."""
    found = re.compile(r"\{(\w*)\}|(\d)").match(text, position)
    if found is None:
        raise invalid(f"Illegal replacement sequence: {text}")
    if found[2] is None:
        named = pattern.groupindex.get(found[1])
        if named is None:
            raise invalid(f"Illegal replacement sequence: unknown group {{ {found[1]} }}")
        return named, found.end()
    number, position = int(found[2]), found.end()
    check(number <= pattern.groups, f"Illegal replacement sequence: unknown group {number}")
    while text[position : position + 1].isdecimal() and number * 10 + int(text[position]) <= pattern.groups:
        number, position = number * 10 + int(text[position]), position + 1
    return number, position


def _replace(text: str, source: str, new: Any = "") -> str | None:
    pattern = pattern_of(source)
    if not callable(new):
        return pattern.sub(_replacement(pattern, new), text)
    made: list[str] = []
    position = size = 0
    for match in pattern.finditer(text):
        part = new(match.groups())
        if part is None:
            return None
        made += text[position : match.start()], part
        size += len(part)
        check_text(size, "regexp_replace")
        position = match.end()
    return "".join(made) + text[position:]


def _split(text: str, source: str) -> tuple[str, ...]:
    made, position = [], 0
    for match in pattern_of(source).finditer(text):
        made.append(text[position : match.start()])
        position = match.end()
    return (*made, text[position:])


REGEXP: Table = plain(
    regexp_like=lambda text, source: pattern_of(source).search(text) is not None, regexp_extract=_extract,
    regexp_extract_all=_extract_all, regexp_replace=_replace, regexp_split=_split,
)  # fmt: skip

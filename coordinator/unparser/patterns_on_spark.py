"""Regular expressions on Spark, which are Java's: letters of any language as Presto knows them, and groups."""

from __future__ import annotations

import re
from typing import NamedTuple

from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.like_patterns import Segment, like_pattern_of
from coordinator.kernels.functions.regexp import pattern_of

_CLASSES = re.compile(r"\\[wWdDsSbB]|\(\?[a-zA-Z]*i")
_LINES = re.compile(r"[.^$]")
_TOKEN = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<[A-Za-z]\w*>)?)?|[)|]", re.DOTALL)
_SPECIAL = re.compile(r"[!-/:-@\[-`{-~]")
_SKIPPED = re.compile(r"[?*]|\{0|\{,")


def may_take_for_ever(pattern: str) -> bool:
    """Whether Java, which goes back over what it tried, could hang on a text of some letters; the kernels do not.

    >>> may_take_for_ever("(a+)+b"), may_take_for_ever("a+b")
    (True, False)
    """
    try:
        return pattern_of(pattern).is_steep
    except KernelError:
        return False


def may_be_empty(pattern: str) -> bool:
    """Whether it may match nothing, which Java finds within characters beyond U+FFFF too.

    >>> may_be_empty("a*"), may_be_empty("a+"), may_be_empty("$")
    (True, False, True)
    """
    try:
        return not pattern_of(pattern).is_never_empty
    except KernelError:
        return True


class SteadyLike(NamedTuple):
    """A LIKE of several %: a text that it fits holds all ``pieces``, and fits Java's ``pattern``."""

    pieces: tuple[str, ...]
    pattern: str


def steady_like(pattern: object, escape: object = None) -> SteadyLike | None:
    """For a LIKE of several %, each part of which is found where it comes first; None for others.

    >>> steady_like("%a%b_"), steady_like("a%"), steady_like("%a%")
    (SteadyLike(pieces=('a', 'b'), pattern='(?s)\\\\A(?>.*?a).*b.\\\\z'), None, None)
    """
    if not isinstance(pattern, str) or not isinstance(escape, str | None):
        return None
    try:
        first, *rest = like_pattern_of(pattern, escape).segments
    except KernelError:
        return None
    if len(rest) < 2 or (len(rest) == 2 and not first.size and not rest[-1].size):
        return None
    found = "".join(f"(?>.*?{_letters(segment)})" for segment in rest[:-1])
    longest = (max((piece for _, piece in each.pieces), key=len, default="") for each in (first, *rest))
    return SteadyLike(tuple(filter(None, longest)), f"(?s)\\A{_letters(first)}{found}.*{_letters(rest[-1])}\\z")


def _letters(segment: Segment) -> str:
    made, position = "", 0
    for at, piece in segment.pieces:
        made += "." * (at - position) + _SPECIAL.sub(r"\\\g<0>", piece)
        position = at + len(piece)
    return made + "." * (segment.size - position)


def with_all_letters(pattern: str) -> str:
    """With Java's flags for classes and cases beyond ASCII, and for lines that end with a line feed alone, where the
    pattern has to do with them.

    >>> with_all_letters(r"\\w+"), with_all_letters("a+"), with_all_letters("^a.b$")
    ('(?U)\\\\w+', 'a+', '(?d)^a.b$')
    """
    flags = ("d" if _LINES.search(pattern) else "") + ("U" if _CLASSES.search(pattern) else "")
    return f"(?{flags}){pattern}" if flags else pattern


def has_group(pattern: str, group: int) -> bool:
    """Whether every match of a pattern has a text for the group, be it empty; False where that is not plain to see.

    >>> has_group("a(b*)", 1), has_group("a(b)?", 1), has_group("a|(b)", 1), has_group("((a)|b)c", 1)
    (True, False, False, True)
    """
    opened: list[tuple[int, int]] = []
    alternatives: set[int] = set()
    closed: dict[int, tuple[int, ...]] = {}
    skipped: set[int] = set()
    numbered, groups = 0, 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text.startswith("("):
            groups += 1
            captures = text == "(" or text.startswith("(?<")
            numbered += captures
            opened.append((groups, numbered if captures else 0))
            if captures:
                closed[numbered] = tuple(g for g, _ in opened)
            elif pattern[token.end() : token.end() + 1] in ("!", "="):
                skipped.add(groups)
        elif text == "|":
            alternatives.add(opened[-1][0] if opened else 0)
        elif text == ")" and opened:
            done, _ = opened.pop()
            if _SKIPPED.match(pattern, token.end()):
                skipped.add(done)
    around = closed.get(group)
    if around is None or opened or 0 in alternatives:
        return False
    return not skipped & set(around) and not alternatives & set(around[:-1])

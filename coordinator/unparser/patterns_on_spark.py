"""Regular expressions on Spark, which are Java's: letters of any language as Presto knows them, and groups."""

from __future__ import annotations

import re

_CLASSES = re.compile(r"\\[wWdDsSbB]|\(\?[a-zA-Z]*i")
_TOKEN = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<[A-Za-z]\w*>)?)?|[)|]", re.DOTALL)
_SKIPPED = re.compile(r"[?*]|\{0|\{,")


def with_all_letters(pattern: str) -> str:
    """With Java's flag for classes and cases beyond ASCII, where the pattern has to do with them.

    >>> with_all_letters(r"\\w+"), with_all_letters("a+")
    ('(?U)\\\\w+', 'a+')
    """
    return f"(?U){pattern}" if _CLASSES.search(pattern) else pattern


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

"""How long Python may take to search a text for a pattern, told by the pattern's parts.

Python goes back over what it tried: the number of ways through a pattern bounds its time. Where nothing that may fail
stands behind a part, the part is not tried again.
"""

from __future__ import annotations

import math
import re
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_Value = Any
"""What Python's own reader of patterns gives, of which nothing is declared."""
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_ASIDE = (ops.ASSERT, ops.ASSERT_NOT, ops.ATOMIC_GROUP)
"""Parts that are left for good when they matched."""
_ENDS = (ops.AT_END, ops.AT_END_STRING)
_STARTS = (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING)
_SURELY = 1e30
"""As good as endless."""


class Cost(NamedTuple):
    """``ways`` times the text's length to the power of ``degree``; RE2's threads that may run at once.

    ``letters`` are those of texts, of which alternatives run one at a time.
    """

    ways: float = 1.0
    degree: int = 0
    wild: float = 0.0
    letters: float = 0.0

    @property
    def threads(self) -> float:
        """Of RE2, for each character of a text."""
        return self.wild + self.letters


class Shape(NamedTuple):
    """What of a pattern decides who searches for it."""

    cost: Cost
    width: int
    """Characters that are looked at for a try."""
    anchored: bool
    looks_back: bool
    """At what stands before a match."""
    asserts: bool
    never_empty: bool

    def steps(self, length: int) -> float:
        """At most as many steps as Python takes over a text."""
        tried = self.cost.ways * float(length + 1) ** min(self.cost.degree, 40) * max(self.width / 8, 1)
        return length + tried if self.anchored else (length + 1) * tried


def shape_of(pattern: re.Pattern[str]) -> Shape:
    """Of a compiled pattern; raises RecursionError for one that is nested too deeply."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    looks_back, asserts = _looks(tree)
    first = tree[0] if len(tree) else (None, None)
    anchored = first[0] is ops.AT and first[1] in _STARTS and not pattern.flags & re.MULTILINE
    return Shape(_sequence(tree, False), _width(tree), anchored, looks_back, asserts, tree.getwidth()[0] > 0)


def _width(tree: _Value) -> int:
    """What stands behind the literal text that a pattern begins with, which is found quickly."""
    begun = next((i for i, (code, _) in enumerate(tree) if code is not ops.LITERAL), len(tree))
    return sum(_characters(code, value) for code, value in tree[begun:])


def _characters(code: object, value: _Value) -> int:
    inner = sum(_characters(*each) for part in _parts(code, value) for each in part)
    if code in _REPEATS:
        return int(min(max(value[0], 1) * max(inner, 1), 1 << 40))
    return max(inner, 1)


def _sequence(tree: _Value, may_fail: bool) -> Cost:
    ways, degree, wild, letters, aside = 1.0, 0, 0.0, 0.0, Cost()
    for code, value in reversed(list(tree)):
        cost = _part(code, value, may_fail)
        wild, letters = wild + cost.wild, letters + cost.letters
        if code in _ASIDE:
            aside = Cost(max(aside.ways, cost.ways), max(aside.degree, cost.degree))
        else:
            ways, degree = min(ways * cost.ways, _SURELY), degree + cost.degree
        may_fail = may_fail or _may_fail(code, value)
    return Cost(min(ways * aside.ways, _SURELY), degree + aside.degree, wild, letters)


def _part(code: object, value: _Value, may_fail: bool) -> Cost:
    if code in _REPEATS:
        return _repeated(code, value, may_fail)
    if code in (ops.GROUPREF, ops.GROUPREF_EXISTS):
        return Cost(degree=1)
    if code is ops.LITERAL:
        return Cost(letters=1)
    inner = [_sequence(part, may_fail and code not in _ASIDE) for part in _parts(code, value)]
    if code is ops.BRANCH:
        ways = min(sum(cost.ways for cost in inner), _SURELY)
        wild, letters = sum(cost.wild for cost in inner), max(cost.letters for cost in inner)
        return Cost(ways, max(cost.degree for cost in inner), wild, letters)
    return inner[0] if inner else Cost(wild=1)


def _repeated(code: object, value: _Value, may_fail: bool) -> Cost:
    least, most, body = value
    may_fail = may_fail and code is not ops.POSSESSIVE_REPEAT
    ways, degree, wild, letters = _sequence(body, may_fail or least > 1)
    times = least + 1 if most is ops.MAXREPEAT else most
    threads = times * (wild + letters + len(body))
    if not may_fail and least <= 1:
        return Cost(ways, degree, threads)
    single = ways <= 1 and not degree
    if most is ops.MAXREPEAT:
        return Cost(1.0, 1, threads) if single else Cost(_SURELY, 40, threads)
    if single:
        return Cost(float(most - least + 1) if may_fail else 1.0, 0, threads)
    total = 2 * ways**most if most * math.log(ways) < math.log(_SURELY) else _SURELY
    return Cost(total, degree * most, threads)


def _may_fail(code: object, value: _Value) -> bool:
    if code in _REPEATS and value[0] == 0:
        return False
    if code is ops.SUBPATTERN or code is ops.ATOMIC_GROUP or code in _REPEATS:
        return any(_may_fail(*each) for part in _parts(code, value) for each in part)
    if code is ops.BRANCH:
        return all(any(_may_fail(*each) for each in part) for part in _parts(code, value))
    return True


def _looks(tree: _Value) -> tuple[bool, bool]:
    """Whether it looks at what was before, and whether it looks at what is beside a match at all."""
    back = beside = False
    for code, value in tree:
        for part in _parts(code, value):
            inner = _looks(part)
            back, beside = back or inner[0], beside or inner[1]
        if code is ops.AT:
            back, beside = back or value not in _ENDS, True
        beside |= code in (ops.ASSERT, ops.ASSERT_NOT)
    return back, beside


def _parts(code: object, value: _Value) -> list[_Value]:
    """The patterns inside a step of a pattern."""
    if code is ops.BRANCH:
        return list(value[1])
    if code in _REPEATS:
        return [value[2]]
    if code in (ops.SUBPATTERN, ops.ASSERT, ops.ASSERT_NOT):
        return [value[-1]]
    if code is ops.ATOMIC_GROUP:
        return [value]
    if code is ops.GROUPREF_EXISTS:
        return [part for part in value[1:] if part is not None and not isinstance(part, int)]
    return []

"""Values that a template names several times, such as ``CASE WHEN x < 0 THEN ceil(x) ELSE floor(x) END``.

SQL has no name for a value within an expression, so that each level of such calls multiplies the text of those below:
twenty levels of ``lower`` would be 4^20 of them; and two ``rand()`` are two values. What is large or left to chance
stands once: a call that would say it again is a program of the kernels, together with all that it is computed of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from sqlglot import exp

from coordinator.unparser.trees import name

MOST_REPEATED = 1_000
"""Nodes of a tree that may stand several times: engines compute some thousand parts faster than a program does."""
MOST_TWICE = 5_000
"""Nodes of a tree that stands twice, and of all copies of what is compared with many values."""
_CHARACTERS_OF_NODE = 8
"""Of templates that are SQL already."""
_PLACE = "procession_repeated_"
_BY_CHANCE = re.compile(r"\b(rand|random|uuid|shuffle)\(|procession_vary_", re.IGNORECASE)
_WITHOUT_PROGRAMS = ContextVar("without_programs", default=False)


class RepeatedValueError(Exception):
    """A value that is to stand once would stand several times; caught where a program may stand."""


def stands_once(tree: exp.Expr, most: int = MOST_REPEATED) -> bool:
    """Whether a tree has more than ``most`` nodes, of which it looks at no more, or gives another value each time."""
    left = most
    for node in tree.walk():
        left -= 1
        match node:
            case exp.Anonymous(this=str(function)) if _BY_CHANCE.match(f"{function}("):
                return True
            case exp.Var(this=str(sql)):
                left -= len(sql) // _CHARACTERS_OF_NODE
                if _BY_CHANCE.search(sql):
                    return True
        if left < 0:
            return True
    return False


def repeatable(tree: exp.Expr, most: int = MOST_REPEATED) -> exp.Expr:
    """The tree, which is about to stand several times. Raises RepeatedValueError for one that is to stand once."""
    if stands_once(tree, most):
        raise RepeatedValueError
    return tree


def without_repeated(
    arguments: Sequence[exp.Expr], dialect: str, build: Callable[[list[exp.Expr]], exp.Expr]
) -> exp.Expr:
    """What ``build`` makes of the arguments. Raises RepeatedValueError where it repeats one that is to stand once."""
    places = {i: name(f"{_PLACE}{i}_") for i, argument in enumerate(arguments) if stands_once(argument)}
    if places:
        made = build([places.get(i, argument) for i, argument in enumerate(arguments)]).sql(dialect=dialect)
        if any(made.count(str(place.this)) > 1 for place in places.values()):
            raise RepeatedValueError
    return build(list(arguments))


def programs_may_stand() -> bool:
    """False inside of what Spark would compute programs for ahead: branches, lambdas, TRY."""
    return not _WITHOUT_PROGRAMS.get()


@contextmanager
def without_programs() -> Iterator[None]:
    """Meanwhile a large value that would be repeated is an error, for the caller to catch."""
    token = _WITHOUT_PROGRAMS.set(True)
    try:
        yield
    finally:
        _WITHOUT_PROGRAMS.reset(token)

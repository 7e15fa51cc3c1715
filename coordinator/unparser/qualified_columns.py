"""Columns of the two relations of a MERGE: said with their relation's alias, also inside the texts of functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from sqlglot import exp

from coordinator.unparser.trees import column, name

Names = Mapping[str, tuple[str, str]]
"""Alias and column by variable name."""
_NAMES = ContextVar[Names | None]("names", default=None)


def column_of(variable: str) -> exp.Expr:
    """The column that a variable is."""
    found = (_NAMES.get() or {}).get(variable)
    return column(variable) if found is None else exp.Column(this=name(found[1]), table=name(found[0]))


@contextmanager
def qualified(names: Names) -> Iterator[None]:
    """Meanwhile these variables are columns of relations with aliases."""
    token = _NAMES.set(names)
    try:
        yield
    finally:
        _NAMES.reset(token)


@contextmanager
def declared(parameters: Iterable[str]) -> Iterator[None]:
    """Meanwhile these names are parameters of a lambda."""
    names = _NAMES.get() or {}
    with qualified({variable: place for variable, place in names.items() if variable not in {*parameters}}):
        yield

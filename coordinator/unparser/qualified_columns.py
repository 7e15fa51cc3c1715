"""Columns of the two relations of a MERGE: said with their relation's alias, also inside the texts of functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from sqlglot import exp

from coordinator.expressions.builders import typed
from coordinator.unparser.stored_json import is_shown_otherwise, shown_value
from coordinator.unparser.trees import column, name
from shared.plan.expressions import Variable

STORED = "$t"
"""The alias of the table that is changed, as it is stored: no parameter of a lambda has such a name."""
Names = Mapping[str, tuple[str, str]]
"""Alias and column by variable name."""
_NAMES = ContextVar[Names | None]("names", default=None)


def column_of(variable: Variable) -> exp.Expr:
    """The column that a variable is; what the table stores otherwise becomes what it is here."""
    found = (_NAMES.get() or {}).get(variable.name)
    if found is None:
        return column(variable.name)
    made = exp.Column(this=name(found[1]), table=name(found[0]))
    type_ = typed(variable)
    return shown_value(made, type_) if found[0] == STORED and is_shown_otherwise(type_) else made


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

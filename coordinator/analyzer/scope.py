"""What names mean at one place of a query: the fields of its relations, and the scope around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import Struct

from shared.plan.expressions import SourceLocation, Variable
from shared.plan.kept import kept

MOST_PARTS = 4
"""``catalog.schema.table.column``: what stands behind that are fields of the column."""


class ScopeField(Struct, frozen=True):
    """A column that a name can resolve to. ``relation`` is what may stand before the column's name, innermost last."""

    name: str | None
    variable: Variable
    relation: tuple[str, ...] = ()
    hidden: bool = False

    def matches(self, name: str, prefix: tuple[str, ...]) -> bool:
        """Whether ``prefix.name`` can mean this field; names compare without case."""
        if self.name is None or self.name.lower() != name:
            return False
        return not prefix or self.relation[-len(prefix) :] == prefix


@dataclass(frozen=True, slots=True)
class Scope:
    """Fields in their order; ``parent`` is the scope of the query around a subquery."""

    fields: tuple[ScopeField, ...] = ()
    parent: Scope | None = None
    _by_name: dict[str, list[ScopeField]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def find(self, name: str, prefix: tuple[str, ...] = ()) -> list[ScopeField]:
        """Every field of this scope (not of its parents) that the name can mean."""
        if self.fields and not self._by_name:
            for field_ in self.fields:
                self._by_name.setdefault((field_.name or "").lower(), []).append(field_)
        return [f for f in self._by_name.get(name, ()) if f.matches(name, prefix)]

    def visible(self) -> Iterator[ScopeField]:
        """The fields of ``SELECT *``."""
        return (f for f in self.fields if not f.hidden)

    def relation_exists(self, prefix: tuple[str, ...]) -> bool:
        """Whether any field belongs to the relation named ``prefix``."""
        return any(f.relation[-len(prefix) :] == prefix for f in self.fields)


@dataclass(slots=True)
class Names:
    """Gives out the names of variables; a name is used once in a plan."""

    used: dict[str, int] = field(default_factory=dict)

    def variable(self, hint: str, type_text: str, place: SourceLocation | None = None) -> Variable:
        """A new variable whose name begins with ``hint``; ``place``: what it stands for in the statement."""
        base = _base(hint)
        if base not in self.used:
            self.used[base] = 0
            return Variable(name=base, type=type_text, sourceLocation=place)
        while True:
            self.used[base] += 1
            name = f"{base}_{self.used[base]}"
            if name not in self.used:
                self.used[name] = 0
                return Variable(name=name, type=type_text, sourceLocation=place)


@kept(4096)
def _base(hint: str) -> str:
    """The hint as an identifier: a scan names every column of its table."""
    return "".join(c if c.isalnum() or c in "_$" else "_" for c in hint.lower()).strip("_")[:60] or "expr"

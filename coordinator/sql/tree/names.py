"""Names inside the syntax tree: those with dots, and those that stand for columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coordinator.sql.tree.expressions import (
    DereferenceExpression,
    FunctionCall,
    Identifier,
    LambdaExpression,
    Window,
)
from coordinator.sql.tree.node import Node, fields_with_nodes
from coordinator.sql.tree.queries import (
    AliasedRelation,
    AllColumns,
    JoinUsing,
    SingleColumn,
    Table,
    WindowDefinition,
    WithQuery,
)

_OTHER_NAMES: dict[type[Node], tuple[str, ...]] = {
    FunctionCall: ("name",),
    LambdaExpression: ("arguments",),
    Window: ("name",),
    WindowDefinition: ("name",),
    SingleColumn: ("alias",),
    AllColumns: ("prefix",),
    AliasedRelation: ("alias", "columns"),
    JoinUsing: ("columns",),
    Table: ("name",),
    WithQuery: ("name", "columns"),
}
"""Fields whose identifiers are no columns of an expression."""


def qualified_name(node: Node) -> tuple[Identifier, ...] | None:
    """The parts of ``a`` or ``a.b.c``; None for any other expression."""
    parts: list[Identifier] = []
    while isinstance(node, DereferenceExpression):
        parts.append(node.field)
        node = node.base
    if not isinstance(node, Identifier):
        return None
    return (node, *reversed(parts))


def columns(node: Node) -> Iterator[tuple[Node, tuple[Identifier, ...]]]:
    """The columns that are named at ``node`` or below it, each with its parts, in the order of the text."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, Identifier | DereferenceExpression):
            parts = qualified_name(current)
            if parts is not None:
                yield current, parts
                continue
        skipped = _OTHER_NAMES.get(type(current), ())
        if isinstance(current, DereferenceExpression):
            skipped = ("field",)
        below: list[Node] = []
        for name in fields_with_nodes(type(current)):
            if name not in skipped:
                _collect(getattr(current, name), below)
        stack.extend(reversed(below))


def _collect(value: object, found: list[Node]) -> None:
    if isinstance(value, Node):
        found.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, found)


def written_names(roots: Iterable[Node]) -> frozenset[str]:
    """All names at the nodes and below them, lower case."""
    found: set[str] = set()
    stack: list[object] = list(roots)
    while stack:
        current = stack.pop()
        if isinstance(current, Identifier):
            found.add(current.value.lower())
        elif isinstance(current, Node):
            stack += [getattr(current, name) for name in fields_with_nodes(type(current))]
        elif isinstance(current, tuple):
            stack += current
    return frozenset(found)

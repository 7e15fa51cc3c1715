"""What all nodes of the syntax tree share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from shared.plan.expressions import SourceLocation

_PLAIN = ("str", "int", "bool", "bytes", "Literal", "SourceLocation")


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """``location`` is where Presto points for the node: at the operator of an infix expression, else the first token.

    Places are no part of a node's meaning: two nodes of the same text compare equal wherever they stand.
    """

    location: SourceLocation


@cache
def fields_with_nodes(type_: type[Node]) -> tuple[str, ...]:
    """The names of a node's fields that may hold nodes."""
    return tuple(name for name, written in type_.__annotations__.items() if not written.startswith(_PLAIN))


def children(node: Node) -> Iterator[Node]:
    """The nodes right below, in the order of their fields."""
    for name in fields_with_nodes(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from _inside(value)


def _inside(values: tuple[object, ...]) -> Iterator[Node]:
    for value in values:
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from _inside(value)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text as far as fields are; no recursion."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(children(current))))

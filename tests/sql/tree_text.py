"""A syntax tree as lines a reader can check: a node a line with its place, fields below it."""

from __future__ import annotations

from collections.abc import Iterator

from coordinator.sql.tree.node import Node


def tree_text(node: Node) -> str:
    """``Kind line:column values``, the nodes below indented under the names of their fields."""
    return "\n".join(_lines(node, "", 0))


def _lines(node: Node, label: str, depth: int) -> Iterator[str]:
    plain, below = [], []
    for name in node.__struct_fields__:
        value = getattr(node, name)
        if name.endswith("location") or value in (None, (), False):
            continue
        if isinstance(value, Node):
            below.append((f"{name}: ", value))
        elif isinstance(value, tuple):
            below.extend((f"{name}: ", item) for item in value)
        else:
            plain.append(repr(value) if isinstance(value, str | bytes) else f"{name}={value}")
    place = f"{node.location.line}:{node.location.column}"
    yield " ".join((f"{'  ' * depth}{label}{type(node).__name__} {place}", *plain))
    for name, child in below:
        yield from _lines(child, name, depth + 1)

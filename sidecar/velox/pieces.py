"""Plans deeper than Velox's JSON parser allows are cut at Exchange leaves of the same type, and spliced afterwards.

folly parses 100 JSON levels and a plan node costs two.
"""

from __future__ import annotations

from typing import Any

from sidecar.velox.relation import row_of
from sidecar.velox.types import Json

MAX_DEPTH = 92
CUT = "cut:"


def depth(value: Any) -> int:
    """Nesting of JSON objects and arrays, without recursion."""
    deepest, pending = 0, [(value, 1)]
    while pending:
        item, level = pending.pop()
        deepest = max(deepest, level)
        children = item.values() if isinstance(item, dict) else item
        pending.extend((child, level + 1) for child in children if isinstance(child, dict | list))
    return deepest


def pieces(root: Json, columns: dict[str, dict[str, Json]]) -> list[Json]:
    """The plan in pieces that Velox can parse, deepest first; the last holds the root.

    ``columns`` gives the output of a node by id. A piece is never cut below a node whose own expressions are too
    deep: Velox's parser then says so.
    """
    if depth(root) <= MAX_DEPTH:
        return [root]
    done: dict[int, tuple[Json, int]] = {}
    cut: list[Json] = []
    for node in _post_order(root):
        sources = [done[id(s)] for s in node.get("sources", ())]
        own = depth({k: v for k, v in node.items() if k != "sources"})
        height = max([own, *(h + 2 for _, h in sources)])
        if height > MAX_DEPTH and sources:
            sources = [_cut(s, cut, columns) if h + 2 > MAX_DEPTH // 2 else (s, h) for s, h in sources]
            height = max([own, *(h + 2 for _, h in sources)])
        made = {**node, "sources": [s for s, _ in sources]} if sources else node
        done[id(node)] = (made, height)
    return [*cut, done[id(root)][0]]


def _cut(node: Json, cut: list[Json], columns: dict[str, dict[str, Json]]) -> tuple[Json, int]:
    output = columns.get(node["id"])
    if output is None and node["name"] == "ProjectNode":  # one of our own making
        output = {n: e["type"] for n, e in zip(node["names"], node["projections"], strict=True)}
    if output is None or node["name"] == "ExchangeNode":
        return node, depth(node)
    cut.append(node)
    leaf = {
        "name": "ExchangeNode",
        "id": CUT + node["id"],
        "outputType": row_of(output),
        "serdeKind": "Presto",
    }
    return leaf, depth(leaf)


def _post_order(root: Json) -> list[Json]:
    found, pending = [], [root]
    while pending:
        node = pending.pop()
        found.append(node)
        pending.extend(node.get("sources", ()))
    return found[::-1]

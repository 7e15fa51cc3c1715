"""Where Presto points for a tree node."""

from __future__ import annotations

from typing import Any

from coordinator.sql.tokens import location_of
from shared.errors import ErrorLocation


def start_of(node: Any) -> int | None:
    """The offset of a node's first token that sqlglot kept, or None."""
    best: int | None = None
    for inner in node.walk():
        start = inner.meta.get("start") if inner.meta else None
        if start == 0 and type(inner).__name__ == "Star":
            # The parser's own, around VALUES: no star begins a statement.
            continue
        if start is not None and (best is None or start < best):
            best = start
    return best


_BEFORE = {"Case": "case", "Not": "not", "Exists": "exists", "Neg": "-", "Array": "array", "Select": "select",
    "Values": "values", "With": "with", "Unnest": "unnest",
}  # fmt: skip


_BETWEEN = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%", "EQ": "=", "LT": "<", "LTE": "<=", "GT": ">",
    "GTE": ">=", "And": "and", "Or": "or", "DPipe": "||",
}  # fmt: skip


def location_in(text: str, node: Any) -> ErrorLocation | None:
    """Where Presto would point for ``node``: at the operator of a binary expression, else at its first token."""
    kind = type(node).__name__
    if kind in ("Paren", "Ordered", "Where", "Having", "Alias"):
        return location_in(text, node.this)
    if kind in _BETWEEN and node.args.get("expression") is not None:
        start = start_of(node.expression)
        left = start_of(node.this) or 0
        if start is not None:
            found = text.lower().rfind(_BETWEEN[kind], left, start)
            return location_of(text, found if found >= 0 else start)
        # TRUE, NULL and their like have no place of their own.
        after = max((n.meta["end"] for n in node.this.walk() if "end" in n.meta), default=None)
        found = -1 if after is None else text.lower().find(_BETWEEN[kind], after + 1)
        if found >= 0:
            return location_of(text, found)
    start = start_of(node)
    if start is None:
        return None
    if kind in _BEFORE:
        found = text.lower().rfind(_BEFORE[kind], 0, start + 1)
        start = found if found >= 0 else start
    return location_of(text, start)

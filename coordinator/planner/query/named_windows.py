"""Windows that are named in WINDOW: what the names stand for."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from coordinator.analyzer.context import Context
from coordinator.sql.tree.expressions import FunctionCall, Window
from coordinator.sql.tree.queries import QuerySpecification


def window_definitions(tree: QuerySpecification) -> dict[str, Window]:
    """The windows of a query block by name, lower case."""
    return {definition.name.value.lower(): definition.window for definition in tree.windows}


def resolved(call: FunctionCall, definitions: Mapping[str, Window], context: Context) -> Window:
    """The window of a call without a name; raises SYNTAX_ERROR for an unknown name."""
    window = call.window
    assert window is not None
    seen: set[str] = set()
    while window.name is not None:
        name = window.name.value
        definition = definitions.get(name.lower())
        if definition is None or name.lower() in seen:
            raise context.error(call, f"Cannot resolve WINDOW name {name}")
        seen.add(name.lower())
        window = _extended(call, window, definition, context)
    return window


def _extended(call: FunctionCall, window: Window, base: Window, context: Context) -> Window:
    for what, own, other in (
        ("partition by", window.partition_by, base.partition_by),
        ("order", window.order_by, base.order_by),
        ("spec", window.frame, base.frame),
    ):
        if own and other:
            raise context.unsupported(call, f"A window that changes the {what} of another")
    return replace(
        window,
        name=base.name,
        partition_by=window.partition_by or base.partition_by,
        order_by=window.order_by or base.order_by,
        order_by_location=window.order_by_location or base.order_by_location,
        frame=window.frame or base.frame,
    )

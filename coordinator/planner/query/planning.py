"""What the parts of the query planner ask of it, and the small things that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from coordinator.analyzer.context import Context, SortItem
from coordinator.connectors.registry import Catalogs
from coordinator.planner.query.builder import Builder, Ids, RelationPlan
from shared.plan.expressions import RowExpression
from shared.plan.nodes import AggregationNode, PlanNode
from shared.spi.connector import TableMetadata, ViewMetadata
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class SelectItem:
    """One output column of a query block."""

    name: str | None
    expression: RowExpression
    node: Any


class Planning(Protocol):
    """The planner of one statement as query blocks, relations and set operations see it."""

    ids: Ids
    session: Session
    catalogs: Catalogs
    scans: dict[str, TableMetadata]
    distinct_values: dict[str, float]

    @property
    def context(self) -> Context: ...

    @property
    def ctes(self) -> Mapping[str, Any]: ...

    def plan_query(self, tree: Any, context: Context) -> RelationPlan: ...

    def plan_subquery(self, tree: Any, context: Context) -> RelationPlan: ...

    def plan_nested(self, tree: Any, context: Context) -> RelationPlan: ...

    def plan_cte(self, name: str, context: Context) -> RelationPlan: ...

    def plan_view(self, view: ViewMetadata, node: Any, context: Context) -> RelationPlan: ...

    def plan_values(self, tree: Any, context: Context) -> RelationPlan: ...

    def no_rows_source(self) -> RelationPlan: ...

    def distinct(self, node: PlanNode, tree: Any, context: Context) -> AggregationNode: ...

    def sort_and_limit(self, builder: Builder, items: list[SortItem], tree: Any, context: Context) -> None: ...


def ordinal(node: Any) -> int | None:
    """The number of an ordinal such as ``ORDER BY 1``."""
    if type(node).__name__ == "Literal" and not node.args.get("is_string") and str(node.this).isdecimal():
        return int(str(node.this))
    return None


def resolve_windows(tree: Any, definitions: Sequence[Any], context: Context) -> None:
    """Puts what WINDOW names say in the place of the names; for the windows of this query block alone."""
    named = {str(d.this.name).lower(): d for d in definitions}
    for window in tree.find_all(*_window_types(definitions)):
        alias = window.args.get("alias")
        if alias is None or window in definitions or window.parent_select is not tree:
            continue
        definition = named.get(str(alias.name).lower())
        if definition is None:
            raise context.error(window, f"Cannot resolve WINDOW name {alias.name}")
        for part in ("partition_by", "order", "spec"):
            value = definition.args.get(part)
            if value and window.args.get(part):
                raise context.unsupported(window, f"A window that changes the {part.replace('_', ' ')} of another")
            if value:
                copied = [v.copy() for v in value] if isinstance(value, list) else value.copy()
                window.set(part, copied)
        window.set("alias", None)


def _window_types(definitions: Sequence[Any]) -> tuple[type, ...]:
    return tuple({type(d) for d in definitions})

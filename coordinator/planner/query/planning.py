"""What the parts of the query planner ask of it, and the small things that they share."""

from __future__ import annotations

from collections.abc import Container
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct

from coordinator.analyzer.context import Context, SortItem
from coordinator.connectors.registry import Catalogs
from coordinator.planner.guard import Guard, Reader
from coordinator.planner.query.builder import Builder, Ids, RelationPlan
from coordinator.sql.tree.expressions import Expression, LongLiteral
from coordinator.sql.tree.node import Node
from coordinator.sql.tree.queries import AllColumns, Query, QueryBody, QuerySpecification, Relation, Table
from shared.plan.expressions import RowExpression
from shared.plan.nodes import AggregationNode, PlanNode
from shared.spi.accesses import TableName
from shared.spi.connector import TableMetadata, ViewMetadata
from shared.spi.session import Session


class SelectItem(Struct, frozen=True):
    """One output column of a query block."""

    name: str | None
    expression: RowExpression
    node: Expression | AllColumns


@dataclass(slots=True)
class Findings:
    """What planning finds out beside the plan: of materialized views, and of names in the query."""

    notes: list[str] = field(default_factory=list)
    """What was taken of each materialized view, and why."""
    stood_for: list[TableMetadata] = field(default_factory=list)
    """The tables whose rows are read as a materialized view keeps them."""
    versions: list[str] = field(default_factory=list)
    """The tables that are read at a version that the query names."""
    names: dict[tuple[int, int], tuple[int, str, str]] = field(default_factory=dict)
    """Names of relations by their places: how many parts they have, and the catalog and schema that they mean."""


class Planning(Protocol):
    """The planner of one statement as query blocks, relations and set operations see it."""

    ids: Ids
    session: Session
    catalogs: Catalogs
    scans: dict[str, TableMetadata]
    distinct_values: dict[str, float]
    references: set[str]
    guard: Guard
    reader: Reader
    open_guards: tuple[TableName, ...]
    findings: Findings
    open_views: tuple[tuple[str, str, str], ...]

    @property
    def context(self) -> Context: ...

    @property
    def named(self) -> Container[str]:
        """The names of WITH queries in sight."""

    def is_named(self, column: str) -> bool:
        """Whether the statement, or the view that is planned, has a name like this one in it."""

    def plan_query(self, tree: Query, context: Context) -> RelationPlan: ...

    def plan_body(self, tree: QueryBody, context: Context) -> RelationPlan: ...

    def plan_relation(self, tree: Relation, context: Context) -> RelationPlan: ...

    def plan_subquery(self, tree: Query, context: Context) -> RelationPlan: ...

    def plan_nested(self, tree: Query, context: Context) -> RelationPlan: ...

    def plan_cte(self, name: str, context: Context) -> RelationPlan: ...

    def plan_apart(
        self, guards: tuple[TableName, ...], session: Session, reader: Reader, roots: tuple[Node, ...]
    ) -> AbstractContextManager[Context]:
        """Meanwhile, what is planned is no part of the query; the context sees nothing of it."""

    def plan_view(self, view: ViewMetadata, node: Table, context: Context) -> RelationPlan: ...

    def no_rows_source(self) -> RelationPlan: ...

    def distinct(self, node: PlanNode, tree: Node, context: Context) -> AggregationNode: ...

    def sort_and_limit(
        self, builder: Builder, items: list[SortItem], tree: Query | QuerySpecification, context: Context
    ) -> None: ...


def ordinal(node: Expression) -> int | None:
    """The number of an ordinal such as ``ORDER BY 1``."""
    return node.value if isinstance(node, LongLiteral) else None

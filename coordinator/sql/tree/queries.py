"""Queries and relations. A query block and its ORDER BY, OFFSET and LIMIT are one ``QuerySpecification``."""

from __future__ import annotations

from typing import Literal

from coordinator.sql.tree.expressions import Expression, Identifier, SortItem, Window
from coordinator.sql.tree.node import Node


class WithQuery(Node, frozen=True, kw_only=True):
    """``name [(columns)] AS (query)``; ``columns`` is None when none are listed."""

    name: Identifier
    query: Query
    columns: tuple[Identifier, ...] | None = None


class With(Node, frozen=True, kw_only=True):
    queries: tuple[WithQuery, ...]
    recursive: bool = False


class SingleColumn(Node, frozen=True, kw_only=True):
    expression: Expression
    alias: Identifier | None = None


class AllColumns(Node, frozen=True, kw_only=True):
    """``*``, or ``prefix.*``."""

    prefix: tuple[Identifier, ...] = ()


class Limit(Node, frozen=True, kw_only=True):
    """``count`` is a number, a parameter, or None for ALL. ``with_ties`` is that of FETCH FIRST."""

    count: Expression | None
    with_ties: bool = False


class Offset(Node, frozen=True, kw_only=True):
    count: Expression


class OrderBy(Node, frozen=True, kw_only=True):
    sort_items: tuple[SortItem, ...]


class SimpleGroupBy(Node, frozen=True, kw_only=True):
    """``a``, ``(a, b)`` or ``()``."""

    columns: tuple[Expression, ...]


class Rollup(Node, frozen=True, kw_only=True):
    columns: tuple[Expression, ...]


class Cube(Node, frozen=True, kw_only=True):
    columns: tuple[Expression, ...]


class GroupingSets(Node, frozen=True, kw_only=True):
    """``GROUPING SETS (…)`` whose members are sets, or, as Presto's grammar reads, further grouping elements."""

    sets: tuple[GroupingElement, ...]


GroupingElement = SimpleGroupBy | Rollup | Cube | GroupingSets


class GroupBy(Node, frozen=True, kw_only=True):
    elements: tuple[GroupingElement, ...]
    distinct: bool = False


class WindowDefinition(Node, frozen=True, kw_only=True):
    """``name AS (window)`` of the WINDOW clause."""

    name: Identifier
    window: Window


class QuerySpecification(Node, frozen=True, kw_only=True):
    """One SELECT. ``from_`` is None without FROM; a comma is an implicit Join."""

    select: tuple[SingleColumn | AllColumns, ...]
    distinct: bool = False
    from_: Relation | None = None
    where: Expression | None = None
    group_by: GroupBy | None = None
    having: Expression | None = None
    windows: tuple[WindowDefinition, ...] = ()
    order_by: OrderBy | None = None
    offset: Offset | None = None
    limit: Limit | None = None


class Values(Node, frozen=True, kw_only=True):
    """``VALUES row, …``: a Row of several, or a single expression."""

    rows: tuple[Expression, ...]


class TableQuery(Node, frozen=True, kw_only=True):
    """``TABLE name`` as a query."""

    table: Table


class SetOperation(Node, frozen=True, kw_only=True):
    """Chains nest to the left; INTERSECT binds closer."""

    kind: Literal["UNION", "INTERSECT", "EXCEPT"]
    distinct: bool
    left: QueryBody
    right: QueryBody


class TableSubquery(Node, frozen=True, kw_only=True):
    """``(query)`` as a relation, and as a term of a set operation or of another query."""

    query: Query


QueryBody = QuerySpecification | Values | TableQuery | SetOperation | TableSubquery


class Query(Node, frozen=True, kw_only=True):
    """WITH, a body, and what orders and limits a body that is no QuerySpecification (that has them itself)."""

    body: QueryBody
    with_: With | None = None
    order_by: OrderBy | None = None
    offset: Offset | None = None
    limit: Limit | None = None


class TableVersion(Node, frozen=True, kw_only=True):
    """``FOR TIMESTAMP | VERSION AS OF | BEFORE expression`` (SYSTEM_TIME and SYSTEM_VERSION mean the same)."""

    kind: Literal["TIMESTAMP", "VERSION"]
    operator: Literal["AS OF", "BEFORE"]
    expression: Expression


class Table(Node, frozen=True, kw_only=True):
    name: tuple[Identifier, ...]
    version: TableVersion | None = None


class Unnest(Node, frozen=True, kw_only=True):
    expressions: tuple[Expression, ...]
    with_ordinality: bool = False


class Lateral(Node, frozen=True, kw_only=True):
    query: Query


class AliasedRelation(Node, frozen=True, kw_only=True):
    """``relation AS alias (columns)``; ``columns`` is None when none are listed."""

    relation: Relation
    alias: Identifier
    columns: tuple[Identifier, ...] | None = None


class SampledRelation(Node, frozen=True, kw_only=True):
    relation: Relation
    kind: Literal["BERNOULLI", "SYSTEM"]
    percentage: Expression


class JoinOn(Node, frozen=True, kw_only=True):
    expression: Expression


class JoinUsing(Node, frozen=True, kw_only=True):
    columns: tuple[Identifier, ...]


class NaturalJoin(Node, frozen=True, kw_only=True):
    pass


class Join(Node, frozen=True, kw_only=True):
    """IMPLICIT is the comma of FROM. Chains nest to the left."""

    kind: Literal["IMPLICIT", "CROSS", "INNER", "LEFT", "RIGHT", "FULL"]
    left: Relation
    right: Relation
    criteria: JoinOn | JoinUsing | NaturalJoin | None = None


Relation = Table | AliasedRelation | SampledRelation | Join | Lateral | Unnest | TableSubquery

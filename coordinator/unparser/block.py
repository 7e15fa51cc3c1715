"""A SELECT under construction, and what the renderers of single nodes ask of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct
from sqlglot import exp

from coordinator.unparser.scans import Scans
from coordinator.unparser.trees import call, column, name, number
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import PlanNode

_KEPT = "procession_kept"
"""A column of chance makes Spark compute a part once: what gives the same each time it writes into each reader.

Nobody reads the column, so that Spark leaves it out of the part after it has decided.
"""


class Block(Struct, frozen=True):
    """A SELECT under construction. ``columns`` is None while every column of the source passes through."""

    source: exp.Expr | None
    """None for one row of nothing."""
    variables: tuple[Variable, ...]
    columns: tuple[tuple[exp.Expr, str], ...] | None = None
    where: tuple[exp.Expr, ...] = ()
    group: tuple[exp.Expr, ...] | None = None
    order: tuple[exp.Expr, ...] = ()
    limit: int | None = None
    offset: int | None = None

    @property
    def plain(self) -> bool:
        """Whether only FROM and WHERE are used."""
        return self.columns is None and self.group is None and not self.order and self.limit is None and not self.offset


@dataclass(slots=True)
class Part:
    """A query that is computed once, under a name by which others read its rows."""

    name: str
    query: exp.Expr
    readers: int = 0


class Rendering(Protocol):
    """The renderer of one plan."""

    dialect: str
    scans: Scans
    copies: bool
    decided: set[str]
    """Marks of semi joins that are false as well where they are NULL."""

    def alias(self) -> str: ...

    def block(self, node: PlanNode) -> Block: ...

    def plain(self, node: PlanNode) -> Block: ...

    def wrap(self, block: Block, variables: tuple[Variable, ...]) -> Block: ...

    def part(self, query: exp.Expr) -> Part: ...

    def tree(self, node: RowExpression) -> exp.Expr: ...


def select_of(block: Block) -> exp.Expr:
    """The block as a sqlglot SELECT."""
    pairs = block.columns if block.columns is not None else tuple((column(v.name), v.name) for v in block.variables)
    shown: list[exp.Expr] = [
        tree if isinstance(tree, exp.Column) and tree.name == n else exp.Alias(this=tree, alias=name(n))
        for tree, n in pairs
    ]
    select = exp.Select(expressions=shown or [exp.Alias(this=number(1), alias=name("dummy"))])
    if block.source is not None:
        select.set("from_", exp.From(this=block.source))
    if block.where:
        condition = block.where[0]
        for term in block.where[1:]:
            condition = exp.And(this=condition, expression=term)
        select.set("where", exp.Where(this=condition))
    if block.group:
        select.set("group", exp.Group(expressions=list(block.group)))
    if block.order:
        select.set("order", exp.Order(expressions=list(block.order)))
    if block.limit is not None:
        select.set("limit", exp.Limit(expression=number(block.limit)))
    if block.offset:
        select.set("offset", exp.Offset(expression=number(block.offset)))
    return select


def read(part: Part) -> exp.Table:
    """The part as a table, in one more place."""
    part.readers += 1
    return exp.Table(this=name(part.name))


def with_parts(select: exp.Expr, parts: Iterable[Part], dialect: str) -> exp.Expr:
    """``select`` over parts, each after those that it reads; one with a single reader is part of that."""
    made = [_named(part, dialect) for part in parts]
    if made:
        select.set("with_", exp.With(expressions=made))
    return select


def _named(part: Part, dialect: str) -> exp.CTE:
    alias = exp.TableAlias(this=name(part.name))
    if part.readers < 2:
        return exp.CTE(this=part.query, alias=alias)
    if dialect == "spark":
        part.query.append("expressions", exp.Alias(this=call("rand"), alias=name(_KEPT)))
        return exp.CTE(this=part.query, alias=alias)
    return exp.CTE(this=part.query, alias=alias, materialized=True)


def passed_on(variables: tuple[Variable, ...]) -> list[tuple[exp.Expr, str]]:
    """The columns as they are."""
    return [(column(v.name), v.name) for v in variables]

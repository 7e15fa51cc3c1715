"""What a converted node is to the nodes above it, and the builders that operators share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shared.plan.expressions import Variable
from shared.plan.nodes import OrderingScheme
from sidecar.velox.expressions import UNCHECKED, Scope
from sidecar.velox.expressions import field as field_expression
from sidecar.velox.types import Json, row_type, velox_type


@dataclass(frozen=True, slots=True)
class Relation:
    """A Velox plan node and its output columns in order."""

    node: Json
    columns: Mapping[str, Json]

    @property
    def row(self) -> Json:
        """The output as Velox ROW."""
        return row_type(list(self.columns), list(self.columns.values()))


@dataclass(slots=True)
class Conversion:
    """State of one fragment's conversion: its switches and what the renderer must know besides the plan."""

    resolve: bool
    values: dict[str, tuple[int, str]] = field(default_factory=dict)
    depth: int = 0

    def scope(self, *sources: Relation) -> Scope:
        """The columns that expressions over ``sources`` may read."""
        if not self.resolve:
            return UNCHECKED
        columns: dict[str, Json] = {}
        for source in sources:
            columns.update(source.columns)
        return Scope(columns, {})


def node(name: str, node_id: str, sources: Iterable[Relation], **fields: object) -> Json:
    """A Velox plan node."""
    children = [s.node for s in sources]
    plan: Json = {"name": name, "id": node_id, **fields}
    if children:
        plan["sources"] = children
    return plan


def columns_of(variables: Iterable[Variable]) -> dict[str, Json]:
    """Variables as output columns."""
    return {v.name: velox_type(v.type) for v in variables}


def row_of(columns: Mapping[str, Json]) -> Json:
    """Output columns as Velox ROW."""
    return row_type(list(columns), list(columns.values()))


def fields(variables: Iterable[Variable], scope: Scope) -> list[Json]:
    """Column references."""
    return [field_expression(v, scope) for v in variables]


def sort_order(order: str) -> Json:
    """Velox's form of ASC_NULLS_LAST and its like."""
    return {"ascending": order.startswith("ASC"), "nullsFirst": order.endswith("NULLS_FIRST")}


def sorting(
    scheme: OrderingScheme, scope: Scope, without: frozenset[str] = frozenset()
) -> tuple[list[Json], list[Json]]:
    """Sort keys and their orders, less the columns named in ``without``."""
    kept = [o for o in scheme.orderBy if o.variable.name not in without]
    return [field_expression(o.variable, scope) for o in kept], [sort_order(o.sortOrder) for o in kept]

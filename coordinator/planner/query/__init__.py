"""Queries to plans: ``plan_query`` and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coordinator.connectors.registry import Catalogs
from coordinator.planner.query.planner import QueryPlanner
from coordinator.planner.query.pushdown import unguarded
from coordinator.sql.tree.queries import Query
from coordinator.vocabulary.nesting import too_deep
from coordinator.vocabulary.planned_statement import Column
from coordinator.vocabulary.source_locations import inherit_locations
from shared.errors import ErrorCode
from shared.plan.expressions import Constant, Variable
from shared.plan.nodes import OutputNode
from shared.plan.types import parse_type
from shared.spi.connector import TableMetadata
from shared.spi.session import Session

MAX_COLUMNS = 10_000
"""Of a result: each page of the protocol describes them all."""
MAX_FIELDS = 50_000
"""Of the rows in them, with all other types within types."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A planned query: its result columns, its logical plan, the tables it reads and their known rows by scan id."""

    columns: tuple[Column, ...]
    root: OutputNode
    tables: tuple[TableMetadata, ...]
    table_rows: Mapping[str, int] = field(default_factory=dict)
    distinct_values: Mapping[str, float] = field(default_factory=dict)
    """Of columns, by the names of their variables."""
    notes: tuple[str, ...] = ()
    """What was taken of each materialized view."""


def plan_query(tree: Query, session: Session, catalogs: Catalogs, parameters: tuple[Constant, ...] = ()) -> QueryPlan:
    """The plan of a query; ``parameters`` are the values of its ``?``.

    Raises ProcessionErrors with Presto's texts, located in the query's text.
    """
    planner = QueryPlanner(session, catalogs, (tree,), parameters, set())
    try:
        plan = planner.plan_query(tree, planner.context)
    except RecursionError as error:
        raise too_deep() from error
    names = tuple(f.name or f"_col{i}" for i, f in enumerate(plan.visible))
    variables = tuple(f.variable for f in plan.visible)
    if (too_wide := _too_wide(variables)) is not None:
        raise planner.context.error(tree, too_wide, ErrorCode.NOT_SUPPORTED)
    output = OutputNode(
        id=planner.ids.node(),
        source=unguarded(plan.node, planner.ids.guards),
        columnNames=names,
        outputVariables=variables,
    )
    root = inherit_locations(output)
    assert isinstance(root, OutputNode)
    columns = tuple(Column(n, v.type) for n, v in zip(names, variables, strict=True))
    rows = known_rows(planner.scans)
    return QueryPlan(
        columns, root, tuple(planner.scans.values()), rows, planner.distinct_values, tuple(planner.findings.notes)
    )


def known_rows(scans: Mapping[str, TableMetadata]) -> dict[str, int]:
    """Of tables whose rows are known, how many there are, by the id of a scan."""
    return {scan: table.row_count for scan, table in scans.items() if table.row_count is not None}


def _too_wide(variables: tuple[Variable, ...]) -> str | None:
    if len(variables) > MAX_COLUMNS:
        return f"Query has {len(variables)} columns, and {MAX_COLUMNS} are possible"
    fields = sum(parse_type(variable.type).length for variable in variables)
    if fields > MAX_FIELDS:
        return f"Columns of the query are made of {fields} types, and {MAX_FIELDS} are possible"
    return None

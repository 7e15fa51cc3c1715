"""Queries to plans: ``plan_query`` and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot.tokens import Token

from coordinator.analyzer.literal_nodes import literal_expression
from coordinator.analyzer.locations import Places
from coordinator.analyzer.syntax import parse_query, query_tokens
from coordinator.analyzer.token_rewriter import REWRITTEN
from coordinator.connectors.registry import Catalogs
from coordinator.planner.planned_statement import Column
from coordinator.planner.query.planner import QueryPlanner
from coordinator.planner.source_locations import inherit_locations
from coordinator.sql.tokens import too_large
from shared.errors import ErrorLocation
from shared.plan.expressions import Constant
from shared.plan.nodes import OutputNode
from shared.spi.connector import TableMetadata
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A planned query: its result columns, its logical plan, the tables it reads and their known rows by scan id."""

    columns: tuple[Column, ...]
    root: OutputNode
    tables: tuple[TableMetadata, ...]
    table_rows: Mapping[str, int] = field(default_factory=dict)
    distinct_values: Mapping[str, float] = field(default_factory=dict)
    """Of columns, by the names of their variables."""


def plan_query(
    tree: Any,
    text: str,
    session: Session,
    catalogs: Catalogs,
    parameters: tuple[Any, ...] = (),
    tokens: Sequence[Token] | None = None,
) -> QueryPlan:
    """The plan of the query in the statement ``text``.

    ``tree`` may be None or any sqlglot tree: unless ``coordinator.analyzer.syntax`` made it, ``text`` is parsed again,
    without a leading EXPLAIN […] or PREPARE … FROM. ``parameters`` are the Python values, or constants,
    of the query's ``?``, ``tokens`` those of the query where the caller has them.
    Raises located ProcessionErrors with Presto's texts.
    """
    if tree is None or not tree.meta.get(REWRITTEN):
        tokens = query_tokens(text)
        tree = parse_query(text, tokens)
    values = tuple(p if isinstance(p, Constant) else literal_expression(p) for p in parameters)
    planner = QueryPlanner(text, session, catalogs, values, Places(text, tokens))
    try:
        plan = planner.plan_query(tree, planner.context)
    except RecursionError as error:
        raise too_large(ErrorLocation(1, 1)) from error
    names = tuple(f.name or f"_col{i}" for i, f in enumerate(plan.visible))
    variables = tuple(f.variable for f in plan.visible)
    output = OutputNode(id=planner.ids.node(), source=plan.node, columnNames=names, outputVariables=variables)
    root = inherit_locations(output)
    assert isinstance(root, OutputNode)
    columns = tuple(Column(n, v.type) for n, v in zip(names, variables, strict=True))
    known = {scan: table.row_count for scan, table in planner.scans.items() if table.row_count is not None}
    return QueryPlan(columns, root, tuple(planner.scans.values()), known, planner.distinct_values)

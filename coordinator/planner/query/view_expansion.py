"""A view in FROM: its query is analyzed under the view's own catalog and schema, its columns are what it promised.

Source of rules and texts: Presto's ``StatementAnalyzer`` (processView, analyzeView, isViewStale).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coordinator.analyzer.context import Context
from coordinator.analyzer.scope import ScopeField
from coordinator.expressions.builders import coerce
from coordinator.expressions.types import can_coerce, read_type
from coordinator.planner.query.builder import Builder, RelationPlan
from coordinator.planner.query.planning import Planning
from coordinator.sql.parser import parse_query
from coordinator.sql.tree.queries import Query, Table
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import RowExpression
from shared.spi.connector import ViewMetadata
from shared.spi.session import Session

ViewName = tuple[str, str, str]
"""Catalog, schema and name, lower case."""


def name_of(view: ViewMetadata) -> ViewName:
    """What a view is called."""
    return view.catalog.lower(), view.schema.lower(), view.name.lower()


def session_of_view(session: Session, view: ViewMetadata) -> Session:
    """As whom a view's query is planned: under its own catalog and schema, and without the user's functions."""
    return replace(session, catalog=view.default_catalog, schema=view.default_schema, functions=())


def refuse_recursion(view: ViewMetadata, open_views: Sequence[ViewName], node: Table, context: Context) -> None:
    """Raises SYNTAX_ERROR where the view stands in its own query."""
    if name_of(view) in open_views:
        raise context.error(node, "View is recursive")


def parse_view(view: ViewMetadata, node: Table, context: Context) -> Query:
    """The tree of the view's query; raises ProcessionError, located where the view is named."""
    if not view.definition:
        message = f"Cannot read view '{'.'.join(name_of(view))}': its dialect is '{view.dialect}'"
        raise context.error(node, message, ErrorCode.NOT_SUPPORTED)
    try:
        return parse_query(view.definition)
    except ProcessionError as error:
        message = f"Failed parsing stored view '{'.'.join(name_of(view))}': {error.wire_message}"
        raise context.error(node, message) from error


def analysis_failure(view: ViewMetadata, error: ProcessionError, node: Table, context: Context) -> ProcessionError:
    """What is told where the view is named; failures that are not the view's fault stay as they are."""
    if error.code.type != "USER_ERROR":
        return error
    return context.error(node, f"Failed analyzing stored view '{'.'.join(name_of(view))}': {error.wire_message}")


def promised_columns(
    planner: Planning, view: ViewMetadata, plan: RelationPlan, node: Table, context: Context
) -> RelationPlan:
    """The plan with the names and types that the view was made with; raises SYNTAX_ERROR when it cannot have them."""
    fields = plan.visible
    if len(view.columns) != len(fields) or any(
        (f.name or c.name).lower() != c.name.lower() or not can_coerce(read_type(f.variable.type), read_type(c.type))
        for f, c in zip(fields, view.columns, strict=False)
    ):
        raise context.error(node, f"View '{'.'.join(name_of(view))}' is stale; it must be re-created")
    builder = Builder(planner.ids, plan.node)
    wanted: list[tuple[RowExpression, str]] = [
        (
            f.variable if f.variable.type == c.type else coerce(f.variable, read_type(c.type), context.zone),
            c.name,
        )
        for f, c in zip(fields, view.columns, strict=True)
    ]
    variables = builder.add(wanted)
    relation = name_of(view)
    named = (ScopeField(c.name.lower(), v, relation) for c, v in zip(view.columns, variables, strict=True))
    return RelationPlan(builder.node, tuple(named))

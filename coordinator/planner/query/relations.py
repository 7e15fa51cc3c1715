"""FROM: tables, subqueries and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from coordinator.analyzer.context import Context
from coordinator.analyzer.scope import ScopeField
from coordinator.planner.query.aliases import aliased
from coordinator.planner.query.builder import RelationPlan, with_own_variables
from coordinator.planner.query.guarded_relations import guarded_table
from coordinator.planner.query.planning import Planning
from coordinator.planner.query.relation_joins import plan_joins
from coordinator.planner.query.samples import sampled
from coordinator.planner.query.sent_rows import plan_sent_rows, reads_sent_rows
from coordinator.planner.query.table_version import table_version, version_in_session
from coordinator.planner.query.unnest import plan_unnest
from coordinator.sql.tree.queries import (
    AliasedRelation,
    Join,
    Lateral,
    Relation,
    SampledRelation,
    Table,
    TableSubquery,
    Unnest,
)
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableScanNode
from shared.spi.accesses import TableName
from shared.spi.connector import TableMetadata, ViewMetadata


def plan_relation(planner: Planning, node: Relation, context: Context) -> RelationPlan:
    """One item of FROM, by itself."""
    match node:
        case Table():
            return _table(planner, node, context)
        case TableSubquery():
            return with_own_variables(planner.ids, planner.plan_nested(node.query, context))
        case AliasedRelation():
            return aliased(planner.ids, planner.plan_relation(node.relation, context), node, context)
        case SampledRelation():
            return sampled(planner.ids, planner.plan_relation(node.relation, context), node, context)
        case Join():
            return plan_joins(planner, node, context)
        case Unnest():
            return plan_unnest(planner, node, None, context)
        case Lateral():
            return with_own_variables(planner.ids, planner.plan_nested(node.query, context))
        case _:
            assert_never(node)


def _table(planner: Planning, node: Table, context: Context) -> RelationPlan:
    parts = [part.value for part in node.name]
    name = parts[0].lower()
    if reads_sent_rows(parts, planner.session):
        return plan_sent_rows(planner, node, context)
    if len(parts) > 1 or name not in planner.named:
        return _scan(planner, node, parts, context)
    named = planner.plan_cte(name, context)
    fields = tuple(ScopeField(f.name, f.variable, (name,)) for f in named.visible)
    return with_own_variables(planner.ids, RelationPlan(named.node, fields))


def _scan(planner: Planning, node: Table, parts: list[str], context: Context) -> RelationPlan:
    table = find_relation(planner, node, parts, context)
    if isinstance(table, ViewMetadata):
        return planner.plan_view(table, node, context)
    # Hidden columns belong to the scan only where the statement names one.
    columns = [*table.columns, *(c for c in table.hidden_columns if planner.is_named(c.name))]
    relation = (table.catalog.lower(), table.schema.lower(), table.name.lower())
    fields, assignments = [], {}
    place = context.place(node)
    for column in columns:
        variable = planner.ids.variable(column.name, column.type, place)
        assignments[variable.key] = column.handle
        if column.name in table.distinct_values:
            planner.distinct_values[variable.name] = table.distinct_values[column.name]
        fields.append(ScopeField(column.name, variable, relation, column.hidden))
    shown = tuple(f.variable for f in fields)
    scan = TableScanNode(
        sourceLocation=place,
        id=planner.ids.node(),
        table=table.handle,
        outputVariables=shown,
        assignments=assignments,
    )
    planner.scans[scan.id] = table
    if context.columns is not None:
        context.columns.update(v.name for v in shown)
    return guarded_table(planner, table, RelationPlan(scan, tuple(fields)), node, context)


def find_relation(  # noqa: C901 - each step ends in an error of its own
    planner: Planning, node: Table, parts: Sequence[str], context: Context
) -> TableMetadata | ViewMetadata:
    """The table or view that a name means; raises Presto's errors, which carry no location."""
    if len(parts) > 3:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Too many dots in table name: {'.'.join(parts)}")
    session = planner.session
    name = parts[-1].lower()
    schema = parts[-2].lower() if len(parts) > 1 else session.schema
    catalog = parts[-3].lower() if len(parts) > 2 else session.catalog
    if catalog is None:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, "Catalog must be specified when session catalog is not set")
    if schema is None:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, "Schema must be specified when session schema is not set")
    for what, part in (("Catalog", catalog), ("Schema", schema), ("Table", name)):
        if not part:
            raise context.error(node, f"{what} name is empty")
    planner.catalogs.connector(catalog)  # raises when there is no such catalog, before anything else is looked at
    version = table_version(node.version, f"{catalog}.{schema}.{name}", context)
    if version is None:
        version = version_in_session(planner.catalogs.connector(catalog), schema, name, session)
    if not (planner.open_guards or planner.open_views):
        planner.findings.names[node.location.line, node.location.column] = (len(parts), catalog, schema)
    try:
        table = planner.catalogs.table(catalog, schema, name, version)
    except ProcessionError:
        planner.guard.read_in_vain(TableName(catalog, schema, name), planner.reader)
        raise
    if table is not None:
        if version is not None or table.name.lower() != name:
            planner.findings.versions.append(name)
        return table
    view = planner.catalogs.view(catalog, schema, name)
    if view is not None:
        if version is not None:
            raise context.unsupported(node, "Time travel on a view")
        return view
    if not planner.catalogs.schema_exists(catalog, schema):
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Schema {schema} does not exist")
    raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Table {catalog}.{schema}.{name} does not exist")

"""Relations as somebody may see them: what is read is noted, row filters and column masks stand above the scan.

Both are analyzed against the relation alone: no name of the query means anything in them. A filter sees columns
unmasked, and so does a mask the other columns. Source of rules and texts: Presto's ``StatementAnalyzer``
(analyzeRowFilter, analyzeColumnMask) and ``RelationPlanner``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from coordinator.analyzer.context import Context
from coordinator.analyzer.determinism import deterministic
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.expressions.builders import coerce, conjunction, constant, special, typed
from coordinator.expressions.types import BOOLEAN, can_coerce, read_type, type_text
from coordinator.planner.guard import Guard, Reader, TableRead, columns_of
from coordinator.planner.query.builder import Builder, RelationPlan
from coordinator.planner.query.collector import Collector
from coordinator.planner.query.no_aggregates import NoAggregates
from coordinator.planner.query.planning import Planning
from coordinator.planner.query.subqueries import apply_subqueries
from coordinator.security.access_control.denials import denied
from coordinator.sql.parser import parse_expression
from coordinator.sql.tree.queries import Table
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import RowExpression, Variable
from shared.plan.traversal import output_variables
from shared.spi.access_control import ViewExpression
from shared.spi.accesses import SelectFromColumns, TableName
from shared.spi.connector import TableMetadata, ViewMetadata

_MISPLACED = " cannot contain aggregations"
_WITHOUT_VALUES = frozenset(("history", "metadata_log_entries", "properties", "refs", "snapshots"))
"""Metadata tables that tell no values of columns."""


def view_reader(guard: Guard, view: ViewMetadata, reader: Reader) -> Reader:
    """As whom the tables of a view are read: as its owner, unless it says INVOKER or does not say whose it is."""
    return reader if view.security == "INVOKER" or view.owner is None else guard.owner(view.owner, reader)


def guarded_table(
    planner: Planning, table: TableMetadata, plan: RelationPlan, node: Table, context: Context
) -> RelationPlan:
    """A scan as the reader may see it. Raises ProcessionError."""
    schema = table.schema.lower()
    if table.tells_of is None:
        name = TableName(table.catalog.lower(), schema, table.name.lower())
        return guarded(planner, name, plan, node, context, table.path_tells)
    _read_metadata(planner, TableName(table.catalog.lower(), schema, table.tells_of.lower()), table.name)
    return plan


def _read_metadata(planner: Planning, data_table: TableName, name: str) -> None:
    """Counts and bounds of files are of all rows and of values as they are. Raises AccessDeniedError."""
    kind = name.rpartition("$")[2].partition("@")[0]
    every_column = columns_of(planner.catalogs, data_table)
    columns = () if kind in _WITHOUT_VALUES else every_column
    if kind == "snapshots":  # whose summaries may tell of each partition
        table = planner.catalogs.table(data_table.catalog, data_table.schema, data_table.table)
        columns = () if table is None else table.path_tells
    everything = {column: column for column in columns}
    planner.guard.read(TableRead(data_table, everything, set(everything), planner.reader))
    guard, reader = planner.guard, planner.reader
    if guard.row_filters(data_table, reader) or guard.column_masks(data_table, every_column, reader):
        of_kind = TableName(data_table.catalog, data_table.schema, name.lower())
        raise denied(SelectFromColumns(of_kind, ()), f"{data_table} has a row filter or column masks")


def guarded(
    planner: Planning,
    name: TableName,
    plan: RelationPlan,
    node: Table,
    context: Context,
    path_tells: tuple[str, ...] = (),
) -> RelationPlan:
    """A table or view as the reader may see it; ``path_tells`` as ``TableMetadata`` has it. Raises ProcessionError."""
    columns = {f.variable.name: f.name.lower() for f in plan.fields if f.name is not None}
    read = TableRead(name, columns, context.references, planner.reader, path_tells=path_tells)
    if name in planner.open_guards:
        planner.guard.read(read)
        return _recursive(planner, name, plan, context, node)
    filters = planner.guard.row_filters(name, planner.reader)
    masks = planner.guard.column_masks(name, _types(plan), planner.reader)
    read = replace(read, masked=frozenset(masks))
    planner.guard.read(read)
    if not filters and not masks:
        return plan
    guarding = _Guarding(planner, read, plan, node, context)
    builder, kept = guarding.filtered(filters)
    return guarding.masked(builder, masks, kept)


def _recursive(planner: Planning, name: TableName, plan: RelationPlan, context: Context, node: Table) -> RelationPlan:
    """A table inside its own filter or mask: an error where that has one for its reader, too."""
    if planner.guard.row_filters(name, planner.reader):
        raise context.error(node, f"Row filter for '{name}' is recursive")
    masked = planner.guard.column_masks(name, _types(plan), planner.reader)
    if masked:
        message = f"Column mask for '{name}.{next(iter(masked))}' is recursive"
        raise context.error(node, message)
    return plan


def _types(plan: RelationPlan) -> dict[str, str]:
    """By the names of columns."""
    return {f.name.lower(): f.variable.type for f in plan.fields if f.name is not None}


class _Guarding:
    """One relation on its way."""

    def __init__(self, planner: Planning, read: TableRead, plan: RelationPlan, node: Table, context: Context) -> None:
        self._planner, self._read, self._plan, self._node, self._context = planner, read, plan, node, context
        self._name = read.table
        self._scope = Scope(tuple(structs.replace(f, hidden=False) for f in plan.fields))

    def filtered(self, filters: Sequence[ViewExpression]) -> tuple[Builder, RowExpression | None]:
        """The rows for which every filter is true, and what is true for them alone, if it always is the same."""
        builder = Builder(self._planner.ids, self._plan.node)
        predicates: list[RowExpression] = []
        for each in filters:
            what = f"row filter for '{self._name}'"
            predicate = self._analyzed(each, builder, what)
            type_ = typed(predicate)
            if type_ != BOOLEAN and type_.base != "unknown":
                message = f"Expected row filter for '{self._name}' to be of type BOOLEAN, but was {type_text(type_)}"
                raise self._context.error(self._node, message)
            predicates.append(coerce(predicate, BOOLEAN))
            builder.filter(predicates[-1])
        kept = conjunction(predicates) if predicates else None
        return builder, kept if kept is not None and deterministic(kept) else None

    def masked(self, builder: Builder, masks: Mapping[str, ViewExpression], kept: RowExpression | None) -> RelationPlan:
        """Masked columns have variables of their own, so that nothing above can mean the values below.

        So have all columns above a row filter. Engines compute what stands above it for rows that it hides, too, as
        they like; for these the columns are NULL, so that nothing fails on a value of theirs.
        """
        replaced: dict[Variable, RowExpression] = {}
        for column, mask in masks.items():
            for field in self._plan.fields:
                if field.name is not None and field.name.lower() == column:
                    replaced[field.variable] = self._mask(builder, column, mask, field.variable)
        if kept is not None:
            for field in self._plan.fields:
                seen = replaced.get(field.variable, field.variable)
                replaced[field.variable] = special("IF", typed(seen), kept, seen, constant(None, typed(seen)))
        ids = self._planner.ids
        fields: list[ScopeField] = []
        assignments: dict[str, RowExpression] = {}
        for field in self._plan.fields:
            value = replaced.get(field.variable)
            variable = field.variable
            if value is not None:
                variable = ids.variable(field.name or "mask", field.variable.type, field.variable.sourceLocation)
                known = self._planner.distinct_values.pop(field.variable.name, None)
                if known is not None and field.name is not None and field.name.lower() not in masks:
                    self._planner.distinct_values[variable.name] = known
            assignments[variable.key] = field.variable if value is None else value
            fields.append(structs.replace(field, variable=variable))
        if replaced or tuple(output_variables(builder.node)) != tuple(f.variable for f in fields):
            builder.project(assignments)
            if kept is not None:
                ids.guards.add(builder.node.id)
        if replaced:
            self._note(fields)
        return RelationPlan(builder.node, tuple(fields))

    def _note(self, fields: Sequence[ScopeField]) -> None:
        """References to masked columns are references to what they stand for."""
        columns = {f.variable.name: f.name.lower() for f in fields if f.name is not None}
        self._planner.guard.read(replace(self._read, columns=columns))

    def _mask(self, builder: Builder, column: str, mask: ViewExpression, variable: Variable) -> RowExpression:
        what = f"column mask for '{self._name}.{column}'"
        value = self._analyzed(mask, builder, what)
        wanted = read_type(variable.type)
        if not can_coerce(typed(value), wanted):
            shown = type_text(typed(value))
            message = f"Expected {what} to be of type {variable.type}, but was {shown}"
            raise self._context.error(self._node, message)
        return coerce(value, wanted, self._context.zone)

    def _analyzed(self, given: ViewExpression, builder: Builder, what: str) -> RowExpression:
        """The expression over the relation alone, its subqueries joined to ``builder``."""
        planner = self._planner
        user = planner.reader.identity.user if given.user is None else given.user
        reader = planner.reader if given.user is None else planner.guard.reader_named(given.user)
        asked = planner.session
        session = replace(asked, user=user, catalog=given.catalog, schema=given.schema, functions=())
        try:
            tree = parse_expression(given.expression)
            guards = (*planner.open_guards, self._name)
            with planner.plan_apart(guards, session, reader, (tree,)) as context:
                collector = Collector(planner.ids, planner)
                refusing = NoAggregates(collector, what, tree)
                inner = structs.replace(context, scope=self._scope, collector=refusing, clause=what)
                made = analyze_expression(tree, inner)
                apply_subqueries(builder, collector.subqueries, {})
        except ProcessionError as error:
            if error.code is ErrorCode.PERMISSION_DENIED or error.message.endswith("is recursive"):
                raise
            if _MISPLACED in error.message:
                raise self._context.error(self._node, error.message[0].upper() + error.message[1:]) from error
            raise self._context.error(self._node, f"Invalid {what}: {error.wire_message}") from error
        return made

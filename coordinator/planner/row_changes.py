"""DELETE and UPDATE: scan → filter → Delete or Update → TableFinish → Output, with Presto's rules.

A predicate over the table's own columns is handed to the engine as it is; one with subqueries becomes joins, and then
the rows are named by file and position (``$file``, ``$rowid``: Iceberg's ``_file`` and ``_pos``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import structs

from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_condition, analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.connectors.registry import Catalogs
from coordinator.expressions.builders import coerce, typed
from coordinator.expressions.folding import NotConstantError, evaluate
from coordinator.expressions.types import can_coerce, read_type, type_text
from coordinator.planner.guard import TableRead
from coordinator.planner.object_names import ObjectName, connector_of, object_name, refuse_view, writable, written_name
from coordinator.planner.query.builder import Builder
from coordinator.planner.query.collector import Collector
from coordinator.planner.query.no_aggregates import NoAggregates
from coordinator.planner.query.planner import QueryPlanner
from coordinator.planner.query.subqueries import apply_subqueries
from coordinator.planner.query.table_version import version_in_session
from coordinator.planner.writes import PlannedWrite, rows_output
from coordinator.sql.dml_statements import ColumnValue, Delete, Update
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.node import Node
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import DeleteNode, PlanNode, TableScanNode, UpdateNode
from shared.plan.types import Type
from shared.spi.accesses import TableName
from shared.spi.connector import TableMetadata
from shared.spi.session import Session
from shared.spi.table_writes import RowFilter, TableWrite

FILE = Variable(name="$file", type="varchar")
_OF_VIEWS = {"deletes": "Deleting from", "updates": "Updating", "merges": "Merging into"}
ROW_ID = Variable(name="$rowid", type="bigint")
LINEAGE = Variable(name="$row_lineage", type="bigint")
"""Iceberg's ``_row_id``, which an updated row keeps: of tables of version 3."""


@dataclass(frozen=True, slots=True)
class RowClause:
    """What becomes of rows that match, or of source rows that match none: values by column."""

    matched: bool
    action: Literal["UPDATE", "DELETE", "INSERT"]
    condition: RowExpression | None = None
    values: tuple[tuple[str, RowExpression], ...] = ()


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of rows in terms of the plan's variables: ``columns`` are the target's, by variable name.

    ``condition`` is that of the join to the source, a single row where there is none. With ``by_position`` the plan
    below the Delete or Update node names the rows, and ``condition`` is None.
    """

    columns: Mapping[str, str]
    condition: RowExpression | None
    clauses: tuple[RowClause, ...]
    source: PlanNode | None = None
    source_columns: tuple[Variable, ...] = ()
    by_position: bool = False


@dataclass(slots=True)
class Target:
    """The table that is changed: its scan, and what names mean in it."""

    table: TableMetadata
    scan: TableScanNode
    fields: tuple[ScopeField, ...]

    @property
    def columns(self) -> dict[str, str]:
        """Column names by variable name."""
        return {f.variable.name: f.name for f in self.fields if f.name is not None}

    def variable(self, column: str) -> Variable | None:
        return next((f.variable for f in self.fields if f.name == column), None)


def plan_delete(statement: Delete, session: Session, catalogs: Catalogs) -> PlannedWrite:
    """Raises ProcessionError: no such table, or a predicate that is none."""
    name = object_name(statement.name, statement.location, session)
    planner = QueryPlanner(session, catalogs, () if statement.where is None else (statement.where,))
    target = scan_target(planner, name, statement.location, None, "deletes")
    builder, collector = Builder(planner.ids, target.scan), Collector(planner.ids, planner)
    predicate = _predicate(planner, target, statement.where, collector)
    apply_subqueries(builder, collector.subqueries, {})
    if predicate is not None:
        builder.filter(predicate)
    outputs = (planner.ids.variable("partialrows", "bigint"), planner.ids.variable("fragment", "varbinary"))
    node = DeleteNode(id=planner.ids.node(), source=builder.node, rowId=ROW_ID, outputVariables=outputs)
    by_position = bool(collector.subqueries)
    write = TableWrite(
        name.catalog,
        target.table.schema,
        written_name(name, target.table),
        "DELETE",
        "",
        "",
        target.table.snapshot_id,
        row_filter=None if predicate is None or by_position else RowFilter(predicate, target.columns),
        all_rows=predicate is None,
        by_position=by_position,
        location=target.table.location,
    )
    change = RowChange(target.columns, predicate, (RowClause(True, "DELETE"),), by_position=by_position)
    return PlannedWrite(rows_output(planner, node), write, tuple(planner.scans.values()), "DELETE", change)


def plan_update(statement: Update, session: Session, catalogs: Catalogs) -> PlannedWrite:
    """Raises ProcessionError: no such table or column, or types that do not fit."""
    name = object_name(statement.name, statement.location, session)
    planner = QueryPlanner(session, catalogs, _expressions(statement))
    target = scan_target(planner, name, statement.location, statement.alias, "updates")
    builder, collector = Builder(planner.ids, target.scan), Collector(planner.ids, planner)
    predicate = _predicate(planner, target, statement.where, collector)
    context = _context(planner, target.fields, collector, "UPDATE")
    values = assigned_values(statement.assignments, target, context, statement.location, "UPDATE")
    apply_subqueries(builder, collector.subqueries, {})
    if predicate is not None:
        builder.filter(predicate)
    made = builder.add((value, column) for column, value in values)
    outputs = (planner.ids.variable("partialrows", "bigint"), planner.ids.variable("fragment", "varbinary"))
    node = UpdateNode(
        id=planner.ids.node(),
        source=builder.node,
        rowId=ROW_ID,
        columnValueAndRowIdSymbols=(*made, ROW_ID),
        outputVariables=outputs,
    )
    by_position = bool(collector.subqueries)
    chosen = tuple(
        (column, variable if by_position else value) for (column, value), variable in zip(values, made, strict=True)
    )
    write = TableWrite(
        name.catalog, target.table.schema, written_name(name, target.table), "UPDATE", "", "", target.table.snapshot_id,
        row_filter=None if predicate is None or by_position else RowFilter(predicate, target.columns),
        by_position=by_position, location=target.table.location,
    )  # fmt: skip
    change = RowChange(
        target.columns, predicate, (RowClause(True, "UPDATE", None, chosen),),
        source_columns=tuple(dict.fromkeys(made)), by_position=by_position,
    )  # fmt: skip
    return PlannedWrite(rows_output(planner, node), write, tuple(planner.scans.values()), "UPDATE", change)


def _expressions(statement: Update) -> tuple[Node, ...]:
    values = tuple(assignment.value for assignment in statement.assignments)
    return values if statement.where is None else (*values, statement.where)


def scan_target(
    planner: QueryPlanner, name: ObjectName, location: ErrorLocation, alias: str | None, what: str
) -> Target:
    """The scan of every column, and of file and position. Raises ProcessionError for what cannot be changed."""
    connector = connector_of(name.catalog, location, planner.catalogs)
    version = version_in_session(connector, name.schema, name.name, planner.session)
    table = connector.table(name.schema, name.name, version)
    if table is None:
        raise _no_table(planner, name, location, what)
    writable(connector, what)
    for place in (FILE, ROW_ID, LINEAGE):  # no column of a subquery is called so
        planner.ids.names.used.setdefault(place.name, 0)
    relation = (alias,) if alias is not None else (table.catalog.lower(), table.schema.lower(), table.name.lower())
    fields, assignments = [], {}
    for column in table.columns:
        if column.hidden:
            continue
        variable = planner.ids.variable(column.name, column.type)
        assignments[variable.key] = column.handle
        fields.append(ScopeField(column.name, variable, relation))
    assignments[FILE.key] = _metadata_column(2147483646, "_file", "varchar")
    assignments[ROW_ID.key] = _metadata_column(2147483645, "_pos", "bigint")
    places = [FILE, ROW_ID]
    lineage = next((c for c in table.hidden_columns if c.name == "_row_id"), None)
    if lineage is not None:
        assignments[LINEAGE.key] = lineage.handle
        places.append(LINEAGE)
    scan = TableScanNode(
        id=planner.ids.node(),
        table=table.handle,
        outputVariables=(*(f.variable for f in fields), *places),
        assignments=assignments,
    )
    planner.scans[scan.id] = table
    columns = {f.variable.name: f.name.lower() for f in fields if f.name is not None}
    changed = TableName(table.catalog.lower(), table.schema.lower(), table.name.lower())
    planner.guard.read(TableRead(changed, columns, planner.references, planner.reader, optional=True))
    return Target(table, scan, tuple(fields))


def _no_table(planner: QueryPlanner, name: ObjectName, location: ErrorLocation, what: str) -> ProcessionError:
    """Raises ProcessionError where it is a view."""
    if not connector_of(name.catalog, location, planner.catalogs).schema_exists(name.schema):
        return ProcessionError(ErrorCode.SYNTAX_ERROR, f"Schema {name.schema} does not exist")
    refuse_view(name, location, planner.catalogs, _OF_VIEWS[what])
    return ProcessionError(ErrorCode.SYNTAX_ERROR, f"Table {name} does not exist")


def _metadata_column(number: int, name: str, type_: str) -> dict[str, object]:
    """Iceberg's metadata column as Presto's Iceberg connector names it in plans."""
    identity = {"id": number, "name": name, "typeCategory": "PRIMITIVE", "children": []}
    return {
        "@type": "iceberg",
        "columnIdentity": identity,
        "type": type_,
        "columnType": "REGULAR",
        "requiredSubfields": [],
    }


def _context(planner: QueryPlanner, fields: Sequence[ScopeField], collector: Collector, clause: str) -> Context:
    refusing = NoAggregates(collector, clause)
    return structs.replace(planner.context, scope=Scope(tuple(fields)), collector=refusing, clause=clause)


def _predicate(
    planner: QueryPlanner, target: Target, where: Expression | None, collector: Collector
) -> RowExpression | None:
    """None for every row."""
    if where is None:
        return None
    context = _context(planner, target.fields, collector, "WHERE clause")
    made = analyze_condition(where, context, "WHERE clause")
    return None if not collector.subqueries and _always_true(made, context) else made


def _always_true(predicate: RowExpression, context: Context) -> bool:
    """As in ``WHERE true`` or ``1 = 1``, with which tools ask for every row."""
    try:
        return evaluate(predicate, context.zone) is True
    except (NotConstantError, ProcessionError):
        return False


def assigned_values(
    assignments: Sequence[ColumnValue],
    target: Target,
    context: Context,
    location: ErrorLocation,
    statement: str,
) -> list[tuple[str, RowExpression]]:
    """The values of SET, coerced to their columns; raises ProcessionError with Presto's texts."""
    found: list[tuple[str, RowExpression]] = []
    for assignment in assignments:
        if target.variable(assignment.column) is None:
            message = f"The {statement} SET target column {assignment.column} doesn't exist"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=assignment.location)
        if any(column == assignment.column for column, _ in found):
            message = f"The {statement} SET target column {assignment.column} is specified more than once"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=assignment.location)
        found.append((assignment.column, analyze_expression(assignment.value, context)))
    return coerced(found, target, context, location, f"{statement} table column types don't match SET expressions")


def coerced(
    values: Sequence[tuple[str, RowExpression]],
    target: Target,
    context: Context,
    location: ErrorLocation,
    complaint: str,
) -> list[tuple[str, RowExpression]]:
    """Values as their columns' types; raises SYNTAX_ERROR listing both when one does not fit.

    An exact number becomes a decimal of any size, checked row by row: ``price + 1`` has a digit more than ``price``.
    """
    types = [read_type(target.variable(column).type) for column, _ in values]  # type: ignore[union-attr]
    actual = [typed(value) for _, value in values]
    if not all(can_coerce(a, k) or _becomes_decimal(a, k) for a, k in zip(actual, types, strict=True)):
        shown = [", ".join(type_text(k) for k in found) for found in (types, actual)]
        message = f"{complaint}: Table: [{shown[0]}], Expressions: [{shown[1]}]"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    return [(column, coerce(value, type_, context.zone)) for (column, value), type_ in zip(values, types, strict=True)]


def _becomes_decimal(actual: Type, wanted: Type) -> bool:
    return wanted.base == "decimal" and actual.base in ("decimal", "tinyint", "smallint", "integer", "bigint")

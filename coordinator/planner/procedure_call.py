"""Bound CALLs to plans.

A rewrite of table data is ``TableScan → [Filter] → CallDistributedProcedure → TableFinish → Output``, maintenance is
``DistributedMaintenance → ProcedureFinish → Output`` (Presto RFC-0021); what runs in the coordinator has no plan.
The plan says what is read and written; how the call runs is the CallProcedure beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never, cast

from coordinator.analyzer.constants import evaluate_constant_text
from coordinator.analyzer.expressions import analyze_predicate
from coordinator.analyzer.procedure_call import BoundCall
from coordinator.connectors.registry import Catalogs
from coordinator.vocabulary.identifiers import PlanNodeIds, Variables
from coordinator.vocabulary.planned_statement import CallProcedure, Column
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, RowExpression, SourceLocation
from shared.plan.nodes import (
    CallDistributedProcedureNode,
    DistributedMaintenanceNode,
    FilterNode,
    OutputNode,
    PlanNode,
    ProcedureFinishNode,
    TableFinishNode,
    TableScanNode,
)
from shared.plan.traversal import free_variables
from shared.spi.connector import TableMetadata
from shared.spi.procedure import ArgumentError, ProcedureKind, TableDataRewriteProcedure, TableTarget
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """``plan`` is None for a procedure of the coordinator alone; ``inputs`` are qualified table names."""

    work: CallProcedure
    columns: tuple[Column, ...]
    plan: PlanNode | None = None
    inputs: tuple[str, ...] = ()


def plan_call(bound: BoundCall, session: Session, catalogs: Catalogs) -> PlannedCall:
    """The plan and the work of a call.

    Raises ProcessionError: the schema or table does not exist, the filter does not parse or is not boolean, or what
    the procedure's own ``validate`` refuses.
    """
    declaration = bound.declaration
    columns = tuple(Column(column.name, column.type) for column in declaration.output_of(bound.arguments))
    work = CallProcedure(
        bound.catalog,
        declaration.name,
        declaration.kind,
        dict(bound.arguments),
        location=bound.location,
        locations=dict(bound.locations),
    )
    match declaration.kind:
        case ProcedureKind.COORDINATOR:
            if _filter_of(bound) is not None:
                work = replace(work, target=_target(bound, session, catalogs)[0])
            return _plan_distributed(bound, catalogs, PlannedCall(work, columns))
        case ProcedureKind.MAINTENANCE:
            return PlannedCall(work, columns, _maintenance_plan(bound))
        case ProcedureKind.TABLE_DATA_REWRITE:
            return _plan_rewrite(bound, session, catalogs, PlannedCall(work, columns))
        case _:
            assert_never(declaration.kind)


def _plan_rewrite(bound: BoundCall, session: Session, catalogs: Catalogs, planned: PlannedCall) -> PlannedCall:
    try:
        cast(TableDataRewriteProcedure, bound.procedure).validate(bound.arguments)
    except ArgumentError as error:
        location = bound.locations.get(error.argument, bound.location)
        raise ProcessionError(error.code, error.message, location=location) from error
    target, table = _target(bound, session, catalogs)
    arguments = {**planned.work.arguments, "schema": table.schema, "table_name": table.name}
    return replace(
        planned,
        work=replace(planned.work, arguments=arguments, target=target),
        plan=rewrite_plan(table, target.filter, _source_location(bound.location)),
        inputs=(f"{table.catalog}.{table.schema}.{table.name}",),
    )


def _plan_distributed(bound: BoundCall, catalogs: Catalogs, planned: PlannedCall) -> PlannedCall:
    """What executors do of a call that the coordinator leads: as for a rewrite of every row.

    A table that is not there is told by the procedure itself, in its own words.
    """
    if not (bound.declaration.distributed and bound.declaration.takes_table):
        return planned
    table = _find_table(bound, catalogs)
    if table is None:
        return planned
    plan = rewrite_plan(table, None, _source_location(bound.location))
    return replace(planned, plan=plan, inputs=(f"{table.catalog}.{table.schema}.{table.name}",))


def _filter_of(bound: BoundCall) -> str | None:
    """The text of the argument ``filter``; None when it takes every row."""
    text: str | None = bound.arguments.get("filter")
    return None if text is None or text.strip().upper() == "TRUE" else text


def _target(bound: BoundCall, session: Session, catalogs: Catalogs) -> tuple[TableTarget, TableMetadata]:
    table = _resolve_table(bound, catalogs)
    filter_text = _filter_of(bound)
    predicate = None if filter_text is None else _analyze_filter(bound, filter_text, table, session)
    given = bound.arguments.get("filter")
    return TableTarget(table.schema, table.name, table.snapshot_id, predicate, given, table.location), table


def _resolve_table(bound: BoundCall, catalogs: Catalogs) -> TableMetadata:
    schema, name = bound.arguments["schema"], bound.arguments["table_name"]
    location = bound.locations.get("table_name", bound.location)
    if not name:
        raise ProcessionError(ErrorCode.INVALID_PROCEDURE_ARGUMENT, "Table name is empty", location=location)
    connector = catalogs.connector(bound.catalog)
    found = _find_table(bound, catalogs)
    if found is not None:
        return found
    if connector.schema_exists(schema) or connector.schema_exists(schema.lower()):
        raise ProcessionError(
            ErrorCode.SYNTAX_ERROR, f"Table {bound.catalog}.{schema}.{name} does not exist", location=location
        )
    raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Schema {schema} does not exist", location=location)


def _find_table(bound: BoundCall, catalogs: Catalogs) -> TableMetadata | None:
    schema, name = bound.arguments["schema"], bound.arguments["table_name"]
    # As written first, for tables that other engines made with capitals; then as Presto reads names.
    for candidate in dict.fromkeys(((schema, name), (schema, name.lower()), (schema.lower(), name.lower()))):
        table = catalogs.table(bound.catalog, *candidate) or _storage_table(bound.catalog, candidate, catalogs)
        if table is not None:
            if candidate[1].lower().startswith(f"{table.name.lower()}."):
                message = f"{candidate[1]} is a branch or tag of table {table.name}: procedures take the table"
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=bound.location)
            return table
    return None


def _storage_table(catalog: str, name: tuple[str, str], catalogs: Catalogs) -> TableMetadata | None:
    """Of a materialized view: its files need looking after as well, though no other statement finds it."""
    views = catalogs.capabilities(catalog).materialized_views
    return None if views is None else views.storage(*name)


def _analyze_filter(bound: BoundCall, filter_text: str, table: TableMetadata, session: Session) -> RowExpression | None:
    """The predicate, None for one that is always true, and a constant for one that is never so."""
    try:
        predicate = analyze_predicate(filter_text, table, session)
        if free_variables(predicate):
            return predicate
        value = evaluate_constant_text(filter_text, "boolean", session)
    except ProcessionError as error:
        location = _in_statement(bound, filter_text, error.location)
        raise ProcessionError(error.code, error.message, location=location) from error
    return None if value is True else boolean_constant(value=False)


def _in_statement(bound: BoundCall, filter_text: str, inside: ErrorLocation | None) -> ErrorLocation | None:
    """Where in the statement a place of the filter's text stands, when that was written as a plain literal."""
    written = bound.literals.get("filter")
    # In ALTER TABLE … EXECUTE the filter stands behind WHERE as it is.
    is_plain = written is not None and written.text == filter_text
    if inside is None or written is None or not (is_plain or written.text.startswith("'")):
        return bound.locations.get("filter", bound.location)
    lines = filter_text.split("\n")
    position = sum(len(line) + 1 for line in lines[: inside.line - 1]) + inside.column - 1
    if not is_plain:
        position += 1 + filter_text.count("'", 0, position)
    begin, before = written.value.location, written.text[:position]
    if "\n" not in before:
        return ErrorLocation(begin.line, begin.column + position)
    return ErrorLocation(begin.line + before.count("\n"), position - before.rfind("\n"))


def boolean_constant(*, value: bool) -> Constant:
    """A boolean literal as the wire has it."""
    return Constant(valueBlock=encode_constant(value, "boolean"), type="boolean")


def rewrite_plan(table: TableMetadata, predicate: RowExpression | None, location: SourceLocation | None) -> PlanNode:
    """The plan of a TABLE_DATA_REWRITE over the visible columns of ``table``."""
    ids, variables = PlanNodeIds(), Variables()
    visible = [column for column in table.columns if not column.hidden]
    scanned = tuple(variables.new(column.name, column.type, location) for column in visible)
    handles: dict[str, dict[str, object]] = {v.key: c.handle for v, c in zip(scanned, visible, strict=True)}
    plan: PlanNode = TableScanNode(
        id=ids.next(), sourceLocation=location, table=table.handle, outputVariables=scanned, assignments=handles
    )
    if predicate is not None:
        plan = FilterNode(id=ids.next(), sourceLocation=location, source=plan, predicate=predicate)
    plan = CallDistributedProcedureNode(
        id=ids.next(),
        sourceLocation=location,
        source=plan,
        rowCountVariable=variables.new("rows", "bigint"),
        fragmentVariable=variables.new("fragments", "varbinary"),
        tableCommitContextVariable=variables.new("commitcontext", "varbinary"),
        columns=scanned,
        columnNames=tuple(column.name for column in visible),
        notNullColumnVariables=(),
    )
    rows = variables.new("rows", "bigint")
    plan = TableFinishNode(id=ids.next(), sourceLocation=location, source=plan, rowCountVariable=rows)
    return OutputNode(
        id=ids.next(), sourceLocation=location, source=plan, columnNames=("rows",), outputVariables=(rows,)
    )


def _maintenance_plan(bound: BoundCall) -> PlanNode:
    ids, variables, location = PlanNodeIds(), Variables(), _source_location(bound.location)
    name = f"{bound.catalog}.system.{bound.declaration.name}"
    plan: PlanNode = DistributedMaintenanceNode(
        id=ids.next(),
        sourceLocation=location,
        procedureName=name,
        outputVariables=(variables.new("worker", "varchar"), variables.new("fragments", "varbinary")),
    )
    columns = bound.declaration.output_of(bound.arguments)
    outputs = tuple(variables.new(column.name, column.type) for column in columns)
    plan = ProcedureFinishNode(
        id=ids.next(), sourceLocation=location, source=plan, procedureName=name, outputVariables=outputs
    )
    return OutputNode(
        id=ids.next(),
        sourceLocation=location,
        source=plan,
        columnNames=tuple(column.name for column in columns),
        outputVariables=outputs,
    )


def _source_location(location: ErrorLocation) -> SourceLocation:
    return SourceLocation(line=location.line, column=location.column)

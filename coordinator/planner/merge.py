"""MERGE as Presto plans it: source joined to target → the row that each case makes → MergeProcessor → MergeWriter."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_condition, analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.connectors.registry import Catalogs
from coordinator.expressions.builders import conjunction, constant, not_, special, typed
from coordinator.expressions.types import BOOLEAN, INTEGER, read_type, row
from coordinator.planner.object_names import object_name, written_name
from coordinator.planner.query.builder import Builder, RelationPlan
from coordinator.planner.query.planner import QueryPlanner
from coordinator.planner.row_changes import ROW_ID, RowChange, RowClause, Target, assigned_values, coerced, scan_target
from coordinator.planner.writes import PlannedWrite, rows_output
from coordinator.sql.dml_statements import Merge, MergeCase
from coordinator.sql.tree.node import Node
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import RowExpression
from shared.plan.nodes import JoinNode, MergeProcessorNode, MergeWriterNode, PlanNode
from shared.plan.traversal import output_variables
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite


def plan_merge(statement: Merge, session: Session, catalogs: Catalogs) -> PlannedWrite:
    """Raises ProcessionError: no such table or column, types that do not fit, or subqueries inside the cases."""
    name = object_name(statement.name, statement.location, session)
    planner = QueryPlanner(session, catalogs, _nodes(statement))
    target = scan_target(planner, name, statement.location, statement.alias, "merges")
    source = planner.plan_relation(statement.source, planner.context)
    both = _context(planner, (*target.fields, *source.visible))
    condition = analyze_condition(statement.on, both, "MERGE ON clause")
    clauses = tuple(_clause(n, case, target, source, both) for n, case in enumerate(statement.cases, start=1))
    root = _plan(planner, target, source, condition, clauses)
    write = TableWrite(
        name.catalog, target.table.schema, written_name(name, target.table), "MERGE", "", "", target.table.snapshot_id,
        location=target.table.location,
    )  # fmt: skip
    columns = tuple(dict.fromkeys(f.variable for f in source.visible))
    change = RowChange(target.columns, condition, clauses, source.node, columns)
    return PlannedWrite(rows_output(planner, root), write, tuple(planner.scans.values()), "MERGE", change)


def _nodes(statement: Merge) -> tuple[Node, ...]:
    """What may name hidden columns of the source."""
    nodes: list[Node] = [statement.source, statement.on]
    for case in statement.cases:
        nodes += [value.value for value in case.assignments]
        nodes += case.values
        if case.condition is not None:
            nodes.append(case.condition)
    return tuple(nodes)


def _context(planner: QueryPlanner, fields: Sequence[ScopeField]) -> Context:
    # Without a collector: a subquery or aggregate inside a condition or value is refused, located.
    return replace(planner.context, scope=Scope(tuple(fields)), clause="MERGE")


def _clause(number: int, case: MergeCase, target: Target, source: RelationPlan, both: Context) -> RowClause:
    context = both if case.matched else replace(both, scope=Scope(source.visible))
    condition: RowExpression | None = None
    if case.condition is not None:
        condition = analyze_condition(case.condition, context, "MERGE WHEN clause")
    match case.action:
        case "DELETE":
            return RowClause(True, "DELETE", condition)
        case "UPDATE":
            values = assigned_values(case.assignments, target, context, case.location, "MERGE")
            return RowClause(True, "UPDATE", condition, tuple(values))
        case "INSERT":
            return RowClause(False, "INSERT", condition, _inserted(number, case, target, context))


def _inserted(number: int, case: MergeCase, target: Target, context: Context) -> tuple[tuple[str, RowExpression], ...]:
    columns = case.columns or tuple(f.name or "" for f in target.fields)
    for position, column in enumerate(columns):
        if target.variable(column) is None:
            message = f"Merge column name does not exist in target table: {column}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=case.location)
        if column in columns[:position]:
            message = f"Merge column name is specified more than once: {column}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=case.location)
    if len(columns) != len(case.values):
        message = f"MERGE case {number}: {len(columns)} columns but {len(case.values)} values"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=case.location)
    analyzed = [analyze_expression(value, context) for value in case.values]
    complaint = f"MERGE table column types don't match for MERGE case {number}, SET expressions"
    given = dict(coerced(list(zip(columns, analyzed, strict=True)), target, context, case.location, complaint))
    return tuple(
        (f.name, given.get(f.name) or constant(None, read_type(f.variable.type))) for f in target.fields if f.name
    )


def _plan(
    planner: QueryPlanner,
    target: Target,
    source: RelationPlan,
    condition: RowExpression,
    clauses: tuple[RowClause, ...],
) -> PlanNode:
    ids = planner.ids
    below = (*output_variables(target.scan), *dict.fromkeys(f.variable for f in source.visible))
    join = JoinNode(
        id=ids.node(),
        type="RIGHT",
        left=target.scan,
        right=source.node,
        criteria=(),
        outputVariables=below,
        filter=condition,
        dynamicFilters={},
    )
    builder = Builder(ids, join)
    data = tuple(f.variable for f in target.fields)
    (merge_row,) = builder.add([(_merge_row(target, clauses), "merge_row")])
    outputs = (*data, ids.variable("operation", "tinyint"), ROW_ID, ids.variable("insert_from_update", "tinyint"))
    processor = MergeProcessorNode(
        id=ids.node(),
        source=builder.node,
        rowIdSymbol=ROW_ID,
        mergeRowSymbol=merge_row,
        dataColumnSymbols=data,
        redistributionColumnSymbols=(),
        outputs=outputs,
    )
    written = (ids.variable("partialrows", "bigint"), ids.variable("fragment", "varbinary"))
    return MergeWriterNode(id=ids.node(), source=processor, projectedSymbols=outputs, outputs=written)


_OPERATIONS = {"INSERT": 1, "DELETE": 2, "UPDATE": 3}


def _merge_row(target: Target, clauses: tuple[RowClause, ...]) -> RowExpression:
    """Presto's merge row: the columns' new values, then the operation and the number of the case; NULL for none."""
    types = (*(read_type(f.variable.type) for f in target.fields), INTEGER, INTEGER)
    type_ = row(types)
    found: RowExpression = constant(None, type_)
    present = not_(special("IS_NULL", BOOLEAN, ROW_ID))
    for number, clause in reversed(list(enumerate(clauses))):
        values = dict(clause.values)
        cells = [values.get(f.name or "", f.variable) for f in target.fields]
        cells += [constant(_OPERATIONS[clause.action], INTEGER), constant(number, INTEGER)]
        test = present if clause.matched else special("IS_NULL", BOOLEAN, ROW_ID)
        applies = test if clause.condition is None else conjunction([test, clause.condition])
        found = special("IF", typed(found), applies, special("ROW_CONSTRUCTOR", type_, *cells), found)
    return found

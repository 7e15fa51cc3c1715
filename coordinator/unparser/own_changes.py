"""Changes of rows that the connector writes itself: a query gives their places and what becomes of them.

Its columns, in order: the file and the position of a row (NULL of new ones); what is done with it (of MERGE); its row
id (in version 3, of UPDATE and MERGE); and the columns of the table (not of DELETE).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from coordinator.expressions.builders import constant, not_, operator, special, typed
from coordinator.expressions.types import BOOLEAN, INTEGER, holds_time, read_type
from coordinator.optimizer.rules.prune_unreferenced_outputs import pruned
from coordinator.planner.row_changes import FILE, LINEAGE, ROW_ID, RowChange
from coordinator.planner.writes import PlannedWrite
from coordinator.unparser import work_of
from coordinator.unparser.beside_spark import RowsOfWrite, beside_spark
from coordinator.unparser.engine_choice import EngineLimits
from coordinator.unparser.scans import RelationOf
from coordinator.unparser.stored_json import holds_json
from coordinator.vocabulary.planned_statement import Column, WriteRows
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import RowExpression, SpecialForm, Variable, type_of
from shared.plan.nodes import (
    Assignments,
    DeleteNode,
    FilterNode,
    MergeProcessorNode,
    OutputNode,
    PlanNode,
    ProjectNode,
    UpdateNode,
)
from shared.plan.traversal import output_variables, walk

_Changing = DeleteNode | UpdateNode | MergeProcessorNode
# Names with a number sign: no variable that planning makes of a user's name has one.
_CASE = Variable(name="#case", type="integer")
_OPERATION = Variable(name="#operation", type="integer")


def changes_times(change: RowChange, logical: OutputNode) -> bool:
    """Whether the table that is changed has times of day, which Spark does not write."""
    columns = (v for v in output_variables(_changing(logical).source) if v.name in change.columns)
    return any(holds_time(read_type(variable.type)) for variable in columns)


def own_change(
    planned: PlannedWrite, change: RowChange, logical: OutputNode, relation_of: RelationOf, limits: EngineLimits
) -> WriteRows:
    """Without a statement for Spark. Raises ProcessionError for what no engine computes."""
    return WriteRows(planned.write, rows=_query(change, logical, relation_of, limits))


def little_change(
    change: RowChange, logical: OutputNode, relation_of: RelationOf, limits: EngineLimits
) -> RowsOfWrite | None:
    """The query beside Spark's statement; None where Spark is to do it all."""
    return beside_spark(lambda: _query(change, logical, relation_of, limits), limits)


def _query(change: RowChange, logical: OutputNode, relation_of: RelationOf, limits: EngineLimits) -> RowsOfWrite:
    node = _changing(logical)
    source: PlanNode = node.source
    columns: tuple[Variable, ...] = (FILE, ROW_ID)
    match node:
        case DeleteNode():
            pass
        case UpdateNode():
            columns = _updated(node, change)
        case MergeProcessorNode():
            source, columns = _merged(node)
        case _:
            assert_never(node)
    if kept := next((v.name for v in columns if holds_json(typed(v))), None):
        message = f"Column {kept} is of type json, which Spark alone writes"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    names = tuple(variable.name for variable in columns)
    query = OutputNode(id=node.id, source=source, columnNames=names, outputVariables=columns)
    rows = tuple(Column(variable.name, variable.type) for variable in columns)
    # Above a node that changes rows all columns are read: a deleted row needs but a few of them.
    return work_of(pruned(query), relation_of, limits), rows


def _changing(logical: OutputNode) -> _Changing:
    return next(n for n in walk(logical) if isinstance(n, DeleteNode | UpdateNode | MergeProcessorNode))


def _lineage(source: PlanNode) -> tuple[Variable, ...]:
    return (LINEAGE,) if LINEAGE in output_variables(source) else ()


def _updated(node: UpdateNode, change: RowChange) -> tuple[Variable, ...]:
    (clause,) = change.clauses
    made = node.columnValueAndRowIdSymbols[:-1]
    new = {column: variable for (column, _), variable in zip(clause.values, made, strict=True)}
    read = {variable.name: variable for variable in output_variables(node.source)}
    data = (new.get(column) or read[name] for name, column in change.columns.items())
    return (FILE, ROW_ID, *_lineage(node.source), *data)


@dataclass(frozen=True, slots=True)
class _Case:
    """What becomes of the rows for which no case before was ``condition`` true: the cells of Presto's merge row."""

    condition: RowExpression
    cells: tuple[RowExpression, ...]


def _cases(row: RowExpression) -> Iterator[_Case]:
    """Of a merge row: nested IFs over row constructors, with NULL at the end."""
    while isinstance(row, SpecialForm) and row.form == "IF":
        condition, made, row = row.arguments
        assert isinstance(made, SpecialForm), "a case makes a row"
        yield _Case(condition, made.arguments)
    if isinstance(row, SpecialForm):
        yield _Case(constant(True, BOOLEAN), row.arguments)


def _merged(node: MergeProcessorNode) -> tuple[PlanNode, tuple[Variable, ...]]:
    """Which case is a row's is computed once, whatever its conditions are; then the cells of that case."""
    made = node.source
    assert isinstance(made, ProjectNode), "the merge row is computed right below"
    cases = list(_cases(made.assignments.assignments[node.mergeRowSymbol.key]))
    below = {v.key: v for v in output_variables(made.source)}
    passed = {key: e for key, e in made.assignments.assignments.items() if key != node.mergeRowSymbol.key}
    number: RowExpression = constant(None, INTEGER)
    for position, case in reversed(list(enumerate(cases))):
        number = special("IF", INTEGER, case.condition, constant(position, INTEGER), number)
    numbered = _project(node, made.source, {**below, **passed, _CASE.key: number})
    found = FilterNode(id=node.id, source=numbered, predicate=not_(special("IS_NULL", BOOLEAN, _CASE)))
    lineage = _lineage(made)
    data = tuple(Variable(name=f"#new{n}", type=variable.type) for n, variable in enumerate(node.dataColumnSymbols))
    cells = {variable.key: _cell(cases, position, variable) for position, variable in enumerate(data)}
    operation = {_OPERATION.key: _cell(cases, len(data), _OPERATION)}
    places = {variable.key: variable for variable in (FILE, ROW_ID, *lineage)}
    columns = (FILE, ROW_ID, _OPERATION, *lineage, *data)
    return _project(node, found, {**places, **operation, **cells}), columns


def _cell(cases: list[_Case], position: int, variable: Variable) -> RowExpression:
    type_ = read_type(variable.type)
    made: RowExpression = constant(None, type_)
    for number, case in reversed(list(enumerate(cases))):
        cell = case.cells[position]
        assert type_of(cell) == variable.type, f"{variable.name} is {variable.type}, not {typed(cell)}"
        made = special("IF", type_, operator("=", (_CASE, constant(number, INTEGER)), BOOLEAN), cell, made)
    return made


def _project(node: PlanNode, source: PlanNode, assignments: dict[str, RowExpression]) -> ProjectNode:
    return ProjectNode(id=node.id, source=source, assignments=Assignments(assignments=assignments), locality="LOCAL")

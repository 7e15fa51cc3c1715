"""Queries that only filter, order and cut rows that a connector makes itself: no engine has to start for them.

Such is what clients ask before they query: ``SELECT … FROM system.jdbc.columns WHERE … ORDER BY …``.
"""

from __future__ import annotations

import json

from coordinator.expressions.builders import NAMESPACE, typed
from coordinator.unparser.programs import row_program
from coordinator.unparser.scans import RelationOf
from coordinator.vocabulary.planned_statement import CutRows, KeepRows, NameRows, OrderRows, RowStep, SelectRows
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import (
    Call,
    Constant,
    Lambda,
    RowExpression,
    SpecialForm,
    StaticFunctionHandle,
    Variable,
)
from shared.plan.nodes import (
    FilterNode,
    LimitNode,
    OrderingScheme,
    OutputNode,
    PlanNode,
    ProjectNode,
    SortNode,
    TableScanNode,
    TopNNode,
)
from shared.plan.traversal import variable_of_key
from shared.spi.relation import RowsRelation

_TYPES = frozenset(["varchar", "bigint", "integer", "boolean"])
"""Those whose Arrow form and order are Presto's as they are."""
_LIGHT = frozenset(
    [f"$operator${name}" for name in (
        "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal", "between",
        "is_distinct_from", "cast", "add", "subtract", "multiply", "divide", "negation", "modulus",
    )]
    + ["not", "like", "like_pattern", "lower", "upper", "length", "trim", "ltrim", "rtrim", "substr", "strpos"]
    + ["starts_with", "ends_with"]
)  # fmt: skip
"""Functions whose results are no larger than their arguments, and quickly there."""


def row_selection(root: OutputNode, relation_of: RelationOf) -> SelectRows | None:
    """The work, None for a plan of any other shape."""
    steps: list[RowStep] = []
    node: PlanNode = root.source
    while not isinstance(node, TableScanNode):
        made: RowStep | None
        match node:
            case FilterNode():
                made = _kept(node.predicate)
            case ProjectNode():
                made = _named(node)
            case TopNNode():
                steps.append(CutRows(node.count))
                made = _ordered(node.orderingScheme)
            case SortNode():
                made = _ordered(node.orderingScheme)
            case LimitNode():
                made = CutRows(node.count)
            case _:
                return None
        if made is None:
            return None
        steps.append(made)
        node = node.source
    relation = relation_of(node) if all(v.type in _TYPES for v in node.outputVariables) else None
    if not isinstance(relation, RowsRelation):
        return None
    columns = {variable_of_key(key).name: str(handle.get("columnName")) for key, handle in node.assignments.items()}
    if not set(columns.values()) <= set(relation.columns):
        return None
    scanned = NameRows(tuple(columns.items()))
    output = NameRows(tuple((str(i), v.name) for i, v in enumerate(root.outputVariables)))
    return SelectRows(relation, (scanned, *reversed(steps), output))


def _kept(predicate: RowExpression) -> KeepRows | None:
    if not _light(predicate):
        return None
    try:
        made = row_program(predicate)
    except ProcessionError as error:
        if error.code is ErrorCode.NOT_SUPPORTED:
            return None
        raise
    if made is None or any(typed(column).base not in _TYPES for column in made.columns):
        return None
    return KeepRows(json.dumps(made.program, separators=(",", ":")), tuple(column.name for column in made.columns))


def _light(node: RowExpression) -> bool:
    """Whether no value that it computes is larger than what it reads: it is computed in the coordinator itself."""
    match node:
        case Variable() | Constant():
            return True
        case Lambda():
            return False
        case SpecialForm():
            return all(map(_light, node.arguments))
        case Call():
            handle = node.functionHandle
            known = isinstance(handle, StaticFunctionHandle) and handle.signature.name.removeprefix(NAMESPACE) in _LIGHT
            return known and all(map(_light, node.arguments))


def _named(node: ProjectNode) -> NameRows | None:
    names = []
    for key, expression in node.assignments.assignments.items():
        if not isinstance(expression, Variable):
            return None
        names.append((variable_of_key(key).name, expression.name))
    return NameRows(tuple(names)) if names else None


def _ordered(scheme: OrderingScheme) -> OrderRows | None:
    if any(ordering.variable.type not in _TYPES for ordering in scheme.orderBy):
        return None
    orders = ((o.variable.name, o.sortOrder) for o in scheme.orderBy)
    return OrderRows(tuple((name, order.startswith("DESC"), order.endswith("FIRST")) for name, order in orders))

"""Queries over constants alone (``SELECT 1``, VALUES): answered while they are planned, without an engine.

The Python kernels evaluate them, as they do where an engine lacks a function: one meaning, and a moment keeps its zone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from coordinator.expressions.builders import NAMESPACE, typed, value_of
from coordinator.expressions.folding import NotConstantError
from coordinator.expressions.types import length_of
from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.date_texts import shown_timestamp
from coordinator.kernels.functions.program import Program
from coordinator.unparser.constants import time_text
from coordinator.unparser.programs import constant_program
from coordinator.values.arrow_types import rows_to_batch
from coordinator.vocabulary.planned_statement import Column, ReturnRows
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, StaticFunctionHandle, Variable
from shared.plan.nodes import FilterNode, LimitNode, OutputNode, PlanNode, ProjectNode, ValuesNode
from shared.plan.traversal import variable_of_key
from shared.plan.types import Type

MAX_ROWS = 10_000
_MOST_PARTS = 5_000
"""Of one cell: what one projection computes and the next uses twice doubles with each."""

Row = Mapping[str, RowExpression]


def constant_rows(plan: PlanNode) -> ReturnRows | None:
    """The rows of an optimized query, None when it needs an engine; raises what Presto raises at run time."""
    try:
        return ReturnRows(_rows(plan))
    except NotConstantError:
        return None
    except ProcessionError as error:
        if error.code is ErrorCode.NOT_SUPPORTED:
            # Nothing of the query's: what Python does not evaluate, an engine does.
            return None
        raise


def _rows(plan: PlanNode) -> tuple[tuple[object, ...], ...]:
    if not isinstance(plan, OutputNode):
        raise NotConstantError(type(plan).__name__)
    types = [Column(v.name, v.type) for v in plan.outputVariables]
    rows = tuple(
        tuple(_shown(_value(row[v.name]), typed(v)) for v in plan.outputVariables) for row in _relation(plan.source)
    )
    try:
        rows_to_batch(types, rows)
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise NotConstantError(str(error)) from error
    return rows


def _relation(node: PlanNode) -> list[Row]:
    """Rows whose cells are constant expressions, not yet evaluated."""
    match node:
        case ValuesNode() if len(node.rows) <= MAX_ROWS:
            names = [variable.name for variable in node.outputVariables]
            return [dict(zip(names, row, strict=True)) for row in node.rows]
        case ProjectNode():
            assigned = {variable_of_key(key).name: e for key, e in node.assignments.assignments.items()}
            return [{name: _cell(e, row) for name, e in assigned.items()} for row in _relation(node.source)]
        case FilterNode():
            return [row for row in _relation(node.source) if _value(_put_in(node.predicate, row)) is True]
        case LimitNode():
            return _relation(node.source)[: node.count]
        case _:
            raise NotConstantError(type(node).__name__)


def _cell(expression: RowExpression, row: Row) -> RowExpression:
    made = _put_in(expression, row)
    stack, parts = [made], 0
    while stack:
        current, parts = stack.pop(), parts + 1
        if parts > _MOST_PARTS:
            raise NotConstantError("too large an expression")
        if isinstance(current, Call | SpecialForm):
            stack.extend(current.arguments)
        elif isinstance(current, Lambda):
            stack.append(current.body)
    return made


def _put_in(expression: RowExpression, row: Row) -> RowExpression:
    match expression:
        case Variable():
            return row.get(expression.name, expression)
        case Call() | SpecialForm():
            return replace(expression, arguments=tuple(_put_in(a, row) for a in expression.arguments))
        case Lambda():
            visible = {name: e for name, e in row.items() if name not in expression.arguments}
            return replace(expression, body=_put_in(expression.body, visible))
        case _:
            return expression


_CAST = f"{NAMESPACE}$operator$cast"
_WHOLE = {"tinyint": 1, "smallint": 2, "integer": 4, "bigint": 8}


def _widened(node: RowExpression) -> Constant | None:
    """The literal of a cast that changes no value, as those of VALUES to the columns of a table mostly are."""
    if not isinstance(node, Call) or not isinstance(node.functionHandle, StaticFunctionHandle):
        return None
    if node.functionHandle.signature.name != _CAST or not isinstance(node.arguments[0], Constant):
        return None
    source, target = typed(node.arguments[0]), typed(node)
    texts = source.base == target.base == "varchar" and length_of(target) >= length_of(source)
    whole = _WHOLE.get(source.base, 9) <= _WHOLE.get(target.base, 0)
    return node.arguments[0] if texts or whole else None


def _value(expression: RowExpression) -> object:
    expression = _widened(expression) or expression
    if isinstance(expression, Constant):
        return value_of(expression)
    program = constant_program(expression)
    if program is None:
        raise NotConstantError(str(expression)[:100])
    try:
        return Program(json.dumps(program)).value(())
    except KernelError as error:
        raise ProcessionError(ErrorCode[error.name], error.message) from error
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise NotConstantError(str(error)) from error


def _shown(value: Any, type_: Type) -> object:
    """A kernel's value as ``rows_to_batch`` takes it."""
    match type_.base:
        case _ if value is None:
            return None
        case "timestamp with time zone" if isinstance(value, datetime):
            return shown_timestamp(value)
        case "time with time zone" if isinstance(value, time):
            return time_text(value)
        case "interval day to second" if isinstance(value, int):
            try:
                return timedelta(milliseconds=value)
            except OverflowError as error:
                raise NotConstantError(str(error)) from error
        case "array":
            return [_shown(v, type_.arguments[0]) for v in value]
        case "row":
            return tuple(_shown(v, k) for v, k in zip(value, type_.arguments, strict=True))
        case "map":
            key, item = type_.arguments
            return [(_shown(k, key), _shown(v, item)) for k, v in value.items()]
        case "uuid" | "ipaddress" | "ipprefix":
            return str(value)
        case _:
            return value

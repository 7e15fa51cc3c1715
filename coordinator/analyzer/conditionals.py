"""Forms that choose among values or replace them: CASE, IF, COALESCE, NULLIF and TRY."""

from __future__ import annotations

from coordinator.analyzer import registry
from coordinator.analyzer.call_binding import common_type
from coordinator.analyzer.context import Analyze, Context
from coordinator.analyzer.operators import comparison
from coordinator.analyzer.predicates import boolean_operand
from coordinator.expressions.builders import coerce, constant, function_call, operator, special, typed
from coordinator.expressions.types import BOOLEAN, UNKNOWN, common_super_type
from coordinator.sql.tree.expressions import (
    Expression,
    FunctionCall,
    SearchedCaseExpression,
    SimpleCaseExpression,
    WhenClause,
)
from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm, type_of
from shared.plan.types import Type

_MOST_TWICE = 100


def analyze_simple_case(node: SimpleCaseExpression, context: Context, analyze: Analyze) -> RowExpression:
    """``CASE operand WHEN value THEN result … END``."""
    operand = analyze(node.operand, context)
    values = [analyze(clause.operand, context) for clause in node.when_clauses]
    conditions = [_equal(operand, *each, context) for each in zip(values, node.when_clauses, strict=True)]
    if len(values) > 1 and _large(operand):
        common: Type | None = typed(operand)
        for value in values:
            common = common and common_super_type(common, typed(value))
        if common is not None:
            operand, *values = (coerce(value, common, context.zone) for value in (operand, *values))
            return _switch(node, values, context, analyze, operand)
    return _switch(node, conditions, context, analyze)


def _equal(operand: RowExpression, value: RowExpression, clause: WhenClause, context: Context) -> RowExpression:
    if common_super_type(typed(operand), typed(value)) is None:
        message = "CASE operand type does not match WHEN clause operand type"
        raise context.error(clause, f"{message}: {type_of(operand)} vs {type_of(value)}")
    return comparison(clause, "=", operand, value, context)


def analyze_searched_case(node: SearchedCaseExpression, context: Context, analyze: Analyze) -> RowExpression:
    """``CASE WHEN condition THEN result … END``."""
    conditions = [boolean_operand(c.operand, context, analyze, "CASE WHEN clause") for c in node.when_clauses]
    return _switch(node, conditions, context, analyze)


def _switch(
    node: SimpleCaseExpression | SearchedCaseExpression,
    conditions: list[RowExpression],
    context: Context,
    analyze: Analyze,
    operand: RowExpression | None = None,
) -> RowExpression:
    """``operand`` is compared with the conditions, which are values then."""
    results: list[Expression] = [clause.result for clause in node.when_clauses]
    if node.default is not None:
        results.append(node.default)
    values = [analyze(result, context) for result in results]
    type_ = common_type(results, values, "All CASE results", context)
    otherwise = values.pop() if node.default is not None else constant(None, UNKNOWN)
    whens = [
        special("WHEN", type_, condition, coerce(value, type_, context.zone))
        for condition, value in zip(conditions, values, strict=True)
    ]
    first = constant(True, BOOLEAN) if operand is None else operand
    return special("SWITCH", type_, first, *whens, coerce(otherwise, type_, context.zone))


def analyze_if(node: FunctionCall, context: Context, analyze: Analyze) -> RowExpression:
    """``IF(condition, value [, other value])``."""
    if len(node.arguments) not in (2, 3):
        raise context.error(node, "Invalid number of arguments for 'if' function")
    condition = boolean_operand(node.arguments[0], context, analyze, "IF condition")
    values = [analyze(argument, context) for argument in node.arguments[1:]]
    if len(values) == 1:
        values.append(constant(None, typed(values[0])))
    type_ = common_super_type(typed(values[0]), typed(values[1]))
    if type_ is None:
        shown = f"{type_of(values[0])} vs {type_of(values[1])}"
        raise context.error(node, f"Result types for IF must be the same: {shown}")
    return special("IF", type_, condition, *(coerce(value, type_, context.zone) for value in values))


def analyze_coalesce(node: FunctionCall, context: Context, analyze: Analyze) -> RowExpression:
    """``COALESCE(value, value, …)``."""
    values = [analyze(argument, context) for argument in node.arguments]
    if len(values) < 2:
        raise context.error(node, "The 'coalesce' function must have at least two arguments")
    type_ = common_type(node.arguments, values, "All COALESCE operands", context)
    return special("COALESCE", type_, *(coerce(value, type_, context.zone) for value in values))


def analyze_nullif(node: FunctionCall, context: Context, analyze: Analyze) -> RowExpression:
    """``NULLIF(value, other)``: NULL where the two are equal."""
    if len(node.arguments) != 2:
        raise context.error(node, "Invalid number of arguments for 'nullif' function")
    first, second = (analyze(argument, context) for argument in node.arguments)
    common = common_super_type(typed(first), typed(second))
    if common is None:
        message = f"Types are not comparable with NULLIF: {type_of(first)} vs {type_of(second)}"
        raise context.error(node, message)
    type_ = typed(first)
    if _large(first) or type_.base == "unknown":
        return special("NULL_IF", type_, first, second)
    # As Presto: workers know no NULL_IF.
    same = operator("=", (coerce(first, common, context.zone), coerce(second, common, context.zone)), BOOLEAN)
    return special("IF", type_, same, constant(None, type_), first)


def _large(expression: RowExpression) -> bool:
    """Whether an expression is better not written twice: those in one another would double it each time."""
    stack, parts = [expression], 0
    while stack and parts <= _MOST_TWICE:
        current, parts = stack.pop(), parts + 1
        match current:
            case Call():
                if not all(s.deterministic for s in registry.registry().get(current.displayName.lower(), ())):
                    return True
                stack.extend(current.arguments)
            case SpecialForm():
                stack.extend(current.arguments)
            case Lambda():
                stack.append(current.body)
            case _:
                pass
    return bool(stack)


def analyze_try(node: FunctionCall, context: Context, analyze: Analyze) -> RowExpression:
    """``TRY(value)``: NULL where the value cannot be computed."""
    if len(node.arguments) != 1:
        raise context.error(node, "The 'try' function must have exactly one argument")
    body = analyze(node.arguments[0], context)
    thunk = Lambda(argumentTypes=(), arguments=(), body=body)
    return function_call("$internal$try", (thunk,), typed(body), display="TRY")

"""Calls of temporary functions: the body stands for the call, the arguments for its parameters.

As in Presto's SqlFunctionUtils and SqlFunctionArgumentBinder, with what keeps the value right and the plan small: an
argument that may give another value each time stands in it once at most, and an expression has a largest size.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from coordinator.analyzer.context import Analyze, Context
from coordinator.analyzer.determinism import deterministic
from coordinator.analyzer.registry import bind_to
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.analyzer.unification import FunctionSignature
from coordinator.expressions.builders import coerce, constant, disjunction, special, typed
from coordinator.expressions.types import BOOLEAN, can_coerce, read_type, type_text
from coordinator.sql.parse_return import parse_return
from coordinator.sql.tree.expressions import Expression, FunctionCall, LambdaExpression
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm, Variable, type_of
from shared.plan.traversal import walk_expression
from shared.plan.types import Type
from shared.spi.session import Session
from shared.spi.session_function import FunctionParameter, SessionFunction

MOST_PARTS = 10_000
"""Of an expression that a call becomes: each use of a parameter repeats its argument, and calls may nest."""
_CLAUSE = "CREATE FUNCTION body"
_parsed = lru_cache(256)(parse_return)


def expand(
    node: FunctionCall, functions: Sequence[SessionFunction], context: Context, analyze: Analyze
) -> RowExpression:
    """What a call of one of ``functions``, which have the same name, computes. Raises ProcessionError at the call."""
    try:
        known = {_signature(function): function for function in functions}
    except ValueError as error:
        raise context.error(node, f"Function {functions[0].name}: {error}") from error
    values = [None if isinstance(each, LambdaExpression) else analyze(each, context) for each in node.arguments]
    given = [value for value in values if value is not None]
    fitting = [signature for signature in known if len(signature.arguments) == len(values) == len(given)]
    bound = None if node.star else bind_to(fitting, [typed(value) for value in given])
    if bound is None:
        types = ", ".join("function" if value is None else type_of(value) for value in values)
        expected = ", ".join(str(signature).strip() for signature in known)
        name = functions[0].name
        raise context.error(node, f"Unexpected parameters ({types}) for function {name}. Expected: {expected}")
    function = next(each for signature, each in known.items() if signature.arguments == bound.arguments)
    arguments = [coerce(value, type_, context.zone) for value, type_ in zip(given, bound.arguments, strict=True)]
    return _bound_to(function, arguments, node, context, analyze)


def _bound_to(
    function: SessionFunction,
    arguments: Sequence[RowExpression],
    node: FunctionCall,
    context: Context,
    analyze: Analyze,
) -> RowExpression:
    parts = (part for each in arguments for part in walk_expression(each))
    # A lambda of the body must not bind a name that an argument reads.
    reserved = frozenset(part.name for part in parts if isinstance(part, Variable))
    body = _body(function, node, context, analyze, reserved)
    if function.null_on_null and arguments:
        variables = [_variable(parameter) for parameter in function.parameters]
        absent = disjunction([special("IS_NULL", BOOLEAN, variable) for variable in variables])
        body = special("IF", typed(body), absent, constant(None, typed(body)), body)
    by_name = {parameter.name: value for parameter, value in zip(function.parameters, arguments, strict=True)}
    _refuse(function, body, by_name, node, context)
    return _in_place(body, by_name)


def _signature(function: SessionFunction) -> FunctionSignature:
    arguments = tuple(read_type(parameter.type) for parameter in function.parameters)
    return FunctionSignature(
        function.name, "scalar", arguments, read_type(function.result), function.deterministic, variadic=False
    )


def _body(
    function: SessionFunction, node: FunctionCall, context: Context, analyze: Analyze, reserved: frozenset[str]
) -> RowExpression:
    """Over variables of the parameters' names; failures are told where the function is called."""
    try:
        tree = _parsed(function.body)
        return analyzed_body(tree, function.parameters, read_type(function.result), context.session, analyze, reserved)
    except ValueError as error:
        raise context.error(node, f"Function {function.name}: {error}") from error
    except ProcessionError as error:
        message = f"Function {function.name}: {error.wire_message}"
        raise ProcessionError(error.code, message, location=context.locate(node)) from error


def analyzed_body(
    tree: Expression,
    parameters: Sequence[FunctionParameter],
    result: Type,
    session: Session,
    analyze: Analyze,
    reserved: frozenset[str] = frozenset(),
) -> RowExpression:
    """A body as what a function returns: of scalars alone, and without temporary functions. Raises ProcessionError."""
    relation = Scope(tuple(ScopeField(parameter.name, _variable(parameter)) for parameter in parameters))
    plain = dataclasses.replace(session, functions=())
    context = Context(plain, relation, clause=_CLAUSE, reserved=reserved)
    body = analyze(tree, context)
    if not can_coerce(typed(body), result):
        shown = f"'{type_of(body)}' does not match declared return type '{type_text(result)}'"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, f"Function implementation type {shown}")
    return coerce(body, result, context.zone)


def _variable(parameter: FunctionParameter) -> Variable:
    return Variable(name=parameter.name, type=type_text(read_type(parameter.type)))


def _refuse(
    function: SessionFunction,
    body: RowExpression,
    arguments: Mapping[str, RowExpression],
    node: FunctionCall,
    context: Context,
) -> None:
    parts = list(walk_expression(body))
    uses = Counter(part.name for part in parts if isinstance(part, Variable) and part.name in arguments)
    size = len(parts)
    for (name, value), tree in zip(arguments.items(), node.arguments, strict=True):
        if uses[name] > 1 and not deterministic(value):
            message = f"Argument {name} of {function.name} is used {uses[name]} times and not deterministic"
            raise context.error(tree, message, ErrorCode.NOT_SUPPORTED)
        size += (uses[name] - 1) * sum(1 for _ in walk_expression(value)) if uses[name] else 0
    if size > MOST_PARTS:
        message = f"Function {function.name} makes an expression of {size} parts, and {MOST_PARTS} are possible"
        raise context.error(node, message, ErrorCode.NOT_SUPPORTED)


def _in_place(expression: RowExpression, arguments: Mapping[str, RowExpression]) -> RowExpression:
    """``expression`` with arguments where their parameters stand; lambdas have other names for what they bind."""
    match expression:
        case Variable():
            return arguments.get(expression.name, expression)
        case Call() | SpecialForm():
            return replace(expression, arguments=tuple(_in_place(each, arguments) for each in expression.arguments))
        case Lambda():
            return replace(expression, body=_in_place(expression.body, arguments))
        case _:
            return expression

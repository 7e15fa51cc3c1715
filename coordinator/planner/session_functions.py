"""CREATE and DROP TEMPORARY FUNCTION: the client keeps the function. Texts: Presto's StatementAnalyzer and tasks."""

from __future__ import annotations

from coordinator.analyzer.calls import is_built_in
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.session_function_calls import analyzed_body
from coordinator.expressions.types import read_type, type_text
from coordinator.planner.session_statements import LONGEST_HEADER, session_statement
from coordinator.sql.function_statements import CreateTemporaryFunction, DropTemporaryFunction
from coordinator.vocabulary.planned_statement import PlannedStatement, SessionChange
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.types import Type
from shared.protocol.headers import url_encode
from shared.protocol.session_functions import encode_function, encode_id
from shared.spi.session import Session
from shared.spi.session_function import NAMESPACE, FunctionParameter, SessionFunction

_LONGEST_TEXTS = 50_000
"""Bytes of all functions of a session together: servers and proxies bound what a request has in headers."""


def plan_create_function(statement: CreateTemporaryFunction, session: Session) -> PlannedStatement:
    """Raises ProcessionError: the name is taken, types or the body are wrong, or clients could not keep it."""
    name = _name(statement.name, statement.location)
    if is_built_in(name):
        message = f"Function {name} is already registered as a built-in function."
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    names = [parameter.name for parameter in statement.parameters]
    doubled = dict.fromkeys(each for each in names if names.count(each) > 1)
    if doubled:
        message = f"Duplicate function parameter name: {', '.join(doubled)}"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    result = _type(statement.result, statement.result_location)
    declared = [FunctionParameter(p.name, type_text(_type(p.type, p.location))) for p in statement.parameters]
    try:
        analyzed_body(statement.body, declared, result, session, analyze_expression)
    except ProcessionError as error:
        raise ProcessionError(error.code, error.message, location=error.location or statement.location) from error
    function = SessionFunction(
        name,
        tuple(declared),
        type_text(result),
        f"RETURN {statement.body_text}",
        statement.comment,
        statement.deterministic,
        statement.null_on_null,
    )
    if any(function.id == known.id for known in session.functions):
        shown = f"{NAMESPACE}{name}({', '.join(parameter.type for parameter in declared)})"
        message = f"Session function {shown} has already been defined"
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, message)
    _refuse_long(function, session)
    return session_statement(SessionChange(added_functions=(function,)), "CREATE FUNCTION")


def plan_drop_function(statement: DropTemporaryFunction, session: Session) -> PlannedStatement:
    """Raises NOT_FOUND. Without types it is the only function of the name."""
    name = _name(statement.name, statement.location)
    known = [function.id for function in session.functions if function.name.lower() == name]
    if statement.types is not None:
        types = [type_text(_type(each, statement.location)) for each in statement.types]
        known = [each for each in known if each == ";".join((NAMESPACE + name, *types))]
    if len(known) > 1:
        message = f"There are {len(known)} functions {name}: the types of its arguments must be given"
        raise ProcessionError(ErrorCode.INVALID_ARGUMENTS, message, location=statement.location)
    if not known and not statement.exists:
        raise ProcessionError(ErrorCode.NOT_FOUND, f"Session function {NAMESPACE}{name} not found")
    return session_statement(SessionChange(removed_functions=tuple(known)), "DROP FUNCTION")


def _name(parts: tuple[str, ...], location: ErrorLocation) -> str:
    if len(parts) > 1:
        message = "Temporary functions cannot be qualified."
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    return parts[0]


def _type(text: str, location: ErrorLocation) -> Type:
    try:
        return read_type(text)
    except ValueError as error:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, str(error), location=location) from error


def _refuse_long(function: SessionFunction, session: Session) -> None:
    sizes = [len(_header(each)) for each in (function, *session.functions)]
    if sizes[0] > LONGEST_HEADER or sum(sizes) > _LONGEST_TEXTS:
        most = f"it takes {sizes[0]} bytes, and {min(LONGEST_HEADER, _LONGEST_TEXTS)} are possible for all of a session"
        message = f"Function {function.name} is too long for the header in which clients keep it: {most}"
        raise ProcessionError(ErrorCode.QUERY_TEXT_TOO_LARGE, message)


def _header(function: SessionFunction) -> str:
    return f"{url_encode(encode_id(function.id))}={url_encode(encode_function(function))}"

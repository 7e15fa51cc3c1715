"""CALL arguments to Python values, by the procedure's declaration.

Error texts and codes are those of Presto's CallTask; names are compared without case, unlike there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coordinator.analyzer.argument_order import is_literal, presto_order
from coordinator.analyzer.argument_spellings import ALIASES, other_spelling
from coordinator.analyzer.constants import constant_type, evaluate_constant
from coordinator.analyzer.procedure_resolution import resolve_procedure
from coordinator.analyzer.syntax import parse_query
from coordinator.connectors.registry import Catalogs
from coordinator.kernels.functions.compare import instant
from coordinator.sql.call_argument import CallArgument
from coordinator.sql.statements import Call
from coordinator.sql.tokens import is_identifier, location_of, tokenize
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.connector import Connector, TableMetadata
from shared.spi.procedure import Argument, Procedure, ProcedureDeclaration
from shared.spi.session import Session

TABLE_ALIAS = "table"
_ZONED = "timestamp with time zone"


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call whose every declared argument has a value.

    ``locations`` says where those stand that were written, ``literals`` the offsets of those that are plain strings.
    """

    catalog: str
    procedure: Procedure
    arguments: Mapping[str, Any]
    location: ErrorLocation
    locations: Mapping[str, ErrorLocation] = field(default_factory=dict)
    literals: Mapping[str, int] = field(default_factory=dict)

    @property
    def declaration(self) -> ProcedureDeclaration:
        return self.procedure.declaration


def bind_call(call: Call, text: str, session: Session, catalogs: Catalogs) -> BoundCall:
    """The procedure with all arguments evaluated, defaults filled in; ``text`` is what ``call`` was parsed from.

    Raises ProcessionError with Presto's texts, located at the argument or the CALL.
    """
    if session.transaction_id is not None:
        message = "Procedures cannot be called within a transaction (use autocommit mode)"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    resolved = resolve_procedure(call, session, catalogs)
    declaration = resolved.procedure.declaration
    given = _match(call, declaration, _order(call, declaration, resolved.catalog, session, catalogs))
    table = given.pop(TABLE_ALIAS, None)
    if isinstance(table, CallArgument):
        given |= _split_table(table, text, declaration, resolved.catalog, session)
    values: dict[str, Any] = {}
    for argument in declaration.arguments:
        written = given.get(argument.name)
        if written is None and argument.required:
            message = f"Required procedure argument '{argument.name}' is missing"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=call.location)
        if isinstance(written, CallArgument):
            values[argument.name] = _evaluate(argument, written, text, session)
        else:
            values[argument.name] = argument.default if written is None else written
    written_arguments = {name: a for name, a in given.items() if isinstance(a, CallArgument)}
    locations = {name: a.location for name, a in written_arguments.items()}
    if isinstance(table, CallArgument):
        locations.setdefault("table_name", table.location)
    return BoundCall(
        resolved.catalog,
        resolved.procedure,
        values,
        call.location,
        locations,
        {name: a.tokens[0].start for name, a in written_arguments.items() if is_literal(a)},
    )


def _match(call: Call, declaration: ProcedureDeclaration, order: Sequence[str]) -> dict[str, CallArgument | str]:
    """Arguments by declared name; ``table`` under its own name where the procedure takes a table."""
    named = [a for a in call.arguments if a.name is not None]
    if named and len(named) != len(call.arguments):
        message = "Named and positional arguments cannot be mixed"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=call.location)
    if not named:
        if len(call.arguments) > len(order):
            message = "Too many arguments for procedure"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=call.location)
        return dict(zip(order, call.arguments, strict=False))
    return _match_named(named, declaration)


def _order(
    call: Call, declaration: ProcedureDeclaration, catalog: str, session: Session, catalogs: Catalogs
) -> Sequence[str]:
    """The positions of a call: as declared, Presto's, or Iceberg's and Hudi's, which begin with one name of a table."""
    names = [argument.name for argument in declaration.arguments]
    arguments = call.arguments
    if not declaration.takes_table or not arguments or arguments[0].name is not None or not is_literal(arguments[0]):
        return names
    first, connector = str(arguments[0].tokens[0].text), catalogs.connector(catalog)
    if "." in first:
        is_table = not connector.schema_exists(first)
    else:
        required = sum(argument.required for argument in declaration.arguments)
        may_be = len(arguments) < required or not is_literal(arguments[1])
        inside = session.schema is not None and session.catalog == catalog
        is_table = may_be and inside and connector.table(str(session.schema), first) is not None
    if not is_table:
        return presto_order(declaration, arguments, partial(_named, connector, arguments))
    order = declaration.iceberg_order
    leading = order if TABLE_ALIAS in order else (TABLE_ALIAS, *order)
    return [*leading, *(name for name in names[2:] if name not in leading)]


def _named(connector: Connector, arguments: Sequence[CallArgument]) -> TableMetadata | None:
    """The table of a schema and a name that are written plainly."""
    if len(arguments) < 2 or not is_literal(arguments[1]):
        return None
    schema, name = (str(argument.tokens[0].text) for argument in arguments[:2])
    return connector.table(schema, name) or connector.table(schema.lower(), name.lower())


def _match_named(named: Sequence[CallArgument], declaration: ProcedureDeclaration) -> dict[str, CallArgument | str]:
    names = {a.name.lower(): a.name for a in declaration.arguments}
    if declaration.takes_table:
        names.setdefault(TABLE_ALIAS, TABLE_ALIAS)
    for alias, meant in ALIASES.items():
        if meant in names:
            names.setdefault(alias, meant)
    matched: dict[str, CallArgument | str] = {}
    for argument in named:
        written = argument.name or ""
        name = names.get(written.lower())
        if name is None:
            raise _located(argument, f"Unknown argument name: {written}")
        clash = name in matched or (name == TABLE_ALIAS and {"schema", "table_name"} & matched.keys())
        clash = clash or (declaration.takes_table and name in {"schema", "table_name"} and TABLE_ALIAS in matched)
        if clash:
            raise _located(argument, f"Duplicate procedure argument: {written}")
        matched[name] = argument
    return matched


def _split_table(
    written: CallArgument, text: str, declaration: ProcedureDeclaration, catalog: str, session: Session
) -> dict[str, CallArgument | str]:
    """``table => 'schema.table'``, with a catalog in front or with the session's schema where it has none."""
    if not declaration.takes_table:
        return {TABLE_ALIAS: written}  # a declared argument that happens to be called so
    name = _evaluate(Argument(TABLE_ALIAS, "varchar", "", required=True), written, text, session)
    parts = _name_parts(name, written)
    if len(parts) == 3:
        if parts[0].lower() != catalog:
            raise _located(written, f"Table {name} is not in catalog {catalog}, where the procedure was called")
        parts = parts[1:]
    if len(parts) == 1:
        if session.schema is None or session.catalog != catalog:
            raise _located(written, "Schema must be specified when session schema is not set")
        parts = (session.schema, *parts)
    return {"schema": parts[0], "table_name": parts[1]}


def _name_parts(text: str, written: CallArgument) -> tuple[str, ...]:
    if not text.strip():
        raise _located(written, "Table name is empty", ErrorCode.INVALID_PROCEDURE_ARGUMENT)
    try:
        tokens = tokenize(text)
    except ProcessionError as error:
        raise _located(written, f"Invalid table name: {text}") from error
    names, dots = tokens[0::2], tokens[1::2]
    plain = len(names) == len(dots) + 1 and len(names) <= 3 and all(dot.text == "." for dot in dots)
    if not plain or not all(is_identifier(name) for name in names):
        raise _located(written, f"Invalid table name: {text}")
    return tuple(name.text for name in names)


def _evaluate(argument: Argument, written: CallArgument, text: str, session: Session) -> Any:
    if argument.type == "varchar" and is_literal(written):  # as most are: its own value
        return str(written.tokens[0].text)
    try:
        value = other_spelling(
            argument.type, written.tokens, lambda t, kind: evaluate_constant(parse_query(text, t), kind, session)
        )
        if value is None:
            value = _presto_value(argument.type, written, text, session)
    except ProcessionError as error:
        location = location_of(text, written.tokens[0].start)
        raise ProcessionError(error.code, error.message, location=location) from error
    if value is None and (argument.required or argument.default is not None):
        message = f"Procedure argument cannot be null: {argument.name}"
        raise _located(written, message, ErrorCode.INVALID_PROCEDURE_ARGUMENT)
    return value


def _presto_value(kind: str, written: CallArgument, text: str, session: Session) -> Any:
    """A moment with a zone is taken for a timestamp: the hour that a clock shows twice would not survive a cast."""
    tree = parse_query(text, written.tokens)
    if kind != "timestamp":
        return evaluate_constant(tree, kind, session)
    try:
        return instant(evaluate_constant(tree, _ZONED if constant_type(tree, session) == _ZONED else kind, session))
    except (ValueError, OverflowError) as error:
        raise ProcessionError(ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, "Value of timestamp out of range") from error


def _located(argument: CallArgument, message: str, code: ErrorCode = ErrorCode.SYNTAX_ERROR) -> ProcessionError:
    return ProcessionError(code, message, location=argument.location)

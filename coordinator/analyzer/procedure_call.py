"""CALL arguments to Python values, by the procedure's declaration.

Error texts and codes are those of Presto's CallTask; names are compared without case, unlike there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coordinator.analyzer.argument_order import literal_text, names_in, presto_order
from coordinator.analyzer.argument_spellings import ALIASES, other_spelling
from coordinator.analyzer.constants import constant_type, evaluate_constant, start_of
from coordinator.analyzer.procedure_resolution import resolve_procedure
from coordinator.connectors.registry import Catalogs
from coordinator.kernels.functions.compare import instant
from coordinator.sql.call_argument import CallArgument
from coordinator.sql.statements import Call
from coordinator.sql.tree.expressions import Expression
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.connector import Connector, TableMetadata
from shared.spi.procedure import Argument, Procedure, ProcedureDeclaration
from shared.spi.session import Session

TABLE_ALIAS = "table"
_ZONED = "timestamp with time zone"


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call whose every declared argument has a value.

    ``locations`` says where those stand that were written, ``literals`` holds those that were written as plain texts.
    """

    catalog: str
    procedure: Procedure
    arguments: Mapping[str, Any]
    location: ErrorLocation
    locations: Mapping[str, ErrorLocation] = field(default_factory=dict)
    literals: Mapping[str, CallArgument] = field(default_factory=dict)

    @property
    def declaration(self) -> ProcedureDeclaration:
        return self.procedure.declaration


def bind_call(call: Call, session: Session, catalogs: Catalogs) -> BoundCall:
    """The procedure with all arguments evaluated, defaults filled in.

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
        given |= _split_table(table, declaration, resolved.catalog, session)
    values: dict[str, object] = {}
    for argument in declaration.arguments:
        written = given.get(argument.name)
        if written is None and argument.required:
            message = f"Required procedure argument '{argument.name}' is missing"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=call.location)
        if isinstance(written, CallArgument):
            values[argument.name] = _evaluate(argument, written, session)
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
        {name: a for name, a in written_arguments.items() if literal_text(a) is not None},
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
    if not declaration.takes_table or not arguments or arguments[0].name is not None:
        return names
    first, connector = literal_text(arguments[0]), catalogs.connector(catalog)
    if first is None:
        return names
    if "." in first:
        is_table = not connector.schema_exists(first)
    else:
        required = sum(argument.required for argument in declaration.arguments)
        may_be = len(arguments) < required or literal_text(arguments[1]) is None
        inside = session.schema is not None and session.catalog == catalog
        is_table = may_be and inside and connector.table(str(session.schema), first) is not None
    if not is_table:
        return presto_order(declaration, arguments, partial(_named, connector, arguments))
    order = declaration.iceberg_order
    leading = order if TABLE_ALIAS in order else (TABLE_ALIAS, *order)
    return [*leading, *(name for name in names[2:] if name not in leading)]


def _named(connector: Connector, arguments: Sequence[CallArgument]) -> TableMetadata | None:
    """The table of a schema and a name that are written plainly."""
    schema, name = (literal_text(argument) for argument in arguments[:2]) if len(arguments) > 1 else (None, None)
    if schema is None or name is None:
        return None
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
    written: CallArgument, declaration: ProcedureDeclaration, catalog: str, session: Session
) -> dict[str, CallArgument | str]:
    """``table => 'schema.table'``, with a catalog in front or with the session's schema where it has none."""
    if not declaration.takes_table:
        return {TABLE_ALIAS: written}  # a declared argument that happens to be called so
    name = _evaluate(Argument(TABLE_ALIAS, "varchar", "", required=True), written, session)
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
    parts = names_in(text)
    if parts is None or len(parts) > 3:
        raise _located(written, f"Invalid table name: {text}")
    return parts


def _evaluate(argument: Argument, written: CallArgument, session: Session) -> Any:
    plain = literal_text(written)
    if argument.type == "varchar" and plain is not None:  # as most are: its own value
        return plain
    try:
        value = other_spelling(
            argument.type, written.value, lambda part, type_: evaluate_constant(part, type_, session)
        )
        if value is None:
            value = _presto_value(argument.type, written.value, session)
    except ProcessionError as error:
        raise ProcessionError(error.code, error.message, location=start_of(written.value)) from error
    if value is None and (argument.required or argument.default is not None):
        message = f"Procedure argument cannot be null: {argument.name}"
        raise _located(written, message, ErrorCode.INVALID_PROCEDURE_ARGUMENT)
    return value


def _presto_value(type_: str, value: Expression, session: Session) -> object:
    """An instant with a zone is taken for a timestamp: the hour that a clock shows twice would not survive a cast."""
    if type_ != "timestamp":
        return evaluate_constant(value, type_, session)
    try:
        return instant(evaluate_constant(value, _ZONED if constant_type(value, session) == _ZONED else type_, session))
    except (ValueError, OverflowError) as error:
        raise ProcessionError(ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, "Value of timestamp out of range") from error


def _located(argument: CallArgument, message: str, code: ErrorCode = ErrorCode.SYNTAX_ERROR) -> ProcessionError:
    return ProcessionError(code, message, location=argument.location)

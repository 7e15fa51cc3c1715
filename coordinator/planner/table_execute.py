"""``ALTER TABLE t EXECUTE p(…) WHERE …`` as the CALL that means the same, with Trino's names too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, timedelta

from coordinator.analyzer.constants import evaluate_constant, start_of
from coordinator.planner.object_names import object_name
from coordinator.sql import ddl_statements as sql
from coordinator.sql.call_argument import CallArgument
from coordinator.sql.statements import Call
from coordinator.sql.tree.expressions import StringLiteral
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import SourceLocation
from shared.spi.session import Session
from shared.units import parse_data_size, parse_duration

_TRINO_NAMES: Mapping[str, str] = {"optimize": "rewrite_data_files", "optimize_manifests": "rewrite_manifests"}
_AGED = frozenset(("expire_snapshots", "remove_orphan_files"))


def procedure_call(statement: sql.ExecuteTableProcedure, session: Session) -> Call:
    """The CALL, its arguments at their places; a WHERE is the argument ``filter``. Raises ProcessionError.

    Of Trino's arguments, ``file_size_threshold`` and ``retention_threshold`` become what they mean here.
    """
    name = object_name(statement.table, statement.location, session)
    procedure = _TRINO_NAMES.get(statement.procedure, statement.procedure)
    given = [
        _literal("schema", name.schema, statement.location, statement.location),
        _literal("table_name", name.name, statement.location, statement.location),
    ]
    for argument in statement.arguments:
        if argument.name is None:
            message = "ALTER TABLE EXECUTE takes named arguments: name => value"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=argument.location)
        written = argument.name.lower()
        if (procedure == "rewrite_data_files" and written == "file_size_threshold") or (
            procedure in _AGED and written == "retention_threshold"
        ):
            key, value = _threshold(written, argument, session)
            given.append(_literal(key, value, start_of(argument.value), argument.location))
        else:
            given.append(argument)
    if statement.where_location is not None:
        given.append(_literal("filter", statement.where_text, statement.where_location, statement.where_location))
    return Call((name.catalog, "system", procedure), tuple(given), statement.location)


def _threshold(name: str, argument: CallArgument, session: Session) -> tuple[str, str]:
    """The argument that means the same, and its value as text."""
    value = str(evaluate_constant(argument.value, "varchar", session))
    try:
        if name == "file_size_threshold":
            # Trino joins any two files below the threshold.
            return "options", f"min-file-size-bytes={parse_data_size(value)},min-input-files=2"
        moment = session.start.astimezone(UTC) - timedelta(seconds=parse_duration(value))
    except (ValueError, OverflowError) as error:
        message = f"Unable to set procedure property '{name}' to ['{value}']: {error}"
        raise ProcessionError(ErrorCode.INVALID_PROCEDURE_ARGUMENT, message, location=argument.location) from error
    return "older_than", moment.isoformat()


def _literal(name: str, value: str, start: ErrorLocation, location: ErrorLocation) -> CallArgument:
    """An argument that is a plain text, which ``start`` says the place of."""
    place = SourceLocation(line=start.line, column=start.column)
    return CallArgument(name, StringLiteral(location=place, value=value), value, location)

"""``ALTER TABLE t EXECUTE p(…) WHERE …`` as the CALL that means the same, with Trino's names too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from coordinator.analyzer.constants import evaluate_constant
from coordinator.analyzer.literals import zone_of
from coordinator.analyzer.syntax import parse_query
from coordinator.planner.object_names import object_name
from coordinator.sql import ddl_statements as sql
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from shared.units import parse_data_size, parse_duration

_TRINO_NAMES: Mapping[str, str] = {"optimize": "rewrite_data_files", "optimize_manifests": "rewrite_manifests"}
_AGED = frozenset(("expire_snapshots", "remove_orphan_files"))


def procedure_call(statement: sql.ExecuteTableProcedure, text: str, session: Session) -> str:
    """The text of the CALL, for the line to plan; a WHERE becomes the argument ``filter``. Raises ProcessionError.

    Of Trino's arguments, ``file_size_threshold`` and ``retention_threshold`` become what they mean here.
    """
    name = object_name(statement.table, statement.location, session)
    procedure = _TRINO_NAMES.get(statement.procedure, statement.procedure)
    given = [f"schema => {_literal(name.schema)}", f"table_name => {_literal(name.name)}"]
    for argument, tokens in statement.arguments:
        if argument is None:
            message = "ALTER TABLE EXECUTE takes named arguments: name => value"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
        if (procedure == "rewrite_data_files" and argument == "file_size_threshold") or (
            procedure in _AGED and argument == "retention_threshold"
        ):
            value = str(evaluate_constant(parse_query(text, tokens), "varchar", session))
            given.append(_threshold(argument, value, statement, session))
            continue
        given.append(f"{_identifier(argument)} => {text[tokens[0].start : tokens[-1].end + 1]}")
    if statement.where is not None:
        given.append(f"filter => {_literal(statement.where)}")
    called = ".".join(_identifier(part) for part in (name.catalog, "system", procedure))
    return f"CALL {called}({', '.join(given)})"


def _threshold(argument: str, value: str, statement: sql.ExecuteTableProcedure, session: Session) -> str:
    try:
        if argument == "file_size_threshold":
            # Trino joins any two files below the threshold.
            options = {"min-file-size-bytes": str(parse_data_size(value)), "min-input-files": "2"}
            keys, values = (", ".join(map(_literal, side)) for side in (options, options.values()))
            return f"options => map(ARRAY[{keys}], ARRAY[{values}])"
        moment = session.start.astimezone(zone_of(session.time_zone)) - timedelta(seconds=parse_duration(value))
    except (ValueError, OverflowError) as error:
        message = f"Unable to set procedure property '{argument}' to ['{value}']: {error}"
        raise ProcessionError(ErrorCode.INVALID_PROCEDURE_ARGUMENT, message, location=statement.location) from error
    return f"older_than => TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S.%f}'"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'

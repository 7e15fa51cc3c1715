"""``ALTER TABLE t EXECUTE p(…) WHERE …`` as the CALL that means the same, with Trino's names too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, timedelta

from coordinator.analyzer.constants import evaluate_constant, start_of
from coordinator.connectors.registry import Catalogs
from coordinator.planner.object_names import object_name
from coordinator.sql import ddl_statements as sql
from coordinator.sql.call_argument import CallArgument
from coordinator.sql.statements import Call
from coordinator.sql.tree.expressions import StringLiteral
from coordinator.vocabulary.session_properties import SessionProperty
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import SourceLocation
from shared.spi.session import Session
from shared.units import parse_data_size, parse_duration

_TRINO_NAMES: Mapping[str, str] = {
    "optimize": "rewrite_data_files",
    "optimize_manifests": "rewrite_manifests",
    "add_files_from_table": "add_files",
}
_AGED = frozenset(("expire_snapshots", "remove_orphan_files"))
_POSITIONS: Mapping[str, tuple[str, ...]] = {
    "optimize": ("file_size_threshold",),
    "expire_snapshots": ("retention_threshold", "retain_last", "clean_expired_metadata"),
    "remove_orphan_files": ("retention_threshold",),
    "rollback_to_snapshot": ("snapshot_id",),
}
"""Trino's order of the arguments of those of its procedures that have some."""
LEAST_AGES: Mapping[str, str] = {name: f"{name}_min_retention" for name in _AGED}
"""The session property of a catalog that says the least ``retention_threshold`` of a procedure."""
_DEFAULT_LEAST_AGE = "7d"


def procedure_call(statement: sql.ExecuteTableProcedure, session: Session, catalogs: Catalogs) -> Call:
    """The CALL, its arguments at their places; a WHERE is the argument ``filter``. Raises ProcessionError.

    Of Trino's arguments, ``file_size_threshold`` and ``retention_threshold`` become what they mean here.
    """
    name = object_name(statement.table, statement.location, session)
    procedure = _TRINO_NAMES.get(statement.procedure, statement.procedure)
    given = [
        _literal("schema", name.schema, statement.location, statement.location),
        _literal("table_name", name.name, statement.location, statement.location),
    ]
    for argument in _source_named(statement.procedure, _named(statement), session):
        written = str(argument.name).lower()
        if (procedure == "rewrite_data_files" and written == "file_size_threshold") or (
            procedure in _AGED and written == "retention_threshold"
        ):
            key, value = _threshold(written, argument, session)
            if key == "older_than":
                _check_age(procedure, argument, session, catalogs, name.catalog)
            given.append(_literal(key, value, start_of(argument.value), argument.location))
        else:
            given.append(argument)
    if statement.where_location is not None:
        given.append(_literal("filter", statement.where_text, statement.where_location, statement.where_location))
    return Call((name.catalog, "system", procedure), tuple(given), statement.location)


def _named(statement: sql.ExecuteTableProcedure) -> list[CallArgument]:
    """The arguments by name, where Trino's order says which is which."""
    order = _POSITIONS.get(statement.procedure, ())
    named = [argument.name is not None for argument in statement.arguments]
    if all(named):
        return list(statement.arguments)
    if any(named) or len(named) > len(order):
        message = "ALTER TABLE EXECUTE takes named arguments: name => value"
        raise ProcessionError(
            ErrorCode.SYNTAX_ERROR, message, location=statement.arguments[named.index(False)].location
        )
    return [replace(argument, name=name) for argument, name in zip(statement.arguments, order, strict=False)]


def _source_named(procedure: str, given: Sequence[CallArgument], session: Session) -> list[CallArgument]:
    """Trino's folder and format, or schema and name, of what is added as the one ``source_table``."""
    parts = {"add_files": ("location", "format"), "add_files_from_table": ("schema_name", "table_name")}.get(procedure)
    found = {str(argument.name).lower(): argument for argument in given}
    if parts is None or not found.keys() >= set(parts):
        return list(given)
    first, second = (str(evaluate_constant(found[name].value, "varchar", session)) for name in parts)
    text = f"`{second.lower()}`.`{first}`" if procedure == "add_files" else f"{first}.{second}"
    place = found[parts[0]]
    source = _literal("source_table", text, start_of(place.value), place.location)
    return [source, *(argument for argument in given if str(argument.name).lower() not in parts)]


def _check_age(procedure: str, argument: CallArgument, session: Session, catalogs: Catalogs, catalog: str) -> None:
    """Raises INVALID_PROCEDURE_ARGUMENT with Trino's text for an age below the catalog's least."""
    key = LEAST_AGES[procedure]
    of_connector: Callable[[], Iterable[SessionProperty]] = getattr(
        catalogs.connector(catalog), "session_properties", tuple
    )
    declared = {p.name: p.default for p in of_connector()}
    least = session.catalog_properties.get(catalog, {}).get(key, declared.get(key, _DEFAULT_LEAST_AGE))
    given = parse_duration(str(evaluate_constant(argument.value, "varchar", session)))
    if given >= parse_duration(least):
        return
    message = (
        f"Retention specified ({_shown(given)}) is shorter than the minimum retention configured in the system "
        f"({_shown(parse_duration(least))}). Minimum retention can be changed with "
        f"iceberg.{procedure.replace('_', '-')}.min-retention configuration property or {catalog}.{key} session "
        "property"
    )
    raise ProcessionError(ErrorCode.INVALID_PROCEDURE_ARGUMENT, message, location=argument.location)


def _shown(seconds: float) -> str:
    """As Trino prints durations: in the largest unit of which there is one."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= length:
            return f"{seconds / length:.2f}{unit}"
    return f"{seconds * 1000:.2f}ms"


def _threshold(name: str, argument: CallArgument, session: Session) -> tuple[str, str]:
    """The argument that means the same, and its value as text."""
    value = str(evaluate_constant(argument.value, "varchar", session))
    try:
        if name == "file_size_threshold":
            # Trino joins any two files below the threshold.
            return "options", f"min-file-size-bytes={parse_data_size(value)},min-input-files=2"
        instant = session.start.astimezone(UTC) - timedelta(seconds=parse_duration(value))
    except (ValueError, OverflowError) as error:
        message = f"Unable to set procedure property '{name}' to ['{value}']: {error}"
        raise ProcessionError(ErrorCode.INVALID_PROCEDURE_ARGUMENT, message, location=argument.location) from error
    return "older_than", instant.isoformat()


def _literal(name: str, value: str, start: ErrorLocation, location: ErrorLocation) -> CallArgument:
    """An argument that is a plain text, which ``start`` says the place of."""
    place = SourceLocation(line=start.line, column=start.column)
    return CallArgument(name, StringLiteral(location=place, value=value), value, location)

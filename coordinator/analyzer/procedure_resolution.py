"""Which procedure a CALL means: one, two or three name parts, with the session's catalog where none is given."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.registered import (
    PROCEDURE_SCHEMA,
    SYSTEM_CATALOG,
    find_procedure,
    procedure_not_found,
    registered_procedures,
)
from coordinator.sql.statements import Call
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import Procedure
from shared.spi.session import Session

_OF_RUNTIME = frozenset(("kill_query",))
"""Procedures that Presto has in ``system.runtime``."""


@dataclass(frozen=True, slots=True)
class ResolvedProcedure:
    """A procedure and the catalog it was called in; ``system`` for built-in ones."""

    catalog: str
    procedure: Procedure


def resolve_procedure(call: Call, session: Session, catalogs: Catalogs) -> ResolvedProcedure:
    """``catalog.system.name``, ``system.name`` in the session's catalog, or a built-in ``system.name``.

    Raises ProcessionError: PROCEDURE_NOT_FOUND, or SYNTAX_ERROR located at the CALL for a missing catalog or schema.
    """
    catalog, schema, name = _parts(call, session, catalogs)
    if schema != PROCEDURE_SCHEMA:
        raise procedure_not_found(schema, name, _known(session, catalogs))
    if catalog is None:
        return _without_catalog(call, name, session, catalogs)
    try:
        return ResolvedProcedure(catalog, find_procedure(catalogs, catalog, name))
    except ProcessionError as error:
        if error.code is ErrorCode.SYNTAX_ERROR and error.location is None:
            raise ProcessionError(error.code, error.message, location=call.location) from error
        raise


def _parts(call: Call, session: Session, catalogs: Catalogs) -> tuple[str | None, str, str]:
    match call.name:
        case ("system", "runtime", name) if name in _OF_RUNTIME:
            return SYSTEM_CATALOG, PROCEDURE_SCHEMA, name
        case ("runtime", name) if session.catalog == SYSTEM_CATALOG and name in _OF_RUNTIME:
            return SYSTEM_CATALOG, PROCEDURE_SCHEMA, name
        case (catalog, schema, name):
            return catalog, schema, name
        case (schema, name):
            return None, schema, name
        case (name,) if session.schema != PROCEDURE_SCHEMA and name in _known(session, catalogs):
            return None, PROCEDURE_SCHEMA, name  # as in Hudi, whose schema says nothing
        case (name,):
            if session.schema is None:
                message = "Schema must be specified when session schema is not set"
                raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=call.location)
            return session.catalog, session.schema, name
        case parts:
            message = f"Too many dots in table name: {'.'.join(parts)}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=call.location)


def _without_catalog(call: Call, name: str, session: Session, catalogs: Catalogs) -> ResolvedProcedure:
    # The session's catalog goes first, so that a catalog may have a procedure of a built-in one's name.
    if session.catalog is not None and session.catalog != SYSTEM_CATALOG:
        for procedure in catalogs.connector(session.catalog).procedures():
            if procedure.declaration.name == name:
                return ResolvedProcedure(session.catalog, procedure)
    for procedure in registered_procedures(catalogs, SYSTEM_CATALOG):
        if procedure.declaration.name == name:
            return ResolvedProcedure(SYSTEM_CATALOG, procedure)
    if session.catalog is None:
        message = "Catalog must be specified when session catalog is not set"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=call.location)
    raise procedure_not_found(PROCEDURE_SCHEMA, name, _known(session, catalogs))


def _known(session: Session, catalogs: Catalogs) -> tuple[str, ...]:
    names = {p.declaration.name for p in registered_procedures(catalogs, SYSTEM_CATALOG)}
    if session.catalog is not None and session.catalog in catalogs.names():
        names |= {p.declaration.name for p in registered_procedures(catalogs, session.catalog)}
    return tuple(sorted(names))

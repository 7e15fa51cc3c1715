"""Which procedures can be called: those of every catalog, and the built-in ones of the catalog ``system``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Protocol

from coordinator.connectors.system.maintenance import MaintenanceView
from coordinator.connectors.system.procedures.clean_data_cache import CleanDataCache
from coordinator.connectors.system.procedures.explain_maintenance import ExplainMaintenance
from coordinator.connectors.system.procedures.help import Help
from coordinator.connectors.system.procedures.kill_job import KillJob
from coordinator.connectors.system.procedures.kill_query import KillQuery
from coordinator.connectors.system.procedures.maintain import Maintain
from coordinator.connectors.system.procedures.pause import PauseMaintenance
from coordinator.connectors.system.procedures.resume import ResumeMaintenance
from coordinator.connectors.system.procedures.show_jobs import ShowJobs
from coordinator.connectors.system.runtime import RuntimeState
from shared.errors import ErrorCode, ProcessionError
from shared.spi.connector import Connector
from shared.spi.procedure import Procedure

SYSTEM_CATALOG = "system"
PROCEDURE_SCHEMA = "system"
_MAINTENANCE = (Maintain, ExplainMaintenance, PauseMaintenance, ResumeMaintenance)


class CatalogLookup(Protocol):
    """What this module needs of ``coordinator.connectors.registry.Catalogs``."""

    def names(self) -> tuple[str, ...]: ...

    def connector(self, name: str) -> Connector: ...

    runtime: RuntimeState | None
    maintenance: MaintenanceView | None


def registered_procedures(catalogs: CatalogLookup, catalog: str) -> tuple[Procedure, ...]:
    """What ``CALL catalog.system.…`` may name: the connector's procedures and the built-in ones.

    Raises ProcessionError when there is no such catalog.
    """
    if catalog == SYSTEM_CATALOG:
        return built_in_procedures(catalogs)
    # Own ones last, so that a catalog may have a procedure of a built-in one's name.
    return (*built_in_procedures(catalogs), *catalogs.connector(catalog).procedures())


def built_in_procedures(catalogs: CatalogLookup) -> tuple[Procedure, ...]:
    """The procedures that need no catalog."""
    kill_query = KillQuery(lambda: catalogs.runtime)
    kept = tuple(made(lambda: catalogs.maintenance) for made in _MAINTENANCE)
    return (CleanDataCache(), Help(lambda: all_procedures(catalogs)), KillJob(), kill_query, ShowJobs(), *kept)


def all_procedures(catalogs: CatalogLookup) -> tuple[tuple[str, Procedure], ...]:
    """``(catalog, procedure)`` of everything that can be called, built-in ones first."""
    built_in = tuple((SYSTEM_CATALOG, procedure) for procedure in built_in_procedures(catalogs))
    names = (name for name in catalogs.names() if name != SYSTEM_CATALOG)
    return built_in + tuple((name, procedure) for name in names for procedure in catalogs.connector(name).procedures())


def find_procedure(catalogs: CatalogLookup, catalog: str, name: str) -> Procedure:
    """The procedure ``catalog.system.name``.

    Raises ProcessionError: the catalog does not exist, or PROCEDURE_NOT_FOUND with the nearest names at its end.
    """
    procedures = registered_procedures(catalogs, catalog)
    # Own ones last in the tuple, first here.
    for procedure in reversed(procedures):
        if procedure.declaration.name == name:
            return procedure
    raise procedure_not_found(PROCEDURE_SCHEMA, name, tuple(p.declaration.name for p in procedures))


def procedure_not_found(schema: str, name: str, known: tuple[str, ...]) -> ProcessionError:
    """Presto's text, then what was probably meant."""
    message = f"Procedure not registered: {schema}.{name}"
    near = get_close_matches(name, known, n=2, cutoff=0.6)
    if near:
        message += f". Did you mean {' or '.join(near)}?"
    return ProcessionError(ErrorCode.PROCEDURE_NOT_FOUND, message)

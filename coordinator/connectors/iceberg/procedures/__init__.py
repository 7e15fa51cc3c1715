"""The procedures of an Iceberg catalog.

A new one is a file here with a record of its arguments, a ``DECLARATION`` made of it and a function ``answer`` of a
``Call`` with that record, or with several such threes as ``PROCEDURES``. Packages outside add theirs through the entry
point group ``procession.procedures``: each entry is a function
``(catalog: TableCatalog, journal: Journal) -> Sequence[Procedure]``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from pkgutil import iter_modules

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.procedures.auto_maintain import AutoMaintain
from coordinator.connectors.iceberg.procedures.invalidate_caches import invalidating_procedures
from coordinator.connectors.iceberg.procedures.rewrite_data_files import RewriteDataFiles
from coordinator.connectors.iceberg.procedures.table_procedure import TableProcedure, arguments_of
from coordinator.connectors.iceberg.rewrite.committing.journal import Journal
from shared.installed import installed
from shared.spi.procedure import Procedure

ENTRY_POINTS = "procession.procedures"
ProcedureFactory = Callable[[TableCatalog, Journal], Sequence[Procedure]]


def iceberg_procedures(catalog: TableCatalog, journal: Journal) -> tuple[Procedure, ...]:
    """Every procedure of one catalog: ours, then those of installed packages."""
    own: tuple[Procedure, ...] = (
        AutoMaintain(catalog, lambda: own),
        RewriteDataFiles(catalog, journal),
        *sorted([*_in_coordinator(catalog), *invalidating_procedures(catalog)], key=lambda p: p.declaration.name),
    )
    factories: list[ProcedureFactory] = [point.load() for point in installed(ENTRY_POINTS)]
    return own + tuple(procedure for factory in factories for procedure in factory(catalog, journal))


def distributed_procedures() -> Collection[str]:
    """The names of ours that executors take part in."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    declared = (module.DECLARATION for module in modules if hasattr(module, "DECLARATION"))
    return frozenset(declaration.name for declaration in declared if declaration.is_distributed)


def _in_coordinator(catalog: TableCatalog) -> list[Procedure]:
    """Those of this package's modules that have a declaration and an answer."""
    made: list[Procedure] = []
    for found in iter_modules(__path__):
        module = import_module(f"{__name__}.{found.name}")
        threes = getattr(module, "PROCEDURES", ())
        if hasattr(module, "answer"):
            threes = ((module.DECLARATION, arguments_of(module.answer), module.answer),)
        made += [TableProcedure(declaration, record, answer, catalog) for declaration, record, answer in threes]
    return made

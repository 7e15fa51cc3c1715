"""The procedures of an Iceberg catalog. A new one is a file here and a line in ``iceberg_procedures``;

packages outside add theirs through the entry point group ``procession.procedures``: each entry is a function
``(catalog: TableCatalog, journal: Journal) -> Sequence[Procedure]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.journal import Journal
from coordinator.connectors.iceberg.procedures.rewrite_data_files import RewriteDataFiles
from coordinator.connectors.iceberg.procedures.rollback_to_snapshot import RollbackToSnapshot
from shared.spi.procedure import Procedure

ENTRY_POINTS = "procession.procedures"
ProcedureFactory = Callable[[TableCatalog, Journal], Sequence[Procedure]]


def iceberg_procedures(catalog: TableCatalog, journal: Journal) -> tuple[Procedure, ...]:
    """Every procedure of one catalog: ours, then those of installed packages."""
    own: tuple[Procedure, ...] = (
        RewriteDataFiles(catalog, journal),
        RollbackToSnapshot(catalog),
    )
    factories: list[ProcedureFactory] = [point.load() for point in entry_points(group=ENTRY_POINTS)]
    return own + tuple(procedure for factory in factories for procedure in factory(catalog, journal))

"""The service put together, for the composition root."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from coordinator.connectors.registry import Catalogs
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.query import Query
from coordinator.maintenance.inspection import Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.policies import Policy, read_policies
from coordinator.maintenance.records import TableKey
from coordinator.maintenance.service import MaintenanceService
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.statements import OwnStatements
from coordinator.maintenance.store import MaintenanceStore, SharedDatabase
from coordinator.maintenance.view import ServiceView
from coordinator.security.refreshed_file import RefreshedFile, RefreshedFiles
from coordinator.values.database_files import set_aside_if_damaged
from coordinator.vocabulary.planned_statement import WriteRows
from shared.spi.session import Session

_REFRESH_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What the coordinator needs of the service."""

    service: MaintenanceService
    view: ServiceView
    store: MaintenanceStore

    def running(self) -> AbstractAsyncContextManager[None]:
        return self.service.running()

    def query_ended(self, query: Query) -> None:
        """Count what statements of others read, and look at what they wrote."""
        planned, own = query.planned, self.view.own(query.session)
        if planned is not None and query.error is None and not own and planned.update_type is None:
            self.service.scanned(TableKey(v.catalog, v.schema, v.name) for v in planned.table_versions if not v.view)
        if planned is not None and query.error is None and not own and isinstance(planned.work, WriteRows):
            write = planned.work.write
            self.service.committed(TableKey(write.catalog, write.schema, write.table))


def create_maintenance(
    settings: MaintenanceSettings,
    catalogs: Catalogs,
    dispatcher: Dispatcher,
    admit: Callable[[Session], Session],
    data_dir: Path,
    files: RefreshedFiles,
    is_its_turn: Callable[[], bool] = lambda: True,
    shared: SharedDatabase | None = None,
) -> Maintenance:
    """``is_its_turn``: whether no other coordinator looks after tables; ``shared``: where all remember what they did.

    Raises ConfigurationError.
    """
    policies = _policies(settings, files)
    lake = Lake(catalogs, settings.catalogs)
    store = MaintenanceStore(_file(data_dir) if shared is None else shared)
    inspector = Inspector(settings, policies, lake, store)
    statements = OwnStatements(dispatcher, settings, admit)
    service = MaintenanceService(settings, lake, inspector, statements, store, is_its_turn=is_its_turn)
    return Maintenance(service, ServiceView(settings, policies, catalogs, lake, inspector, store, service), store)


def _file(data_dir: Path) -> Path:
    file = data_dir / "maintenance.db"
    set_aside_if_damaged(file, "memory of the maintenance service")
    return file


def _policies(settings: MaintenanceSettings, files: RefreshedFiles) -> Callable[[], tuple[Policy, ...]]:
    if settings.policies is None:
        return lambda: ()
    return files.add(RefreshedFile(settings.policies, read_policies, _REFRESH_SECONDS)).get

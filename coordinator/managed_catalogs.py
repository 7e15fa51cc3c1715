"""Who is told when catalogs change: planner processes, Spark, and whatever hides secrets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import structlog

from coordinator.config import CoordinatorConfig
from coordinator.connectors.managed import CatalogManager, CatalogStore
from coordinator.connectors.registry import Catalogs
from coordinator.engine.spark.engine import SparkEngine
from coordinator.planner_factory import PlannerFactory
from coordinator.room_settings import secrets_of_catalogs, spark_settings
from coordinator.security.access_control.catalog_controls import CatalogControls
from coordinator.security.redaction import Redactor
from coordinator.validation.own_loop import PoolOnItsOwnLoop
from coordinator.vocabulary.planned_statement import ManageCatalog
from shared.errors import ProcessionError

_log = structlog.get_logger(__name__)
_PLANNERS_SECONDS = 30.0
"""A loop that is about to end may never answer."""


class ManagedCatalogs:
    """The manager of catalogs, with those who have to hear of a change."""

    def __init__(
        self,
        config: CoordinatorConfig,
        catalogs: Catalogs,
        factory: PlannerFactory,
        pool: PoolOnItsOwnLoop,
        spark: SparkEngine,
        redact: Redactor,
        store: CatalogStore | None = None,
        tell_others: Callable[[], None] = lambda: None,
    ) -> None:
        """``store``: that of several coordinators; ``tell_others`` waits until they have looked into it."""
        self._store = store if config.catalog_management.by_statements else None
        self._tell_others = tell_others
        self._config, self._catalogs, self._factory = config, catalogs, factory
        self._pool, self._spark, self._redact = pool, spark, redact
        self._settings = config.catalog_management
        self._loop: asyncio.AbstractEventLoop | None = None
        control = catalogs.access.control
        rules = control.check_rules if isinstance(control, CatalogControls) else lambda _name, _properties: None
        folder, data_dir = config.etc / "catalog", config.node.data_dir
        self.manager = CatalogManager(catalogs, folder, data_dir, self._settings, rules, self._store)
        self.manager.changed = self._changed

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """While it lasts, changed files are followed, where the settings say so."""
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self.manager.follow_store)
        follows = self._settings.by_files or self._store is not None
        task = asyncio.create_task(self._follow()) if follows else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def carry_out(self, work: ManageCatalog) -> None:
        """A statement's change, here and on the other coordinators that answer. Raises ProcessionError."""
        self.manager.carry_out(work)
        if self._store is not None:
            self._tell_others()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self._settings.refresh_interval)
            try:
                await asyncio.to_thread(self._look)
            except Exception:  # whatever Spark or a planner says: it is looked again
                _log.exception("catalogs that changed could not be followed")

    def _look(self) -> None:
        try:
            self.manager.follow_store()
        except ProcessionError as error:
            _log.warning("catalogs of other coordinators cannot be looked for", reason=error.message)
        if self._settings.by_files:
            self.manager.follow_files()

    def _changed(self) -> None:
        """In the thread that changed them; the statement that did so ends once all know."""
        configs = self._catalogs.configs()
        self._redact.learn(secrets_of_catalogs(configs))
        loop = self._loop
        if loop is not None:
            done = asyncio.run_coroutine_threadsafe(self._tell_planners(replace(self._factory, catalogs=configs)), loop)
            done.result(_PLANNERS_SECONDS)
        self._spark.change_catalogs(
            spark_settings(self._config, self._catalogs.spark_drivers()), self._catalogs.spark_conf()
        )

    async def _tell_planners(self, factory: PlannerFactory) -> None:
        self._pool.change(factory, factory.catalogs)

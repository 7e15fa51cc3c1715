"""Who is told when catalogs change: planner processes, Spark, and whatever hides secrets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from coordinator.config import CoordinatorConfig
from coordinator.connectors.managed import CatalogManager
from coordinator.connectors.registry import Catalogs
from coordinator.engine.spark.engine import SparkEngine
from coordinator.planner_factory import PlannerFactory
from coordinator.room_settings import secrets_of_catalogs, spark_settings
from coordinator.security.access_control.catalog_controls import CatalogControls
from coordinator.security.redaction import Redactor
from coordinator.validation.own_loop import PoolOnItsOwnLoop

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
    ) -> None:
        self._config, self._catalogs, self._factory = config, catalogs, factory
        self._pool, self._spark, self._redact = pool, spark, redact
        self._settings = config.catalog_management
        self._loop: asyncio.AbstractEventLoop | None = None
        control = catalogs.access.control
        rules = control.check_rules if isinstance(control, CatalogControls) else lambda _name, _properties: None
        folder, data_dir = config.etc / "catalog", config.node.data_dir
        self.manager = CatalogManager(catalogs, folder, data_dir, self._settings, rules)
        self.manager.changed = self._changed

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """While it lasts, changed files are followed, where the settings say so."""
        self._loop = asyncio.get_running_loop()
        task = asyncio.create_task(self._follow()) if self._settings.by_files else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self._settings.refresh_interval)
            await asyncio.to_thread(self.manager.follow_files)

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

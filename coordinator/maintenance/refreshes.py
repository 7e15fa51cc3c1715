"""Materialized views that say so themselves are refreshed when their tables have changed: one after another, as
statements of the service's user."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from coordinator.maintenance.lake import Lake
from coordinator.maintenance.records import MaintenanceJob, TableKey
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.store import MaintenanceStore
from coordinator.maintenance.windows import open_until
from shared.errors import ProcessionError

_LOG = logging.getLogger(__name__)
REFRESH = "refresh_materialized_view"
_PAUSE = timedelta(hours=1)
"""After a refresh that failed, before it is tried again."""


class Statements(Protocol):
    """What runs refreshes, see ``OwnStatements``."""

    async def run(self, text: str, begun: Callable[[str], Awaitable[None]], seconds: float | None = None) -> None: ...

    @property
    def users_wait(self) -> bool: ...


class ViewRefreshes:
    """Belongs to one event loop."""

    def __init__(
        self,
        settings: MaintenanceSettings,
        lake: Lake,
        statements: Statements,
        store: MaintenanceStore,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings, self._lake, self._statements, self._store = settings, lake, statements, store
        self._now = now
        self._not_before: dict[TableKey, datetime] = {}

    async def round(self) -> None:
        """Every view that is stale, while the window is open and nobody waits."""
        if self._settings.dry_run:
            return
        for key in await asyncio.to_thread(self._lake.stale_views):
            until = open_until(self._settings.window, self._now())
            if until is None or (self._settings.stand_back and self._statements.users_wait):
                return
            if self._not_before.get(key, self._now()) > self._now():
                continue
            seconds = None if until.year == datetime.max.year else (until - self._now()).total_seconds()
            await self._refresh(key, seconds)

    async def _refresh(self, key: TableKey, seconds: float | None) -> None:
        job = MaintenanceJob("", key, REFRESH, "policy", "RUNNING", self._now())

        async def begun(query_id: str) -> None:
            nonlocal job
            job = replace(job, job_id=query_id)
            await asyncio.to_thread(self._store.save_job, job)

        try:
            await self._statements.run(refresh_text(key), begun, seconds)
            job = replace(job, state="FINISHED", ended=self._now())
            self._not_before.pop(key, None)
        except (ProcessionError, TimeoutError) as error:
            reason = error.message if isinstance(error, ProcessionError) else "the window closed"
            job = replace(job, state="FAILED", ended=self._now(), error=reason)
            self._not_before[key] = self._now() + _PAUSE
            _LOG.warning("maintenance: materialized view %s was not refreshed: %s", key, reason)
        if job.job_id:
            await asyncio.to_thread(self._store.save_job, job)


def refresh_text(key: TableKey) -> str:
    """``REFRESH MATERIALIZED VIEW "catalog"."schema"."view"``."""
    parts = (key.catalog, key.schema, key.table)
    return "REFRESH MATERIALIZED VIEW " + ".".join('"' + part.replace('"', '""') + '"' for part in parts)

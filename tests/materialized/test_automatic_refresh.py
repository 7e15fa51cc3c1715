"""The maintenance service refreshes the views that ask for it, as statements of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from coordinator.maintenance.lake import Lake
from coordinator.maintenance.refreshes import REFRESH, ViewRefreshes
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.store import MaintenanceStore
from shared.errors import ErrorCode, ProcessionError
from tests.materialized.kept import Kept
from tests.materialized.test_freshness import MORE


@dataclass
class Sent:
    """Runs refreshes here and remembers them."""

    lab: Kept
    texts: list[str] = field(default_factory=list)
    users_wait: bool = False
    count: int = 0
    fails: bool = False

    async def run(self, text: str, begun: Callable[[str], Awaitable[None]], seconds: float | None = None) -> None:
        del seconds
        self.texts.append(text)
        self.count += 1
        await begun(f"query{self.count}")
        if self.fails:
            raise ProcessionError(ErrorCode.REMOTE_TASK_ERROR, "no workers")
        self.lab.refresh("alice", text.removeprefix("REFRESH MATERIALIZED VIEW "))


@pytest.fixture
def lab(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_stale_views_that_ask_for_it_are_refreshed(lab: Kept, tmp_path: Path) -> None:
    lab.do("alice", "CREATE MATERIALIZED VIEW mv WITH (automatic_refresh = true) AS SELECT id FROM people")
    lab.do("alice", "CREATE MATERIALIZED VIEW asked AS SELECT id FROM people")
    sent, store = Sent(lab), MaintenanceStore(tmp_path / "maintenance.db")
    now = datetime(2026, 1, 1, tzinfo=UTC)
    settings = MaintenanceSettings(dry_run=False)
    refreshes = ViewRefreshes(settings, Lake(lab.catalogs), sent, store, lambda: now)

    def round_() -> list[str]:
        sent.texts.clear()
        asyncio.run(refreshes.round())
        return list(sent.texts)

    text = 'REFRESH MATERIALIZED VIEW "lab"."db"."mv"'
    sent.users_wait = True
    assert round_() == []
    sent.users_wait = False
    assert round_() == [text]
    assert round_() == []
    lab.lake.table("people").append(MORE)
    assert round_() == [text]
    lab.lake.table("people").append(MORE)
    sent.fails = True
    assert round_() == [text]
    sent.fails = False
    assert round_() == []  # not at once
    now += timedelta(hours=2)
    assert round_() == [text]
    jobs = {(job.procedure, job.state, job.error) for job in store.jobs(10)}
    assert jobs == {(REFRESH, "FINISHED", None), (REFRESH, "FAILED", "no workers")}
    lab.do("alice", "ALTER MATERIALIZED VIEW mv SET PROPERTIES (automatic_refresh = false)")
    lab.lake.table("people").append(MORE)
    assert round_() == []
    assert ViewRefreshes(MaintenanceSettings(dry_run=True), Lake(lab.catalogs), sent, store) is not None
    store.close()
    lab.local.close()

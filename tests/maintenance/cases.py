"""One maintenance service over a lake of states and statements that tests answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from coordinator.maintenance.inspection import Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.policies import Policy, TablePolicy
from coordinator.maintenance.records import TableKey
from coordinator.maintenance.service import MaintenanceService
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.store import MaintenanceStore
from shared.errors import ErrorCode, ProcessionError
from shared.spi.maintenance import TableState
from tests.maintenance.states import NOW, partition, table

BAD = partition(files=40)
GOOD = partition(files=1)
CONFLICT = ProcessionError(ErrorCode.TRANSACTION_CONFLICT, "somebody was faster")


class States:
    """Stands in for ``Lake``."""

    def __init__(self) -> None:
        self.known: dict[TableKey, TableState] = {}
        self.looks = self.asked = 0
        self.tells_markers = True
        self.broken: set[TableKey] = set()
        self.policies: dict[TableKey, tuple[Policy, ...]] = {}

    def add(self, name: str, *, catalog: str = "lake", bad: bool = True) -> TableKey:
        key = TableKey(catalog, "db", name)
        self.known[key] = replace(table(BAD if bad else GOOD), catalog=catalog, table=name, marker=f"{name}-0")
        return key

    def tables(self) -> tuple[list[TableKey], frozenset[str]]:
        return list(self.known), frozenset({"lake", "other"})

    def marker(self, key: TableKey) -> str | None:
        self.asked += 1
        return self.known[key].marker

    def markers(self, keys: Iterable[TableKey]) -> dict[TableKey, str]:
        return {key: self.known[key].marker for key in keys if key in self.known and self.tells_markers}

    def markers_at_once(self, catalogs: Collection[str]) -> tuple[dict[TableKey, str], frozenset[str]]:
        if not self.tells_markers:
            return {}, frozenset()
        return self.markers(key for key in self.known if key.catalog in catalogs), frozenset(catalogs)

    def marker_if_cheap(self, key: TableKey) -> str | None:
        return self.known[key].marker if key in self.known else None

    def attached(self, key: TableKey) -> tuple[Policy, ...]:
        return self.policies.get(key, ())

    def state(self, key: TableKey, policy: TablePolicy, now: datetime) -> TableState | None:
        self.looks += 1
        if key in self.broken:
            raise ProcessionError(ErrorCode.ICEBERG_INVALID_METADATA, "manifest is broken")
        return self.known.get(key)


class Answers:
    """Stands in for ``OwnStatements``: a call makes its table good, unless ``answer`` does something else."""

    def __init__(self, states: States) -> None:
        self.states = states
        self.texts: list[str] = []
        self.seconds: list[float | None] = []
        self.at_once = self.most_at_once = 0
        self.users_wait = False
        self.answer: Callable[[TableKey], Awaitable[None]] | None = None
        self.begins_after = 0.0

    async def run(self, text: str, begun: Callable[[str], Awaitable[None]], seconds: float | None = None) -> None:
        self.texts.append(text)
        self.seconds.append(seconds)
        await asyncio.sleep(self.begins_after)
        await begun(f"query-{len(self.texts)}")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            key = next(k for k in self.states.known if f"'{k.table}'" in text and f'"{k.catalog}"' in text)
            if self.answer is not None:
                async with asyncio.timeout(seconds):
                    await self.answer(key)
            else:
                await asyncio.sleep(0.01)
                self.states.known[key] = replace(self.states.known[key], partitions=(GOOD,), marker=f"{key.table}-1")
        finally:
            self.at_once -= 1


class Case:
    """One service with its surroundings; ``now`` is what its clock shows."""

    def __init__(self, home: Path, **settings: Any) -> None:
        values = {
            "maintenance.enabled": True,
            "maintenance.dry-run": False,
            "maintenance.scan-interval": "50ms",
            "maintenance.max-per-catalog": 2,
        }
        self.settings = MaintenanceSettings.model_validate({**values, **settings})
        self.now = NOW
        self.is_its_turn = True
        self.states = States()
        self.answers = Answers(self.states)
        self.store = MaintenanceStore(home / "m.db")
        self.lake = cast(Lake, self.states)
        self.inspector = Inspector(self.settings, lambda: (), self.lake, self.store, lambda: self.now)
        self.service = self.restarted()

    def restarted(self) -> MaintenanceService:
        return MaintenanceService(
            self.settings,
            self.lake,
            self.inspector,
            self.answers,
            self.store,
            lambda: self.now,
            lambda: self.is_its_turn,
        )

    def work(self) -> None:
        """Until it has nothing to start."""

        self.service = self.restarted()

        async def run() -> None:
            async with self.service.running():
                while self.busy():
                    await asyncio.sleep(0.01)

        asyncio.run(asyncio.wait_for(run(), 120))

    def busy(self) -> bool:
        waiting = bool(self.service.backlog) and not self.answers.users_wait
        return not self.service.rounds or bool(self.service.working) or waiting

    def jobs(self) -> list[tuple[str, str, str | None]]:
        return [(job.key.table, job.state, job.error) for job in reversed(self.store.jobs(100))]

    def verdicts(self, step: str = "rewrite_data_files") -> list[tuple[str, str]]:
        found = [d for d in reversed(self.store.decisions(100)) if d.step in (step, "look")]
        return [(decision.verdict, decision.reason) for decision in found]

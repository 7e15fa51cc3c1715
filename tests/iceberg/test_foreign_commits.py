"""What PyIceberg commits by itself is seen by the maintenance service between its rounds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.registry import Catalogs
from coordinator.maintenance.inspection import Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.records import TableKey
from coordinator.maintenance.service import MaintenanceService
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.store import MaintenanceStore
from coordinator.maintenance.watch import CommitWatch
from tests.iceberg.test_rest_protocol import LOADED, Habits, over

T, U = TableKey("lab", "db", "t"), TableKey("lab", "db", "u")


class One:
    """The catalogs of a coordinator that has one."""

    def __init__(self, connector: IcebergConnector) -> None:
        self._connector = connector

    def names(self) -> tuple[str, ...]:
        return ("lab",)

    def connector(self, _name: str) -> IcebergConnector:
        return self._connector


def numbers() -> pa.Table:
    return pa.table({"id": pa.array(range(10), pa.int64())})


def lake_of(lake: Any) -> Lake:
    return Lake(cast(Catalogs, One(lake.connector)))


def test_all_tables_of_a_sql_catalog_are_one_question(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    t, u = lake.create("t", [numbers()]), lake.create("u", [numbers()])
    lake.other.create_namespace("deep.er")
    lake.other.create_table("deep.er.v", schema=numbers().schema)
    watch = CommitWatch(lake_of(lake), 10.0, dict)
    monkeypatch.setattr(IcebergConnector, "marker_if_cheap", None)
    v = TableKey("lab", "deep.er", "v")
    assert watch.changed([T, U, v]) == []
    u.append(numbers())
    assert watch.changed([T, U, v]) == [U]
    t.append(numbers())
    lake.other.load_table("deep.er.v").append(numbers())
    assert watch.changed([T, U, v]) == [T, v]
    assert watch.changed([T, U, v]) == []


@pytest.mark.parametrize("etags", [True, False])
def test_a_rest_server_is_asked_about_what_is_here_with_an_etag(lake: Any, etags: bool) -> None:
    t, _ = lake.create("t", [numbers()]), lake.create("u", [numbers()])
    habits = Habits(etags=etags)
    with over(lake, habits):
        watch = CommitWatch(lake_of(lake), 10.0, dict)
        assert watch.changed([T, U]) == []
        assert habits.count("/tables/") == 0, "nothing of a table is here yet"
        lake.connector.tables_of.load("db", "t")
        asked = habits.count(LOADED + "200")
        assert watch.changed([T, U]) == []
        t.append(numbers())
        assert watch.changed([T, U]) == ([T] if etags else [])
        lake.other.drop_table("db.t")
        assert watch.changed([T, U]) == []
    assert habits.count(LOADED + "304") == int(etags)
    assert habits.count(LOADED + "200") == asked + int(etags), "what changed is not compared away"


def test_the_service_looks_at_a_table_that_pyiceberg_writes(lake: Any, tmp_path: Path) -> None:
    table = lake.create("t", [numbers()])
    settings = MaintenanceSettings.model_validate(
        {
            "maintenance.enabled": True,
            "maintenance.scan-interval": "1h",
            "maintenance.commit-delay": "10ms",
            "maintenance.commit-check-interval": "50ms",
        }
    )
    seen, store = lake_of(lake), MaintenanceStore(tmp_path / "m.db")
    inspector = Inspector(settings, lambda: (), seen, store)
    service = MaintenanceService(settings, seen, inspector, cast(Any, None), store)

    async def looked_at(files: int) -> None:
        while (look := store.look(T)) is None or (look.marker, look.files) != (table.metadata_location, files):
            await asyncio.sleep(0.02)

    async def run() -> None:
        async with service.running():
            await looked_at(1)
            while not service.rounds:
                await asyncio.sleep(0.02)
            for number in (2, 3):
                await asyncio.to_thread(table.append, numbers())
                await looked_at(number)
            assert service.rounds == 1

    asyncio.run(asyncio.wait_for(run(), 60))

"""FOR TIMESTAMP and VERSION, AS OF and BEFORE: the snapshot that a statement reads, by the table's own history."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import RunOnSpark
from shared.errors import ProcessionError
from shared.properties import Property
from shared.spi.session import Session


class Travel:
    """A table ``t`` of three snapshots, each a row more, and what statements read of it."""

    def __init__(self, lake: Any) -> None:
        self.table = lake.create("t", [pa.table({"id": [1]})])
        for value in (2, 3):
            time.sleep(0.005)  # snapshots are told apart by the millisecond
            self.table.append(pa.table({"id": [value]}))
        self.ids = [entry.snapshot_id for entry in self.table.history()]
        self.moments = [entry.timestamp_ms for entry in self.table.history()]
        self.table.manage_snapshots().create_tag(self.ids[0], "first").commit()
        values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": f"file://{lake.home}/wh"}
        properties = {k: Property(k, v, Path("lab.properties"), 2) for k, v in values.items()}
        self._catalogs = Catalogs([CatalogConfig("lab", "iceberg", properties, lake.home)])

    def snapshot(self, version: str) -> int:
        session = Session(user="test", catalog="lab", schema="db", time_zone="UTC", properties={"engine": "spark"})
        work = plan_statement(f"SELECT id FROM t FOR {version} AS x", session, self._catalogs, PlanCheckers()).work
        assert isinstance(work, RunOnSpark)
        (found,) = re.findall(r"VERSION AS OF (\d+)", work.sql)
        return int(found)


@pytest.fixture
def travel(lake: Any) -> Travel:
    return Travel(lake)


def shown(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03d} UTC'"


def test_versions(travel: Travel) -> None:
    first, second, third = travel.ids
    assert travel.snapshot(f"VERSION AS OF {second}") == second
    assert travel.snapshot(f"SYSTEM_VERSION AS OF {second} + 0") == second
    assert travel.snapshot(f"VERSION BEFORE {third}") == second
    assert travel.snapshot("VERSION AS OF 'first'") == first
    assert travel.snapshot("VERSION AS OF 'main'") == third


def test_moments(travel: Travel) -> None:
    first, second, third = travel.ids
    at = travel.moments[1]
    assert travel.snapshot(f"TIMESTAMP AS OF {shown(at)}") == second
    assert travel.snapshot(f"TIMESTAMP BEFORE {shown(at)}") == first
    assert travel.snapshot(f"SYSTEM_TIME AS OF {shown(at)} - INTERVAL '0.001' SECOND") == first
    assert travel.snapshot(f"TIMESTAMP AS OF {shown(at).replace(' UTC', '')}") == second
    assert travel.snapshot("TIMESTAMP AS OF current_timestamp + INTERVAL '1' DAY") == third


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        (
            "VERSION AS OF 12345678901",
            "ICEBERG_INVALID_SNAPSHOT_ID",
            "Iceberg snapshot ID does not exists: 12345678901",
        ),
        ("VERSION AS OF 'none'", "ICEBERG_INVALID_SNAPSHOT_ID", "Could not find Iceberg table branch or tag: none"),
        (
            "TIMESTAMP BEFORE TIMESTAMP '2001-01-01 00:00:00 UTC'",
            "ICEBERG_INVALID_TABLE_TIMESTAMP",
            'No history found based on timestamp for table "db"."t"',
        ),
    ],
)
def test_what_is_not_there(travel: Travel, version: str, error: str, message: str) -> None:
    with pytest.raises(ProcessionError) as failed:
        travel.snapshot(version)
    assert (failed.value.code.name, failed.value.message) == (error, message)


def test_before_the_first_snapshot_is_nothing(travel: Travel) -> None:
    with pytest.raises(ProcessionError, match="No history found"):
        travel.snapshot(f"VERSION BEFORE {travel.ids[0]}")

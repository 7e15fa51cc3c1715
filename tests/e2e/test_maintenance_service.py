"""The maintenance service in a whole coordinator: catalog ``kept`` is looked after, beside it nothing is."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from typing import Any

import httpx
import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service, checksum
from tests.iceberg.foreign_writer import delete_positions

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Refused = prestodb.exceptions.PrestoQueryError
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32())])


@pytest.fixture(scope="module")
def lake(service: Service) -> Any:
    service.execute("CREATE SCHEMA IF NOT EXISTS kept.m")
    return service.lake("kept")


def eventually(found: Callable[[], bool], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.3)


def jobs(service: Service, table: str) -> list[list[Any]]:
    sql = f"SELECT procedure, state, error, trigger, job_id FROM system.maintenance.jobs WHERE table_name = '{table}'"
    return service.execute(sql)


def test_small_files_are_merged_by_themselves_and_no_row_is_lost(service: Service, lake: Any) -> None:
    table = lake.create_table("m.days", schema=SCHEMA)
    table.update_spec().add_identity("day").commit()
    for i in range(26):
        table.append(pa.table({"id": [i], "day": [date(2026, 1, 1 + i % 2)]}, SCHEMA))
    before = checksum(table)
    eventually(lambda: [job[:3] for job in jobs(service, "days")] == [["rewrite_data_files", "FINISHED", None]])
    assert len(list(table.refresh().scan().plan_files())) == 2
    assert checksum(table) == before
    ((_, _, _, trigger, job_id),) = jobs(service, "days")
    assert trigger == "policy"
    query = service.get(f"/v1/query/{job_id}")
    assert query["session"]["user"] == "maintenance"
    assert query["session"]["source"] == "procession-maintenance"
    (row,) = service.execute(
        "SELECT health, files, needed_files, state FROM system.maintenance.tables WHERE table_name = 'days'"
    )
    assert row == [100, 2, 2, "HEALTHY"]
    decided = service.execute("SELECT verdict, reason FROM system.maintenance.decisions WHERE table_name = 'days'")
    assert any(verdict == "RUN" and "small files" in reason for verdict, reason in decided)
    assert service.execute("SELECT count(*) FROM system.maintenance.tables WHERE catalog_name <> 'kept'") == [[0]]


def test_deletes_are_taken_into_the_files_and_the_delete_files_go(service: Service, lake: Any) -> None:
    service.execute("CALL system.pause(catalog => 'kept', schema => 'm', table_name => 'deleted', reason => 'a test')")
    table = lake.create_table("m.deleted", schema=SCHEMA, properties={"format-version": "2"})
    for i in range(13):
        table.append(pa.table({"id": [10 * i + k for k in range(10)], "day": [date(2026, 1, 1)] * 10}, SCHEMA))
    for task in list(table.scan().plan_files())[:4]:
        delete_positions(table.refresh(), {task.file.file_path: range(5)})
    rows = sorted(table.refresh().scan().to_arrow()["id"].to_pylist())
    assert len(rows) == 110
    waits = "SELECT state, state_reason FROM system.maintenance.tables WHERE table_name = 'deleted'"
    eventually(lambda: bool(service.execute(waits)))
    eventually(lambda: "paused for kept.m.deleted by tester: a test" in service.execute(waits)[0][1])
    assert jobs(service, "deleted") == []
    assert service.execute("CALL kept.system.resume(schema => 'm', table_name => 'deleted')") == [["kept.m.deleted"]]
    eventually(lambda: ["rewrite_data_files", "FINISHED"] in [job[:2] for job in jobs(service, "deleted")])
    eventually(lambda: not any(task.delete_files for task in table.refresh().scan().plan_files()))
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == rows


def test_what_it_would_do_can_be_asked_and_explained(service: Service, lake: Any) -> None:
    service.execute("CALL system.pause(catalog => 'kept', schema => 'm', table_name => 'asked')")
    table = lake.create_table("m.asked", schema=SCHEMA)
    for i in range(14):
        table.append(pa.table({"id": [i], "day": [date(2026, 1, 1)]}, SCHEMA))
    rows = service.execute("CALL kept.system.maintain(schema => 'm', table_name => 'asked', dry_run => true)")
    assert [row[1:4] for row in rows] == [["kept", "m", "asked"]] * len(rows)
    found = {row[4]: row[5:7] for row in rows}
    assert found["rewrite_data_files"][0] == "WAIT"
    assert "14 small files of 14" in found["rewrite_data_files"][1]
    assert found["expire_snapshots"] == ["SKIP", "snapshots that may go: 0, fewer than 20"]
    explained = service.execute("CALL system.explain_maintenance('kept', 'm', 'asked')")
    assert {row[0] for row in explained} == {"health", "table", "policy", "past", "decision", "partition"}
    assert ["table", "files", "14, of the target size 1 would do"] in explained


@pytest.mark.parametrize(
    ("sql", "name", "message"),
    [
        ("CALL system.resume(catalog => 'kept')", "NOT_FOUND", "Maintenance is not paused for kept"),
        ("CALL kept.system.maintain('kept', 'm', 'nope')", "NOT_FOUND", "Table not found: kept.m.nope"),
        ("CALL system.maintain(table_name => 'x')", "INVALID_PROCEDURE_ARGUMENT", "table_name needs a schema"),
        ("CALL system.pause(schema => 'x')", "INVALID_PROCEDURE_ARGUMENT", "schema needs a catalog"),
        ("CALL system.explain_maintenance('kept')", "INVALID_PROCEDURE_ARGUMENT", "needs a table"),
    ],
)
def test_wrong_calls_say_what_is_wrong(service: Service, lake: Any, sql: str, name: str, message: str) -> None:
    with pytest.raises(Refused, match=message) as raised:
        service.execute(sql)
    assert raised.value.error_name == name


def test_budgets_and_policies_are_tables(service: Service) -> None:
    budget = service.execute("SELECT name, window_open, most FROM system.maintenance.budget ORDER BY name")
    assert budget == [["bytes_per_day", True, None], ["jobs_of_a_day", True, None], ["seconds_per_day", True, None]]
    types = service.execute("SELECT type, enabled FROM system.maintenance.policies WHERE policy = 'default' ORDER BY 1")
    assert types == [
        ["compaction", True], ["expiry", True], ["metadata", True], ["orphans", False], ["statistics", True],
    ]  # fmt: skip
    text = httpx.get(service.url + "/metrics", timeout=60).text
    assert 'procession_maintenance_jobs_total{procedure="rewrite_data_files",state="FINISHED"}' in text

"""The catalogue of procedures through HTTP: places of errors, both spellings, jobs and killing one."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service, checksum

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def numbers(start: int, count: int = 100) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64())})


@pytest.fixture(scope="module")
def ids(service: Service) -> list[int]:
    table = service.create("kept", [numbers(0), numbers(100), numbers(200)])
    return [snapshot.snapshot_id for snapshot in table.refresh().snapshots()]


def test_both_spellings_by_name_and_by_position(service: Service, ids: list[int]) -> None:
    for call in ("create_tag('db', 'kept', 'a')", "create_tag(table => 'db.kept', tag => 'b')",
                 "create_tag(table => 'iceberg.db.kept', tag => 'c')",
                 "create_tag(SCHEMA => 'db', Table_Name => 'kept', tag => 'd')"):  # fmt: skip
        assert service.execute(f"CALL iceberg.system.{call}")[0][2] == ids[2]
    assert [row[0] for row in service.execute("CALL iceberg.system.show_refs('db', 'kept')")] == [*"abcd", "main"]
    moved = service.execute(f"CALL iceberg.system.rollback_to_snapshot('db', 'kept', {ids[0]})")
    assert moved == [[ids[2], ids[0]]]
    assert checksum(service.lake().load_table("db.kept"))[0] == 100
    assert service.execute("CALL iceberg.system.fast_forward('db', 'kept', 'main', 'a')") == [["main", ids[0], ids[2]]]


@pytest.mark.parametrize(
    ("call", "name", "message"),
    [
        ("rollback_to_snapshot('db', 'kept', 7)", "ICEBERG_INVALID_SNAPSHOT_ID",
         "line 1:56: Cannot roll back to unknown snapshot id: 7"),
        ("set_current_snapshot('db', 'kept', ref => 'x')", "SYNTAX_ERROR", "cannot be mixed"),
        ("set_current_snapshot(table => 'db.kept', ref => 'x')", "INVALID_PROCEDURE_ARGUMENT",
         "line 1:62: Cannot find matching snapshot ID for ref x"),
        ("drop_branch('db', 'kept', 'main')", "INVALID_PROCEDURE_ARGUMENT", "line 1:47: Cannot remove main branch"),
        ("show_refs('db', 'nope')", "NOT_FOUND", "line 1:37: Table db.nope does not exist"),
        ("show_refs(table => 'db.nope')", "NOT_FOUND", "line 1:31: Table db.nope does not exist"),
        ("show_snapshots('db', 'kept', 0)", "INVALID_PROCEDURE_ARGUMENT", "limit must be at least 1, got: 0"),
        ("kill_job('nope')", "NOT_FOUND", "Target job is not running: nope"),
    ],
)  # fmt: skip
def test_errors_stand_at_their_argument(service: Service, ids: list[int], call: str, name: str, message: str) -> None:
    with pytest.raises(prestodb.exceptions.PrestoUserError) as refused:
        service.execute(f"CALL iceberg.system.{call}")
    assert refused.value.error_name == name, refused.value.message
    assert message in refused.value.message


def test_timestamps_are_in_the_sessions_zone(service: Service, ids: list[int]) -> None:
    shown = service.execute("CALL iceberg.system.show_snapshots('db', 'kept')")
    assert len(shown) == 3
    with pytest.raises(prestodb.exceptions.PrestoUserError, match="no valid snapshot older than: 978307200000"):
        service.execute("CALL iceberg.system.rollback_to_timestamp('db', 'kept', TIMESTAMP '2001-01-01 00:00:00')")


def test_statistics_jobs_and_maintenance(service: Service) -> None:
    service.create("counted", [numbers(0), numbers(100), numbers(200)])
    with pytest.raises(prestodb.exceptions.PrestoUserError, match="unknown snapshot id: 7"):
        service.execute("CALL iceberg.system.rollback_to_snapshot('db', 'counted', 7)")
    ((path,),) = service.execute("CALL iceberg.system.compute_table_stats('db', 'counted')")
    (file,) = service.lake().load_table("db.counted").metadata.statistics
    assert file.statistics_path == path
    assert file.blob_metadata[0].properties == {"ndv": "300"}
    rows = service.execute("CALL iceberg.system.auto_maintain(table => 'db.counted', dry_run => true)")
    assert {row[2] for row in rows} <= {"SKIPPED", "PLANNED"}
    service.execute("CALL iceberg.system.show_refs('db', 'counted')")
    jobs = service.execute("CALL system.show_jobs(limit => 10000)")
    assert not {"show_refs", "show_jobs", "kill_job"} & {row[1] for row in jobs}
    found = {row[1]: row for row in jobs if row[2] == "iceberg.db.counted"}
    assert (found["compute_table_stats"][4], found["compute_table_stats"][11]) == ("FINISHED", None)
    assert found["rollback_to_snapshot"][4] == "FAILED"


def test_a_job_is_killed_by_another_client(service: Service) -> None:
    service.create("long", [numbers(i * 20_000, 20_000) for i in range(12)])
    failures: list[Any] = []
    # As many commits as groups, each through Spark: long enough to be seen and stopped.
    options = (
        "map(array['rewrite-all','partial-progress.enabled','max-file-group-input-files'], array['true','true','1'])"
    )

    def run() -> None:
        try:
            call = f"CALL iceberg.system.rewrite_data_files(table => 'db.long', options => {options})"
            service.execute(call)
        except prestodb.exceptions.PrestoUserError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    deadline = time.monotonic() + 60
    while not (running := service.execute("CALL system.show_jobs(state => 'RUNNING')")):
        assert time.monotonic() < deadline
        assert thread.is_alive()
        time.sleep(0.05)
    job = running[0][0]
    assert service.execute(f"CALL system.kill_job('{job}', 'not now')") == [[True]]
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert "not now" in json.dumps(str(failures[0]))
    deadline = time.monotonic() + 60
    while True:
        states = {row[0]: row[4] for row in service.execute("CALL system.show_jobs()")}
        if states[job] != "RUNNING":
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert states[job] == "CANCELED"
    assert checksum(service.lake().load_table("db.long"))[0] == 240_000

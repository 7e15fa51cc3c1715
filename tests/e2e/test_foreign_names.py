"""What clients of Presto and Trino name: properties of theirs, ``kill_query``, caches, orders of arguments by type."""

from __future__ import annotations

import threading
import time

import httpx
import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service

pytestmark = pytest.mark.slow
Refused = prestodb.exceptions.PrestoQueryError


def test_properties_without_a_meaning_are_taken_with_a_warning(quiet_service: Service) -> None:
    address, user = f"{quiet_service.url}/v1/statement", {"X-Presto-User": "tester"}
    page = httpx.post(address, content="SET SESSION task_concurrency = 8", headers=user, timeout=60).json()
    while "nextUri" in page:
        page = httpx.get(page["nextUri"], timeout=60).json()
    told = ["Session property task_concurrency of Presto has no effect here"]
    assert (page["data"], [warning["message"] for warning in page["warnings"]]) == ([[True]], told)
    given = {"legacy_timestamp": "false", "task_concurrency": "8"}
    assert quiet_service.execute("SELECT 1", session_properties=given) == [[1]]
    with pytest.raises(Refused, match="Session property task_concurency does not exist"):
        quiet_service.execute("SET SESSION task_concurency = 8")


def test_a_query_is_killed(quiet_service: Service) -> None:
    failures: list[str] = []

    def run() -> None:
        try:
            quiet_service.execute("SELECT count(*) FROM tpch.sf100.lineitem a, tpch.sf100.orders b")
        except Refused as error:
            failures.append(f"{error.error_name}: {error.message}")

    thread = threading.Thread(target=run)
    thread.start()
    listing = "SELECT query_id FROM system.runtime.queries WHERE query LIKE '%sf100.orders b' AND state = 'RUNNING'"
    deadline = time.monotonic() + 60
    while not (found := quiet_service.execute(listing)) and time.monotonic() < deadline:
        time.sleep(0.1)
    ((query_id,),) = found
    kill = f"CALL system.runtime.kill_query(query_id => '{query_id}', message => 'Using too much')"
    assert quiet_service.execute(kill) == [[True]]
    thread.join(60)
    assert failures == ["ADMINISTRATIVELY_KILLED: Query killed. Message: Using too much"]
    with pytest.raises(Refused, match=f"Target query is not running: {query_id}"):
        quiet_service.execute(kill)
    with pytest.raises(Refused, match="Target query not found: nobody"):
        quiet_service.execute("CALL system.runtime.kill_query('nobody')")


@pytest.mark.spark
def test_orders_and_names_of_others(whole_service: Service) -> None:
    """With the service that has a Spark: two of these run on it."""
    parts = [pa.table({"a": pa.array([i], pa.int64())}) for i in range(2)]
    table = whole_service.create("foreign_names", parts)
    call = "CALL iceberg.system.rewrite_manifests('db', 'foreign_names'"
    assert whole_service.execute(f"{call}, 0)") == [[2, 1]]
    with pytest.raises(Refused, match="Cannot find spec with id: 7"):
        whole_service.execute(f"{call}, 7)")
    assert whole_service.execute(f"{call}, true)") == [[0, 0]]
    first = table.refresh().history()[0].snapshot_id
    execute = "ALTER TABLE iceberg.db.foreign_names EXECUTE"
    assert whole_service.execute(f"{execute} rollback_to_snapshot({first})")[0][1] == first
    assert table.refresh().scan().to_arrow().to_pydict() == {"a": [0]}
    whole_service.execute("ANALYZE iceberg.db.foreign_names")
    assert table.refresh().metadata.statistics
    assert whole_service.execute(f"{execute} drop_extended_stats")[0][0] >= 1
    assert table.refresh().metadata.statistics == []


def test_caches_are_forgotten_by_every_name(quiet_service: Service) -> None:
    quiet_service.create("kept_metadata", [pa.table({"a": [1]})])
    quiet_service.execute("SELECT * FROM iceberg.db.kept_metadata")
    kept = quiet_service.execute("CALL iceberg.system.flush_metadata_cache(schema_name => 'db', table_name => 'x')")
    assert kept[0][0] >= 1
    names = ("invalidate_metadata_cache", "invalidate_manifest_file_cache", "invalidate_statistics_file_cache")
    for name in names:
        assert quiet_service.execute(f"CALL iceberg.system.{name}()") == [[0]]
    assert quiet_service.execute("SELECT * FROM iceberg.db.kept_metadata") == [[1]]

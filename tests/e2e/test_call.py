"""CALL through POST /v1/statement with a real client, against a real lake, checked by DuckDB on the files."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service, checksum

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def numbers(start: int, count: int = 100) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "p": pa.array([i % 3 for i in ids], pa.int32()),
            "name": pa.array([f"name {i}" for i in ids]),
        }
    )


def test_rewrite_keeps_every_row_and_leaves_one_file(service: Service) -> None:
    table = service.create("rewritten", [numbers(i * 100) for i in range(12)])
    before = checksum(table)
    sql = "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'rewritten')"
    rows = service.execute(sql)
    names = [name for name, _ in service.columns(sql)]
    assert names[:2] == ["rewritten_data_files_count", "added_data_files_count"]
    assert rows[0][:2] == [12, 1]
    assert checksum(table) == before
    assert len(list(table.refresh().scan().plan_files())) == 1


def test_the_dry_run_of_a_sort_accounts_for_every_file_and_changes_nothing(service: Service) -> None:
    table = service.create("to_sort", [numbers(i * 100) for i in range(6)])
    snapshot = table.refresh().metadata.current_snapshot_id
    call = (
        "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'to_sort', strategy => 'sort', "
        "sorted_by => ARRAY['p DESC', 'id'], filter => 'id < 250', dry_run => true)"
    )
    names = [name for name, _ in service.columns(call)]
    rows = [dict(zip(names, row, strict=True)) for row in service.execute(call)]
    assert sum(row["data_files_count"] for row in rows) == 6
    assert all(row["reason"] for row in rows), "nothing is left out without a reason"
    kept = {row["reason"] for row in rows if not row["is_rewritten"]}
    assert "no row of them can match the filter" in kept
    assert any("fewer than min-input-files (5)" in reason for reason in kept)
    whole = call.replace("filter => 'id < 250', ", "")
    ((row),) = [dict(zip(names, row, strict=True)) for row in service.execute(whole)]
    assert (row["is_rewritten"], row["method"], row["data_files_count"], row["expected_files_count"]) == (
        True, "sort", 6, 1)  # fmt: skip
    assert row["method_reason"] == "strategy sort"
    assert row["expected_seconds"] > 0
    assert table.refresh().metadata.current_snapshot_id == snapshot


def test_a_second_run_makes_no_snapshot(service: Service) -> None:
    table = service.create("settled", [numbers(i * 100) for i in range(6)])
    sql = "CALL iceberg.system.rewrite_data_files(table => 'db.settled')"
    assert service.execute(sql)[0][0] == 6
    snapshot = table.refresh().metadata.current_snapshot_id
    assert service.execute(sql)[0][:2] == [0, 0]
    assert table.refresh().metadata.current_snapshot_id == snapshot


def test_a_filter_in_the_third_place(service: Service) -> None:
    """The example of Presto's RFC: (schema, table, filter) by position."""
    table = service.create("sample", [numbers(i * 100) for i in range(6)])
    before = checksum(table)
    assert service.execute("CALL iceberg.system.rewrite_data_files('db', 'sample', 'p = 5')")[0][0] == 0
    assert service.execute("CALL iceberg.system.rewrite_data_files('db', 'sample', 'p = 1')")[0][:2] == [6, 1]
    assert checksum(table) == before


def test_explain_shows_the_shape_of_the_seed(service: Service) -> None:
    service.create("explained", [numbers(0)])
    call = "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'explained', filter => 'p = 1')"
    text = service.execute(f"EXPLAIN {call}")[0][0]
    shape = [text.index(node) for node in ("Output", "TableFinish", "CallDistributedProcedure", "Filter", "TableScan")]
    assert shape == sorted(shape), text
    distributed = service.execute(f"EXPLAIN (TYPE DISTRIBUTED) {call}")[0][0]
    assert "Fragment 0 [COORDINATOR_ONLY" in distributed
    assert "Fragment 1 [SOURCE" in distributed
    as_json = json.loads(service.execute(f"EXPLAIN (TYPE DISTRIBUTED, FORMAT JSON) {call}")[0][0])
    assert set(as_json) == {"0", "1"}
    assert "digraph" in service.execute(f"EXPLAIN (TYPE LOGICAL, FORMAT GRAPHVIZ) {call}")[0][0]


def test_explain_native_is_a_velox_plan(service: Service) -> None:
    service.create("native", [numbers(0)])
    call = "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'native')"
    text = service.execute(f"EXPLAIN (TYPE NATIVE) {call}")[0][0]
    assert "-- TableScan[" in text
    assert "id:BIGINT" in text


def test_timeline_has_the_ten_verbs(service: Service) -> None:
    service.create("timed", [numbers(i * 100) for i in range(6)])
    service.execute("CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'timed')")
    newest = [q for q in service.get("/v1/query") if "'timed'" in q["query"]][-1]
    info = service.get(f"/v1/query/{newest['queryId']}")
    verbs = ["receive", "parse", "analyze", "plan", "optimize", "fragment", "check", "queue", "dispatch", "deliver"]
    assert list(info["timeline"]) == verbs
    assert all(seconds >= 0 for seconds in info["timeline"].values())
    assert info["sparkOperations"], "ids of Spark Connect's operations"
    asked = f"SELECT spark_operations, spark_jobs FROM system.history.queries WHERE query_id = '{info['queryId']}'"
    limit = time.monotonic() + 60
    while not (found := service.execute(asked)) or found[0][0] is None:  # written half a second later
        assert time.monotonic() < limit
        time.sleep(0.1)
    assert found == [[info["sparkOperations"], info["sparkJobs"] or None]]


def test_rollback_to_snapshot(service: Service) -> None:
    table = service.create("rolled", [numbers(0), numbers(100)])
    first, second = (snapshot.snapshot_id for snapshot in table.refresh().snapshots())
    rows = service.execute(f"CALL iceberg.system.rollback_to_snapshot('db', 'rolled', {first})")
    assert rows == [[second, first]]
    assert checksum(table)[0] == 100


def test_clean_data_cache_has_one_row_an_executor(service: Service) -> None:
    rows = service.execute("CALL system.clean_data_cache('ALL_WORKERS')")
    assert len(rows) == 1
    assert len(rows[0]) == 3


def test_help_lists_the_procedures(service: Service) -> None:
    listed = json.dumps(service.execute("CALL system.help()"))
    for name in ("rewrite_data_files", "rollback_to_snapshot", "clean_data_cache", "help"):
        assert name in listed


@pytest.mark.parametrize(
    ("sql", "name", "message"),
    [
        ("CALL iceberg.system.nope()", "PROCEDURE_NOT_FOUND", "Procedure not registered: system.nope"),
        ("CALL lake.system.rewrite_data_files('a', 'b')", "SYNTAX_ERROR", "Catalog lake does not exist"),
        ("CALL iceberg.system.rewrite_data_files('nope', 't')", "SYNTAX_ERROR", "Schema nope does not exist"),
        (
            "CALL iceberg.system.rewrite_data_files('db', 'nope')",
            "SYNTAX_ERROR",
            "Table iceberg.db.nope does not exist",
        ),
        ("CALL iceberg.system.rewrite_data_files('db')", "SYNTAX_ERROR", "argument 'table_name' is missing"),
        (
            "CALL iceberg.system.rewrite_data_files('db', table_name => 't')",
            "SYNTAX_ERROR",
            "Named and positional arguments cannot be mixed",
        ),
        (
            "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'bad', filter => 'nope = 1')",
            "SYNTAX_ERROR",
            "Column 'nope' cannot be resolved",
        ),
        (
            "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'bad', filter => 'id')",
            "SYNTAX_ERROR",
            "WHERE clause must evaluate to a boolean: actual type bigint",
        ),
        ("CALL iceberg.system.rewrite_data_files(schema => 'db'", "SYNTAX_ERROR", "line 1:"),
    ],
)
def test_bad_calls_are_refused_before_they_run(service: Service, sql: str, name: str, message: str) -> None:
    lake = service.lake()
    lake.create_namespace_if_not_exists("db")
    if not lake.table_exists("db.bad"):
        service.create("bad", [numbers(0)])
    with pytest.raises(prestodb.exceptions.PrestoUserError) as refused:
        service.execute(sql)
    assert refused.value.error_name == name
    assert message in refused.value.message


def test_metrics_tell_of_pool_checker_and_spark(service: Service) -> None:
    service.create("measured", [numbers(i * 100) for i in range(6)])
    service.execute("CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'measured')")
    lines = httpx.get(f"{service.url}/metrics", timeout=60).text.splitlines()
    values = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}
    assert values['procession_planner_statements_total{outcome="planned"}'] > 0
    assert values['procession_native_check_fragments_total{outcome="sent"}'] > 0
    assert values['procession_native_check_breaker{state="closed"}'] == 1
    assert values["procession_spark_up"] == 1


def test_bad_options_and_missing_files_leave_nothing(service: Service) -> None:
    table = service.create("holed", [numbers(i * 100) for i in range(6)])
    call = "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => 'holed'{})"
    with pytest.raises(prestodb.exceptions.PrestoUserError) as refused:
        service.execute(call.format(", options => map(array['min-input-files'], array['x'])"))
    assert refused.value.error_name == "INVALID_PROCEDURE_ARGUMENT"
    assert refused.value.message == "line 1:79: min-input-files must be a valid integer, got: x"
    folder = Path(table.location().removeprefix("file://")) / "data"
    sorted(folder.iterdir())[0].unlink()
    left = set(folder.iterdir())
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as missing:
        service.execute(call.format(""))
    assert missing.value.error_name == "ICEBERG_MISSING_DATA"
    deadline = time.monotonic() + 60
    while set(folder.iterdir()) != left:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert len(table.refresh().metadata.snapshots) == 6


def test_a_statement_of_two_megabytes_is_a_failed_query(service: Service) -> None:
    with pytest.raises(prestodb.exceptions.PrestoUserError) as refused:
        service.execute("SELECT " + "1," * 1_000_000 + "1")
    assert refused.value.error_name == "QUERY_TEXT_TOO_LARGE"

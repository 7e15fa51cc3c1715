"""Rows of tables with times of day, which Spark does not load: written in the coordinator, as shipped with the checker.

What is in the tables afterwards is read by PyIceberg, past the service.
"""

from __future__ import annotations

import datetime
import re
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from tests.e2e.service import Service, start_service, write_etc
from tests.e2e.test_stored_types import content, create, failure, rows
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ENGINES = ("EMBEDDED", "SPARK")
VALUES = """
    (BIGINT '1', TIME '01:02:03.004', TIMESTAMP '2024-02-29 12:00:00.123',
     TIMESTAMP '2024-07-01 00:00:00 Europe/Berlin',
     DATE '2024-02-29', DECIMAL '12.34', UUID '12151fd2-7586-11e9-8f9e-2a86e4085a59', X'00FF', REAL '1.5',
     ARRAY[TIME '00:00:00', NULL], MAP(ARRAY['a'], ARRAY[TIME '23:59:59.999']), CAST(ROW(TIME '05:00', 'x') AS
     ROW(at time, name varchar))),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
NAMES = "(id, at, moment, instant, day, price, key, bytes, ratio, times, named, nested)"
TYPES = """
    id bigint, at time, moment timestamp, instant timestamp with time zone, day date, price decimal(12,2), key uuid,
    bytes varbinary, ratio real, times array(time), named map(varchar, time), nested row(at time, name varchar)"""


def lake_rows(service: Service, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.lake().load_table(f"db.{name}").scan().to_arrow().sort_by("id").to_pylist()
    return found


def files_of(table: Table) -> set[str]:
    return {task.file.file_path for task in table.refresh().scan().plan_files()}


def left(table: Table) -> list[str]:
    """Data files that no snapshot names, half a minute later at most."""
    folder = table.location().removeprefix("file://")
    deadline = time.monotonic() + 60
    while True:
        there = {f"file://{file}" for file in Path(folder, "data").rglob("*.parquet")}
        named = {f for s in table.refresh().metadata.snapshots for f in _named(table, s.snapshot_id)}
        if there <= named or time.monotonic() > deadline:
            return sorted(there - named)
        time.sleep(0.5)


def _named(table: Table, snapshot_id: int) -> set[str]:
    return {task.file.file_path for task in table.scan(snapshot_id=snapshot_id).plan_files()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", ["1", "2"])
def test_all_types_arrive_whichever_engine_computes_them(service: Service, engine: str, version: str) -> None:
    name = f"own_types_{engine.lower()}_{version}"
    service.lake().create_namespace_if_not_exists("db")
    service.execute(f"CREATE TABLE iceberg.db.{name} ({TYPES}) WITH (\"format-version\" = '{version}')")
    query = f"SELECT * FROM (VALUES {VALUES}) t {NAMES} WHERE rand() < 2"
    session = {"engine": engine}
    assert service.execute(f"INSERT INTO iceberg.db.{name} {query}", session_properties=session) == [[2]]
    first, second = lake_rows(service, name)
    assert first == {
        "id": 1,
        "at": datetime.time(1, 2, 3, 4000),
        "moment": datetime.datetime(2024, 2, 29, 12, 0, 0, 123000),
        "instant": datetime.datetime(2024, 6, 30, 22, tzinfo=first["instant"].tzinfo),
        "day": datetime.date(2024, 2, 29),
        "price": Decimal("12.34"),
        "key": first["key"],
        "bytes": b"\x00\xff",
        "ratio": 1.5,
        "times": [datetime.time(0), None],
        "named": [("a", datetime.time(23, 59, 59, 999000))],
        "nested": {"at": datetime.time(5), "name": "x"},
    }
    assert str(first["key"]) == "12151fd2-7586-11e9-8f9e-2a86e4085a59"
    assert second == {**dict.fromkeys(first), "id": 2}
    for reader in ENGINES:
        shown = service.execute(
            f"SELECT at, times, named['a'], nested.at FROM iceberg.db.{name} WHERE price > 12",
            session_properties={"engine": reader},
        )
        assert shown == [["01:02:03.004", ["00:00:00.000", None], "23:59:59.999", "05:00:00.000"]]


def test_some_columns_and_a_table_that_is_made(service: Service) -> None:
    table = create(service, "own_made_of", 2)
    name = "iceberg.db.own_made_of"
    before = content(table)
    assert service.execute(f"INSERT INTO {name} (id) VALUES 700, 701") == [[2]]
    assert content(table)[:20] == before
    assert [row["at"] for row in content(table)[20:]] == [None, None]  # type: ignore[index]
    made = f"CREATE TABLE iceberg.db.own_made AS SELECT at, id FROM {name} WHERE id < 5"
    assert service.execute(made) == [[5]]
    wanted = [{"at": row["at"], "id": row["id"]} for row in before[:5]]  # type: ignore[index]
    assert lake_rows(service, "own_made") == wanted
    assert service.execute(f"CREATE TABLE iceberg.db.own_ids AS SELECT id FROM {name} WHERE at IS NOT NULL") == [[20]]
    assert service.execute("CREATE TABLE iceberg.db.own_one AS SELECT 1 AS id, TIME '01:02:03' AS at") == [[1]]
    assert service.execute(f"CREATE TABLE iceberg.db.own_none AS SELECT id, at FROM {name} WHERE id < 0") == [[0]]
    assert service.execute(f"INSERT INTO {name} (id, at) SELECT id, at FROM {name} WHERE id < 0") == [[0]]


def test_partitions_and_the_statement_in_the_summary(service: Service) -> None:
    service.lake().create_namespace_if_not_exists("db")
    columns = "(id bigint, at time, name varchar, day date)"
    partitioning = "ARRAY['day', 'bucket(id, 4)', 'truncate(name, 2)', 'at']"
    service.execute(f"CREATE TABLE iceberg.db.own_parts {columns} WITH (partitioning = {partitioning})")
    values = ", ".join(
        f"({i}, TIME '0{i % 2}:00:00', 'name {i % 3}', DATE '2024-01-0{i % 2 + 1}')" for i in range(1, 13)
    )
    assert service.execute(f"INSERT INTO iceberg.db.own_parts VALUES {values}") == [[12]]
    table = service.lake().load_table("db.own_parts")
    assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist()) == list(range(1, 13))
    found = service.execute("SELECT count(*) FROM iceberg.db.own_parts WHERE day = DATE '2024-01-02' AND id = 3")
    assert found == [[1]]
    summary = table.current_snapshot().summary.additional_properties  # type: ignore[union-attr]
    assert summary["added-records"] == "12"
    assert re.fullmatch(r"\d{8}_.*", summary["procession.query-id"])
    rewritten = service.execute("CALL iceberg.system.rewrite_data_files('db', 'own_parts')")
    assert rewritten is not None
    assert sorted(row["id"] for row in table.refresh().scan().to_arrow().to_pylist()) == list(range(1, 13))


def test_what_fails_leaves_the_table_as_it_was(service: Service) -> None:
    service.lake().create_namespace_if_not_exists("db")
    service.execute("CREATE TABLE iceberg.db.own_failed (id bigint NOT NULL, at time)")
    table = service.lake().load_table("db.own_failed")
    null = failure(
        service, "INSERT INTO iceberg.db.own_failed SELECT nullif(x, 3), TIME '01:00' FROM (VALUES 1, 3) t(x)"
    )
    assert null == "CONSTRAINT_VIOLATION: NULL value not allowed for NOT NULL column: id"
    query = "SELECT 10 / (x - 3), TIME '01:00' FROM UNNEST(sequence(1, 5)) t(x)"
    assert failure(service, f"INSERT INTO iceberg.db.own_failed {query}").startswith("DIVISION_BY_ZERO")
    made = failure(service, f"CREATE TABLE iceberg.db.own_half AS {query.replace('3)', '3) AS id', 1)} AS at")
    assert made.startswith(("DIVISION_BY_ZERO", "SYNTAX_ERROR"))
    assert ["own_half"] not in service.execute("SHOW TABLES FROM iceberg.db")
    assert (files_of(table), left(table)) == (set(), [])


def test_it_is_cancelled(service: Service) -> None:
    service.lake().create_namespace_if_not_exists("db")
    service.execute("CREATE TABLE iceberg.db.own_cancelled (id bigint, at time)")
    table = service.lake().load_table("db.own_cancelled")
    long = (
        "INSERT INTO iceberg.db.own_cancelled SELECT a.x * b.x, TIME '01:00' FROM UNNEST(sequence(1, 10000)) a(x) "
        "CROSS JOIN UNNEST(sequence(1, 10000)) b(x)"
    )
    page = httpx.post(
        f"{service.url}/v1/statement", content=long, headers={"X-Presto-User": "tester"}, timeout=60
    ).json()
    for _ in range(40):
        page = httpx.get(page["nextUri"], timeout=60).json()
        if page["stats"]["state"] == "RUNNING":
            break
        time.sleep(0.1)
    time.sleep(2)
    httpx.delete(page["nextUri"], timeout=60)
    assert (files_of(table), left(table)) == (set(), [])


def test_branches_and_staged_snapshots(service: Service) -> None:
    table = create(service, "own_branched", 1)
    name = "iceberg.db.own_branched"
    service.execute("CALL iceberg.system.create_branch('db', 'own_branched', 'audit')")
    assert service.execute(
        "INSERT INTO iceberg.db.\"own_branched.branch_audit\" (id, at) VALUES (77, TIME '07:00')"
    ) == [[1]]
    assert service.execute(f"SELECT count(*) FROM {name}") == [[10]]
    assert service.execute('SELECT count(*), max(id) FROM iceberg.db."own_branched.branch_audit"') == [[11, 77]]
    with table.transaction() as change:
        change.set_properties({"write.wap.enabled": "true"})
    staged = {"iceberg.wap_id": "friday"}
    service.execute(f"INSERT INTO {name} (id, at) VALUES (78, TIME '08:00')", session_properties=staged)
    assert service.execute(f"SELECT count(*) FROM {name}") == [[10]]
    service.execute("CALL iceberg.system.publish_changes('db', 'own_branched', 'friday')")
    assert service.execute(f"SELECT count(*), max(id) FROM {name}") == [[11, 78]]
    assert len(files_of(table)) == 2


def test_others_append_meanwhile(service: Service) -> None:
    table = create(service, "own_beside", 1)
    over = threading.Event()
    counts = [0]

    def append() -> None:
        while not over.is_set():
            try:
                service.lake().load_table("db.own_beside").append(rows(50 + counts[0]))
                counts[0] += 1
            except CommitFailedException:
                pass
            time.sleep(0.1)

    thread = threading.Thread(target=append)
    thread.start()
    try:
        for number in range(5):
            values = f"({9000 + number}, TIME '09:00')"
            service.execute(f"INSERT INTO iceberg.db.own_beside (id, at) VALUES {values}")
    finally:
        over.set()
        thread.join()
    ids = [row["id"] for row in content(table)]  # type: ignore[index]
    assert len(ids) == len(set(ids)) == 10 + 10 * counts[0] + 5


PLAIN = """(BIGINT '1', 'a', TIMESTAMP '2024-02-29 12:00:00.123', TIMESTAMP '2024-07-01 00:00:00 Europe/Berlin', DATE
    '2024-02-29', DECIMAL '12.34', UUID '12151fd2-7586-11e9-8f9e-2a86e4085a59', X'00FF', REAL '1.5', nan(), true,
    SMALLINT '7', ARRAY['x', NULL], MAP(ARRAY['a'], ARRAY[TIMESTAMP '0999-01-01 00:00:00']),
    CAST(ROW(DECIMAL '0.1', 'x') AS ROW(d decimal(3,2), name varchar))),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, -infinity(), NULL, NULL, NULL, NULL, NULL)"""
COLUMNS = """id bigint, name varchar, moment timestamp, instant timestamp with time zone, day date, price decimal(12,3),
    key uuid, bytes varbinary, ratio real, x double, flag boolean, small smallint, list array(varchar),
    named map(varchar, timestamp), nested row(d decimal(3,2), name varchar)"""

COLUMNS_ONLY = "name, moment, instant, day, price, key, bytes, ratio, x, flag, small, list, named, nested"


@pytest.mark.parametrize("version", some(["1", "3"], ["2"], "the oldest and the newest version"))
def test_few_rows_are_as_spark_writes_them(service: Service, version: str) -> None:
    service.lake().create_namespace_if_not_exists("db")
    written = {}
    for engine in ("AUTO", "SPARK"):
        name = f"iceberg.db.own_few_{engine.lower()}_{version}"
        properties = f"WITH (\"format-version\" = '{version}', partitioning = ARRAY['bucket(id, 3)', 'day'])"
        service.execute(f"CREATE TABLE {name} ({COLUMNS}) {properties}")
        insert = f"INSERT INTO {name} VALUES {PLAIN}"
        assert service.execute(insert, session_properties={"engine": engine}) == [[2]]
        written[engine] = [
            service.execute(f"SELECT * FROM {name} ORDER BY id", session_properties={"engine": reader})
            for reader in ENGINES
        ]
        files = service.execute(f'SELECT count(*), sum(record_count) FROM iceberg.db."{name.split(".")[-1]}$files"')
        assert files == [[2, 2]]
        head = service.lake().load_table(name.removeprefix("iceberg.")).current_snapshot()
        assert head is not None and head.summary is not None
        assert head.summary["engine-name"] == ("procession" if engine == "AUTO" else "spark")
    assert repr(written["AUTO"]) == repr(written["SPARK"])


def test_few_rows_need_no_spark(tmp_path: Path) -> None:
    """A service whose Spark has not been started, and is not for them."""
    service = start_service(write_etc(tmp_path / "etc", spark=False), tmp_path / "data", tmp_path / "log")
    try:
        service.execute("CREATE SCHEMA iceberg.db")
        service.execute("CREATE TABLE iceberg.db.t (id bigint NOT NULL, name varchar)")
        assert service.execute("INSERT INTO iceberg.db.t VALUES (1, 'a'), (2, 'b')") == [[2]]
        assert service.execute("INSERT INTO iceberg.db.t (id) VALUES 3") == [[1]]
        assert service.execute("CREATE TABLE iceberg.db.made AS SELECT * FROM (VALUES (1, 'x')) v (a, b)") == [[1]]
        newest = "CREATE TABLE iceberg.db.newest WITH (format_version = '3') AS SELECT * FROM iceberg.db.t WHERE id < 3"
        assert service.execute(newest) == [[2]]
        assert service.execute("INSERT INTO iceberg.db.newest SELECT id + 10, name FROM iceberg.db.newest") == [[2]]
        ids = service.execute("SELECT id, _row_id IS NOT NULL FROM iceberg.db.newest ORDER BY id")
        assert ids == [[1, True], [2, True], [11, True], [12, True]]
        null = failure(service, "INSERT INTO iceberg.db.t VALUES (4, 'd'), (NULL, 'x')")
        assert null == "CONSTRAINT_VIOLATION: NULL value not allowed for NOT NULL column: id"
        assert service.execute("SELECT count(*), count(name), sum(id) FROM iceberg.db.t") == [[3, 2, 6]]
        merge = (
            "USING (VALUES (2, 'two'), (9, 'nine')) s (id, name) ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = "
        )
        merge += "s.name WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name)"
        assert service.execute(f"MERGE INTO iceberg.db.t t {merge}") == [[2]]
        assert service.execute("UPDATE iceberg.db.t SET name = upper(name) WHERE id < 3") == [[2]]
        assert service.execute("DELETE FROM iceberg.db.t WHERE name IS NULL") == [[1]]
        assert service.execute("SELECT * FROM iceberg.db.t ORDER BY 1") == [[1, "A"], [2, "TWO"], [9, "nine"]]
        assert service.get("/v1/status")["spark"]["state"] == "NOT_STARTED"
    finally:
        service.stop()


def test_queries_with_few_rows_are_as_spark_writes_them(service: Service) -> None:
    service.lake().create_namespace_if_not_exists("db")
    written = {}
    for engine in ("AUTO", "SPARK"):
        name, asked = f"iceberg.db.own_query_{engine.lower()}", {"engine": engine}
        query = f"SELECT id + n, {COLUMNS_ONLY} FROM (VALUES {PLAIN}) v (id, {COLUMNS_ONLY}), iceberg.db.own_numbers"
        if engine == "AUTO":
            service.execute("CREATE TABLE iceberg.db.own_numbers AS SELECT * FROM (VALUES 10, 20, 30) v (n)")
            service.execute(f"CREATE TABLE iceberg.db.own_query_auto ({COLUMNS})")
            service.execute("CREATE TABLE iceberg.db.own_query_spark (LIKE iceberg.db.own_query_auto)")
        assert service.execute(f"INSERT INTO {name} {query}", session_properties=asked) == [[6]]
        made = f"CREATE TABLE {name}_made AS SELECT * FROM {name} WHERE id < 30"
        assert service.execute(made, session_properties=asked) == [[4]]
        written[engine] = [service.execute(f"SELECT * FROM {each} ORDER BY id") for each in (name, f"{name}_made")]
        for each in (name, f"{name}_made"):
            head = service.lake().load_table(each.removeprefix("iceberg.")).current_snapshot()
            assert head is not None and head.summary is not None
            assert head.summary["engine-name"] == ("procession" if engine == "AUTO" else "spark")
    assert repr(written["AUTO"]) == repr(written["SPARK"])


def test_some_tables_are_left_to_spark(service: Service) -> None:
    service.lake().create_namespace_if_not_exists("db")
    service.execute("CREATE TABLE iceberg.db.own_sorted (id bigint) WITH (sorted_by = ARRAY['id'])")
    service.execute("CREATE TABLE iceberg.db.own_orc (id bigint) WITH (format = 'ORC')")
    for name in ("own_sorted", "own_orc"):
        assert service.execute(f"INSERT INTO iceberg.db.{name} VALUES 2, 1") == [[2]]
        (file,) = files_of(service.lake().load_table(f"db.{name}"))
        assert re.search(r"-\d{5}\.(parquet|orc)$", file), "as Spark names them"

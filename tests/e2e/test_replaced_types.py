"""CREATE OR REPLACE TABLE … AS with columns that Spark has no type of its own for, through the whole service."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import duckdb
import prestodb
import pytest
from pyiceberg.types import UUIDType

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ONE, TWO = (str(uuid.UUID(int=number)) for number in (1, 2**127))


@pytest.fixture
def name(service: Service) -> Iterator[str]:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    table = f"retyped_{uuid.uuid4().hex[:8]}"
    yield table
    service.execute(f"DROP TABLE IF EXISTS iceberg.db.{table}")


def both(service: Service, sql: str) -> list[list[Any]]:
    """The rows by either engine, which are the same."""
    found = [service.execute(sql, session_properties={"engine": engine}) for engine in ("EMBEDDED", "SPARK")]
    assert found[0] == found[1]
    rows: list[list[Any]] = found[0]
    return rows


def test_uuids_are_stored_as_such(service: Service, name: str) -> None:
    table = f"iceberg.db.{name}"
    service.execute(f"CREATE TABLE {table} (id bigint, u varchar) WITH (partitioning = ARRAY['id'])")
    service.execute(f"INSERT INTO {table} VALUES (1, 'a')")
    before = service.lake().load_table(f"db.{name}")
    values = f"(BIGINT '1', UUID '{ONE}', ARRAY[UUID '{ONE}', NULL]), (2, UUID '{TWO}', NULL), (3, NULL, ARRAY[])"
    rows = "SELECT id, MAP(ARRAY['k'], ARRAY[u]) AS m, u, CAST(ROW(id, u, CAST(u AS varchar)) AS"
    rows += (
        f" ROW(n bigint, u uuid, t varchar)) AS r, l, CAST(u AS varchar) AS t FROM (VALUES {values}) AS v (id, u, l)"
    )
    assert service.execute(f"CREATE OR REPLACE TABLE {table} AS {rows}") == [[3]]
    assert [row[:2] for row in service.execute(f"DESCRIBE {table}")] == [
        ["id", "bigint"],
        ["m", "map(varchar,uuid)"],
        ["u", "uuid"],
        ["r", "row(n bigint,u uuid,t varchar)"],
        ["l", "array(uuid)"],
        ["t", "varchar"],
    ]
    assert service.execute(f"SELECT id, u, l, r, m FROM {table} ORDER BY id") == [
        [1, ONE, [ONE, None], [1, ONE, ONE], {"k": ONE}],
        [2, TWO, None, [2, TWO, TWO], {"k": TWO}],
        [3, None, [], [3, None, None], {"k": None}],
    ]
    assert both(service, f"SELECT id, u FROM {table} ORDER BY id") == [[1, ONE], [2, TWO], [3, None]]
    after = service.lake().load_table(f"db.{name}")
    assert isinstance(after.schema().find_type("u"), UUIDType)
    assert (after.metadata.table_uuid, len(after.metadata.snapshots)) == (before.metadata.table_uuid, 2)
    files = [task.file.file_path.removeprefix("file://") for task in after.scan().plan_files()]
    stored = duckdb.sql(f"SELECT typeof(u), u::varchar FROM read_parquet({files!r}) ORDER BY id").fetchall()
    assert stored == [("UUID", ONE), ("UUID", TWO), ("UUID", None)]
    assert both(service, f"SELECT id FROM {table} WHERE u = UUID '{TWO}'") == [[2]]
    service.execute(f"INSERT INTO {table} (id, u) VALUES (4, UUID '{ONE}')")
    service.execute(f"DELETE FROM {table} WHERE u = UUID '{TWO}'")
    again = f"CREATE OR REPLACE TABLE {table} AS SELECT u, count(*) AS id FROM {table} GROUP BY u"
    assert service.execute(again) == [[2]]
    assert both(service, f"SELECT u, id FROM {table} ORDER BY id") == [[None, 1], [ONE, 2]]
    old = before.metadata.current_snapshot_id
    assert both(service, f"SELECT id, u FROM {table} FOR VERSION AS OF {old}") == [[1, "a"]]


def test_a_partition_of_uuids_stays(service: Service, name: str) -> None:
    table = f"iceberg.db.{name}"
    service.execute(f"CREATE TABLE {table} (u uuid, n integer) WITH (partitioning = ARRAY['bucket(u, 4)'])")
    service.execute(f"INSERT INTO {table} VALUES (UUID '{ONE}', 1)")
    assert service.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT UUID '{TWO}' AS u, 'x' AS s") == [[1]]
    assert both(service, f"SELECT * FROM {table}") == [[TWO, "x"]]
    with pytest.raises(prestodb.exceptions.PrestoUserError, match=r"gone or of other types \(u\)"):
        service.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT 'text' AS u")


def test_json_goes_where_the_table_has_variants(service: Service, name: str) -> None:
    table = f"iceberg.db.{name}"
    service.execute(f"CREATE TABLE {table} (id bigint) WITH (format_version = '3')")
    rows = f"SELECT 1 AS id, JSON '{{\"a\": [1, null]}}' AS j, UUID '{ONE}' AS u, ARRAY[JSON '\"x\"', NULL] AS l"
    assert service.execute(f"CREATE OR REPLACE TABLE {table} AS {rows}") == [[1]]
    assert [row[1] for row in service.execute(f"DESCRIBE {table}")] == ["integer", "json", "uuid", "array(json)"]
    assert service.execute(f"SELECT j, u, l FROM {table}") == [['{"a":[1,null]}', ONE, ['"x"', None]]]
    service.execute(f"INSERT INTO {table} (id, j) VALUES (2, JSON 'true')")
    assert both(service, f"SELECT j FROM {table} ORDER BY id") == [['{"a":[1,null]}'], ["true"]]


def test_what_a_table_cannot_hold_is_refused(service: Service, name: str) -> None:
    table = f"iceberg.db.{name}"
    service.execute(f"CREATE TABLE {table} AS SELECT 7 AS id")
    refused = {
        "TIME '01:02:03' AS t": r"columns of type time \(t\): Spark cannot write them",
        "1 AS i, ARRAY[TIME '01:02:03'] AS l": r"columns of type time \(l.element\)",
        "1 AS i, JSON '1' AS j": "needs format_version = '3'",
    }
    for columns, message in refused.items():
        with pytest.raises(prestodb.exceptions.PrestoUserError, match=message):
            service.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {columns}")
    assert both(service, f"SELECT * FROM {table}") == [[7]]

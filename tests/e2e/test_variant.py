"""Columns of type json in Iceberg tables of version 3, which store them as variant, through the whole service."""

from __future__ import annotations

from typing import Any

import prestodb
import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NAME = "iceberg.db.varied"
BOTH = ("EMBEDDED", "SPARK")


def rows(service: Service, sql: str, engine: str) -> list[list[Any]]:
    found: list[list[Any]] = service.execute(sql, session_properties={"engine": engine})
    return found


def both(service: Service, sql: str) -> list[list[Any]]:
    """The rows by either engine, which are the same."""
    embedded, spark = (rows(service, sql, engine) for engine in BOTH)
    assert embedded == spark
    return embedded


def test_json_is_written_read_and_changed(service: Service) -> None:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    service.execute(
        f"CREATE TABLE {NAME} (v json COMMENT 'any', id bigint, l array(json), s row(a json, n integer), "
        "m map(varchar, json)) WITH (format_version = '3')"
    )
    assert [row[:2] for row in service.execute(f"DESCRIBE {NAME}")] == [
        ["v", "json"],
        ["id", "bigint"],
        ["l", "array(json)"],
        ["s", "row(a json,n integer)"],
        ["m", "map(varchar,json)"],
    ]
    service.execute(
        f'INSERT INTO {NAME} VALUES (json_parse(\'{{"b": [1, null, "x"], "a": 1.50}}\'), 1, '
        "ARRAY[JSON '1', NULL, JSON '{\"k\": true}'], CAST(ROW(JSON '\"t\"', 7) AS row(a json, n integer)), "
        "MAP(ARRAY['p'], ARRAY[JSON '[]'])), (NULL, 2, NULL, NULL, NULL), "
        "(JSON 'null', 3, ARRAY[], ROW(NULL, 1), MAP()), (JSON '\"\U0001f600\"', 4, NULL, NULL, NULL)"
    )
    assert both(service, f"SELECT id, v FROM {NAME} WHERE v = JSON '\"\U0001f600\"'") == [[4, '"\\uD83D\\uDE00"']]
    service.execute(f"DELETE FROM {NAME} WHERE v = JSON '\"\U0001f600\"'")
    found = both(service, f"SELECT id, v, l, s, m FROM {NAME} ORDER BY id")
    assert [row[:2] for row in found] == [[1, '{"a":1.5,"b":[1,null,"x"]}'], [2, None], [3, "null"]]
    assert found[0][2:] == [["1", None, '{"k":true}'], ['"t"', 7], {"p": "[]"}]
    assert found[2][2:] == [[], [None, 1], {}]
    assert both(service, f"SELECT count(*) FROM {NAME} WHERE json_extract_scalar(v, '$.b[2]') = 'x'") == [[1]]


def test_changes_read_and_write_stored_values(service: Service) -> None:
    name = f"{NAME}_changed"
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    service.execute(
        f"CREATE TABLE {name} WITH (format_version = '3') AS "
        "SELECT id, CAST(MAP(ARRAY['n'], ARRAY[id]) AS json) AS v FROM UNNEST(sequence(1, 7)) AS t (id)"
    )
    service.execute(f"UPDATE {name} SET v = JSON '[2]' WHERE json_extract_scalar(v, '$.n') = '2'")
    service.execute(f"DELETE FROM {name} WHERE json_extract_scalar(v, '$.n') = '3'")
    service.execute(
        f"DELETE FROM {name} WHERE id IN (SELECT CAST(json_extract(v, '$.n') AS bigint) FROM {name} WHERE id > 6)"
    )
    service.execute(
        f"MERGE INTO {name} t USING (VALUES (4, JSON '\"four\"'), (9, JSON '9')) s (id, v) ON t.id = s.id "
        "WHEN MATCHED AND json_extract_scalar(t.v, '$.n') = '4' THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
    )
    service.execute(f"UPDATE {name} SET v = (SELECT arbitrary(v) FROM {name} WHERE id = 9) WHERE id = 6")
    changed = [[1, '{"n":1}'], [2, "[2]"], [4, '"four"'], [5, '{"n":5}'], [6, "9"], [9, "9"]]
    assert both(service, f"SELECT id, v FROM {name} ORDER BY id") == changed
    service.execute(f"ALTER TABLE {name} ADD COLUMN w array(json)")
    assert service.execute(f"SELECT id, v, w FROM {name} ORDER BY id") == [[*row, None] for row in changed]
    assert service.execute(f"SELECT count(*) FROM {name} GROUP BY v HAVING count(*) > 1") == [[2]]
    rewrite = "schema => 'db', table_name => 'varied_changed', options => map(ARRAY['rewrite-all'], ARRAY['true'])"
    assert service.execute(f"CALL iceberg.system.rewrite_data_files({rewrite})")[0][1] == 1
    assert both(service, f"SELECT id, v, w FROM {name} ORDER BY id") == [[*row, None] for row in changed]


def test_files_that_spark_reads_by_itself_give_the_same_texts(service: Service) -> None:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    values = '(1, JSON \'{"b":[1,null],"a":2.5}\', ARRAY[JSON \'"x"\']), (2, NULL, NULL)'
    service.execute(
        "CREATE TABLE iceberg.db.varied_avro WITH (format_version = '3', format = 'AVRO') "
        f"AS SELECT * FROM (VALUES {values}) t (id, v, l)"
    )
    found = service.execute("SELECT * FROM iceberg.db.varied_avro ORDER BY id")
    assert found == [[1, '{"a":2.5,"b":[1,null]}', ['"x"']], [2, None, None]]
    assert service.execute("SELECT id FROM iceberg.db.varied_avro WHERE json_extract_scalar(l[1], '$') = 'x'") == [[1]]


def test_what_cannot_be_made_is_said(service: Service) -> None:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    needs = "Column v of type json is stored as variant, which needs format_version = '3'"
    service.execute("CREATE TABLE iceberg.db.varied_plain (id bigint)")
    third = "WITH (format_version = '3'"
    for sql, said in (
        ("CREATE TABLE iceberg.db.varied_refused (id bigint, v json)", needs),
        ("ALTER TABLE iceberg.db.varied_plain ADD COLUMN v json", needs),
        (f"CREATE TABLE iceberg.db.varied_refused (v json) {third})", "needs a column that is not of type json"),
        (f"CREATE TABLE iceberg.db.varied_refused (id int, v json NOT NULL) {third})", "cannot be NOT NULL here"),
        (
            f"CREATE TABLE iceberg.db.varied_refused (id int, v json) {third}, partitioning = ARRAY['v'])",
            "Unable to partition by v: type variant of column v",
        ),
        (
            f"CREATE TABLE iceberg.db.varied_refused (id int, v json) {third}, sorted_by = ARRAY['v'])",
            "Unable to sort by v: type variant",
        ),
    ):
        with pytest.raises(prestodb.exceptions.PrestoUserError) as failure:
            service.execute(sql)
        assert said in failure.value.message
    assert ["varied_refused"] not in service.execute("SHOW TABLES FROM iceberg.db")


def test_views_have_columns_of_json(service: Service) -> None:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    service.execute("CREATE VIEW iceberg.db.varied_view AS SELECT json_parse('[1]') AS v, 1 AS id")
    assert service.execute("SELECT id, v FROM iceberg.db.varied_view") == [[1, "[1]"]]
    assert service.execute("DESCRIBE iceberg.db.varied_view")[0][:2] == ["v", "json"]
    service.execute("CREATE OR REPLACE VIEW iceberg.db.varied_view AS SELECT json_parse('[2]') AS v")
    assert service.execute("SELECT v FROM iceberg.db.varied_view") == [["[2]"]]
    service.execute("DROP VIEW iceberg.db.varied_view")

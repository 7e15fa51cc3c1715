"""ALTER TABLE and COMMENT on every format version; what became of the table is read by PyIceberg."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import prestodb
import pytest

from tests.e2e.service import Service
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def run(service: Service) -> Callable[[str], Any]:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.altered")
    return lambda sql: service.execute(sql, catalog="iceberg", schema="altered")


@pytest.mark.parametrize("version", some(["1", "3"], ["2"], "the oldest and the newest version"))
def test_columns_change_and_rows_stay(service: Service, run: Callable[[str], Any], version: str) -> None:
    name = f"v{version}"
    run(f"CREATE TABLE {name} (a integer NOT NULL, b varchar, c decimal(8, 2)) WITH (format_version = '{version}')")
    run(f"INSERT INTO {name} VALUES (1, 'x', 1.50)")
    for change in (
        "ADD COLUMN w row(x bigint, y array(varchar)) COMMENT 'nested'",
        "ADD COLUMN IF NOT EXISTS w bigint",
        "RENAME COLUMN b TO label",
        "RENAME COLUMN IF EXISTS gone TO back",
        "ALTER COLUMN a SET DATA TYPE bigint",
        "ALTER COLUMN a DROP NOT NULL",
        "ALTER COLUMN c SET DATA TYPE decimal(12, 2)",
        'SET PROPERTIES ("commit.retry.num-retries" = 7)',
    ):
        assert run(f"ALTER TABLE {name} {change}") == [[True]], change
    run(f"COMMENT ON TABLE {name} IS 'said'")
    run(f"COMMENT ON COLUMN {name}.label IS 'it''s'")
    table = service.lake().load_table(f"altered.{name}")
    assert [(f.name, str(f.field_type), f.required, f.doc) for f in table.schema().fields] == [
        ("a", "long", False, None),
        ("label", "string", False, "it's"),
        ("c", "decimal(12, 2)", False, None),
        ("w", "struct<5: x: optional long, 6: y: optional list<string>>", False, "nested"),
    ]
    assert table.properties["commit.retry.num-retries"] == "7"
    assert table.properties["comment"] == "said"
    assert run(f"SELECT a, label, c, w FROM {name}") == [[1, "x", "1.50", None]]
    run(f"ALTER TABLE {name} DROP COLUMN w")
    assert [f.name for f in service.lake().load_table(f"altered.{name}").schema().fields] == ["a", "label", "c"]


@pytest.mark.parametrize("version", some(["3"], ["2"], "the newest version"))
def test_rows_are_divided_by_added_columns(service: Service, run: Callable[[str], Any], version: str) -> None:
    name = f"divided{version}"
    run(f"CREATE TABLE {name} (a integer) WITH (format_version = '{version}')")
    run(f"INSERT INTO {name} VALUES 1")
    added = {"b": "varchar", "c": "bigint", "d": "varchar", "e": "timestamp"}
    transforms = ("'identity'", "'bucket(4)'", "ARRAY['truncate(2)']", "'day'")
    for (column, kind), transform in zip(added.items(), transforms, strict=True):
        run(f"ALTER TABLE {name} ADD COLUMN {column} {kind} WITH (partitioning = {transform})")
    run(f"INSERT INTO {name} VALUES (2, 'x', 3, 'yyy', TIMESTAMP '2026-01-02 03:04:05')")
    table = service.lake().load_table(f"altered.{name}")
    fields = {field.name: str(field.transform) for field in table.spec().fields}
    assert sorted(fields.values()) == ["bucket[4]", "day", "identity", "truncate[2]"]
    found = sorted(run(f'SELECT b, row_count FROM "{name}$partitions"'), key=str)
    assert found == [["x", 1], [None, 1]]
    assert sorted(run(f"SELECT a, b, c, d FROM {name}")) == [[1, None, None, None], [2, "x", 3, "yyy"]]


@pytest.mark.parametrize("version", some(["3"], ["1", "2"], "the newest version"))
def test_layouts_change_and_rows_stay(service: Service, run: Callable[[str], Any], version: str) -> None:
    """Both engines write under each spec and read all of them, as DuckDB's sums tell."""
    name, spark = f"laid{version}", {"engine": "spark"}
    run(f"CREATE TABLE {name} (id bigint, kind varchar, at timestamp) WITH (format_version = '{version}')")
    values = "SELECT {0} + n, 'k' || CAST(n % 3 AS varchar), TIMESTAMP '2026-01-01 00:00:00' + n * INTERVAL '9' HOUR "
    values += "FROM UNNEST(sequence(1, 20)) AS u (n)"
    steps = (["day(at)", "bucket(id, 4)"], ["kind", "bucket(id, 4)"], ["day(at)"], [])
    run(f"INSERT INTO {name} {values.format(0)}")
    for number, entries in enumerate(steps, start=1):
        listed = ", ".join(f"'{entry}'" for entry in entries)
        run(f"ALTER TABLE {name} SET PROPERTIES partitioning = ARRAY[{listed}], sorted_by = ARRAY['id DESC']")
        session = spark if number % 2 else {}
        text = f"INSERT INTO iceberg.altered.{name} {values.format(100 * number)}"
        service.execute(text, session_properties=session)
    table = service.lake().load_table(f"altered.{name}")
    assert [str(f.transform) for f in table.spec().fields if str(f.transform) != "void"] == []
    expected = [[100, sum(100 * k + n for k in range(5) for n in range(1, 21)), 3]]
    sums = f"SELECT count(*), sum(id), count(DISTINCT kind) FROM iceberg.altered.{name}"
    for session in (spark, {}):
        assert service.execute(sums, session_properties=session) == expected
    options = "options => MAP(ARRAY['rewrite-all'], ARRAY['true'])"
    run(f"CALL iceberg.system.rewrite_data_files(schema => 'altered', table_name => '{name}', {options})")
    assert service.execute(sums, session_properties=spark) == expected


def test_columns_that_divide_or_order_rows_stay(service: Service, run: Callable[[str], Any]) -> None:
    run("CREATE TABLE newest (a bigint, b bigint, c bigint) WITH (partitioning = ARRAY['b'], format_version = '3')")
    with pytest.raises(prestodb.exceptions.PrestoUserError) as caught:
        run("ALTER TABLE newest DROP COLUMN b")
    refused = "This connector does not support dropping columns which exist in any of the table's partition specs"
    assert (caught.value.error_name, caught.value.message) == ("NOT_SUPPORTED", refused)
    run("ALTER TABLE newest DROP COLUMN c")


def test_refusals(service: Service, run: Callable[[str], Any]) -> None:
    run("CREATE TABLE plain (a bigint, b varchar) WITH (partitioning = ARRAY['b'])")
    wrong = {
        "ALTER TABLE nope ADD COLUMN c bigint": "line 1:1: Table 'iceberg.altered.nope' does not exist",
        "ALTER TABLE plain ADD COLUMN a bigint": "line 1:1: Column 'a' already exists",
        "ALTER TABLE plain ADD COLUMN c char(2)": "Type not supported for Iceberg: char(2)",
        "ALTER TABLE plain DROP COLUMN c": "line 1:1: Column 'c' does not exist",
        "ALTER TABLE plain DROP COLUMN b": "This connector does not support dropping columns which exist in any of the "
        "table's partition specs",
        "ALTER TABLE plain RENAME COLUMN a TO b": "line 1:1: Column 'b' already exists",
        "ALTER TABLE plain ALTER COLUMN a SET DATA TYPE integer": "Cannot change column type: a: long -> int",
        "ALTER TABLE plain SET PROPERTIES (location = 'x')": "Updating property location is not supported",
        "ALTER TABLE plain RENAME TO plain": "line 1:1: Target table 'iceberg.altered.plain' already exists",
        "ALTER SCHEMA altered RENAME TO other": "This connector does not support renaming schemas",
    }
    before = service.lake().load_table("altered.plain").metadata
    for sql, message in wrong.items():
        with pytest.raises(prestodb.exceptions.PrestoQueryError) as refused:
            run(sql)
        assert refused.value.message == message
    assert service.lake().load_table("altered.plain").metadata == before


def test_execute_is_a_call(run: Callable[[str], Any]) -> None:
    run("CREATE TABLE small (a bigint, p bigint) WITH (partitioning = ARRAY['p'])")
    for n in range(3):
        run(f"INSERT INTO small VALUES ({n}, 1), ({n}, 2)")
    first = run("ALTER TABLE small EXECUTE optimize WHERE p = 1")
    assert first[0][:2] == [0, 0] or first[0][1] == 1
    rows = run(
        "ALTER TABLE small EXECUTE rewrite_data_files(options => map(ARRAY['rewrite-all'], ARRAY['true'])) WHERE p = 2"
    )
    assert rows[0][:2] == [3, 1]
    assert run("SELECT count(*) FROM small") == [[6]]

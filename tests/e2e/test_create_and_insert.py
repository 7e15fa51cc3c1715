"""Tables made and filled over the protocol; what is in them is read by PyIceberg, which shares no code with Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Statement = Callable[[str], Any]


@pytest.fixture(scope="module")
def run(service: Service) -> Statement:
    """Executes in ``iceberg.made`` and returns the rows."""
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.made")
    return lambda sql: service.execute(sql, catalog="iceberg", schema="made")


def contents(service: Service, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = service.lake().load_table(f"made.{name}").scan().to_arrow().to_pylist()
    return rows


def refused(run: Statement, sql: str) -> tuple[str, str]:
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as error:
        run(sql)
    return error.value.error_name, error.value.message


def test_a_table_that_the_kernels_read_for_spark(service: Service, run: Statement) -> None:
    numbers = pa.table({"id": pa.array(range(3000), pa.int64()), "name": [f"n{i % 7}" for i in range(3000)]})
    service.create("wide_source", [numbers, numbers])
    cursor = service.cursor(catalog="iceberg", schema="made", session_properties={"spark_max_reader_memory": "1B"})
    cursor.execute(
        "CREATE TABLE from_kernels WITH (partitioning = ARRAY['bucket(id, 8)', 'name']) AS "
        "SELECT id, name, timestamp '2020-02-03 04:05:06.789' AS at FROM iceberg.db.wide_source WHERE id >= 1000"
    )
    assert cursor.fetchall() == [[4000]]
    rows = contents(service, "from_kernels")
    wanted = [(i, f"n{i % 7}") for i in range(1000, 3000)]
    assert sorted((row["id"], row["name"]) for row in rows) == sorted(2 * wanted)
    assert {row["at"] for row in rows} == {dt.datetime(2020, 2, 3, 4, 5, 6, 789000)}


def test_a_table_has_what_it_was_made_with(service: Service, run: Statement) -> None:
    run(
        "CREATE TABLE all_of_it (id bigint NOT NULL COMMENT 'key', p varchar, at timestamp with time zone, "
        "price decimal(12, 2)) COMMENT 'it''s a table' "
        "WITH (partitioning = ARRAY['p', 'bucket(id, 4)', 'day(at)'], sorted_by = ARRAY['price DESC'], "
        "format_version = '1', \"write.target-file-size-bytes\" = 1000000)"
    )
    table = service.lake().load_table("made.all_of_it")
    assert [str(field) for field in table.schema().fields] == [
        "1: id: required long (key)",
        "2: p: optional string",
        "3: at: optional timestamptz",
        "4: price: optional decimal(12, 2)",
    ]
    assert [(f.source_id, str(f.transform)) for f in table.spec().fields] == [
        (2, "identity"),
        (1, "bucket[4]"),
        (3, "day"),
    ]
    assert [(f.source_id, f.direction.value) for f in table.sort_order().fields] == [(4, "desc")]
    assert table.format_version == 1
    assert table.properties["write.target-file-size-bytes"] == "1000000"
    assert table.properties["comment"] == "it's a table"
    shown = run("SHOW CREATE TABLE all_of_it")[0][0]
    run("DROP TABLE all_of_it")
    run(shown)
    again = service.lake().load_table("made.all_of_it")
    assert (again.schema(), again.spec(), again.sort_order()) == (table.schema(), table.spec(), table.sort_order())


def test_every_type_arrives(service: Service, run: Statement) -> None:
    run(
        "CREATE TABLE typed (i integer, l bigint, r real, d double, e decimal(10,2), b boolean, v varchar, "
        "y varbinary, day date, t timestamp, z timestamp with time zone, u uuid, a array(double), "
        "m map(varchar, bigint), w row(x bigint, y varchar))"
    )
    rows = run(
        "INSERT INTO typed VALUES (1, 2, real '1.5', 2.5e0, 1.50, true, 'é''', X'00ff', DATE '2020-02-29', "
        "TIMESTAMP '2020-01-01 00:00:00.123', TIMESTAMP '2020-01-01 00:00:00.123 Europe/Berlin', "
        "uuid '12151fd2-7586-11e9-8f9e-2a86e4085a59', ARRAY[1, 2.5], map(ARRAY['k'], ARRAY[7]), ROW(1, 'x')), "
        "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    assert rows == [[2]]
    full, empty = sorted(contents(service, "typed"), key=lambda row: row["i"] is None)
    assert set(empty.values()) == {None}
    assert str(full.pop("u")) == "12151fd2-7586-11e9-8f9e-2a86e4085a59"
    assert full == {
        "i": 1,
        "l": 2,
        "r": 1.5,
        "d": 2.5,
        "e": Decimal("1.50"),
        "b": True,
        "v": "é'",
        "y": b"\x00\xff",
        "day": dt.date(2020, 2, 29),
        "t": dt.datetime(2020, 1, 1, 0, 0, 0, 123000),
        "z": dt.datetime(2019, 12, 31, 23, 0, 0, 123000, tzinfo=dt.UTC),
        "a": [1.0, 2.5],
        "m": [("k", 7)],
        "w": {"x": 1, "y": "x"},
    }


def test_columns_left_out_are_null_and_values_are_coerced(service: Service, run: Statement) -> None:
    run("CREATE TABLE some (a bigint, b double, c varchar)")
    cursor = service.cursor(catalog="iceberg", schema="made")
    cursor.execute("INSERT INTO some (c, a) SELECT 'x', cast(n AS tinyint) FROM (VALUES 1, 2, 3) t (n)")
    assert cursor.fetchall() == [[3]]
    assert sorted(row["a"] for row in contents(service, "some")) == [1, 2, 3]
    assert {(row["b"], row["c"]) for row in contents(service, "some")} == {(None, "x")}
    run("INSERT INTO some VALUES (4, random(), 'r'), (5, 2, NULL)")
    by_key = {row["a"]: row for row in contents(service, "some")}
    assert 0 <= by_key[4]["b"] < 1
    assert (by_key[5]["b"], by_key[5]["c"]) == (2.0, None)


def test_null_goes_into_columns_of_every_type(service: Service, run: Statement) -> None:
    kinds = [
        *("date", "timestamp", "timestamp with time zone", "varbinary", "uuid", "array(bigint)", "map(varchar, date)"),
        *("row(x date)", "boolean", "decimal(10,2)", "real", "varchar"),
    ]
    columns = {f"c{number}": kind for number, kind in enumerate(kinds)}
    run(f"CREATE TABLE empty_handed (id bigint, {', '.join(f'{name} {kind}' for name, kind in columns.items())})")
    nothing = ", ".join(["NULL"] * len(kinds))
    run(f"INSERT INTO empty_handed VALUES (1, {nothing})")
    run(f"INSERT INTO empty_handed SELECT 2, {nothing}")
    found = sorted(contents(service, "empty_handed"), key=lambda row: row["id"])
    assert found == [{"id": key} | dict.fromkeys(columns) for key in (1, 2)]
    casts = ", ".join(f"cast(x AS {kind})" for kind in kinds)
    assert service.execute(f"SELECT {casts} FROM (VALUES NULL) t (x)") == [[None] * len(kinds)]


def test_a_table_of_a_query(service: Service, run: Statement) -> None:
    run("CREATE TABLE source (id bigint, p integer)")
    run("INSERT INTO source SELECT n, cast(n % 3 AS integer) FROM UNNEST(sequence(1, 30)) t (n)")
    rows = run(
        "CREATE TABLE counted WITH (partitioning = ARRAY['p'], format_version = '3') "
        "AS SELECT p, count(*) AS n, max(id) AS top FROM source GROUP BY p"
    )
    assert rows == [[3]]
    table = service.lake().load_table("made.counted")
    assert table.format_version == 3
    assert [str(f.transform) for f in table.spec().fields] == ["identity"]
    assert run("SELECT p, n, top FROM counted ORDER BY p") == [[0, 10, 30], [1, 10, 28], [2, 10, 29]]
    assert run("CREATE TABLE IF NOT EXISTS counted AS SELECT 1 AS x") == [[0]]
    assert run("CREATE TABLE empty_one (a, b) AS SELECT id, p FROM source WITH NO DATA") == [[0]]
    assert contents(service, "empty_one") == []


def test_values_become_one_file(service: Service, run: Statement) -> None:
    run("CREATE TABLE one_file (a bigint, b varchar)")
    run("INSERT INTO one_file VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')")
    run("INSERT INTO one_file (b) SELECT upper(x) FROM (VALUES 'f', 'g', 'h', 'i') t(x)")
    assert [row[0] for row in run('SELECT record_count FROM "one_file$files" ORDER BY 1')] == [4, 5]
    assert run("SELECT a, b FROM one_file ORDER BY b LIMIT 2") == [[None, "F"], [None, "G"]]
    run("CREATE TABLE one_more AS SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c')) t(n, s)")
    assert run('SELECT record_count FROM "one_more$files"') == [[3]]


def test_tables_of_others_with_capitals_in_their_names(service: Service, run: Statement) -> None:
    """SQL takes them for any spelling; Spark's catalogs do not."""
    table = service.lake().create_table(
        "made.FromElsewhere", schema=pa.schema([("Id", pa.int64()), ("s", pa.string())])
    )
    table.append(pa.table({"Id": [1, 2], "s": ["a", "b"]}))
    assert service.execute(
        "SELECT id, s FROM iceberg.made.FromElsewhere ORDER BY 1", session_properties={"engine": "SPARK"}
    ) == [[1, "a"], [2, "b"]]
    assert run("INSERT INTO fromElsewhere SELECT id + 10, s FROM FROMELSEWHERE") == [[2]]
    assert run("CREATE TABLE taken_over AS SELECT * FROM fromelsewhere") == [[4]]
    assert run("DELETE FROM fromelsewhere WHERE id IN (SELECT max(id) FROM fromelsewhere)") == [[1]]
    run("ANALYZE fromelsewhere")
    run("CALL iceberg.system.rewrite_position_delete_files('made', 'FromElsewhere')")
    assert sorted(row["Id"] for row in contents(service, "FromElsewhere")) == [1, 2, 11]


def test_a_failed_table_leaves_nothing(service: Service, run: Statement) -> None:
    run("CREATE TABLE zeros AS SELECT 0 AS z")
    before = sorted(service.lake().list_tables("made"))
    assert refused(run, "CREATE TABLE broken AS SELECT 1 / z AS x FROM zeros") == ("DIVISION_BY_ZERO", "/ by zero")
    assert sorted(service.lake().list_tables("made")) == before
    warehouse = Path(service.data_dir) / "iceberg" / "warehouse" / "made"
    left = [file for folder in warehouse.glob("broken-*") for file in folder.rglob("*") if file.is_file()]
    assert left == []


def test_refusals(run: Statement) -> None:
    run("CREATE TABLE strict (a bigint NOT NULL, b varchar)")
    wrong = {
        "INSERT INTO strict (b) VALUES 'x'": "NULL value not allowed for NOT NULL column: a",
        "INSERT INTO strict VALUES 1": "line 1:27: Insert query has 1 expression(s) but expected 2 target column(s). "
        "Mismatch at column 2: 'b'",
        "INSERT INTO strict VALUES ('x', 'y')": "line 1:28: Mismatch at column 1: 'a' is of type bigint but expression "
        "is of type varchar(1)",
        "INSERT INTO strict (nope) VALUES 1": "line 1:1: Insert column name does not exist in target table: nope",
        "INSERT INTO nope VALUES 1": "line 1:1: Table 'iceberg.made.nope' does not exist",
        "CREATE TABLE strict (a bigint)": "line 1:1: Table 'iceberg.made.strict' already exists",
        "CREATE TABLE strict AS SELECT 1 a": "line 1:1: Destination table 'iceberg.made.strict' already exists",
        "CREATE TABLE nope.t (a bigint)": "Schema nope not found",
        "CREATE TABLE t (a char(3))": "Type not supported for Iceberg: char(3)",
        "CREATE TABLE t (a bigint, a varchar)": "line 1:27: Column name 'a' specified more than once",
        "CREATE TABLE t (a bigint) WITH (flip = 1)": "Catalog 'iceberg' does not support table property 'flip'",
        "CREATE TABLE t (a bigint) WITH (partitioning = ARRAY['b'])": "Column not found: b",
        "CREATE TABLE t (a bigint) WITH (partitioning = ARRAY['day(a)'])": "Unable to partition by day(a): "
        "type long of column a",
        "CREATE TABLE t AS SELECT 1": "line 1:1: Column name not specified at position 1",
        "DROP TABLE nope": "line 1:1: Table 'iceberg.made.nope' does not exist",
        "DROP SCHEMA made": "Schema not empty: made",
        "CREATE SCHEMA made": "line 1:1: Schema 'iceberg.made' already exists",
    }
    assert {sql: refused(run, sql)[1] for sql in wrong} == wrong


def test_a_plan_is_shown_and_checked_before_anything_is_written(service: Service, run: Statement) -> None:
    run("CREATE TABLE shown (a bigint)")
    text = run("EXPLAIN INSERT INTO shown SELECT a + 1 FROM shown")[0][0]
    order = [text.index(node) for node in ("Output", "TableFinish", "TableWriter", "ScanProject")]
    assert order == sorted(order), text
    assert "TableScan" in run("EXPLAIN (TYPE NATIVE) INSERT INTO shown SELECT a + 1 FROM shown")[0][0]
    assert contents(service, "shown") == []


def test_schemas_come_and_go(service: Service, run: Statement) -> None:
    run("CREATE SCHEMA passing")
    run("CREATE TABLE passing.t AS SELECT 1 AS a")
    assert ("passing",) in service.lake().list_namespaces()
    run("DROP SCHEMA passing CASCADE")
    run("DROP SCHEMA IF EXISTS passing")
    assert ("passing",) not in service.lake().list_namespaces()

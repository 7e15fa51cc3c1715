"""DELETE, UPDATE and MERGE as they are written for Spark, carried out by DuckDB, beside rows that are worked out here.

Rows of the tables have a file and a position, as Iceberg's do.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.optimizer.optimize import optimize
from coordinator.planner.writes import PlannedWrite
from coordinator.planning.catalog_statements import WriteStatement, plan_of_write
from coordinator.sql.parse_statement import parse_statement
from coordinator.unparser.writes import write_work
from shared.plan.nodes import OutputNode, TableScanNode
from shared.spi.relation import CatalogTable, Relation
from shared.spi.session import Session
from tests.optimizer.rule_cases import RuleCases
from tests.planner.editable_catalogs import EditableCatalogs
from tests.unparser.spark_reader import SparkReader

TABLES = {
    "strict": ("id BIGINT, small SMALLINT", "(1, 10), (2, 20), (3, NULL), (4, 40)"),
    "odd": ('"select" BIGINT, "a ""b""" VARCHAR', "(1, 'x'), (2, NULL), (3, 'it''s')"),
    "twins": ('"a b" VARCHAR, a_b VARCHAR, "at" BIGINT', "('xyz', 'zyx', 0)"),
    "orders": (
        "orderkey BIGINT, status VARCHAR, price DECIMAL(12, 2), day DATE, comment VARCHAR",
        "(1, 'a', 1.50, DATE '2024-01-01', 'x'), (2, 'b', 7.25, NULL, NULL), (9, NULL, NULL, DATE '2024-02-29', 'z')",
    ),
}


@pytest.fixture(scope="module")
def reader(rule_cases: RuleCases) -> Iterator[SparkReader]:
    made = SparkReader(rule_cases)
    made.connection.execute("ATTACH ':memory:' AS iceberg; CREATE SCHEMA iceberg.db")
    yield made
    made.connection.close()


def _named(scan: TableScanNode) -> Relation:
    name = str(scan.table.connectorHandle["icebergTableName"]["tableName"])
    return CatalogTable(("iceberg", "db", name), None, "it is not read")


def _written(text: str) -> str:
    """The statement as Spark gets it."""
    session = Session(user="test", catalog="iceberg", schema="db")
    statement = parse_statement(text)
    assert isinstance(statement, WriteStatement)
    planned = plan_of_write(statement, session, EditableCatalogs())  # type: ignore[arg-type]
    assert isinstance(planned, PlannedWrite)
    root, _ = optimize(planned.root, session)
    assert isinstance(root, OutputNode)
    write = write_work(planned, root, _named).write
    return f"{write.before} iceberg.db.{write.table} {write.after}"


def _after(reader: SparkReader, text: str, table: str) -> list[tuple[object, ...]]:
    """The rows of a table when the statement has run, by its columns in their order."""
    run = reader.connection.execute
    for name, (columns, rows) in TABLES.items():
        run(f"CREATE OR REPLACE TABLE iceberg.db.{name} ({columns})")
        run(f"INSERT INTO iceberg.db.{name} VALUES {rows}")
        run(f"ALTER TABLE iceberg.db.{name} ADD COLUMN _file VARCHAR DEFAULT 'f'")
        run(f"ALTER TABLE iceberg.db.{name} ADD COLUMN _pos BIGINT")
        run(f'ALTER TABLE iceberg.db.{name} ADD COLUMN "$path" VARCHAR')
        run(f"UPDATE iceberg.db.{name} SET _pos = rowid")
    reader.run(_written(text))
    found = run(f'SELECT * EXCLUDE (_file, _pos, "$path") FROM iceberg.db.{table}').fetchall()
    return sorted(found, key=str)


MERGE = "MERGE INTO strict USING orders o ON id = orderkey"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("INSERT INTO strict (Small, ID) SELECT n, n FROM (VALUES SMALLINT '7') t(n)", "1 10|2 20|3 None|4 40|7 7"),
        ("INSERT INTO strict (id) SELECT orderkey FROM orders WHERE price > 2", "1 10|2 20|2 None|3 None|4 40"),
        ("DELETE FROM strict WHERE id > 3 OR small IS NULL", "1 10|2 20"),
        ("DELETE FROM strict WHERE small <> 10", "1 10|3 None"),
        ("DELETE FROM strict WHERE NULL", "1 10|2 20|3 None|4 40"),
        ("DELETE FROM strict", ""),
        ("DELETE FROM strict WHERE id IN (SELECT orderkey FROM orders)", "3 None|4 40"),
        ("DELETE FROM strict WHERE id NOT IN (SELECT orderkey FROM orders)", "1 10|2 20"),
        ("DELETE FROM strict WHERE NOT EXISTS (SELECT 1 FROM orders WHERE orderkey = id AND price > 2)", "2 20"),
        ("DELETE FROM strict WHERE small = (SELECT max(small) FROM strict)", "1 10|2 20|3 None"),
        ("UPDATE strict SET small = NULL, id = id + 5 WHERE id < 3", "3 None|4 40|6 None|7 None"),
        ("UPDATE strict SET id = small, small = SMALLINT '0' WHERE id = 4", "1 10|2 20|3 None|40 0"),
        ("UPDATE strict SET id = (SELECT max(orderkey) FROM orders) WHERE small = 20", "1 10|3 None|4 40|9 20"),
        (
            "UPDATE strict SET id = id * 10 + (SELECT count(*) FROM orders WHERE orderkey = strict.id)",
            "11 10|21 20|30 None|40 40",
        ),
        (f"{MERGE} WHEN MATCHED THEN DELETE", "3 None|4 40"),
        (f"{MERGE} WHEN MATCHED AND o.price > 5 THEN DELETE", "1 10|3 None|4 40"),
        (
            f"{MERGE} WHEN MATCHED AND price > 5 THEN DELETE WHEN MATCHED THEN UPDATE SET id = id + orderkey + 40 "
            "WHEN NOT MATCHED AND status IS NULL THEN INSERT (id) VALUES (orderkey)",
            "3 None|4 40|42 10|9 None",
        ),
        (f"{MERGE} WHEN NOT MATCHED THEN INSERT VALUES (o.orderkey + 1, NULL)", "1 10|10 None|2 20|3 None|4 40"),
        (
            "MERGE INTO strict t USING strict s ON t.id = s.id + 1 WHEN MATCHED THEN UPDATE SET small = s.small "
            "WHEN NOT MATCHED THEN INSERT (id, small) VALUES (s.id * 100, s.small)",
            "1 10|2 10|3 20|4 None|400 40",
        ),
        (
            "MERGE INTO strict USING (SELECT count(*) c, max(orderkey) k FROM orders) ON id = c "
            "WHEN MATCHED THEN UPDATE SET id = k",
            "1 10|2 20|4 40|9 None",
        ),
    ],
)
def test_rows(reader: SparkReader, text: str, rows: str) -> None:
    found = _after(reader, text, "strict")
    assert [" ".join(map(str, row)) for row in found] == [r for r in rows.split("|") if r]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('UPDATE odd SET "a ""b""" = concat("a ""b""", \'\'\'!\'), "select" = -"select"', "-1 x'!|-2 None|-3 it's'!"),
        ('DELETE FROM odd WHERE strpos("a ""b""", \'\'\'\') > 0', "1 x|2 None"),
        ('UPDATE odd SET "select" = bitwise_and("select", 2) WHERE "a ""b""" LIKE \'%s\'', "1 x|2 it's|2 None"),
        (
            'UPDATE odd SET "a ""b""" = array_join(filter(ARRAY[\'x\', \'y\'], t -> t <> "a ""b"""), \'\')',
            "1 y|2 |3 xy",
        ),
        ('DELETE FROM odd WHERE cardinality(filter(ARRAY[1, 3], s -> s = "select")) = 1', "2 None"),
        (
            'MERGE INTO odd USING orders ON orderkey = "select" WHEN MATCHED THEN UPDATE SET "a ""b""" = '
            'upper(coalesce("a ""b""", status)) WHEN NOT MATCHED THEN INSERT ("a ""b""") VALUES (comment)',
            "1 X|2 B|3 it's|None z",
        ),
    ],
)
def test_names_that_are_no_plain_words(reader: SparkReader, text: str, rows: str) -> None:
    """A column is said with its relation also inside functions and lambdas, whatever their parameters are called."""
    found = _after(reader, text, "odd")
    assert [" ".join(map(str, row)) for row in found] == rows.split("|")


def test_columns_whose_variables_have_the_names_of_others(reader: SparkReader) -> None:
    """``"a b"`` is the variable ``a_b``, which is another column's name."""
    assert _after(reader, 'UPDATE twins SET "at" = strpos("a b", \'z\')', "twins") == [("xyz", "zyx", 3)]
    assert _after(reader, "UPDATE twins SET \"at\" = strpos(a_b, 'z')", "twins") == [("xyz", "zyx", 1)]
    assert _after(reader, "DELETE FROM twins WHERE starts_with(\"a b\", 'z')", "twins") == [("xyz", "zyx", 0)]


def test_a_new_table_is_filled() -> None:
    assert _written('CREATE TABLE t AS SELECT id, id AS "I d" FROM strict') == (
        "INSERT INTO iceberg.db.t (`id`, `i d`) SELECT `id`, `id` AS `id_1` FROM (SELECT `id` FROM "
        "`iceberg`.`db`.`strict`) AS `t1`"
    )
    assert _written("CREATE TABLE t AS SELECT id FROM strict WITH NO DATA") == " iceberg.db.t "


def test_rows_of_values_go_into_one_file() -> None:
    """Spark would write a file for each of its cores."""
    assert "/*+ COALESCE(1) */" in _written("INSERT INTO strict VALUES (1, NULL), (2, NULL)")
    assert "COALESCE(1)" not in _written("INSERT INTO strict SELECT * FROM strict")
    assert "COALESCE(1)" not in _written("INSERT INTO strict SELECT 1, SMALLINT '2' UNION ALL SELECT * FROM strict")

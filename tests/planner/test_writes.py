"""INSERT, CREATE TABLE AS, DELETE, UPDATE and MERGE as Presto plans them, drawn; and the statements that it refuses."""

from __future__ import annotations

import textwrap

import pytest

from coordinator.planner.writes import PlannedWrite
from coordinator.planning.catalog_statements import WriteStatement, plan_of_write
from coordinator.sql.parse_statement import parse_statement
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ProcessionError
from shared.spi.session import Session
from tests.drawing import drawn
from tests.planner.editable_catalogs import EditableCatalogs

SESSION = Session(user="test", catalog="iceberg", schema="db")
MERGE = "MERGE INTO orders o USING strict s ON o.orderkey = s.id"
NOT_FITTING = "table column types don't match"


def _write(text: str) -> PlannedWrite | PlannedStatement:
    statement = parse_statement(text)
    assert isinstance(statement, WriteStatement)
    return plan_of_write(statement, SESSION, EditableCatalogs())  # type: ignore[arg-type]


def _planned(text: str) -> PlannedWrite:
    found = _write(text)
    assert isinstance(found, PlannedWrite)
    return found


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        (
            "INSERT INTO strict (Small, ID) SELECT n, n FROM (VALUES SMALLINT '1') t(n)",
            """
            TableWriter
                id := id
                small := field
                Statistics collected: 0
              Project[field, id := CAST(field AS bigint)]
                Project[field]
                  Values[field: (1)]
            """,
        ),
        (  # what dbt's seeds send; a SELECT of the same is refused below
            "INSERT INTO strict VALUES (DECIMAL '1', DECIMAL '7'), (DECIMAL '20', NULL)",
            """
            TableWriter
                id := id
                small := small
                Statistics collected: 0
              Project[field, field_1, id := CAST(field AS bigint), small := CAST(field_1 AS smallint)]
                Values[field, field_1: (1, 7), (20, null)]
            """,
        ),
        (
            "INSERT INTO orders (comment, price) VALUES ('x', 2.5), (NULL, 1)",
            """
            TableWriter
                orderkey := orderkey
                status := status
                price := price
                day := day
                comment := comment
                Statistics collected: 0
              Project[field, field_1, orderkey := null, status := null, price := CAST(field_1 AS decimal(12,2)), day
                    := null, comment := CAST(field AS varchar(79))]
                Values[field, field_1: ('x', 2.5), (null, 1.0)]
            """,
        ),
        (
            'INSERT INTO odd ("a ""b""") SELECT status FROM orders',
            """
            TableWriter
                select := select
                a "b" := status
                Statistics collected: 0
              Project[status, select := null]
                Project[status]
                  Scan[orders: orderkey, status, price, day, comment, $path]
            """,
        ),
        (
            "CREATE TABLE t (a, B) AS SELECT id, id FROM strict",
            """
            TableWriter
                a := id
                b := id_1
                Statistics collected: 0
              Project[id, id_1 := id]
                Project[id]
                  Scan[strict: id, small, $path]
            """,
        ),
        (
            "CREATE TABLE t AS SELECT id + 1 x FROM strict ORDER BY small LIMIT 3 WITH NO DATA",
            """
            TableWriter
                x := x
                Statistics collected: 0
              Values[x: no rows]
            """,
        ),
        (
            "DELETE FROM orders WHERE iceberg.db.orders.price > 10",
            """
            Delete
              Filter[price > 10.00]
                Scan[orders: orderkey, status, price, day, comment, $file, $rowid]
            """,
        ),
        (
            "DELETE FROM orders WHERE 1 = 1",
            """
            Delete
              Scan[orders: orderkey, status, price, day, comment, $file, $rowid]
            """,
        ),
        (
            "DELETE FROM orders WHERE orderkey IN (SELECT id FROM strict)",
            """
            Delete
              Filter[expr]
                SemiJoin[expr := orderkey IN id]
                  Scan[orders: orderkey, status, price, day, comment, $file, $rowid]
                  Project[id]
                    Scan[strict: id, small, $path]
            """,
        ),
        (
            "UPDATE orders SET price = orders.price + 1, status = upper(status) WHERE status = 'a'",
            """
            Update
              Project[orderkey, status, price, day, comment, $file, $rowid, price_1 := CAST(price + 1 AS
                    decimal(12,2)), status_1 := upper(status)]
                Filter[status = 'a']
                  Scan[orders: orderkey, status, price, day, comment, $file, $rowid]
            """,
        ),
        (
            "UPDATE strict SET id = (SELECT count(*) FROM orders WHERE orderkey = strict.id)",
            """
            Update
              Project[id, small, $file, $rowid, expr := COALESCE(count, 0)]
                LeftJoin[id = orderkey] => id, small, $file, $rowid, orderkey, count
                  Scan[strict: id, small, $file, $rowid]
                  Aggregate[orderkey]
                      count := count(*)
                    Project[orderkey]
                      Scan[orders: orderkey, status, price, day, comment, $path]
            """,
        ),
        (
            f"{MERGE} WHEN MATCHED AND s.small > 2 THEN DELETE WHEN MATCHED THEN UPDATE SET price = small "
            "WHEN NOT MATCHED THEN INSERT (price, orderkey) VALUES (1.5, id)",
            """
            MergeWriter
              MergeProcessor
                  merge row: merge_row
                  row id: $rowid
                Project[orderkey, status, price, day, comment, $file, $rowid, id, small, merge_row :=
                      IF((not(IS_NULL($rowid))) AND ((CAST(small AS integer)) > 2), ROW_CONSTRUCTOR(orderkey,
                      status, price, day, comment, 2, 0), IF(not(IS_NULL($rowid)), ROW_CONSTRUCTOR(orderkey,
                      status, CAST(small AS decimal(12,2)), day, comment, 3, 1), IF(IS_NULL($rowid),
                      ROW_CONSTRUCTOR(id, null, 1.50, null, null, 1, 2), null)))]
                  RightJoin[orderkey = id] => orderkey, status, price, day, comment, $file, $rowid, id, small
                    Scan[orders: orderkey, status, price, day, comment, $file, $rowid]
                    Scan[strict: id, small, $path]
            """,
        ),
        (
            "MERGE INTO strict USING orders o ON strict.id = o.orderkey WHEN NOT MATCHED AND price IS NULL THEN INSERT "
            "VALUES (o.orderkey, NULL)",
            """
            MergeWriter
              MergeProcessor
                  merge row: merge_row
                  row id: $rowid
                Project[id, small, $file, $rowid, orderkey, status, price, day, comment, merge_row :=
                      IF((IS_NULL($rowid)) AND (IS_NULL(price)), ROW_CONSTRUCTOR(orderkey, null, 1, 0), null)]
                  RightJoin[id = orderkey] => id, small, $file, $rowid, orderkey, status, price, day, comment
                    Scan[strict: id, small, $file, $rowid]
                    Scan[orders: orderkey, status, price, day, comment, $path]
            """,
        ),
    ],
)
def test_plans(text: str, plan: str) -> None:
    head, committed, *lines = drawn(_planned(text).root).splitlines()
    assert (head.partition("[")[0], committed) == ("Output", "  TableFinish")
    assert _words(textwrap.dedent("\n".join(lines))) == _words(textwrap.dedent(plan).strip("\n"))


def _words(text: str) -> list[str]:
    """A line a node or detail, however long lines are broken."""
    joined: list[str] = []
    for line in text.splitlines():
        open_bracket = joined and joined[-1].count("[") + joined[-1].count("(") > sum(map(joined[-1].count, "])"))
        if open_bracket:
            joined[-1] += " " + line.strip()
        else:
            joined.append(line)
    return joined


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("INSERT INTO orders SELECT * FROM orders", ("INSERT", "orders", False, False, False)),
        ("DELETE FROM orders", ("DELETE", "orders", False, True, False)),
        ("DELETE FROM orders WHERE true", ("DELETE", "orders", False, True, False)),
        ("DELETE FROM orders WHERE false OR status = 'x'", ("DELETE", "orders", True, False, False)),
        ("DELETE FROM orders WHERE NULL", ("DELETE", "orders", True, False, False)),
        ("DELETE FROM orders WHERE 1 / 0 = 1", ("DELETE", "orders", True, False, False)),
        ("DELETE FROM orders WHERE EXISTS (SELECT 1)", ("DELETE", "orders", False, False, True)),
        ("UPDATE orders SET day = NULL", ("UPDATE", "orders", False, False, False)),
        ("UPDATE orders SET price = (SELECT 1)", ("UPDATE", "orders", False, False, True)),
        (f"{MERGE} WHEN MATCHED THEN DELETE", ("MERGE", "orders", False, False, False)),
    ],
)
def test_what_the_connector_is_told(text: str, known: tuple[object, ...]) -> None:
    """Whether it may answer from metadata, and whether rows are named by their positions."""
    write = _planned(text).write
    assert (write.kind, write.table, write.row_filter is not None, write.all_rows, write.by_position) == known
    assert write.snapshot_id == 290165474739832789


def test_a_new_table_is_described() -> None:
    made = _planned(
        "CREATE TABLE t COMMENT 'c' WITH (format = 'ORC') AS SELECT price * 2 AS \"P 2\", 'ab' AS s FROM orders"
    )
    creation = made.write.creation
    assert creation is not None
    assert [(c.name, c.type) for c in creation.columns] == [("p 2", "decimal(22,2)"), ("s", "varchar(2)")]
    assert (creation.comment, creation.properties, made.write.no_rows) == ("c", {"format": "ORC"}, False)
    found = _write("CREATE TABLE IF NOT EXISTS orders AS SELECT 1 AS x")
    assert isinstance(found, PlannedStatement)
    assert found.work == ReturnRows(((0,),))


def test_not_null_columns_are_told_to_the_writer() -> None:
    """Presto checks them row by row."""
    writer = _planned("INSERT INTO strict (small) SELECT SMALLINT '1'").root.source.source  # type: ignore[attr-defined]
    assert [v.name for v in writer.notNullColumnVariables] == ["id"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "INSERT INTO strict VALUES (1, 2)",
            "line 1:31: Mismatch at column 2: 'small' is of type smallint but expression is of type integer",
        ),
        (
            "INSERT INTO strict SELECT DECIMAL '1', SMALLINT '2'",
            "line 1:1: Mismatch at column 1: 'id' is of type bigint but expression is of type decimal(1,0)",
        ),
        (
            "INSERT INTO strict VALUES (DECIMAL '1.5', NULL)",
            "line 1:28: Mismatch at column 1: 'id' is of type bigint but expression is of type decimal(2,1)",
        ),
        (
            "INSERT INTO strict VALUES (DOUBLE '1', NULL)",
            "line 1:28: Mismatch at column 1: 'id' is of type bigint but expression is of type double",
        ),
        (
            "INSERT INTO strict SELECT 1",
            "line 1:1: Insert query has 1 expression(s) but expected 2 target column(s). Mismatch at column 2: 'small'",
        ),
        (
            "INSERT INTO strict (id) VALUES (1, 2)",
            "line 1:36: Insert query has 2 expression(s) but expected 1 target column(s). Mismatch at column 2",
        ),
        ("INSERT INTO strict (id, ID) VALUES (1, 2)", "line 1:1: Insert column name is specified more than once: id"),
        ('INSERT INTO orders ("$path") VALUES 1', "line 1:1: Insert column name does not exist in target table: $path"),
        ("INSERT INTO cheap VALUES 1", "line 1:1: Inserting into views is not supported"),
        ("INSERT INTO none VALUES 1", "line 1:1: Table 'iceberg.db.none' does not exist"),
        ("INSERT INTO lake.db.orders VALUES 1", "This connector does not support inserts"),
        ("CREATE TABLE orders AS SELECT 1 x", "line 1:1: Destination table 'iceberg.db.orders' already exists"),
        (
            "CREATE OR REPLACE TABLE orders WITH (format = 'ORC') AS SELECT 1 x",
            "Table iceberg.db.orders is there: it is replaced without WITH and COMMENT; set them by themselves",
        ),
        (
            "CREATE OR REPLACE TABLE orders COMMENT 'c' AS SELECT 1 x",
            "Table iceberg.db.orders is there: it is replaced without WITH and COMMENT; set them by themselves",
        ),
        ("CREATE OR REPLACE TABLE cheap AS SELECT 1 x", "line 1:1: View 'iceberg.db.cheap' already exists"),
        (
            "CREATE OR REPLACE TABLE IF NOT EXISTS orders AS SELECT 1 x",
            "line 1:1: 'CREATE OR REPLACE' and 'IF NOT EXISTS' clauses can not be used together",
        ),
        ("CREATE TABLE cheap AS SELECT 1 x", "line 1:1: View 'iceberg.db.cheap' already exists"),
        ("CREATE TABLE none.t AS SELECT 1 x", "Schema none not found"),
        ("CREATE TABLE refused AS SELECT 1 x", "TableCreation is refused"),
        ("CREATE TABLE lake.db.t AS SELECT 1 x", "This connector does not support creating tables"),
        ("CREATE TABLE t AS SELECT 1", "line 1:1: Column name not specified at position 1"),
        ("CREATE TABLE t AS SELECT NULL x", "line 1:1: Column type is unknown: x"),
        ("CREATE TABLE t AS SELECT 1 x, 2 X", "line 1:1: Column name 'x' specified more than once"),
        ("CREATE TABLE t (a) AS SELECT 1, 2", "line 1:1: Column alias list has 1 entries but relation has 2 columns"),
        ("DELETE FROM none", "Table iceberg.db.none does not exist"),
        ("DELETE FROM none.t", "Schema none does not exist"),
        ("DELETE FROM cheap", "line 1:1: Deleting from views is not supported"),
        ("DELETE FROM lake.db.orders", "This connector does not support deletes"),
        (
            "DELETE FROM orders WHERE price",
            "line 1:26: WHERE clause must evaluate to a boolean: actual type decimal(12,2)",
        ),
        (
            "DELETE FROM orders WHERE count(*) > 1",
            "line 1:26: WHERE clause cannot contain aggregations, window functions or grouping operations: "
            '["count"(*)]',
        ),
        ("UPDATE cheap SET orderkey = 1", "line 1:1: Updating views is not supported"),
        ("UPDATE orders SET nope = 1", "line 1:19: The UPDATE SET target column nope doesn't exist"),
        (
            "UPDATE orders SET price = 1, PRICE = 2",
            "line 1:30: The UPDATE SET target column price is specified more than once",
        ),
        (
            "UPDATE orders SET day = 'x'",
            f"line 1:1: UPDATE {NOT_FITTING} SET expressions: Table: [date], Expressions: [varchar(1)]",
        ),
        (
            f"{MERGE} WHEN MATCHED THEN UPDATE SET day = s.id",
            f"line 1:57: MERGE {NOT_FITTING} SET expressions: Table: [date], Expressions: [bigint]",
        ),
        (f"{MERGE} WHEN MATCHED THEN UPDATE SET day = (SELECT 1)", "line 1:92: Subquery here is not supported"),
        (
            f"{MERGE} WHEN NOT MATCHED THEN INSERT (day) VALUES (1)",
            f"line 1:57: MERGE {NOT_FITTING} for MERGE case 1, SET expressions: Table: [date], Expressions: [integer]",
        ),
        (f"{MERGE} WHEN NOT MATCHED THEN INSERT VALUES (1)", "line 1:57: MERGE case 1: 5 columns but 1 values"),
        (
            f"{MERGE} WHEN NOT MATCHED THEN INSERT (nope) VALUES (1)",
            "line 1:57: Merge column name does not exist in target table: nope",
        ),
        (
            f"{MERGE} WHEN NOT MATCHED THEN INSERT (day, day) VALUES (1, 2)",
            "line 1:57: Merge column name is specified more than once: day",
        ),
        (
            f"{MERGE} WHEN NOT MATCHED THEN INSERT (orderkey) VALUES (o.orderkey)",
            "line 1:105: 'o.orderkey' cannot be resolved",
        ),
        (
            "MERGE INTO orders USING strict ON id WHEN MATCHED THEN DELETE",
            "line 1:35: MERGE ON clause must evaluate to a boolean: actual type bigint",
        ),
        (
            "MERGE INTO orders USING orders ON orders.orderkey = 1 WHEN MATCHED THEN DELETE",
            "line 1:35: Column 'orders.orderkey' is ambiguous",
        ),
        (
            "MERGE INTO cheap USING strict ON true WHEN MATCHED THEN DELETE",
            "line 1:1: Merging into views is not supported",
        ),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    with pytest.raises(ProcessionError) as refused:
        _write(text)
    assert refused.value.wire_message == error


@pytest.mark.parametrize(("name", "replaces"), [("Orders", True), ("fresh", False)])
def test_a_table_is_replaced_where_there_is_one(name: str, replaces: bool) -> None:
    found = _planned(f"CREATE OR REPLACE TABLE {name} (A, b) AS SELECT id, small FROM strict")
    made = found.write.creation
    assert made is not None
    assert (made.table, made.replaces, [column.name for column in made.columns]) == (name.lower(), replaces, ["a", "b"])
    assert (found.write.kind, found.update_type) == ("INSERT", "CREATE TABLE")
    assert not found.write.reads_target


@pytest.mark.parametrize(
    "query", ["SELECT small x FROM strict", "SELECT 1 x WHERE EXISTS (SELECT 1 FROM ORDERS)", "SELECT 1 x FROM cheap"]
)
def test_it_is_known_whether_a_replacement_reads_what_it_replaces(query: str) -> None:
    name = "Strict" if "strict" in query else "orders"
    assert _planned(f"CREATE OR REPLACE TABLE {name} AS {query}").write.reads_target

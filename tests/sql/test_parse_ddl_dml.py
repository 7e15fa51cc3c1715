"""Statements that define and write: what is read, and where they are refused."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.sql import ddl_statements as ddl
from coordinator.sql import dml_statements as dml
from coordinator.sql.parse_statement import parse_statement
from coordinator.sql.parser import parse_expression, parse_query
from coordinator.sql.tree.queries import QuerySpecification
from shared.errors import ErrorCode, ErrorLocation, ProcessionError

START = ErrorLocation(1, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE SCHEMA IF NOT EXISTS a.b", ddl.CreateSchema(("a", "b"), True, (), START)),
        ("DROP SCHEMA IF EXISTS b CASCADE", ddl.DropSchema(("b",), True, True, START)),
        ("DROP SCHEMA b RESTRICT", ddl.DropSchema(("b",), False, False, START)),
        ("DROP TABLE IF EXISTS a.b.c", ddl.DropTable(("a", "b", "c"), True, START)),
        ("TRUNCATE TABLE t", ddl.TruncateTable(("t",), START)),
        ("ALTER TABLE t RENAME TO b.u", ddl.RenameTable(("t",), ("b", "u"), False, START)),
        ("ALTER TABLE IF EXISTS t RENAME COLUMN a TO b", ddl.RenameColumn(("t",), "a", "b", True, False, START)),
        ("ALTER TABLE t DROP COLUMN IF EXISTS a", ddl.DropColumn(("t",), "a", False, True, START)),
        (
            "ALTER TABLE t ALTER COLUMN a SET DATA TYPE decimal(12, 2)",
            ddl.AlterColumn(("t",), "a", "decimal(12, 2)", None, False, START),
        ),
        ("ALTER TABLE t ALTER COLUMN a DROP NOT NULL", ddl.AlterColumn(("t",), "a", None, True, False, START)),
        ("COMMENT ON COLUMN a.b.c.d IS 'x'", ddl.CommentOn("COLUMN", ("a", "b", "c", "d"), "x", START)),
        ("COMMENT ON TABLE t IS NULL", ddl.CommentOn("TABLE", ("t",), None, START)),
        ("DROP VIEW v", ddl.DropView(("v",), False, START)),
    ],
)
def test_definitions(text: str, expected: Any) -> None:
    assert parse_statement(text) == expected


def test_columns_of_a_table() -> None:
    made = parse_statement(
        "CREATE TABLE t (a bigint NOT NULL COMMENT 'c', b timestamp with time zone, "
        "d row(x decimal(10, 2)) WITH (partitioning = 'day'), LIKE u INCLUDING PROPERTIES) "
        "COMMENT 'all' WITH (partitioning = ARRAY['a'], \"write.x.y\" = 1)"
    )
    assert isinstance(made, ddl.CreateTable)
    a, b, d, like = made.elements
    assert isinstance(a, ddl.ColumnDefinition) and isinstance(b, ddl.ColumnDefinition)
    assert (a.name, a.type, a.nullable, a.comment) == ("a", "bigint", False, "c")
    assert b.type == "timestamp with time zone"
    assert isinstance(d, ddl.ColumnDefinition)
    assert (d.type, [p.name for p in d.properties]) == ("row(x decimal(10, 2))", ["partitioning"])
    assert isinstance(like, ddl.LikeClause) and like.including_properties
    assert made.comment == "all"
    assert [(p.name, p.text, p.value) for p in made.properties] == [
        ("partitioning", "ARRAY['a']", parse_expression("ARRAY['a']")),
        ("write.x.y", "1", parse_expression("1")),
    ]


@pytest.mark.parametrize(
    ("text", "columns", "query", "with_data"),
    [
        ("CREATE TABLE t AS SELECT 1 a", (), "SELECT 1 a", True),
        ("CREATE TABLE t (x, y) AS SELECT 1, 2 WITH NO DATA", ("x", "y"), "SELECT 1, 2", False),
        ("CREATE TABLE t AS (SELECT 1) WITH DATA", (), "(SELECT 1)", True),
    ],
)
def test_tables_of_queries(text: str, columns: tuple[str, ...], query: str, with_data: bool) -> None:
    made = parse_statement(text)
    assert isinstance(made, ddl.CreateTableAs)
    assert (made.columns, made.query, made.with_data) == (columns, parse_query(query), with_data)


def test_inserted_columns_are_told_from_a_query_in_parentheses() -> None:
    listed = parse_statement("INSERT INTO t (a, b) VALUES (1, 2)")
    query = parse_statement("INSERT INTO t (SELECT 1)")
    assert isinstance(listed, dml.Insert) and isinstance(query, dml.Insert)
    assert (listed.columns, listed.query) == (("a", "b"), parse_query("VALUES (1, 2)"))
    assert (query.columns, query.query) == (None, parse_query("(SELECT 1)"))


def test_cases_of_a_merge() -> None:
    merge = parse_statement(
        "MERGE INTO t AS x USING (SELECT 1 a) s ON x.a = s.a "
        "WHEN MATCHED AND CASE WHEN s.a = 1 THEN true END THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET b = 1, c = s.a "
        "WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, 2)"
    )
    assert isinstance(merge, dml.Merge)
    source = parse_query("SELECT * FROM (SELECT 1 a) s").body
    assert isinstance(source, QuerySpecification)
    assert (merge.alias, merge.source, merge.on) == ("x", source.from_, parse_expression("x.a = s.a"))
    delete, update, insert = merge.cases
    assert delete.condition is not None
    one, two, a = parse_expression("1"), parse_expression("2"), parse_expression("s.a")
    assert (delete.action, delete.condition) == ("DELETE", parse_expression("CASE WHEN s.a = 1 THEN true END"))
    assert [(v.column, v.value) for v in update.assignments] == [("b", one), ("c", a)]
    assert (insert.matched, insert.columns, insert.values) == (False, ("a", "b"), (a, two))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE t (a bigint", "line 1:25: mismatched input '<EOF>'. Expecting: ')', ','"),
        ("CREATE TABLE t (a)", "line 1:19: mismatched input '<EOF>'. Expecting: 'AS', 'COMMENT', 'WITH'"),
        ("DELETE t", "line 1:8: mismatched input 't'. Expecting: 'FROM'"),
        ("INSERT INTO t", "line 1:14: mismatched input '<EOF>'. Expecting: '(', <query>"),
        ("UPDATE t SET a", "line 1:15: mismatched input '<EOF>'. Expecting: '='"),
        ("ALTER TABLE t FLIP", "line 1:15: mismatched input 'FLIP'. Expecting: 'FUNCTION', 'SCHEMA', 'TABLE', 'VIEW'"),
        ("DROP TABLE a.b.c.d", "line 1:12: Too many dots in table name: a.b.c.d"),
        ("CREATE TABLE t (a bigint) WITH (x = 1, x = 2)", "line 1:40: Duplicate property: x"),
        ("DELETE FROM t WHERE a = 1 nonsense nonsense",
         "line 1:27: mismatched input 'nonsense'. Expecting: '%', '*', '+', '-', '.', '/', 'AND', 'AT', 'OR', '[', "
         "'||', <EOF>"),
    ],
)  # fmt: skip
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(ProcessionError) as refused:
        parse_statement(text)
    assert refused.value.code is ErrorCode.SYNTAX_ERROR
    assert refused.value.wire_message == message


def test_a_branch_as_trino_names_it() -> None:
    statements = ("INSERT INTO a.t @ '{}' VALUES 1", "DELETE FROM a.t @ '{}'", "UPDATE a.t @ '{}' SET x = 1")
    merge = "MERGE INTO a.t @ '{}' USING s ON true WHEN MATCHED THEN DELETE"
    for text in (*statements, merge):
        for branch, name in (("Audit", "t.branch_Audit"), ("main", "t")):
            made = parse_statement(text.format(branch))
            assert isinstance(made, dml.Insert | dml.Delete | dml.Update | dml.Merge)
            assert made.name == ("a", name)
    with pytest.raises(ProcessionError, match="mismatched input 'audit'"):
        parse_statement("DELETE FROM t @ audit")

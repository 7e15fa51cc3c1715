"""Every statement that the layer reads itself, and every way to write it wrong."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.sql import role_statements as roles
from coordinator.sql.ddl_statements import ShowCreateView, ShowStats
from coordinator.sql.parse_statement import parse_statement
from coordinator.sql.parser import parse_expression, parse_query
from coordinator.sql.statements import (
    Call,
    Commit,
    Deallocate,
    DescribeInput,
    DescribeOutput,
    Execute,
    ExecuteImmediate,
    Explain,
    ExplainFormat,
    ExplainType,
    Like,
    Prepare,
    ResetSession,
    Rollback,
    SetSession,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowFunctions,
    ShowSchemas,
    ShowSession,
    ShowTables,
    StartTransaction,
    Use,
)
from coordinator.sql.tree.expressions import ArithmeticUnaryExpression, ArrayConstructor, FunctionCall, StringLiteral
from coordinator.sql.tree.queries import Query
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.grants import Principal

START = ErrorLocation(1, 1)
USER = Principal("USER", "u")
AFTER_EXPRESSION = "'%', '*', '+', '-', '.', '/', 'AT', '[', '||', <expression>"
FIRST = (
    "'ALTER', 'ANALYZE', 'CALL', 'COMMIT', 'CREATE', 'DEALLOCATE', 'DELETE', 'DESC', 'DESCRIBE', 'DROP', 'EXECUTE', "
    "'EXPLAIN', 'GRANT', 'INSERT', 'MERGE', 'PREPARE', 'REFRESH', 'RESET', 'REVOKE', 'ROLLBACK', 'SET', 'SHOW', "
    "'START', 'TRUNCATE', 'UPDATE', 'USE', <query>"
)


def parse_call(text: str) -> Call:
    statement = parse_statement(text)
    assert isinstance(statement, Call)
    return statement


def test_call_with_positional_arguments() -> None:
    call = parse_call("CALL iceberg.system.f('a', ARRAY[1, (2)], f(x, y), -5)")
    assert call.name == ("iceberg", "system", "f")
    assert [a.name for a in call.arguments] == [None] * 4
    assert [a.location.column for a in call.arguments] == [23, 28, 43, 52]
    assert [a.text for a in call.arguments] == ["'a'", "ARRAY[1, (2)]", "f(x, y)", "-5"]
    kinds = [StringLiteral, ArrayConstructor, FunctionCall, ArithmeticUnaryExpression]
    assert [type(a.value) for a in call.arguments] == kinds


def test_call_with_named_arguments_folds_names() -> None:
    call = parse_call('call "A".b(\n  Schema => \'X\',\n  "Z" => 1, table => 2, where => 3)')
    assert call.name == ("a", "b")
    assert [(a.name, a.location.line, a.location.column) for a in call.arguments] == [
        ("schema", 2, 3),
        ("z", 3, 3),
        ("table", 3, 13),
        ("where", 3, 25),
    ]


def test_call_without_arguments() -> None:
    assert parse_call("CALL system.help()").arguments == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DEALLOCATE PREPARE p", Deallocate("p")),
        ("DESCRIBE INPUT p", DescribeInput("p", START)),
        ("DESC OUTPUT p", DescribeOutput("p", START)),
        ("DESCRIBE orders", ShowColumns(("orders",), START)),
        ("DESCRIBE output.t", ShowColumns(("output", "t"), START)),
        ("SHOW COLUMNS FROM a.b.c", ShowColumns(("a", "b", "c"), START)),
        ("RESET SESSION a.b", ResetSession(("a", "b"), START)),
        ("USE Tpch.Tiny", Use("tpch", "tiny", START)),
        ("USE tiny", Use(None, "tiny", START)),
        ("SHOW CATALOGS", ShowCatalogs(None)),
        ("SHOW CATALOGS LIKE 'a%' ESCAPE '\\'", ShowCatalogs(Like("a%", "\\"))),
        ("SHOW SCHEMAS", ShowSchemas(None, None, START)),
        ("SHOW SCHEMAS IN c LIKE 'x'", ShowSchemas("c", Like("x"), START)),
        ("SHOW TABLES", ShowTables((), None, START)),
        ("show tables from c.s like '_'", ShowTables(("c", "s"), Like("_"), START)),
        ("SHOW FUNCTIONS LIKE 'a'", ShowFunctions(Like("a"))),
        ("SHOW SESSION", ShowSession(None)),
        ("SHOW CREATE TABLE a.b", ShowCreateTable(("a", "b"), START)),
        ("SHOW CREATE VIEW v", ShowCreateView(("v",), START)),
        ("SHOW STATS FOR t", ShowStats(("t",), None, START)),
        ("START TRANSACTION", StartTransaction(None, None)),
        (
            "START TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ WRITE",
            StartTransaction("READ UNCOMMITTED", False),
        ),
        ("START TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE", StartTransaction("SERIALIZABLE", True)),
        ("COMMIT", Commit()),
        ("COMMIT WORK", Commit()),
        ("ROLLBACK", Rollback()),
        ("CREATE ROLE R", roles.CreateRole("r", None, None, START)),
        (
            "CREATE ROLE r WITH ADMIN CURRENT_USER IN c",
            roles.CreateRole("r", roles.Grantor("CURRENT_USER"), "c", START),
        ),
        ("DROP ROLE r", roles.DropRole("r", None, START)),
        ("SET ROLE Admin", roles.SetRole("ROLE", "admin", None, START)),
        ("SET ROLE NONE IN c", roles.SetRole("NONE", None, "c", START)),
        ("GRANT SELECT ON t TO USER u", roles.GrantPrivileges(("SELECT",), ("t",), USER, False, START)),
        (
            "GRANT ALL PRIVILEGES ON TABLE a.b TO u WITH GRANT OPTION",
            roles.GrantPrivileges(None, ("a", "b"), USER, True, START),
        ),
        (
            "REVOKE GRANT OPTION FOR delete, insert ON t FROM ROLE U",
            roles.RevokePrivileges(("DELETE", "INSERT"), ("t",), Principal("ROLE", "u"), True, START),
        ),
        (
            "GRANT a, B TO u, ROLE u WITH ADMIN OPTION",
            roles.GrantRoles(("a", "b"), (USER, Principal("ROLE", "u")), True, None, None, START),
        ),
        ("REVOKE ADMIN OPTION FOR a FROM u", roles.RevokeRoles(("a",), (USER,), True, None, None, START)),
        ("GRANT a TO user", roles.GrantRoles(("a",), (Principal("USER", "user"),), False, None, None, START)),
        ("SHOW CURRENT ROLES FROM c", roles.ShowRoles(True, "c", START)),
        ("SHOW ROLES", roles.ShowRoles(False, None, START)),
        ("SHOW ROLE GRANTS IN c", roles.ShowRoleGrants("c", START)),
        ("SHOW GRANTS", roles.ShowGrants((), START)),
        ("SHOW GRANTS ON TABLE t", roles.ShowGrants(("t",), START)),
        ("EXECUTE p", Execute("p", (), START)),
        ("EXECUTE p USING 41, 'a, b', f(1, 2)", Execute("p", ("41", "'a, b'", "f(1, 2)"), START)),
        ("EXECUTE immediate", Execute("immediate", (), START)),
        ("EXECUTE IMMEDIATE 'SELECT ''?''' USING 1", ExecuteImmediate("SELECT '?'", ("1",), START)),
    ],
)
def test_statements(text: str, expected: Any) -> None:
    assert parse_statement(text) == expected


def test_set_session() -> None:
    statement = parse_statement("SET SESSION iceberg.a = -1")
    assert isinstance(statement, SetSession)
    assert statement.name == ("iceberg", "a")
    assert statement.value == parse_expression("-1")


@pytest.mark.parametrize(
    ("text", "analyze", "verbose", "kind", "fmt"),
    [
        ("EXPLAIN SELECT 1", False, False, ExplainType.LOGICAL, ExplainFormat.TEXT),
        ("EXPLAIN ANALYZE VERBOSE SELECT 1", True, True, ExplainType.DISTRIBUTED, ExplainFormat.TEXT),
        ("EXPLAIN (TYPE IO) SELECT 1", False, False, ExplainType.IO, ExplainFormat.JSON),
        ("EXPLAIN (FORMAT JSON, TYPE NATIVE) SELECT 1", False, False, ExplainType.NATIVE, ExplainFormat.JSON),
        ("explain (format graphviz) SELECT 1", False, False, ExplainType.LOGICAL, ExplainFormat.GRAPHVIZ),
        ("EXPLAIN (SELECT 1)", False, False, ExplainType.LOGICAL, ExplainFormat.TEXT),
    ],
)
def test_explain(text: str, analyze: bool, verbose: bool, kind: ExplainType, fmt: ExplainFormat) -> None:
    statement = parse_statement(text)
    assert isinstance(statement, Explain)
    found = (statement.analyze, statement.verbose, statement.type, statement.format)
    assert found == (analyze, verbose, kind, fmt)
    assert isinstance(statement.statement, Query)
    assert statement.text == text[text.index("SELECT") - text.startswith("EXPLAIN (SELECT") :]


def test_prepare_keeps_the_text() -> None:
    statement = parse_statement("PREPARE P FROM CALL a.b(?,  'x''y')")
    assert isinstance(statement, Prepare)
    assert (statement.name, statement.text) == ("p", "CALL a.b(?,  'x''y')")
    assert isinstance(statement.statement, Call)


@pytest.mark.parametrize("text", ["SELECT 1", "VALUES 1, 2", "TABLE t", "(SELECT 1)", "WITH a AS (SELECT 1) TABLE a"])
def test_queries(text: str) -> None:
    statement = parse_statement(text)
    assert isinstance(statement, Query)
    assert statement == parse_query(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"line 1:1: mismatched input '<EOF>'. Expecting: {FIRST}"),
        ("    ", f"line 1:5: mismatched input '<EOF>'. Expecting: {FIRST}"),
        ("-- nothing", f"line 1:11: mismatched input '<EOF>'. Expecting: {FIRST}"),
        ("SELEC 1", f"line 1:1: mismatched input 'SELEC'. Expecting: {FIRST}"),
        ("SELECT 1\nFROM nation\nWHERE", "line 3:6: mismatched input '<EOF>'. Expecting: <expression>"),
        ("SELECT 1;", f"line 1:9: mismatched input ';'. Expecting: {AFTER_EXPRESSION}"),
        ("SELECT 1; SELECT 2", f"line 1:9: mismatched input ';'. Expecting: {AFTER_EXPRESSION}"),
        ("CALL a.b();", "line 1:11: mismatched input ';'. Expecting: <EOF>"),
        ("CALL", "line 1:5: mismatched input '<EOF>'. Expecting: <identifier>"),
        ("CALL a.b", "line 1:9: mismatched input '<EOF>'. Expecting: '(', '.'"),
        ("CALL a.b(", "line 1:10: mismatched input '<EOF>'. Expecting: ')', <expression>, <identifier>"),
        ("CALL a.b(1,)", "line 1:12: mismatched input ')'. Expecting: <expression>, <identifier>"),
        ("CALL a.b(,1)", "line 1:10: mismatched input ','. Expecting: ')', <expression>, <identifier>"),
        ("CALL a.b(x => )", "line 1:15: mismatched input ')'. Expecting: <expression>"),
        ("CALL a.b(1", "line 1:11: mismatched input '<EOF>'. Expecting: ')', ','"),
        ("CALL a.b(1 2)", "line 1:12: mismatched input '2'. Expecting: ')', ','"),
        ("CALL a.b(1) x", "line 1:13: mismatched input 'x'. Expecting: <EOF>"),
        ("CALL select.b()", "line 1:6: mismatched input 'select'. Expecting: <identifier>"),
        ("CALL a.'b'()", "line 1:7: mismatched input '.'. Expecting: '('"),
        (
            "EXPLAIN (TYPE FOO) SELECT 1",
            "line 1:15: mismatched input 'FOO'. Expecting: 'DISTRIBUTED', 'IO', 'LOGICAL', 'VALIDATE'",
        ),
        ("EXPLAIN (TYPE IO, TYPE LOGICAL) SELECT 1", "line 1:24: EXPLAIN TYPE is given twice"),
        (
            "EXPLAIN",
            "line 1:8: mismatched input '<EOF>'. Expecting: '(', " + FIRST.replace("<query>", "'VERBOSE', <query>"),
        ),
        ("EXECUTE IMMEDIATE SELECT 1", "line 1:19: mismatched input 'SELECT'. Expecting: <string>"),
        ("EXECUTE p USING", "line 1:16: mismatched input '<EOF>'. Expecting: <expression>"),
        ("EXECUTE p 1", "line 1:11: mismatched input '1'. Expecting: 'USING', <EOF>"),
        ("PREPARE p SELECT 1", "line 1:11: mismatched input 'SELECT'. Expecting: 'FROM'"),
        ("DEALLOCATE p", "line 1:12: mismatched input 'p'. Expecting: 'PREPARE'"),
        ("SET SESSION a", "line 1:14: mismatched input '<EOF>'. Expecting: '.', '='"),
        ("SET SESSION a =", "line 1:16: mismatched input '<EOF>'. Expecting: <expression>"),
        ("SET SESSION a.b.c = 1", "line 1:13: Invalid session property 'a.b.c'"),
        ("USE a.b.c", "line 1:8: mismatched input '.'. Expecting: <EOF>"),
        ("START", "line 1:6: mismatched input '<EOF>'. Expecting: 'TRANSACTION'"),
        ("START TRANSACTION x", "line 1:19: mismatched input 'x'. Expecting: 'ISOLATION', 'READ', <EOF>"),
        ("SHOW TABLES FROM a.b.c", "line 1:1: Too many parts in schema name: a.b.c"),
        ("SHOW TABLES LIKE x", "line 1:18: mismatched input 'x'. Expecting: <string>"),
        ("SELECT a FROM b ORDER", "line 1:22: mismatched input '<EOF>'. Expecting: 'BY'"),
        (
            "SELECT (1",
            "line 1:10: mismatched input '<EOF>'. Expecting: <expression>",
        ),
    ],
)
def test_syntax_errors(text: str, message: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        parse_statement(text)
    assert caught.value.wire_message == message
    assert caught.value.code is ErrorCode.SYNTAX_ERROR


@pytest.mark.parametrize("kind", ["PREPARE q FROM SELECT 1", "EXECUTE q", "DEALLOCATE PREPARE q"])
def test_statements_about_prepared_ones_cannot_be_prepared(kind: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        parse_statement(f"PREPARE p FROM {kind}")
    name = kind.split()[0].capitalize()
    assert caught.value.message == f"Invalid statement type for prepared statement: {name}"
    assert caught.value.code is ErrorCode.NOT_SUPPORTED

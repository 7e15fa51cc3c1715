"""Refusals of Presto's grammar: statements and texts of its own parser's tests (TestSqlParserErrorHandling)."""

from __future__ import annotations

import pytest

from coordinator.sql.parse_statement import parse_statement
from shared.errors import ErrorCode, ProcessionError

AFTER_EXPRESSION = "'%', '*', '+', '-', '.', '/', 'AT', '[', '||', <expression>"
RELATION = "'(', 'LATERAL', 'TABLE', 'UNNEST', <identifier>"
CLAUSES = "'GROUP', 'HAVING', 'INTERSECT', 'LIMIT', 'OFFSET', 'ORDER', 'UNION', 'WHERE', <EOF>"
AFTER_ALIAS = f"',', 'EXCEPT', 'FETCH', 'FROM', {CLAUSES}"
AFTER_TABLE = (
    "',', '.', 'AS', 'CROSS', 'EXCEPT', 'FETCH', 'FOR', 'FULL', 'GROUP', 'HAVING', 'INNER', 'INTERSECT', 'JOIN', "
    "'LEFT', 'LIMIT', 'NATURAL', 'OFFSET', 'ORDER', 'RIGHT', 'TABLESAMPLE', 'UNION', 'WHERE', <EOF>, <identifier>"
)
AFTER_TABLE_ALIAS = (
    "'(', ',', 'CROSS', 'EXCEPT', 'FETCH', 'FULL', 'GROUP', 'HAVING', 'INNER', 'INTERSECT', 'JOIN', 'LEFT', 'LIMIT', "
    "'NATURAL', 'OFFSET', 'ORDER', 'RIGHT', 'TABLESAMPLE', 'UNION', 'WHERE', <EOF>"
)

FIRST = (
    "'ALTER', 'ANALYZE', 'CALL', 'COMMIT', 'CREATE', 'DEALLOCATE', 'DELETE', 'DESC', 'DESCRIBE', 'DROP', 'EXECUTE', "
    "'EXPLAIN', 'GRANT', 'INSERT', 'MERGE', 'PREPARE', 'REFRESH', 'RESET', 'REVOKE', 'ROLLBACK', 'SET', 'SHOW', "
    "'START', 'TRUNCATE', 'UPDATE', 'USE', <query>"
)
CREATED = "'FUNCTION', 'MATERIALIZED', 'OR', 'ROLE', 'SCHEMA', 'TABLE', 'TEMPORARY', 'TYPE', 'VIEW'"

REFUSED = [
    ("select * from foo where @what", "line 1:25: mismatched input '@'. Expecting: <expression>"),
    ("select *\nfrom x\nfrom", f"line 3:1: mismatched input 'from'. Expecting: {AFTER_TABLE}"),
    ("select *\nfrom x\nwhere from", "line 3:7: mismatched input 'from'. Expecting: <expression>"),
    ("select * from", f"line 1:14: mismatched input '<EOF>'. Expecting: {RELATION}"),
    ("select * from  ", f"line 1:16: mismatched input '<EOF>'. Expecting: {RELATION}"),
    (
        "select * from `foo`",
        "line 1:15: backquoted identifiers are not supported; use double quotes to quote identifiers",
    ),
    (
        "select * from foo `bar`",
        "line 1:19: backquoted identifiers are not supported; use double quotes to quote identifiers",
    ),
    (
        "select 1x from dual",
        "line 1:8: identifiers must not start with a digit; surround the identifier with double quotes",
    ),
    ("select * from foo@bar", "line 1:15: identifiers must not contain '@'"),
    ("select * from foo:bar", "line 1:15: identifiers must not contain ':'"),
    (
        "select fuu from dual order by fuu order by fuu",
        f"line 1:35: mismatched input 'order'. Expecting: {AFTER_EXPRESSION}",
    ),
    ("select fuu from dual limit 10 order by fuu", "line 1:31: mismatched input 'order'. Expecting: <EOF>"),
    ("select foo(,1)", "line 1:12: mismatched input ','. Expecting: <expression>"),
    ("select foo(DISTINCT)", "line 1:20: mismatched input ')'. Expecting: <expression>"),
    ("select foo(DISTINCT ,1)", "line 1:21: mismatched input ','. Expecting: <expression>"),
    (
        "SELECT grouping(a+2) FROM (VALUES (1)) AS t (a) GROUP BY a+2",
        "line 1:18: mismatched input '+'. Expecting: ')', ','",
    ),
    (
        "SELECT X() OVER (ROWS UNBOUNDED) FROM T",
        "line 1:32: mismatched input ')'. Expecting: 'FOLLOWING', 'PRECEDING'",
    ),
    (
        "SELECT a FROM x ORDER BY (SELECT b FROM t WHERE ",
        "line 1:49: mismatched input '<EOF>'. Expecting: <expression>",
    ),
    (
        "SELECT a FROM a AS x TABLESAMPLE x ",
        "line 1:34: mismatched input 'x'. Expecting: 'BERNOULLI', 'SYSTEM'",
    ),
    (
        "SELECT a AS z FROM t GROUP BY CUBE (a), ",
        "line 1:41: mismatched input '<EOF>'. Expecting: '(', 'CUBE', 'GROUPING', 'ROLLUP', <expression>",
    ),
    ("SELECT a AS z FROM t WHERE x = 1 + ", "line 1:36: mismatched input '<EOF>'. Expecting: <expression>"),
    ("SELECT a AS z FROM t WHERE a. ", "line 1:31: mismatched input '<EOF>'. Expecting: <identifier>"),
    ("SELECT * FROM ( ", f"line 1:17: mismatched input '<EOF>'. Expecting: {RELATION}, <query>"),
    ("SELECT CAST(a AS )", "line 1:18: mismatched input ')'. Expecting: <type>"),
    ("SELECT foo(*) filter (", f"line 1:22: mismatched input '('. Expecting: {AFTER_ALIAS}"),
    ("SELECT * FROM t t x", f"line 1:19: mismatched input 'x'. Expecting: {AFTER_TABLE_ALIAS}"),
    ("SELECT * FROM t WHERE EXISTS (", "line 1:31: mismatched input '<EOF>'. Expecting: <query>"),
    ("@select", f"line 1:1: mismatched input '@'. Expecting: {FIRST}"),
    ("select * from 'oops", f"line 1:15: mismatched input '''. Expecting: {RELATION}"),
    ("SELECT 'it''s' -- don't\n, \"x", "line 2:3: mismatched input '\"'. Expecting: '*', <expression>, <identifier>"),
    ("SELECT 1 /* x", "line 1:11: mismatched input '*'. Expecting: <expression>"),
    (
        "select CAST(-12223222232535343423232435343 AS BIGINT)",
        "line 1:1: Invalid numeric literal: 12223222232535343423232435343",
    ),
    ("CREATE TABLE foo () AS (VALUES 1)", f"line 1:19: mismatched input ')'. Expecting: {CREATED}"),
    ("CREATE TABLE foo (*) AS (VALUES 1)", f"line 1:19: mismatched input '*'. Expecting: {CREATED}"),
    ("CREATE TABLE t (x bigint) COMMENT ", "line 1:35: mismatched input '<EOF>'. Expecting: <string>"),
    ("SELECT CAST(a AS decimal()", "line 1:26: mismatched input ')'. Expecting: <integer>, <type>"),
    ("SELECT x() over (ROWS select) FROM t", f"line 1:17: mismatched input '('. Expecting: {AFTER_ALIAS}"),
    ("SHOW SESSION LIKE '%$_%' ESCAPE", "line 1:32: mismatched input '<EOF>'. Expecting: <string>"),
    ("SHOW CATALOGS LIKE '%$_%' ESCAPE", "line 1:33: mismatched input '<EOF>'. Expecting: <string>"),
    # Recorded from a Presto 0.296 server.
    ("SELECT 1 LIMIT -1", f"line 1:16: mismatched input '-'. Expecting: {AFTER_ALIAS}"),
    ("SELECT 1; SELECT 2", f"line 1:9: mismatched input ';'. Expecting: {AFTER_EXPRESSION}"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_refused_as_presto_refuses(text: str, message: str) -> None:
    with pytest.raises(ProcessionError) as refused:
        parse_statement(text)
    assert refused.value.code is ErrorCode.SYNTAX_ERROR
    assert refused.value.wire_message == message


@pytest.mark.parametrize(
    "text",
    [
        "SELECT , a FROM t",
        "SELECT a, FROM t",
        "SELECT a FROM t WHERE a IN ()",
        "SELECT 1 FROM t JOIN u",
        "SELECT 1 FROM t LEFT JOIN u",
        "SELECT a FROM t LIMIT a",
        "SELECT a FROM t LIMIT 1.5",
        "SELECT * FROM t AS",
        "SELECT a FROM t ORDER BY a NULLS",
        "SELECT a FROM t GROUP BY",
        "SELECT INTERVAL 1 DAY",
        "WITH a (SELECT 1) SELECT * FROM a",
        "SELECT a FROM t WHERE a = b = c",
        "SELECT a FROM t WHERE a = NOT b",
        "SELECT a FROM t TABLESAMPLE (10)",
        "SELECT a::varchar FROM t",
        "SELECT a FROM t QUALIFY 1 = 1",
        "SELECT CASE END FROM t",
        "SELECT * EXCEPT name FROM t",
        "SELECT é FROM t",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(ProcessionError) as refused:
        parse_statement(text)
    assert refused.value.code is ErrorCode.SYNTAX_ERROR
    assert refused.value.location is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT limit FROM (VALUES 1) AS offset(limit) LIMIT 5",
        "SELECT a fetch FROM t FETCH FIRST ROW ONLY",
        "((SELECT 1) UNION ALL (SELECT 2)) ORDER BY 1 OFFSET 1 ROW LIMIT ALL",
        "SELECT ((SELECT 1) + 1), ((SELECT 1)), (1, 2), ROW(1), (x, y) -> x + y",
        "SELECT * FROM (a CROSS JOIN b) JOIN c JOIN d ON 1 = 1 ON 2 = 2, LATERAL (SELECT 1) AS l",
        "SELECT a.b.c[1].d, x AT TIME ZONE 'UTC', - - 1, NOT NOT true, date, date '2020-01-01' FROM t",
        "SELECT count(DISTINCT a ORDER BY b DESC NULLS FIRST) FILTER (WHERE c) OVER (PARTITION BY d ROWS 1 PRECEDING)",
        "SELECT trim(BOTH 'x' FROM y), position('a' IN b), extract(DAY FROM c), normalize(a, NFC)",
        "SELECT * FROM t FOR VERSION AS OF 5 AS x(a, b) TABLESAMPLE BERNOULLI (10)",
        "SELECT a FROM t GROUP BY ROLLUP (a), GROUPING SETS ((a), (), b), (a, b), a HAVING a > ALL (SELECT 1)",
        "VALUES (1, 'a'), (2, 'b')",
        "TABLE a.b.c",
    ],
)
def test_taken(text: str) -> None:
    parse_statement(text)

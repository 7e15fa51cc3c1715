"""What queries are refused for: Presto's words, at the place where Presto points, by the clause that is wrong."""

from __future__ import annotations

import pytest

from coordinator.planner.query import plan_query
from coordinator.sql.parse_statement import parse_statement
from coordinator.sql.tree.queries import Query
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from tests.fixed_catalogs import FixedCatalogs

SESSION = Session(user="test", catalog="tpch", schema="tiny")
NAMES = [
    (
        "SELECT nope FROM nation",
        "line 1:8: Column 'nope' cannot be resolved",
    ),
    (
        "SELECT n_name FROM nope",
        "Table tpch.tiny.nope does not exist",
    ),
    (
        "SELECT n_name FROM nope.nation",
        "Schema nope does not exist",
    ),
    (
        "SELECT n_name FROM nope.tiny.nation",
        "Catalog nope does not exist",
    ),
    (
        "SELECT x.n_name FROM nation",
        "line 1:8: 'x.n_name' cannot be resolved",
    ),
    (
        "SELECT nation.nope FROM nation",
        "line 1:8: 'nation.nope' cannot be resolved",
    ),
    (
        "SELECT n_name FROM nation a, nation b",
        "line 1:8: Column 'n_name' is ambiguous",
    ),
    (
        "SELECT a.n_name FROM nation",
        "line 1:8: 'a.n_name' cannot be resolved",
    ),
    (
        "SELECT * FROM nation a JOIN nation b USING (nope)",
        "line 1:45: Column 'nope' is missing from left side of join",
    ),
    (
        "SELECT x.* FROM nation",
        "line 1:8: Table 'x' not found",
    ),
    (
        "SELECT n_name AS a FROM nation WHERE a = 'x'",
        "line 1:38: Column 'a' cannot be resolved",
    ),
    (
        "SELECT n_name AS a FROM nation GROUP BY a",
        "line 1:41: Column 'a' cannot be resolved",
    ),
    (
        "SELECT * FROM (SELECT n_name, n_name FROM nation) ORDER BY n_name",
        "line 1:60: Column 'n_name' is ambiguous",
    ),
    (
        "SELECT a FROM (SELECT 1 AS a, 2 AS a)",
        "line 1:8: Column 'a' is ambiguous",
    ),
    (
        "WITH t AS (SELECT 1), t AS (SELECT 2) SELECT * FROM t",
        "line 1:23: WITH query name 't' specified more than once",
    ),
    (
        "WITH t (a, b) AS (SELECT 1) SELECT * FROM t",
        "line 1:19: Column alias list has 2 entries but 't' has 1 columns available",
    ),
    (
        "SELECT * FROM nation AS t (a, b)",
        "line 1:15: Column alias list has 2 entries but 't' has 4 columns available",
    ),
    (
        "SELECT * FROM (VALUES (1, 2)) t(x)",
        "line 1:15: Column alias list has 1 entries but 't' has 2 columns available",
    ),
    (
        "SELECT lateral_column FROM nation CROSS JOIN LATERAL (SELECT nope)",
        "line 1:62: Column 'nope' cannot be resolved",
    ),
]
"""Names of columns, tables and queries."""
AGGREGATES = [
    (
        "SELECT n_name, count(*) FROM nation",
        "line 1:8: 'n_name' must be an aggregate expression or appear in GROUP BY clause",
    ),
    (
        "SELECT n_name FROM nation GROUP BY n_regionkey",
        "line 1:8: 'n_name' must be an aggregate expression or appear in GROUP BY clause",
    ),
    (
        "SELECT count(*) FROM nation WHERE count(*) > 1",
        'line 1:44: WHERE clause cannot contain aggregations, window functions or grouping operations: ["count"(*)]',
    ),
    (
        "SELECT sum(count(*)) FROM nation",
        "line 1:8: Cannot nest aggregations inside aggregation 'sum': [\"count\"(*)]",
    ),
    (
        "SELECT n_name FROM nation HAVING count(*) > 1",
        "line 1:8: 'n_name' must be an aggregate expression or appear in GROUP BY clause",
    ),
    (
        "SELECT count(*) FROM nation GROUP BY 2",
        "line 1:38: GROUP BY position 2 is not in select list",
    ),
    (
        "SELECT count(*) FROM nation GROUP BY count(*)",
        'line 1:38: GROUP BY clause cannot contain aggregations, window functions or grouping operations: ["count"(*)]',
    ),
    (
        "SELECT n_regionkey FROM nation GROUP BY n_regionkey ORDER BY n_name",
        "line 1:62: 'n_name' must be an aggregate expression or appear in GROUP BY clause",
    ),
    (
        "SELECT DISTINCT n_name FROM nation ORDER BY n_comment",
        "line 1:1: For SELECT DISTINCT, ORDER BY expressions must appear in select list",
    ),
    (
        "SELECT grouping(n_name) FROM nation",
        "line 1:1: A GROUPING() operation can only be used with a corresponding GROUPING "
        "SET/CUBE/ROLLUP/GROUP BY clause",
    ),
    (
        "SELECT upper(DISTINCT n_name) FROM nation",
        "NOT_SUPPORTED line 1:8: DISTINCT expression is not supported",
    ),
    (
        "SELECT count(*) FILTER (WHERE n_nationkey) FROM nation",
        "line 1:31: FILTER expression must evaluate to a boolean: actual type bigint",
    ),
    (
        "SELECT upper(n_name) FILTER (WHERE true) FROM nation",
        "line 1:8: Filter is only valid for aggregation functions",
    ),
    (
        "SELECT n_regionkey, rank() OVER () FROM nation GROUP BY n_regionkey HAVING rank() OVER () > 1",
        "line 1:76: HAVING clause cannot contain window functions",
    ),
]
"""What stands beside aggregates, and where they may stand."""
WINDOWS = [
    (
        "SELECT rank() FROM nation",
        "line 1:8: Window function presto.default.rank requires an OVER clause",
    ),
    (
        "SELECT upper(n_name) OVER () FROM nation",
        "line 1:1: Not a window function: upper",
    ),
    (
        "SELECT n_name FROM nation WHERE rank() OVER () = 1",
        "line 1:48: WHERE clause cannot contain aggregations, window functions or grouping operations: "
        '["rank"() OVER ()]',
    ),
    (
        "SELECT sum(rank() OVER ()) OVER () FROM nation",
        'line 1:1: Cannot nest window functions inside window function \'"sum"("rank"() OVER ()) OVER ()\': '
        '["sum"("rank"() OVER ()) OVER ()]',
    ),
    (
        "SELECT sum(n_nationkey) OVER w FROM nation",
        "line 1:8: Cannot resolve WINDOW name w",
    ),
    (
        "SELECT sum(n_nationkey) OVER (ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM nation",
        "line 1:31: Window frame start cannot be UNBOUNDED FOLLOWING",
    ),
    (
        "SELECT sum(n_nationkey) OVER (ROWS BETWEEN 'a' PRECEDING AND CURRENT ROW) FROM nation",
        "line 1:8: Window frame ROWS start value type must be INTEGER or BIGINT (actual varchar(1))",
    ),
    (
        "SELECT sum(n_nationkey) OVER (ORDER BY n_name RANGE 2 PRECEDING) FROM nation",
        "line 1:40: Window frame of type RANGE PRECEDING or FOLLOWING requires that sort item type be "
        "numeric, datetime or interval (actual: varchar(25))",
    ),
    (
        "SELECT ntile(n_name) OVER () FROM nation",
        "line 1:8: Unexpected parameters (varchar(25)) for function ntile. Expected: ntile(bigint) ",
    ),
]
"""Window functions, their names and frames."""
CLAUSES = [
    (
        "SELECT n_name FROM nation ORDER BY 2",
        "line 1:36: ORDER BY position 2 is not in select list",
    ),
    (
        "SELECT n_name FROM nation ORDER BY 0",
        "line 1:36: ORDER BY position 0 is not in select list",
    ),
    (
        "SELECT n_name FROM nation ORDER BY MAP(ARRAY[1], ARRAY[2])",
        "line 1:36: Type map(integer,integer) is not orderable, and therefore cannot be used in ORDER BY",
    ),
    (
        "SELECT DISTINCT JSON '1' < JSON '2'",
        "line 1:26: '<' cannot be applied to json, json",
    ),
    (
        "SELECT (SELECT n_name, n_nationkey FROM nation)",
        "line 1:8: Multiple columns returned by subquery are not yet supported. Found 2",
    ),
    (
        "SELECT 1 IN (SELECT n_name FROM nation)",
        "line 1:10: value and result of subquery must be of the same type for IN expression: integer vs varchar(25)",
    ),
    (
        "SELECT 1 IN (SELECT n_nationkey, n_name FROM nation)",
        "line 1:10: Multiple columns returned by subquery are not yet supported. Found 2",
    ),
    (
        "SELECT n_name FROM nation WHERE EXISTS (SELECT nope)",
        "line 1:48: Column 'nope' cannot be resolved",
    ),
    (
        "SELECT 1 > ALL (SELECT n_name FROM nation)",
        "line 1:10: '>' cannot be applied to integer, varchar(25)",
    ),
    (
        "SELECT 1 UNION SELECT 1, 2",
        "line 1:10: UNION query has different number of fields: 1, 2",
    ),
    (
        "SELECT 1 UNION SELECT 'a'",
        "line 1:10: column 1 in UNION query has incompatible types: integer, varchar(1)",
    ),
    (
        "SELECT n_name FROM nation UNION SELECT n_name FROM nation ORDER BY n_nationkey",
        "line 1:68: Column 'n_nationkey' cannot be resolved",
    ),
    (
        "VALUES 1, (2, 3)",
        "line 1:1: Values rows have mismatched types: [integer] vs [integer, integer]",
    ),
    (
        "VALUES 1, 'a'",
        "line 1:1: Values rows have mismatched types: [integer] vs [varchar(1)]",
    ),
    (
        "SELECT * FROM nation JOIN region ON n_name",
        "line 1:37: JOIN ON clause must evaluate to a boolean: actual type varchar(25)",
    ),
    (
        "SELECT * FROM nation JOIN region ON count(*) = 1",
        'line 1:46: JOIN clause cannot contain aggregations, window functions or grouping operations: ["count"(*)]',
    ),
    (
        "SELECT * FROM nation JOIN region ON nope = 1",
        "line 1:37: Column 'nope' cannot be resolved",
    ),
    (
        "SELECT * FROM nation JOIN region USING (n_name)",
        "line 1:41: Column 'n_name' is missing from right side of join",
    ),
    (
        "SELECT * FROM nation LEFT JOIN UNNEST(ARRAY[1]) ON true",
        "line 1:32: UNNEST on other than the right side of CROSS JOIN is not supported",
    ),
    (
        "SELECT * FROM UNNEST(1)",
        "line 1:22: Cannot unnest type: integer",
    ),
    (
        "SELECT * FROM UNNEST(ARRAY[1]) AS t (a, b)",
        "line 1:15: Column alias list has 2 entries but 't' has 1 columns available",
    ),
    (
        "SELECT * FROM nation TABLESAMPLE BERNOULLI (101)",
        "line 1:45: Sample percentage must be less than or equal to 100",
    ),
    (
        "SELECT * FROM nation TABLESAMPLE BERNOULLI ('a')",
        "line 1:45: Cannot cast type varchar(1) to double",
    ),
]
"""Orders, subqueries, set operations and joins."""
EXPRESSIONS = [
    (
        "SELECT nope(1)",
        "line 1:8: Function nope not registered",
    ),
    (
        "SELECT upper(1, 2)",
        "line 1:8: Unexpected parameters (integer, integer) for function upper. Expected: upper(varchar(x)) ,"
        " upper(char(x)) ",
    ),
    (
        "SELECT upper(n_nationkey) FROM nation",
        "line 1:8: Unexpected parameters (bigint) for function upper. Expected: upper(varchar(x)) , upper(char(x)) ",
    ),
    (
        "SELECT 1 + 'a'",
        "line 1:10: '+' cannot be applied to integer, varchar(1)",
    ),
    (
        "SELECT -'a'",
        "line 1:8: '-' cannot be applied to varchar(1)",
    ),
    (
        "SELECT 'a' || 1",
        "line 1:12: Unexpected parameters (varchar(1), integer) for function concat. Expected: "
        "concat(char(x), char(y)) , concat(array(E), E) E, concat(E, array(E)) E, concat(array(E)) E, "
        "concat(varchar) , concat(varbinary) ",
    ),
    (
        "SELECT NOT 1",
        "line 1:12: Value of logical NOT expression must evaluate to a boolean (actual: integer)",
    ),
    (
        "SELECT 1 AND true",
        "line 1:8: Left side of logical expression must evaluate to a boolean (actual: integer)",
    ),
    (
        "SELECT CAST(1 AS nope)",
        "line 1:8: Unknown type: nope",
    ),
    (
        "SELECT CAST(ARRAY[1] AS bigint)",
        "line 1:8: Cannot cast array(integer) to bigint",
    ),
    (
        "SELECT CASE WHEN 1 THEN 2 END",
        "line 1:18: CASE WHEN clause must evaluate to a boolean (actual: integer)",
    ),
    (
        "SELECT IF(true, 1, 'a')",
        "line 1:8: Result types for IF must be the same: integer vs varchar(1)",
    ),
    (
        "SELECT coalesce(1, 'a')",
        "line 1:20: All COALESCE operands must be the same type: integer",
    ),
    (
        "SELECT nullif(1, 'a')",
        "line 1:8: Types are not comparable with NULLIF: integer vs varchar(1)",
    ),
    (
        "SELECT ARRAY[1, 'a']",
        "line 1:17: All ARRAY elements must be the same type: integer",
    ),
    (
        "SELECT ARRAY[1]['a']",
        "line 1:8: '[]' cannot be applied to array(integer), varchar(1)",
    ),
    (
        "SELECT ROW(1, 2).x",
        "line 1:8: Column 'row (1, 2).x' cannot be resolved",
    ),
    (
        "SELECT n_name.x FROM nation",
        "line 1:8: Expression n_name is not of type ROW",
    ),
    (
        "SELECT 1 BETWEEN 'a' AND 'b'",
        "line 1:10: Cannot check if integer is BETWEEN varchar(1) and varchar(1)",
    ),
    (
        "SELECT 1 LIKE 'a'",
        "line 1:8: Left side of LIKE expression must evaluate to a varchar (actual: integer)",
    ),
    (
        "SELECT extract(nope FROM DATE '2020-01-01')",
        "line 1:8: Invalid EXTRACT field: nope",
    ),
    (
        "SELECT DATE '2020-13-01'",
        "line 1:8: Value cannot be cast to date: 2020-13-01",
    ),
    (
        "SELECT TIMESTAMP 'x'",
        "line 1:8: 'x' is not a valid timestamp literal",
    ),
    (
        "SELECT INTERVAL 'x' DAY",
        "INVALID_FUNCTION_ARGUMENT Invalid INTERVAL DAY value: x",
    ),
    (
        "SELECT DECIMAL 'x'",
        "line 1:8: 'x' is not a valid decimal literal",
    ),
    (
        "SELECT nope '1'",
        "line 1:8: Unknown type: nope",
    ),
    (
        "SELECT 9223372036854775808",
        "line 1:1: Invalid numeric literal: 9223372036854775808",
    ),
    (
        "SELECT transform(ARRAY[1], x -> nope)",
        "line 1:33: Column 'nope' cannot be resolved",
    ),
    (
        "SELECT transform(ARRAY[1], (x, y) -> x)",
        "line 1:28: Expected a lambda that takes 1 argument(s) but got 2",
    ),
    (
        "SELECT transform(1, x -> x)",
        "line 1:8: Unexpected parameters (integer, function) for function transform. Expected: "
        "transform(array(T), function(T,U)) T, U",
    ),
    (
        "SELECT x -> x",
        "line 1:8: Lambda expression should always be used inside a function",
    ),
    (
        "SELECT sum(n_name) FROM nation",
        "line 1:8: Unexpected parameters (varchar(25)) for function sum. Expected: sum(double) , sum(real) , "
        "sum(bigint) , sum(interval day to second) , sum(interval year to month) , sum(decimal(p,s)) ",
    ),
    (
        "SELECT array_agg(n_name ORDER BY nope) FROM nation",
        "line 1:34: Column 'nope' cannot be resolved",
    ),
    (
        "SELECT at_timezone(1, 'UTC')",
        "line 1:8: Unexpected parameters (integer, varchar(3)) for function at_timezone. Expected: "
        "at_timezone(timestamp with time zone, varchar(x)) , at_timezone(timestamp with time zone, interval "
        "day to second) , at_timezone(time with time zone, varchar(x)) , at_timezone(time with time zone, "
        "interval day to second) ",
    ),
    (
        "SELECT 1 AT TIME ZONE 'UTC'",
        "line 1:8: Type of value must be a time or timestamp with or without time zone (actual integer)",
    ),
    (
        "SELECT n_name,\n  nope\nFROM nation",
        "line 2:3: Column 'nope' cannot be resolved",
    ),
    (
        "SELECT n_name\nFROM nation\nWHERE n_name = 1\n  AND true",
        "line 3:14: '=' cannot be applied to varchar(25), integer",
    ),
]
"""Functions, operators, types and literals."""


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> FixedCatalogs:
    return FixedCatalogs(tmp_path_factory.mktemp("tpch"))


@pytest.mark.parametrize(("sql", "told"), NAMES + AGGREGATES + WINDOWS + CLAUSES + EXPRESSIONS)
def test_a_query_is_refused(sql: str, told: str, catalogs: FixedCatalogs) -> None:
    """``told`` begins with the place, and with the error's name where that is not SYNTAX_ERROR."""
    with pytest.raises(ProcessionError) as caught:
        tree = parse_statement(sql)
        assert isinstance(tree, Query)
        plan_query(tree, SESSION, catalogs)
    error = caught.value
    name = "" if error.code is ErrorCode.SYNTAX_ERROR else f"{error.code.name} "
    place = "" if error.location is None else f"line {error.location.line}:{error.location.column}: "
    assert f"{name}{place}{error.message}" == told

"""Expressions as they are typed: coercions are casts, literals have their types, calls their functions."""

from __future__ import annotations

import pytest

from tests.analyzer.typed_expressions import typed_expression
from tests.fixed_catalogs import FixedCatalogs

CASES = [
    (
        "1 + BIGINT '2'",
        "bigint",
        "(BIGINT'1') + (BIGINT'2')",
    ),
    (
        "TINYINT '1' + SMALLINT '2'",
        "smallint",
        "(SMALLINT'1') + (SMALLINT'2')",
    ),
    (
        "n_nationkey + 1",
        "bigint",
        "(n_nationkey) + (BIGINT'1')",
    ),
    (
        "n_nationkey * 1.5",
        "decimal(21,1)",
        "(CAST(n_nationkey AS decimal(19,0))) * (DECIMAL'1.5')",
    ),
    (
        "n_nationkey / 2e0",
        "double",
        "(CAST(n_nationkey AS double)) / (DOUBLE'2.0')",
    ),
    (
        "REAL '1' + 1",
        "real",
        "(REAL'1.0') + (REAL'1.0')",
    ),
    (
        "DECIMAL '1.50' + 1",
        "decimal(13,2)",
        "(DECIMAL'1.50') + (DECIMAL'1')",
    ),
    (
        "DECIMAL '1.50' * DECIMAL '2.5'",
        "decimal(5,3)",
        "(DECIMAL'1.50') * (DECIMAL'2.5')",
    ),
    (
        "DECIMAL '1' / DECIMAL '3'",
        "decimal(1,0)",
        "(DECIMAL'1') / (DECIMAL'3')",
    ),
    (
        "1 = 1.0",
        "boolean",
        "(DECIMAL'1.0') = (DECIMAL'1.0')",
    ),
    (
        "n_nationkey = 1",
        "boolean",
        "(n_nationkey) = (BIGINT'1')",
    ),
    (
        "n_nationkey = 1.5",
        "boolean",
        "(CAST(n_nationkey AS decimal(20,1))) = (DECIMAL'1.5')",
    ),
    (
        "n_name = 'PERU'",
        "boolean",
        "(n_name) = (VARCHAR'PERU')",
    ),
    (
        "CAST('a' AS char(3)) = 'a'",
        "boolean",
        "(CHAR'a') = (CHAR'a')",
    ),
    (
        "DATE '2020-01-01' < TIMESTAMP '2020-01-01 00:00:01'",
        "boolean",
        "(TIMESTAMP'2020-01-01 00:00:00.000') < (TIMESTAMP'2020-01-01 00:00:01.000')",
    ),
    (
        "TIMESTAMP '2020-01-01 00:00:00' = TIMESTAMP '2020-01-01 00:00:00 UTC'",
        "boolean",
        "(TIMESTAMP WITH TIME ZONE'2020-01-01 00:00:00.000 UTC') = (TIMESTAMP WITH TIME ZONE'2020-01-01 "
        "00:00:00.000 UTC')",
    ),
    (
        "DATE '2020-01-01' + INTERVAL '1' DAY",
        "date",
        "(DATE'2020-01-01') + (INTERVAL DAY TO SECOND'1 00:00:00.000')",
    ),
    (
        "TIMESTAMP '2020-01-01 00:00:00' - TIMESTAMP '2019-12-31 00:00:00'",
        "interval day to second",
        "(TIMESTAMP'2020-01-01 00:00:00.000') - (TIMESTAMP'2019-12-31 00:00:00.000')",
    ),
    (
        "n_nationkey BETWEEN 1 AND 2.5",
        "boolean",
        "CAST(n_nationkey AS decimal(20,1)) BETWEEN (DECIMAL'1.0') AND (DECIMAL'2.5')",
    ),
    (
        "n_nationkey IN (1, 2.5)",
        "boolean",
        "IN(CAST(n_nationkey AS decimal(20,1)), DECIMAL'1.0', DECIMAL'2.5')",
    ),
    (
        "n_nationkey NOT IN (1, 2)",
        "boolean",
        "not(IN(n_nationkey, BIGINT'1', BIGINT'2'))",
    ),
    (
        "n_name IN ('a', 'bcd')",
        "boolean",
        "IN(n_name, VARCHAR'a', VARCHAR'bcd')",
    ),
    (
        "coalesce(n_nationkey, 1)",
        "bigint",
        "COALESCE(n_nationkey, BIGINT'1')",
    ),
    (
        "coalesce(NULL, 1, 2.5)",
        "decimal(11,1)",
        "COALESCE(null, DECIMAL'1.0', DECIMAL'2.5')",
    ),
    (
        "CASE WHEN true THEN 1 ELSE 2.5 END",
        "decimal(11,1)",
        "SWITCH(BOOLEAN'true', WHEN(BOOLEAN'true', DECIMAL'1.0'), DECIMAL'2.5')",
    ),
    (
        "CASE n_nationkey WHEN 1 THEN 'a' WHEN 2 THEN NULL END",
        "varchar(1)",
        "SWITCH(BOOLEAN'true', WHEN((n_nationkey) = (BIGINT'1'), VARCHAR'a'), WHEN((n_nationkey) = "
        "(BIGINT'2'), null), null)",
    ),
    (
        "IF(n_nationkey > 1, 1)",
        "integer",
        "IF((n_nationkey) > (BIGINT'1'), INTEGER'1', null)",
    ),
    (
        "IF(true, 1, BIGINT '2')",
        "bigint",
        "IF(BOOLEAN'true', BIGINT'1', BIGINT'2')",
    ),
    (
        "nullif(1, BIGINT '2')",
        "integer",
        "IF((BIGINT'1') = (BIGINT'2'), null, INTEGER'1')",
    ),
    (
        "NULL IS NULL",
        "boolean",
        "IS_NULL(null)",
    ),
    (
        "n_name || 'x'",
        "varchar",
        "CONCAT(CAST(n_name AS varchar), VARCHAR'x')",
    ),
    (
        "concat(n_name, 'x', 'yz')",
        "varchar",
        "concat(CAST(n_name AS varchar), VARCHAR'x', VARCHAR'yz')",
    ),
    (
        "ARRAY[1, 2.5]",
        "array(decimal(11,1))",
        "ARRAY(DECIMAL'1.0', DECIMAL'2.5')",
    ),
    (
        "ARRAY[NULL, 1]",
        "array(integer)",
        "ARRAY(null, INTEGER'1')",
    ),
    (
        "ARRAY[1] || 2",
        "array(integer)",
        "CONCAT(ARRAY(INTEGER'1'), INTEGER'2')",
    ),
    (
        "ARRAY[1] || ARRAY[BIGINT '2']",
        "array(bigint)",
        "CONCAT(CAST(ARRAY(INTEGER'1') AS array(bigint)), ARRAY(BIGINT'2'))",
    ),
    (
        "ARRAY[1, 2][1]",
        "integer",
        "ARRAY(INTEGER'1', INTEGER'2')[BIGINT'1']",
    ),
    (
        "MAP(ARRAY['a'], ARRAY[1])['a']",
        "integer",
        "map(ARRAY(VARCHAR'a'), ARRAY(INTEGER'1'))[VARCHAR'a']",
    ),
    (
        "ROW(1, 'a')",
        "row(integer, varchar(1))",
        "ROW_CONSTRUCTOR(INTEGER'1', VARCHAR'a')",
    ),
    (
        "CAST(ROW(1, 'a') AS row(x bigint, y varchar)).x",
        "bigint",
        "DEREFERENCE(CAST(ROW_CONSTRUCTOR(INTEGER'1', VARCHAR'a') AS row(\"x\" bigint, \"y\" varchar)), INTEGER'0')",
    ),
    (
        "sqrt(4)",
        "double",
        "sqrt(DOUBLE'4.0')",
    ),
    (
        "power(2, 3)",
        "double",
        "power(DOUBLE'2.0', DOUBLE'3.0')",
    ),
    (
        "abs(-1)",
        "integer",
        "abs(INTEGER'-1')",
    ),
    (
        "greatest(1, 2.5, 3e0)",
        "double",
        "greatest(DOUBLE'1.0', DOUBLE'2.5', DOUBLE'3.0')",
    ),
    (
        "length('abc')",
        "bigint",
        "length(VARCHAR'abc')",
    ),
    (
        "substr(n_name, 1)",
        "varchar(25)",
        "substr(n_name, BIGINT'1')",
    ),
    (
        "round(2.5)",
        "decimal(2,0)",
        "round(DECIMAL'2.5')",
    ),
    (
        "date_trunc('day', DATE '2020-01-01')",
        "date",
        "date_trunc(VARCHAR'day', DATE'2020-01-01')",
    ),
    (
        "year(DATE '2020-01-01')",
        "bigint",
        "year(DATE'2020-01-01')",
    ),
    (
        "n_name LIKE 'A%'",
        "boolean",
        "LIKE(n_name, CAST(VARCHAR'A%' AS likepattern))",
    ),
    (
        "n_name LIKE 'A!%' ESCAPE '!'",
        "boolean",
        "LIKE(n_name, LIKE_PATTERN(VARCHAR'A!%', VARCHAR'!'))",
    ),
    (
        "NOT n_nationkey = 1",
        "boolean",
        "not((n_nationkey) = (BIGINT'1'))",
    ),
    (
        "n_nationkey <> 1 AND n_name > 'A' OR false",
        "boolean",
        "(((n_nationkey) <> (BIGINT'1')) AND ((n_name) > (VARCHAR'A'))) OR (BOOLEAN'false')",
    ),
    (
        "- n_nationkey",
        "bigint",
        "-(n_nationkey)",
    ),
    (
        "n_nationkey % 2",
        "bigint",
        "(n_nationkey) % (BIGINT'2')",
    ),
    (
        "TRY_CAST(n_name AS bigint)",
        "bigint",
        "TRY_CAST(n_name)",
    ),
    (
        "TRY(1 / n_nationkey)",
        "bigint",
        "TRY(() -> (BIGINT'1') / (n_nationkey))",
    ),
    (
        "transform(ARRAY[1, 2], x -> x + n_nationkey)",
        "array(bigint)",
        "transform(ARRAY(INTEGER'1', INTEGER'2'), (x) -> (CAST(x AS bigint)) + (n_nationkey))",
    ),
    (
        "reduce(ARRAY[1], 0, (s, x) -> s + x, s -> s)",
        "integer",
        "reduce(ARRAY(INTEGER'1'), INTEGER'0', (s, x) -> (s) + (x), (s) -> s)",
    ),
    (
        "n_nationkey IS DISTINCT FROM NULL",
        "boolean",
        "IS_DISTINCT_FROM(n_nationkey, null)",
    ),
    (
        "1 IS NOT NULL",
        "boolean",
        "not(IS_NULL(INTEGER'1'))",
    ),
    (
        "TIMESTAMP '2020-01-01 00:00:00' AT TIME ZONE 'Asia/Tokyo'",
        "timestamp with time zone",
        "at_timezone(TIMESTAMP WITH TIME ZONE'2020-01-01 00:00:00.000 UTC', VARCHAR'Asia/Tokyo')",
    ),
    (
        "extract(month FROM DATE '2020-01-01')",
        "bigint",
        "month(DATE'2020-01-01')",
    ),
    (
        "json_extract_scalar('{}', '$.a')",
        "varchar(2)",
        "json_extract_scalar(VARCHAR'{}', CAST(VARCHAR'$.a' AS jsonpath))",
    ),
    (
        "regexp_like(n_name, 'A+')",
        "boolean",
        "regexp_like(n_name, CAST(VARCHAR'A+' AS re2jregexp))",
    ),
    (
        "CAST(n_nationkey AS varchar(2))",
        "varchar(2)",
        "CAST(n_nationkey AS varchar(2))",
    ),
    (
        "CAST(NULL AS bigint)",
        "bigint",
        "null",
    ),
    (
        "count(*)",
        "bigint",
        "count()",
    ),
    (
        "sum(n_nationkey)",
        "bigint",
        "sum(n_nationkey)",
    ),
    (
        "avg(DISTINCT n_nationkey)",
        "double",
        "avg(n_nationkey)",
    ),
    (
        "max_by(n_name, n_nationkey)",
        "varchar(25)",
        "max_by(n_name, n_nationkey)",
    ),
    (
        "approx_percentile(n_nationkey, 0.5)",
        "bigint",
        "approx_percentile(n_nationkey, DOUBLE'0.5')",
    ),
    (
        "array_agg(n_name ORDER BY n_nationkey DESC)",
        "array(varchar(25))",
        "array_agg(n_name)",
    ),
]


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> FixedCatalogs:
    return FixedCatalogs(tmp_path_factory.mktemp("tpch"))


@pytest.mark.parametrize(("text", "kind", "typed"), CASES)
def test_an_expression_is_typed(text: str, kind: str, typed: str, catalogs: FixedCatalogs) -> None:
    assert typed_expression(text, catalogs) == (kind, typed)

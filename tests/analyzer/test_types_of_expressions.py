"""The types that Presto gives: moments and intervals, decimals, NULLs, coercions between nested types, lambdas.

Precisions and scales are those of Presto's documentation, worked out by hand.
"""

from __future__ import annotations

import pytest

from shared.errors import ErrorCode, ProcessionError
from tests.analyzer.typed_expressions import typed_expression
from tests.fixed_catalogs import FixedCatalogs

DAYS, MONTHS = "interval day to second", "interval year to month"
TYPES = {
    "DATE '2024-01-01' + NULL": "date",
    "NULL - TIMESTAMP '2024-01-01 00:00:00'": DAYS,
    "NULL * INTERVAL '1' DAY": DAYS,
    "INTERVAL '1' DAY - NULL": DAYS,
    "INTERVAL '1' MONTH * 2.5": MONTHS,
    "2e0 * INTERVAL '1' MONTH": MONTHS,
    "INTERVAL '1' DAY / DECIMAL '2.5'": DAYS,
    "- INTERVAL '1' DAY": DAYS,
    "DATE '2024-01-01' - TIMESTAMP '2023-01-01 00:00:00'": DAYS,
    "INTERVAL '1' MONTH + TIMESTAMP '2024-01-01 00:00:00 UTC'": "timestamp with time zone",
    "NULL + NULL": "bigint",
    "1 / NULL": "integer",
    "TINYINT '1' * REAL '2'": "real",
    "REAL '1' / DECIMAL '2.0'": "real",
    "NULL + DECIMAL '1.5'": "decimal(3,1)",
    "NULL / DECIMAL '1.50'": "decimal(5,2)",
    "DECIMAL '1.5' % DECIMAL '0.25'": "decimal(2,2)",
    "DECIMAL '99.9' - DECIMAL '0.005'": "decimal(6,3)",
    "DECIMAL '12345678901234567890123456789012345678' * 10": "decimal(38,0)",
    "round(DECIMAL '9.99')": "decimal(2,0)",
    "round(DECIMAL '9.99', 1)": "decimal(4,2)",
    "ceil(DECIMAL '9.9')": "decimal(2,0)",
    "truncate(DECIMAL '12.34')": "decimal(2,0)",
    "mod(DECIMAL '10.5', DECIMAL '0.25')": "decimal(2,2)",
    "concat(CAST('a' AS char(3)), CAST('b' AS char(4)))": "char(7)",
    "replace('abc', 'b', 'xyz')": "varchar(15)",
    "regexp_replace('abc', 'b', 'xy')": "varchar(15)",
    "url_encode('ab')": "varchar(24)",
    "array_union(ARRAY[1], ARRAY[2.5])": "array(decimal(11,1))",
    "map_concat(MAP(ARRAY[1], ARRAY['a']), MAP(ARRAY[BIGINT '2'], ARRAY['bc']))": "map(bigint, varchar(2))",
    "greatest(1, 2.5, REAL '1')": "real",
    "coalesce(1, 2.5, NULL)": "decimal(11,1)",
    "nullif(1, 2.5)": "integer",
    "CASE WHEN true THEN NULL ELSE 2.5 END": "decimal(2,1)",
    "ARRAY[ROW(1, NULL), ROW(2.5, 'a')]": "array(row(decimal(11,1), varchar(1)))",
    "MAP(ARRAY[1, 2.5], ARRAY[NULL, 'a'])": "map(decimal(11,1), varchar(1))",
    "ROW(1, 'a')[2]": "varchar(1)",
    "MAP(ARRAY[1e0], ARRAY['x'])[1]": "varchar(1)",
    "reduce(ARRAY[1, 2], 0e0, (s, x) -> s + x, s -> CAST(s AS varchar))": "varchar",
    "zip_with(ARRAY[1], ARRAY['a'], (x, y) -> NULL)": "array(unknown)",
    "transform(ARRAY[1], x -> ARRAY[x, 2.5])": "array(array(decimal(11,1)))",
    "NOT NULL": "boolean",
    "n_nationkey BETWEEN 1.5 AND 3": "boolean",
}
REFUSED = {
    "INTERVAL '1' DAY + INTERVAL '1' MONTH": f"'+' cannot be applied to {DAYS}, {MONTHS}",
    "TIME '10:00:00' - TIMESTAMP '2023-01-01 00:00:00'": "'-' cannot be applied to time, timestamp",
    "DATE '2024-01-01' + 1": "'+' cannot be applied to date, integer",
    "'a' + 1": "'+' cannot be applied to varchar(1), integer",
    "- 'a'": "'-' cannot be applied to varchar(1)",
    "MAP(ARRAY[1], ARRAY[2]) < MAP(ARRAY[1], ARRAY[2])": "'<' cannot be applied to map(integer,integer), "
    "map(integer,integer)",
    "ROW(1, 2) = ROW(1)": "'=' cannot be applied to row(integer,integer), row(integer)",
    "ROW(1, 'a')[0]": "Invalid subscript index: 0. ROW indices start at 1",
    "ROW(1, 'a')[3]": "Subscript index out of bounds: 3, max value is 2",
    "ROW(1, 'a')[n_nationkey]": "Subscript expression on ROW requires a constant index",
    "ARRAY[1, 2]['a']": "'[]' cannot be applied to array(integer), varchar(1)",
    "MAP(ARRAY[1], ARRAY['x'])['a']": "'[]' cannot be applied to map(integer,varchar(1)), varchar(1)",
    "'abc'[1]": "'[]' cannot be applied to varchar(3), integer",
    "NOT 1": "Value of logical NOT expression must evaluate to a boolean (actual: integer)",
    "coalesce(1, 'a')": "All COALESCE operands must be the same type: integer",
    "CASE 1 WHEN 'a' THEN 1 END": "CASE operand type does not match WHEN clause operand type: integer vs varchar(1)",
    "transform(ARRAY[1], (x, y) -> x)": "Expected a lambda that takes 1 argument(s) but got 2",
    "CAST(ROW(1) AS row(x bigint, y bigint))": "Cannot cast row(integer) to row(x bigint,y bigint)",
    "contains(ARRAY['a'], 1)": "Unexpected parameters (array(varchar(1)), integer) for function contains. Expected: "
    "contains(array(T), T) T:comparable",
    "sum(max(n_nationkey))": "Cannot nest aggregations inside aggregation 'sum': [\"max\"(n_nationkey)]",
    "count(*) FILTER (WHERE max(n_nationkey) > 1)": "Cannot nest aggregations inside aggregation 'count': "
    '["max"(n_nationkey)]',
    "sum(1) FILTER (WHERE rank() OVER () > 1)": "Cannot nest window functions inside aggregation 'sum': "
    '["rank"() OVER ()]',
    "sum(grouping(n_name))": "Cannot nest grouping operations inside aggregation 'sum': [GROUPING (n_name)]",
    "array_agg(n_name ORDER BY max(n_name))": "Cannot nest aggregations inside aggregation 'array_agg': "
    '["max"(n_name)]',
    "array_agg(DISTINCT n_name ORDER BY n_nationkey)": "For aggregate function with DISTINCT, ORDER BY expressions "
    "must appear in arguments",
}
OTHERWISE = {
    "DECIMAL '0.00000000000000000001' * DECIMAL '0.00000000000000000001'": ErrorCode.INVALID_FUNCTION_ARGUMENT,
    "concat(CAST('a' AS char(65536)), CAST('b' AS char(4)))": ErrorCode.INVALID_FUNCTION_ARGUMENT,
    "- (-9223372036854775808)": ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE,
    "- TINYINT '-128'": ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE,
    "INTERVAL 'x' DAY": ErrorCode.INVALID_FUNCTION_ARGUMENT,
}


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> FixedCatalogs:
    return FixedCatalogs(tmp_path_factory.mktemp("tpch"))


@pytest.mark.parametrize("text", TYPES)
def test_types(text: str, catalogs: FixedCatalogs) -> None:
    assert typed_expression(text, catalogs)[0] == TYPES[text]


@pytest.mark.parametrize("text", [*REFUSED, *OTHERWISE])
def test_refused(text: str, catalogs: FixedCatalogs) -> None:
    with pytest.raises(ProcessionError) as refused:
        typed_expression(text, catalogs)
    assert refused.value.code is OTHERWISE.get(text, ErrorCode.SYNTAX_ERROR)
    assert refused.value.message == REFUSED.get(text, refused.value.message)


def test_a_state_that_begins_without_a_type_has_that_of_its_steps(catalogs: FixedCatalogs) -> None:
    for initial in ("NULL", "ARRAY[]"):
        step = "coalesce(s, 0) + x" if initial == "NULL" else "s || x"
        type_, text = typed_expression(f"reduce(ARRAY[n_nationkey], {initial}, (s, x) -> {step}, s -> s)", catalogs)
        assert type_ == ("bigint" if initial == "NULL" else "array(bigint)")
        assert "CAST(s AS" not in text

"""Expressions over the first nations: their values, which are Presto's, and their SQL for Spark."""

from __future__ import annotations

import pytest

from tests.unparser.written import Written

CASES = [
    (
        "n_nationkey / 7 + n_nationkey % 7 - 2 * n_nationkey",
        "0 -1 -2 -3 -4 -5",
        "((CAST((`n_nationkey` DIV CAST('7' AS BIGINT)) AS BIGINT) + CAST((`n_nationkey` % CAST('7' AS "
        "BIGINT)) AS BIGINT)) - (CAST('2' AS BIGINT) * `n_nationkey`))",
    ),
    (
        "n_nationkey / 2e0",
        "0 0.5 1 1.5 2 2.5",
        None,
    ),
    (
        "CAST(n_nationkey AS decimal(10,2)) * 1.5",
        "0.000 1.500 3.000 4.500 6.000 7.500",
        "CAST((CAST(`n_nationkey` AS DECIMAL(10, 2)) * CAST('1.5' AS DECIMAL(2, 1))) AS DECIMAL(12, 3))",
    ),
    (
        "nullif(n_nationkey, 3) IS DISTINCT FROM 3 AND n_nationkey <> 4",
        "True True True True False True",
        "((CASE WHEN (`n_nationkey` = CAST('3' AS BIGINT)) THEN CAST(NULL AS BIGINT) ELSE `n_nationkey` "
        "END IS DISTINCT FROM CAST('3' AS BIGINT)) AND (`n_nationkey` <> CAST('4' AS BIGINT)))",
    ),
    (
        "(nullif(n_nationkey, 3) > 2) OR NOT (n_nationkey BETWEEN 2 AND 4)",
        "True True False None True True",
        "((CASE WHEN (`n_nationkey` = CAST('3' AS BIGINT)) THEN CAST(NULL AS BIGINT) ELSE `n_nationkey` "
        "END > CAST('2' AS BIGINT)) OR (NOT (`n_nationkey` BETWEEN CAST('2' AS BIGINT) AND CAST('4' AS "
        "BIGINT))))",
    ),
    (
        "n_nationkey IN (1, 3, NULL)",
        "None True None True None None",
        "(`n_nationkey` IN (CAST('1' AS BIGINT), CAST('3' AS BIGINT), CAST(NULL AS BIGINT)))",
    ),
    (
        "n_nationkey = 1 OR 3 = n_nationkey OR n_name = 'CANADA' OR n_nationkey = 4 OR n_nationkey = 1",
        "False True False True True False",
        "((`n_nationkey` IN (CAST('1' AS BIGINT), CAST('3' AS BIGINT), CAST('4' AS BIGINT), CAST('1' AS BIGINT))) "
        "OR (`n_name` = 'CANADA'))",
    ),
    (
        "n_nationkey <> 1 AND n_nationkey <> 3 AND n_nationkey <> 4 AND nullif(n_nationkey, 0) <> 7 "
        "AND n_nationkey <> 5",
        "None False True False False False",
        None,
    ),
    (
        "n_nationkey = 1 OR n_nationkey = 0 OR n_nationkey = 7 OR 10 / n_nationkey = 5 OR n_nationkey = 3",
        "True True True True False False",
        None,
    ),
    (
        "n_name LIKE 'A!%%' ESCAPE '!' OR n_name LIKE '%IA'",
        "True False False False False True",
        "((`n_name` LIKE 'A!%%' ESCAPE '!') OR (`n_name` LIKE REPLACE('%IA', '\\\\', '\\\\\\\\')))",
    ),
    (
        "CASE n_regionkey WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'many' END",
        "many one one one many many",
        "CASE WHEN (`n_regionkey` = CAST('1' AS BIGINT)) THEN 'one' WHEN (`n_regionkey` = CAST('2' AS "
        "BIGINT)) THEN 'two' ELSE 'many' END",
    ),
    (
        "coalesce(CASE WHEN n_nationkey > 20 THEN n_name END, 'none')",
        "none none none none none none",
        "COALESCE(CASE WHEN (`n_nationkey` > CAST('20' AS BIGINT)) THEN `n_name` ELSE CAST(NULL AS "
        "STRING) END, 'none')",
    ),
    (
        "IF(n_nationkey > 20, n_name)",
        "None None None None None None",
        "CASE WHEN (`n_nationkey` > CAST('20' AS BIGINT)) THEN `n_name` ELSE CAST(NULL AS STRING) END",
    ),
    (
        "substr(n_name, 2, 3) || lower(n_name) || CAST(length(n_name) AS varchar)",
        "LGEalgeria7 RGEargentina9 RAZbrazil6 ANAcanada6 GYPegypt5 THIethiopia8",
        None,
    ),
    (
        "CAST(n_name AS varchar(3))",
        "ALG ARG BRA CAN EGY ETH",
        "SUBSTR(`n_name`, 1, 3)",
    ),
    (
        "CAST(n_nationkey / 2e0 AS bigint)",
        "0 1 1 2 2 3",
        None,
    ),
    (
        "TRY_CAST(n_name AS bigint)",
        "None None None None None None",
        "TRY_CAST(`n_name` AS BIGINT)",
    ),
    (
        "date_add('day', n_nationkey, DATE '2020-02-28')",
        "2020-02-28 2020-02-29 2020-03-01 2020-03-02 2020-03-03 2020-03-04",
        "CAST(TIMESTAMPADD(DAY, CAST(`n_nationkey` AS INT), CAST('2020-02-28' AS DATE)) AS DATE)",
    ),
    (
        "date_diff('month', DATE '2020-01-31', date_add('day', n_nationkey, DATE '2020-02-28'))",
        "0 1 1 1 1 1",
        None,
    ),
    (
        "year(date_add('year', n_nationkey, DATE '2020-02-29'))",
        "2020 2021 2022 2023 2024 2025",
        "CAST(year(CAST(TIMESTAMPADD(YEAR, CAST(`n_nationkey` AS INT), CAST('2020-02-29' AS DATE)) AS "
        "DATE)) AS BIGINT)",
    ),
    (
        "cardinality(ARRAY[n_nationkey, 1]) + ARRAY[n_nationkey, 7][2]",
        "9 9 9 9 9 9",
        None,
    ),
    (
        "contains(ARRAY[1, n_nationkey], 3)",
        "False False False True False False",
        "array_contains(CAST(ARRAY(CAST('1' AS BIGINT), `n_nationkey`) AS ARRAY<BIGINT>), CAST('3' AS BIGINT))",
    ),
    (
        "round(n_nationkey / 3e0, 1)",
        "0 0.3 0.7 1 1.3 1.7",
        None,
    ),
    (
        "abs(n_nationkey - 5) + power(n_nationkey, 2)",
        "5 5 7 11 17 25",
        "(CAST(CAST(abs((`n_nationkey` - CAST('5' AS BIGINT))) AS BIGINT) AS DOUBLE) + "
        "CAST(power(CAST(`n_nationkey` AS DOUBLE), CAST('2.0' AS DOUBLE)) AS DOUBLE))",
    ),
    (
        "greatest(n_nationkey, 3) - least(n_regionkey, 2)",
        "3 2 2 2 2 5",
        None,
    ),
    (
        "CAST(DATE '2020-01-31' + INTERVAL '1' MONTH AS varchar)",
        "2020-02-29 2020-02-29 2020-02-29 2020-02-29 2020-02-29 2020-02-29",
        "LTRIM('+', CAST(CAST('2020-02-29' AS DATE) AS STRING))",
    ),
    (
        "date_trunc('hour', TIMESTAMP '2020-02-29 23:59:59.999' + n_nationkey * INTERVAL '1' HOUR)",
        "2020-02-29 23:00:00 | 2020-03-01 00:00:00 | 2020-03-01 01:00:00 | 2020-03-01 02:00:00 | "
        "2020-03-01 03:00:00 | 2020-03-01 04:00:00",
        None,
    ),
    (
        "date_format(date_add('day', n_nationkey, DATE '2020-02-28'), '%W %d %M %Y')",
        "Friday 28 February 2020 | Saturday 29 February 2020 | Sunday 01 March 2020 | Monday 02 March "
        "2020 | Tuesday 03 March 2020 | Wednesday 04 March 2020",
        "DATE_FORMAT(CAST(CAST(TIMESTAMPADD(DAY, CAST(`n_nationkey` AS INT), CAST('2020-02-28' AS DATE)) "
        "AS DATE) AS TIMESTAMP_NTZ), 'EEEE dd MMMM yyyy')",
    ),
    (
        "split_part('a-b-c', '-', n_nationkey + 1)",
        "a b c None None None",
        None,
    ),
    (
        "regexp_replace(n_name, '[AEIOU]', lower(substr(n_name, 1, 1)))",
        "aLGaRaa aRGaNTaNa BRbZbL CcNcDc eGYPT eTHeePee",
        None,
    ),
    (
        "reduce(transform(ARRAY[1, 2, n_nationkey], x -> x * 2), 0, (s, x) -> s + x, s -> s)",
        "6 8 10 12 14 16",
        None,
    ),
    (
        "element_at(MAP(ARRAY['a', 'b'], ARRAY[n_nationkey, 7]), 'a')",
        "0 1 2 3 4 5",
        None,
    ),
    (
        "CAST(ROW(n_nationkey, n_name) AS row(a bigint, b varchar)).b",
        "ALGERIA ARGENTINA BRAZIL CANADA EGYPT ETHIOPIA",
        None,
    ),
    (
        "json_extract_scalar('{\"a\": [10, 20, 30]}', '$.a[' || CAST(n_nationkey AS varchar) || ']')",
        "10 20 30 None None None",
        None,
    ),
    (
        "bitwise_and(n_nationkey, 5) + bitwise_xor(n_nationkey, 1)",
        "1 1 3 3 9 9",
        "(CAST(((`n_nationkey`) & (CAST('5' AS BIGINT))) AS BIGINT) + CAST(((`n_nationkey`) ^ (CAST('1' "
        "AS BIGINT))) AS BIGINT))",
    ),
    (
        "sign(n_nationkey - 2) + floor(n_nationkey / 2e0) + ceil(n_nationkey / 3e0)",
        "-1 0 2 3 5 5",
        None,
    ),
    (
        "is_nan(n_nationkey / 0e0) OR is_infinite(n_nationkey / 0e0)",
        "True True True True True True",
        None,
    ),
    (
        "to_hex(md5(to_utf8(n_name)))",
        "1512741C3493826A58C162D5D2BB381D 6B65600130F8F8D7B9D2C3A582A89F2E "
        "A38CBB23017269895EA4921BFE91E1DF CF11DA476A9FC9481D298A824F805638 "
        "21E9696E5D0BDB290C923637D0A6D908 57C45407F34346AC9480CBFA41053D4B",
        "hex(unhex(md5(encode(`n_name`, 'utf-8'))))",
    ),
    (
        "strpos(n_name, 'A') + length(rpad(n_name, 12, '.'))",
        "13 13 15 14 12 20",
        "(CAST(locate('A', `n_name`) AS BIGINT) + CAST(length(RPAD(`n_name`, 12, '.')) AS BIGINT))",
    ),
    (
        "if(n_nationkey = 3, TIMESTAMP '0001-02-03 04:05:06.789')",
        "None | None | None | 0001-02-03 04:05:06.789000 | None | None",
        "CASE WHEN (`n_nationkey` = CAST('3' AS BIGINT)) THEN CAST('0001-02-03 04:05:06.789000' AS TIMESTAMP_NTZ) ELSE "
        "CAST(NULL AS TIMESTAMP_NTZ) END",
    ),
]


@pytest.mark.parametrize(("expression", "values", "spark"), CASES)
def test_an_expression(written: Written, expression: str, values: str, spark: str | None) -> None:
    """``spark`` is None where its text is long."""
    found, text = written.values(expression)
    assert (" | " if " | " in values else " ").join(found) == values
    assert spark is None or text == spark

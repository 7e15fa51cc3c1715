"""Functions as they are written for Spark: what DuckDB makes of sqlglot's reading is what the embedded engine gives.

Left out are those that sqlglot takes for something else (``array_position`` of nothing, ``date_diff`` of months) and
those that DuckDB does not have.
"""

from __future__ import annotations

import pytest

from tests.optimizer.rule_cases import TIDY, RuleCases
from tests.unparser.spark_reader import SparkReader
from tests.unparser.written import FIRST, written

ROWS = (
    "(VALUES (1, 1, 'abc', 2.5e0, DATE '2024-02-29'), (2, -7, 'it''s \u00e9', -0.5e0, DATE '1969-12-31'), "
    "(3, 0, '', 0e0, DATE '2000-01-01'), (4, NULL, NULL, NULL, NULL)) t(k, i, s, x, d)"
)
NUMBERS = (
    "abs(i)",
    "sign(x)",
    "floor(x)",
    "ceil(x)",
    "ceiling(x)",
    "round(x)",
    "round(x, 1)",
    "truncate(x)",
    "mod(i, 3)",
    "power(x, 2)",
    "sqrt(abs(x))",
    "ln(x + 9)",
    "log2(x + 9)",
    "log10(x + 9)",
    "greatest(i, 0)",
    "least(x, 1.0)",
    "is_nan(x)",
    "is_finite(x)",
    "is_infinite(x)",
    "pi()",
    "bitwise_and(i, 3)",
    "bitwise_or(i, 3)",
    "bitwise_xor(i, 3)",
    "bitwise_not(i)",
    "i BETWEEN -1 AND 1",
    "nullif(i, 1)",
    "-i",
    "i % 2",
    "x / 2",
    "x % 2",
)
TEXTS = (
    "upper(s)",
    "lower(s)",
    "length(s)",
    "reverse(s)",
    "substr(s, 2)",
    "substr(s, 2, 1)",
    "substr(s, -2)",
    "substr(s, 0)",
    "substr(s, 2, -1)",
    "substr(s, 1, 3000000000)",
    "substr(s, 3000000000)",
    "substr(s, -3000000000, 2)",
    "substr(s, i)",
    "substr(s, i, 2)",
    "substr(s, 1, i)",
    "substr(s, -2, i)",
    "substr(s, i, 3000000000)",
    "replace(s, 'b')",
    "replace(s, 'b', 'xy')",
    "ltrim(s)",
    "lpad(s, 5, '*')",
    "rpad(s, 2, '*')",
    "split_part(s, 'b', 2)",
    "strpos(s, 'c')",
    "starts_with(s, 'a')",
    "ends_with(s, 'c')",
    "s || 'x' || s",
    "concat(s, 'y')",
    "to_hex(to_utf8(s))",
    "regexp_like(s, 'b')",
    "regexp_replace(s, 'b', 'q')",
    "regexp_extract(s, 'b')",
    "md5(to_utf8(s))",
    "s LIKE '%''%'",
    "s IN ('abc', '')",
    "IF(i > 0, s, 'none')",
    "coalesce(s, 'none')",
    "codepoint('a')",
)
DATES = (
    "year(d)",
    "quarter(d)",
    "month(d)",
    "week(d)",
    "day(d)",
    "day_of_year(d)",
    "year_of_week(d)",
    "date_trunc('year', d)",
    "date_trunc('week', d)",
    "date_add('day', i, d)",
    "date_add('month', 1, d)",
    "date_diff('day', d, DATE '2024-03-01')",
    "date_format(CAST(d AS timestamp), '%Y-%m-%d')",
    "to_unixtime(CAST(d AS timestamp))",
    "d - INTERVAL '1' MONTH",
    "d + INTERVAL '2' DAY",
    "d < DATE '2000-01-01'",
    "hour(CAST(d AS timestamp) + INTERVAL '90' MINUTE)",
)
CASTS = (
    "CAST(x AS integer)",
    "CAST(x AS varchar)",
    "CAST(i AS varchar(2))",
    "CAST(s AS varchar(2))",
    "CAST(s AS char(4))",
    "CAST(d AS varchar)",
    "CAST(d AS timestamp)",
    "CAST(i AS boolean)",
    "CAST(i AS decimal(5,1))",
    "CAST(i > 0 AS integer)",
    "CAST(x AS decimal(5,1))",
    "CAST(i AS decimal(3,1)) / 3",
    "CAST(i AS decimal(3,1)) * 2.5",
)
COLLECTIONS = (
    "split(s, 'b')",
    "split(s, 'b') || 'q'",
    "'q' || split(s, 'b')",
    "IF(i > 0, ARRAY[ROW(i, s)], ARRAY[])",
    "coalesce(ARRAY[NULL], ARRAY[ARRAY[i]])",
    "ARRAY[ROW(ROW(i)), ROW(NULL)]",
    "IF(i > 0, ARRAY[d], ARRAY[NULL])",
    "reduce(ARRAY[i, 2], ARRAY[], (l, e) -> l || ROW(e, 'x'), l -> l)",
    "CAST(ARRAY[ROW(1, 'x')] AS array(row(a integer, b varchar))) || ROW(i, 'y')",
    "ARRAY[i, 2]",
    "cardinality(ARRAY[i, 2])",
    "contains(ARRAY[1, 2], i)",
    "array_join(ARRAY[s, 'z'], ',')",
    "element_at(ARRAY[5, 6], 2)",
    "transform(ARRAY[1, 2], e -> e + i)",
    "filter(ARRAY[1, 2], e -> e > i)",
    "sequence(1, 3)",
    "ROW(i, s)",
    "CAST(ROW(i, s) AS row(a integer, b varchar)).a",
    "ARRAY[i, 2][1]",
)


def _columns(rows: list[str]) -> list[tuple[str, ...]]:
    """The values of each expression, by row."""
    return list(zip(*(row.split("\t")[1:] for row in rows), strict=True))


@pytest.mark.parametrize("expressions", [NUMBERS, TEXTS, DATES, CASTS, COLLECTIONS])
def test_values(rule_cases: RuleCases, expressions: tuple[str, ...]) -> None:
    reader = SparkReader(rule_cases)
    sql = f"SELECT k, {', '.join(f'{e} AS c{n}' for n, e in enumerate(expressions))} FROM {ROWS}"
    _, plan = rule_cases.planned(TIDY[1], sql, first=FIRST)
    text = written(plan, "spark")
    own = rule_cases.rows(plan)
    assert own is not None
    found = dict(zip(expressions, _columns(reader.rows(text)), strict=True))
    assert "PROCESSION_EVAL" not in text.upper()
    assert found == dict(zip(expressions, _columns(own), strict=True))
    reader.connection.close()

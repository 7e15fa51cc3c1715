"""TRY on Spark: only what fails as a whole and makes nothing of NULL stays Spark's; the rest is one program."""

from __future__ import annotations

import pytest

from tests.optimizer.rule_cases import TIDY
from tests.unparser.written import FIRST, Written, written

SOURCE = "(VALUES (0, '7', 1.5), (2, 'x', 0.0), (NULL, '2024-02-29', NULL)) t(i, s, d)"
SPARKS = {
    "1 / i": "None 0 None",
    "7 % i": "None 1 None",
    "CAST(s AS integer)": "7 None None",
    "CAST(s AS date)": "None None 2024-02-29",
    "1 / d": "0.7 None None",
    "CAST(i * 100 AS tinyint) + 1": "1 None None",
    "i + CAST(s AS bigint) > 3": "True None None",
    "CAST(1 / i AS varchar)": "None 0 None",
    "i BETWEEN 1 / i AND 3": "None True None",
}
PROGRAMS = {
    "abs(1 / i)": "None 0 None",
    "mod(1, i)": "None 1 None",
    "pow(1 / i, 2)": "None 0 None",
    "strpos(s, CAST(1 / i AS varchar))": "None 0 None",
    "cardinality(ARRAY[1 / i, 2])": "None 2 2",
    "ARRAY[1 / i, i]": "None [0, 2] [None, None]",
    "cardinality(transform(ARRAY[0, 1], x -> x / i))": "None 2 2",
    "(1 / i) IS NULL": "None False True",
    "coalesce(CAST(s AS integer), -1)": "7 None None",
    "CASE WHEN 1 / i > 0 THEN 'a' ELSE 'b' END": "None b b",
    "(1 / i) IS DISTINCT FROM NULL": "None True False",
    "day_of_year(CAST(s AS date))": "None None 60",
    "-CAST(i * 64 AS tinyint)": "0 None None",
    "ROW(1 / i)[1]": "None 0 None",
}


def _rows(check: Written, expression: str) -> tuple[str, str]:
    """Values in the order of the source, and Spark's text."""
    sql = f"SELECT n, TRY({expression}) x FROM (SELECT *, row_number() OVER (ORDER BY i) n FROM {SOURCE})"
    _, plan = check.cases.planned(TIDY[1], sql, first=FIRST)
    rows = check.cases.rows(plan)
    assert rows is not None
    return " ".join(row.partition("\t")[2] for row in rows), written(plan, "spark")


@pytest.mark.parametrize("expression", [*SPARKS, *PROGRAMS])
def test_where_it_is_computed(written: Written, expression: str) -> None:
    """Rows are the embedded engine's, Presto's by hand."""
    rows, text = _rows(written, expression)
    assert rows == (SPARKS | PROGRAMS)[expression]
    assert ('"expression":["try",' in text) == (expression in PROGRAMS)
    if expression in SPARKS:
        # Every division and cast gives NULL where it fails.
        assert "CAST(" not in text.replace("TRY_CAST(", "").partition(" FROM ")[0]
        assert "RAISE_ERROR" not in text.upper().partition(" FROM ")[0]

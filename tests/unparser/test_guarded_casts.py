"""Casts of texts as they are written for Spark: a pattern before the cast tells which texts Presto takes.

DuckDB runs what sqlglot reads; texts that DuckDB itself takes otherwise than Spark are left out.
"""

from __future__ import annotations

import pytest

from tests.optimizer.rule_cases import TIDY, RuleCases
from tests.unparser.spark_reader import SparkReader
from tests.unparser.written import FIRST, written

TEXTS = (
    *("", " ", "0", "-0", "+7", " 12 ", "007", "1e3", "1E400", ".5", "5.", "-1.50", "0x10", "1\n", "-.5", "  2", "2 "),
    *("9223372036854775807", "99999999999999999999", "NaN", "Infinity", "-Infinity", " NaN ", "nan", "inf", "infinity"),
    *("true", "T", "f", "TRUE", "yes", "no", "1.5E-2", "abcdef", "a ", "it's", "2024-02-29", "2023-02-29", "2024-2-9"),
    *("2024-13-01", "2024-01-01 10:20:30", "10:20", "\u00e9t\u00e9 ", "24-01-05"),
)
TYPES = ("boolean", "double", "real", "decimal(6,2)", "decimal(38,0)", "date", "varchar(3)", "char(3)")
ROWS = ", ".join(f"({number}, '{text.replace(chr(39), chr(39) * 2)}')" for number, text in enumerate(TEXTS))


@pytest.mark.parametrize("target", TYPES)
def test_which_texts_are_taken(rule_cases: RuleCases, target: str) -> None:
    reader = SparkReader(rule_cases)
    sql = f"SELECT k, TRY_CAST(s AS {target}) AS v FROM (VALUES {ROWS}) t(k, s)"
    _, plan = rule_cases.planned(TIDY[1], sql, first=FIRST)
    text = written(plan, "spark")
    assert "PROCESSION_EVAL" not in text.upper()
    own = dict(row.split("\t", 1) for row in rule_cases.rows(plan) or ())
    found = dict(row.split("\t", 1) for row in reader.rows(text))
    reader.connection.close()
    assert {TEXTS[int(k)]: v for k, v in found.items()} == {TEXTS[int(k)]: v for k, v in own.items()}
    taken = {TEXTS[int(k)] for k, v in own.items() if v != "None"}
    assert taken >= ({"2024-02-29", "2024-2-9"} if target == "date" else {"0"} if "char" not in target else set(TEXTS))


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("boolean", "Cannot cast 'x' to BOOLEAN"),
        ("date", "Value cannot be cast to date: x"),
        ("decimal(6,2)", "Cannot cast VARCHAR 'x' to DECIMAL(6, 2). Value is not a number."),
    ],
)
def test_what_is_said_of_others(rule_cases: RuleCases, target: str, error: str) -> None:
    """CAST fails with Presto's text, on Spark as in the embedded engine."""
    sql = f"SELECT CAST(s AS {target}) FROM (VALUES 'x') t(s)"
    _, plan = rule_cases.planned(TIDY[1], sql, first=FIRST)
    reader = SparkReader(rule_cases)
    with pytest.raises(Exception, match="KernelError: INVALID_CAST_ARGUMENT: ") as failed:
        reader.rows(written(plan, "spark"))
    reader.connection.close()
    assert error in str(failed.value)
    with pytest.raises(Exception, match="ast") as own:
        rule_cases.rows(plan)
    assert error in str(own.value)

# ruff: noqa: E501
# A table: one text beside the other reads better than one below the other.
"""What Spark asks of texts before it casts and trims them: by our classes and by patterns, beside the kernels."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from coordinator.analyzer.context import Context as Analysis
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.spark.engine import SparkEngine
from coordinator.kernels.functions.program import evaluate_row
from coordinator.sql.parser import parse_expression
from coordinator.unparser.expressions import expression
from coordinator.unparser.programs import row_program
from shared.plan.expressions import Variable
from shared.spi.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.slow]
BLANKS = " \t\n\x0b\x0c\r\x1c\u2028\u3000"
NUMBERS = (
    "1", "-1.5", "+.5", "1.", ".", "", "1e5", "1E-3", "1e", "e5", "--1", "1.2.3", "\u0661\u0662", "12345678901234567890", "Infinity",
    "-Infinity", "NaN", "nan", "inf", "infinity", " NaN", "1f", "1d", "0x10", "true", "T", "0", "yes", "FALSE", "1\n", "2.5\n", "1\x00",
)  # fmt: skip
MOMENTS = (
    "2024-02-29", "2023-02-29", "2024-2-9", " 2024-02-29\t", "2024-02-29\n", "2024", "2024-02", "20240229", "2024-02-29T", "0099-1-1",
    "2024-02-29 12:34", "2024-02-29T12:34:56.789", "2024-02-29 1:2:3", "2024-02-29 24:00", "2024-02-29 12:34:56 Europe/Berlin",
    "2024-02-29 12:34:56+02:00", "2024-02-29 12:34:56Z", "2024-02-29 12:34 ", "2024-02-29 12:",
    "2024-02-29 12:34:56.789 ".ljust(80, "0"), "2024-02-29-", "x024-02-29", "2024-02-29x", "2024/02/29",
)  # fmt: skip
EACH = tuple(f"{chr(c)}a{chr(c)}" for c in range(1, 0x7F))
TEXTS = (*NUMBERS, *MOMENTS, *EACH, *(f"{b}1{b}" for b in BLANKS), *(f"{b}{b}fé{b}" for b in BLANKS), "é", "a\u3000")
TARGETS = ("boolean", "double", "real", "decimal(12,2)", "decimal(38,10)", "date", "timestamp")
CASES = (*(f"try_cast(s AS {target})" for target in TARGETS), "trim(s)", "ltrim(s)", "rtrim(s)")
_RULES = "spark.sql.optimizer.excludedRules"
_NO_ROWS_NOW = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
"""Spark would compute rows of a statement's own while it plans."""


def shown(value: object) -> str | None:
    return None if value is None else str(value).removesuffix("000").removesuffix(" 00:00:00").replace("NaN", "nan")


@pytest.mark.parametrize("by_patterns", [False, True])
@pytest.mark.parametrize("text", CASES)
def test_as_the_kernels(engine: SparkEngine, execution: Any, text: str, by_patterns: bool) -> None:
    scope = Scope((ScopeField("s", Variable(name="s", type="varchar")),))
    node = analyze_expression(parse_expression(text), Analysis(Session(user="test"), scope))
    program = row_program(node)
    assert program is not None
    values = ArrowInput("procession_texts_0", pa.table({"n": range(len(TEXTS)), "s": pa.array(TEXTS)}))
    sql = expression(node, "spark").sql(dialect="spark")

    def run(statement: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pa.Table.from_batches(engine.run(statement, execution, (values,))).to_pylist()
        return found

    query = f"SELECT {sql} AS r FROM procession_texts_0 ORDER BY n"
    run(f"SET {_RULES}={_NO_ROWS_NOW}{',procession.spark.PlainTexts' if by_patterns else ''}")
    try:
        [plan] = run(f"EXPLAIN {query}")
        assert ("spark.Texts." in plan["plan"]) is (not by_patterns and "boolean" not in text)
        mine = [shown(row["r"]) for row in run(query)]
    finally:
        run(f"SET {_RULES}=")
    wanted = [shown(evaluate_row(json.dumps(program.program), each)) for each in TEXTS]
    assert dict(zip(TEXTS, mine, strict=True)) == dict(zip(TEXTS, wanted, strict=True))

"""What Spark computes of columns by itself is what the programs say, for plain values and odd ones."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.engine.local import LocalEngine
from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.spark.engine import SparkEngine
from coordinator.sql.parser import parse_expression
from coordinator.unparser.expressions import expression
from coordinator.values.python_functions import runs_programs
from shared.errors import ProcessionError
from shared.plan.expressions import Variable
from shared.spi.session import Session
from tests.execution import FakeExecution as Execution
from tests.functions.test_vectorised import program
from tests.functions.vectorised_cases import EXPRESSIONS, TYPES, table

pytestmark = [pytest.mark.spark, pytest.mark.slow]
_ROWS = table(600)
_AT_ONCE = 48
_RULES = "SET spark.sql.optimizer.excludedRules="
SPARK_RULES = f"{_RULES}org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
"""Spark would compute rows of a statement's own while it plans, another way."""
_DIGITS = "digits of other scripts are none for Spark's casts to whole numbers"
_SHORTEST = "Java 17 does not print the shortest digits, nor does a Presto on it"
_YEARS = "the kernels end at the year 9999 (test_plain_texts.py has the others)"
EXCEPTED = {
    "try_cast(d AS varchar)": _SHORTEST, "try_cast(d AS decimal(38,10))": _SHORTEST,
    "CAST(sqrt(d) AS varchar)": _SHORTEST,
    **dict.fromkeys((
        *(f"try_cast(t AS {kind})" for kind in ("tinyint", "smallint", "integer", "bigint")), "try(CAST(t AS bigint))",
        "try_cast(substr(t, 1, 4) AS bigint)", "try_cast(substr(trim(t), 1, 4) AS smallint)",
        "date_add('day', try_cast(t AS bigint), x)", "try(CAST(substr(t, 1, 4) AS integer))",
    ), _DIGITS),
    **dict.fromkeys(("try_cast(t AS date)", "try_cast(t AS timestamp)", "try(CAST(t AS date))"), _YEARS),
    r"regexp_like(t, '\s\S')": "Python takes U+001C for a space",
    r"regexp_like(t, '\w+\W\w+$')": "Python takes no accents for letters",
}  # fmt: skip
_FIELDS = tuple(ScopeField(name, Variable(name=name, type=kind)) for name, kind in TYPES.items())


def spark_sql(text: str) -> str:
    node = analyze_expression(parse_expression(text), Context(Session(user="test"), Scope(_FIELDS)))
    return str(expression(node, "spark").sql(dialect="spark"))


def _wanted(text: str) -> tuple[list[Any], bool]:
    """By the kernels, NULL where they fail; whether they do."""
    local = LocalEngine()

    def run(sql: str) -> list[Any]:
        batches = local.run(f"SELECT {sql} AS c FROM rows", Execution(), [ArrowInput("rows", _ROWS)])
        return [cell for batch in batches for cell in batch.column(0).to_pylist()]

    try:
        found = run(program(text))
        try:
            run(program(text, tried=False))
        except ProcessionError:
            return found, True
        return found, False
    finally:
        local.close()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return sorted(value.items()) if isinstance(value, dict) else value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or math.isclose(a, b, rel_tol=1e-15)
    return bool(_plain(a) == _plain(b))


@pytest.fixture(scope="module")
def columns(engine: SparkEngine) -> Iterator[Callable[[Sequence[str], str], list[list[Any]]]]:
    """What Spark computes of some expressions in the rows of a condition."""
    values = ArrowInput("procession_columns_0", _ROWS.append_column("row_number", pa.array(range(len(_ROWS)))))

    def run(sql: str) -> list[list[Any]]:
        return [c.to_pylist() for c in pa.Table.from_batches(engine.run(sql, Execution(), (values,))).columns]

    def asked(texts: Sequence[str], condition: str) -> list[list[Any]]:
        wanted = ", ".join(f"{spark_sql(text)} AS c{i}" for i, text in enumerate(texts))
        # A table's timestamps have no zone.
        naive = ", ".join(f"CAST({c} AS TIMESTAMP_NTZ) AS {c}" if TYPES.get(c) == "timestamp" else c for c in names)
        return run(
            f"SELECT {wanted} FROM (SELECT {naive} FROM procession_columns_0) WHERE {condition} ORDER BY row_number"
        )

    names = [*TYPES, "row_number"]
    run(SPARK_RULES)
    yield asked
    run(_RULES)


def _check(text: str, found: Sequence[Any], wanted: Sequence[Any], kept: Sequence[int]) -> list[str]:
    read = _ROWS.select([name for name in _ROWS.column_names if re.search(rf"\b{name}\b", text)])
    pairs = zip(kept, found, wanted, strict=True)
    wrong = [(read.slice(n, 1).to_pylist(), ours, cell) for n, ours, cell in pairs if not same(ours, cell)]
    return [f"{text}: {len(wrong)}, {wrong[:3]}"] if wrong else []


_TEXTS = tuple(text for text in EXPRESSIONS if text not in EXCEPTED)


@pytest.mark.parametrize("first", range(0, len(_TEXTS), _AT_ONCE))
def test_every_row_is_as_the_programs_say(columns: Callable[[Sequence[str], str], list[list[Any]]], first: int) -> None:
    texts = [text for text in _TEXTS[first : first + _AT_ONCE] if not runs_programs(spark_sql(text))]
    wanted = {text: _wanted(text) for text in texts}
    plain = [text for text in texts if not wanted[text][1]]
    wrong: list[str] = []
    for text, found in zip(plain, columns(plain, "true"), strict=True):
        wrong += _check(text, found, wanted[text][0], range(len(_ROWS)))
    for text in (text for text in texts if wanted[text][1]):
        kept = [n for n, cell in enumerate(wanted[text][0]) if cell is not None]
        [found] = columns([text], f"row_number IN ({', '.join(map(str, kept))})")
        wrong += _check(text, found, [wanted[text][0][n] for n in kept], kept)
    assert not wrong, "\n".join(wrong)

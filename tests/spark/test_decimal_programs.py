"""Quotients, remainders and averages of decimals: rounded once, and by Java where Spark would ask Python."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest

from coordinator.analyzer.context import Context as Analysis
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.spark.engine import SparkEngine
from coordinator.expressions.builders import typed
from coordinator.sql.parser import parse_expression
from coordinator.unparser.averages import exact_average
from coordinator.unparser.expressions import expression
from coordinator.unparser.trees import column
from coordinator.values.python_functions import runs_programs
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import RowExpression, Variable
from shared.plan.types import Type
from shared.spi.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.slow]
EXACT = Context(prec=250)
TYPES = ((5, 2), (12, 2), (12, 0), (18, 6), (30, 0), (38, 4), (38, 4), (38, 20), (38, 38))
Row = dict[str, Decimal | None]


def rows() -> Iterator[Row]:
    """Of each size, near the middle between two results, and NULLs."""
    chosen = random.Random(2911)
    for n in range(300):
        row: Row = {"n": Decimal(n)}
        for i, (precision, scale) in enumerate(TYPES):
            most = 10**precision - 1
            middle = chosen.choice((5, -5)) * 10 ** chosen.randrange(precision) - chosen.randint(0, 1)
            unscaled = chosen.choice((most, -most, 1, middle, chosen.randint(-most, most), chosen.randint(-200, 200)))
            fits = abs(unscaled) <= most
            row[f"c{i}"] = Decimal(unscaled).scaleb(-scale, EXACT) if fits and chosen.random() > 0.05 else None
        yield row


def table(given: list[Row]) -> ArrowInput:
    arrays = {f"c{i}": pa.array([r[f"c{i}"] for r in given], pa.decimal128(*t)) for i, t in enumerate(TYPES)}
    numbers = pa.array([int(r["n"] or 0) for r in given], pa.int64())
    return ArrowInput("procession_decimals_0", pa.table({"n": numbers, **arrays}))


PAIRS = [(i, j) for i in range(len(TYPES)) for j in range(len(TYPES))]


def analyzed(text: str) -> RowExpression:
    """Over ``c<i>``, and ``a<i>_<j>`` and ``b<i>_<j>`` of the types of ``c<i>`` and ``c<j>``."""
    kinds = {f"c{i}": t for i, t in enumerate(TYPES)}
    kinds |= {f"a{i}_{j}": TYPES[i] for i, j in PAIRS} | {f"b{i}_{j}": TYPES[j] for i, j in PAIRS}
    fields = (ScopeField(name, Variable(name=name, type=f"decimal({p},{s})")) for name, (p, s) in kinds.items())
    return analyze_expression(parse_expression(text), Analysis(Session(user="test"), Scope(tuple(fields))))


def on_spark(text: str) -> str:
    return str(expression(analyzed(text), "spark").sql(dialect="spark"))


def expected(operator: str, a: Decimal | None, b: Decimal | None, type_: Type) -> Decimal | str | None:
    """What Python's numbers give; a text where it is an error."""
    if a is None or b is None:
        return None
    if not b:
        return "Division by zero"
    with localcontext(EXACT):
        digits = Decimal(1).scaleb(-type_.numbers[1])
        found = (a / b if operator == "/" else a % b).quantize(digits, ROUND_HALF_UP)
        return "Decimal overflow" if abs(found) >= Decimal(10) ** (type_.numbers[0] - type_.numbers[1]) else found


def run(engine: SparkEngine, execution: Any, sql: str, given: list[Row]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.Table.from_batches(engine.run(sql, execution, (table(given),))).to_pylist()
    return found


@pytest.mark.parametrize(("operator", "least", "most"), [("/", 30, 70), ("%", 1, 30)])
def test_operators(engine: SparkEngine, execution: Any, operator: str, least: int, most: int) -> None:
    """Rows whose result is an error have NULL for both operands."""
    given, checked = list(rows()), 0
    wanted = {
        (i, j): [expected(operator, r[f"c{i}"], r[f"c{j}"], typed(analyzed(f"c{i} {operator} c{j}"))) for r in given]
        for i, j in PAIRS
    }
    operands, texts = [], []
    for (i, j), values in wanted.items():
        failing = ", ".join(str(n) for n, value in enumerate(values) if isinstance(value, str)) or "-1"
        operands += [f"IF(n IN ({failing}), NULL, c{c}) AS {side}{i}_{j}" for side, c in (("a", i), ("b", j))]
        texts.append(on_spark(f"a{i}_{j} {operator} b{i}_{j}"))
    assert least <= sum(map(runs_programs, texts)) <= most
    shown = ", ".join(f"CAST({t} AS STRING) AS r{i}_{j}" for t, (i, j) in zip(texts, PAIRS, strict=True))
    sql = f"SELECT {shown} FROM (SELECT n, {', '.join(operands)} FROM procession_decimals_0) ORDER BY n"
    [plan] = run(engine, execution, f"EXPLAIN {sql}", given)
    assert "Python" not in plan["plan"] and "ArrowEval" not in plan["plan"]
    for row, found in zip(given, run(engine, execution, sql, given), strict=True):
        for i, j in PAIRS:
            value, mine = wanted[i, j][int(row["n"] or 0)], found[f"r{i}_{j}"]
            assert (mine if mine is None else Decimal(mine)) == (None if isinstance(value, str) else value), (row, i, j)
            checked += mine is not None
    assert checked > 10_000


def test_errors(engine: SparkEngine, execution: Any) -> None:
    for text, code, said in (
        ("c5 / (c5 - c5)", ErrorCode.DIVISION_BY_ZERO, "Division by zero"),
        ("c5 % (c5 - c5)", ErrorCode.DIVISION_BY_ZERO, "Division by zero"),
        ("c5 / c8", ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE, "Decimal overflow"),
    ):
        given: list[Row] = [{"n": Decimal(0), **{f"c{i}": Decimal(1).scaleb(-s) for i, (_, s) in enumerate(TYPES)}}]
        with pytest.raises(ProcessionError) as failed:
            run(engine, execution, f"SELECT {on_spark(text)} AS r FROM procession_decimals_0", given)
        assert (failed.value.code, failed.value.message) == (code, said)


def test_averages(engine: SparkEngine, execution: Any) -> None:
    """Of more than 18 digits, and of sums that have more than 38."""
    given = list(rows())
    texts = [exact_average(column(f"c{i}"), Type("decimal", t), lambda a: a, "spark") for i, t in enumerate(TYPES)]
    shown = ", ".join(f"CAST({t.sql(dialect='spark')} AS STRING) AS r{i}" for i, t in enumerate(texts))
    sql = f"SELECT n % 7 AS g, {shown} FROM procession_decimals_0 GROUP BY 1 ORDER BY 1"
    [plan] = run(engine, execution, f"EXPLAIN {sql}", given)
    assert "Python" not in plan["plan"] and "ArrowEval" not in plan["plan"]
    for group, found in enumerate(run(engine, execution, sql, given)):
        for i, (_, scale) in enumerate(TYPES):
            values = [v for r in given if int(r["n"] or 0) % 7 == group and (v := r[f"c{i}"]) is not None]
            with localcontext(EXACT):
                mean = (sum(values, Decimal(0)) / len(values)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
            assert Decimal(found[f"r{i}"]) == mean, (group, i)


def _quotient(a: Decimal | None, b: Decimal | None) -> Decimal | None:
    found = expected("/", a, b, Type("decimal", (38, 4)))
    assert not isinstance(found, str)
    return found


BRANCHES: dict[str, Callable[[Decimal | None, Decimal | None], Decimal | None]] = {
    "IF(c5 = 0, 7, c6 / c5)": lambda a, b: Decimal(7) if a == 0 else _quotient(b, a),
    "IF(c5 > 0, round(c6 / c5, 1) + 1, c6)": lambda a, b: b if a is None or a <= 0 else round_(_quotient(b, a)),
    "CASE WHEN c5 = 0 THEN 0 WHEN c6 < 0 THEN c6 / c5 + c6 % c5 END": lambda a, b: (
        Decimal(0) if a == 0 else None if a is None or b is None or b >= 0 else EXACT.add(_quotient(b, a) or 0, b % a)
    ),
    "CASE c5 WHEN 0 THEN c6 WHEN 1 THEN c6 / c5 ELSE c6 / (c5 - 1) END": lambda a, b: (
        b if a == 0 else _quotient(b, a) if a == 1 else _quotient(b, None if a is None else a - 1)
    ),
    "coalesce(c6 / nullif(c5, 0), 3)": lambda a, b: Decimal(3) if not a or b is None else _quotient(b, a),
}
_RULE = "spark.sql.optimizer.excludedRules"


def round_(value: Decimal | None) -> Decimal | None:
    return None if value is None else value.quantize(Decimal("0.1"), ROUND_HALF_UP) + 1


@pytest.mark.parametrize("by_python", [False, True])
def test_a_branch_is_computed_for_its_rows(engine: SparkEngine, execution: Any, by_python: bool) -> None:
    """By programs, too, as a Spark without our classes would."""
    values = [None, *(Decimal(n).scaleb(-4) for n in (0, 1, 10_000, -10_000, 25_000, -33_333, 99_999))]
    pairs = [(a, b) for a in values for b in values]
    given: list[Row] = [
        {"n": Decimal(n), **{f"c{i}": None for i in range(len(TYPES))}, "c5": a, "c6": b}
        for n, (a, b) in enumerate(pairs)
    ]
    shown = ", ".join(f"CAST({on_spark(text)} AS STRING) AS r{i}" for i, text in enumerate(BRANCHES))
    run(engine, execution, f"SET {_RULE}={'procession.spark.Programs' if by_python else ''}", given)
    try:
        [plan] = run(engine, execution, f"EXPLAIN SELECT {shown} FROM procession_decimals_0", given)
        assert ("ArrowEvalPython" in plan["plan"]) is by_python
        found = run(engine, execution, f"SELECT {shown} FROM procession_decimals_0 ORDER BY n", given)
    finally:
        run(engine, execution, f"SET {_RULE}=", given)
    for (a, b), row in zip(pairs, found, strict=True):
        for i, (text, value) in enumerate(BRANCHES.items()):
            mine = row[f"r{i}"]
            assert (mine if mine is None else Decimal(mine)) == value(a, b), (text, a, b)

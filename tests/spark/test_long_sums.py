"""Sums of decimals as sums of whole numbers: what Python's numbers give, by a plan without sums of decimals."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest

from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.spark.engine import SparkEngine
from shared.errors import ErrorCode, ProcessionError

pytestmark = [pytest.mark.spark, pytest.mark.slow]
EXACT = Context(prec=200)
TYPES = {"a": (5, 2), "c": (12, 2), "d": (15, 2), "e": (18, 6), "f": (18, 0), "w": (38, 2)}
Row = dict[str, Any]
_CHARGE = (
    "CAST(CAST(c * CAST(1 - a AS DECIMAL(6, 2)) AS DECIMAL(18, 4)) * CAST(1 + a AS DECIMAL(6, 2)) AS DECIMAL(24, 6))"
)
CASES: dict[str, Callable[[Row], Decimal]] = {
    "c": lambda r: r["c"],
    "e": lambda r: r["e"],
    "f": lambda r: r["f"],
    "c - a": lambda r: r["c"] - r["a"],
    "c * d": lambda r: r["c"] * r["d"],
    "f * e": lambda r: EXACT.multiply(r["f"], r["e"]),
    "d * (1 - c)": lambda r: r["d"] * (1 - r["c"]),
    _CHARGE: lambda r: r["c"] * (1 - r["a"]) * (1 + r["a"]),
    "CAST(l AS DECIMAL(19, 0)) * a": lambda r: r["l"] * r["a"],
    "CAST(c * d - e * a AS DECIMAL(38, 8))": lambda r: EXACT.subtract(r["c"] * r["d"], r["e"] * r["a"]),
    "CASE WHEN l > 0 THEN c * d ELSE 0 END": lambda r: r["c"] * r["d"] if r["l"] > 0 else Decimal(0),
    "if(l > 0, d, CAST(a AS DECIMAL(15, 2)))": lambda r: r["d"] if r["l"] > 0 else r["a"],
}
NOT_OURS: dict[str, Callable[[Row], Decimal]] = {"w": lambda r: r["w"]}
"""Too wide for whole numbers."""


def rows() -> list[Row]:
    """Of each size, and one with NULLs alone."""
    chosen, found = random.Random(7), []
    for i in range(400):
        row: Row = {"g": i % 23, "l": chosen.choice((1, -1, 2**63 - 1, -(2**63), chosen.randint(-99, 99)))}
        for name, (precision, scale) in TYPES.items():
            most = 10 ** min(precision, 30) - 1
            unscaled = chosen.choice((most, -most, 0, chosen.randint(-most, most), chosen.randint(-200, 200)))
            empty = i % 23 == 5 or chosen.random() < 0.1
            row[name] = None if empty else EXACT.scaleb(Decimal(unscaled), -scale)
        found.append(row)
    return found


def table(given: list[Row]) -> ArrowInput:
    kinds = {"g": pa.int64(), "l": pa.int64(), **{name: pa.decimal128(*digits) for name, digits in TYPES.items()}}
    arrays = {name: pa.array([row[name] for row in given], kind) for name, kind in kinds.items()}
    return ArrowInput("procession_sums_0", pa.table(arrays))


def summed(given: list[Row], value: Callable[[Row], Decimal]) -> Decimal | None:
    """What SQL says: rows whose value is NULL, as calculating with None is, add nothing."""
    total: Decimal | None = None
    for row in given:
        try:
            one: Decimal | None = value(row)
        except TypeError:
            one = None
        if one is not None:
            total = EXACT.add(total or Decimal(0), one)
    return total


def run(engine: SparkEngine, execution: Any, sql: str, given: list[Row]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.Table.from_batches(engine.run(sql, execution, (table(given),))).to_pylist()
    return found


def test_sums_are_exact(engine: SparkEngine, execution: Any) -> None:
    given = rows()
    texts = [*CASES, *NOT_OURS]
    sums = ", ".join(f"CAST(sum({text}) AS STRING) AS s{i}" for i, text in enumerate(texts))
    below = ", ".join(f"{text} AS v{i}" for i, text in enumerate(texts))
    apart = ", ".join(f"CAST(sum(v{i}) FILTER (WHERE l <> 1) AS STRING) AS s{i}" for i in range(len(texts)))
    direct = run(engine, execution, f"SELECT g, {sums} FROM procession_sums_0 GROUP BY g ORDER BY g", given)
    part = f"SELECT g, l, {below} FROM procession_sums_0"
    nested = run(
        engine, execution, f"SELECT g, count(DISTINCT l) AS n, {apart} FROM ({part}) GROUP BY g ORDER BY g", given
    )
    for group, (found, other) in enumerate(zip(direct, nested, strict=True)):
        mine = [row for row in given if row["g"] == group]
        for i, (text, value) in enumerate({**CASES, **NOT_OURS}.items()):
            for shown, those in ((found[f"s{i}"], mine), (other[f"s{i}"], [row for row in mine if row["l"] != 1])):
                assert (shown if shown is None else Decimal(shown)) == summed(those, value), (group, text)


def test_no_decimal_is_made_for_a_row(engine: SparkEngine, execution: Any) -> None:
    """Of one that is too wide Spark makes the sum."""
    for text in (*CASES, *NOT_OURS):
        [row] = run(engine, execution, f"EXPLAIN SELECT sum({text}) FROM procession_sums_0 GROUP BY g", rows()[:1])
        assert ("UnscaledValue" in next(iter(row.values()))) == (text in CASES), text
    many = ", ".join(f"sum(c * d + {i})" for i in range(40))
    [row] = run(engine, execution, f"EXPLAIN SELECT {many} FROM procession_sums_0", rows()[:1])
    assert "UnscaledValue" not in next(iter(row.values()))  # for so many columns Spark generates no code
    [row] = run(engine, execution, "SELECT sum(c), sum(c * d) FROM procession_sums_0 WHERE g < 0", rows()[:1])
    assert list(row.values()) == [None, None]


def test_products_that_have_too_many_digits_are_an_error(engine: SparkEngine, execution: Any) -> None:
    given = [dict.fromkeys(("g", "l"), 1) | {name: EXACT.scaleb(Decimal(10**17), -s) for name, (_, s) in TYPES.items()}]
    given[0] |= {"a": Decimal(1), "c": Decimal(1), "d": Decimal(1)}
    with pytest.raises(ProcessionError) as failed:
        run(engine, execution, "SELECT sum(f * f * f) FROM procession_sums_0", given)
    assert failed.value.code is ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE
    given[0]["f"] = Decimal(10**12)
    [row] = run(engine, execution, "SELECT CAST(sum(f * f * f) AS STRING) AS s FROM procession_sums_0", given)
    assert row["s"] == str(10**36)

"""``avg`` of decimals on both engines, beside Python's exact numbers: rounded half away from zero, without overflow."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Context, Decimal
from uuid import uuid4

import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ENGINES = ("EMBEDDED", "SPARK")
EXACT = Context(prec=200)
TYPES = ((3, 2), (12, 2), (15, 2), (18, 0), (18, 18), (19, 4), (28, 9), (29, 0), (38, 0), (38, 10), (38, 38))


def averaged(values: list[Decimal], scale: int) -> str | None:
    if not values:
        return None
    total = EXACT.divide(_sum(values), Decimal(len(values)))
    rounded = total.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    return f"{rounded or abs(rounded):f}"


def _sum(values: list[Decimal]) -> Decimal:
    total = Decimal(0)
    for value in values:
        total = EXACT.add(total, value)
    return total


def column(precision: int, scale: int, groups: list[int]) -> list[Decimal | None]:
    """Values of any size, the largest among them, and pairs whose average is in the middle of two results."""
    chosen = random.Random(precision * 100 + scale)
    most = 10**precision - 1
    whole: list[int | None] = []
    for group in groups:
        match group:
            case 0:
                whole.append(most)
            case 1:
                whole.append(-most if chosen.random() < 0.9 else None)
            case 2:
                whole.append(chosen.choice((28, 29, -28)))
            case _:
                whole.append(chosen.randint(-most, most) if group % 2 else chosen.randint(-99, 99))
    return [None if n is None else Decimal(n).scaleb(-scale, EXACT) for n in whole]


def test_averages_are_exact(whole_service: Service) -> None:
    name = f"averages_{uuid4().hex[:8]}"
    groups = [i % 40 for i in range(170)]
    columns = {f"d{p}_{s}": column(p, s, groups) for p, s in TYPES}
    kinds = {f"d{p}_{s}": pa.decimal128(p, s) for p, s in TYPES}
    arrays = {c: pa.array(v, kinds[c]) for c, v in columns.items()}
    whole_service.create(name, [pa.table({"g": pa.array(groups, pa.int32()), **arrays})])
    shown = ", ".join(f"avg({c}), avg(DISTINCT {c}), avg({c}) FILTER (WHERE g < 0), min(w{c})" for c in columns)
    windows = ", ".join(f"avg({c}) OVER (PARTITION BY g) AS w{c}" for c in columns)
    try:
        for engine in ENGINES:
            found = whole_service.execute(
                f"SELECT g, {shown} FROM (SELECT *, {windows} FROM iceberg.db.{name}) GROUP BY g ORDER BY g",
                session_properties={"engine": engine},
            )
            expected = []
            for group in range(40):
                row: list[object] = [group]
                for (_, scale), values in zip(TYPES, columns.values(), strict=True):
                    mine = [v for v, g in zip(values, groups, strict=True) if g == group and v is not None]
                    whole = averaged(mine, scale)
                    row += [whole, averaged(list(dict.fromkeys(mine)), scale), None, whole]
                expected.append(row)
            assert found == expected, engine
    finally:
        whole_service.lake().purge_table(f"db.{name}")


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_still_end_at_38_digits(whole_service: Service, engine: str) -> None:
    name = f"sums_{uuid4().hex[:8]}"
    whole_service.create(name, [pa.table({"a": pa.array([Decimal(10**38 - 1)] * 2, pa.decimal128(38, 0))})])
    try:
        with pytest.raises(prestodb.exceptions.PrestoUserError, match="Decimal overflow") as failed:
            whole_service.execute(f"SELECT sum(a) FROM iceberg.db.{name}", session_properties={"engine": engine})
        assert failed.value.error_name == "NUMERIC_VALUE_OUT_OF_RANGE"
    finally:
        whole_service.lake().purge_table(f"db.{name}")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_guarded_division_fails_for_no_row_that_takes_another_branch(whole_service: Service, engine: str) -> None:
    """As in TPC-DS q53. Spark has no exact division of so wide decimals, and computes programs before branches."""
    rows = "(VALUES (1, DECIMAL '6.00'), (2, DECIMAL '0.00'), (3, NULL)) AS t (k, d)"
    table = f"iceberg.db.guarded_{uuid4().hex[:8]}"
    whole_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    whole_service.execute(f"CREATE TABLE {table} AS SELECT k, CAST(d AS decimal(38, 2)) AS d FROM {rows}")
    asked = (
        "SELECT k, CASE WHEN d > 0 THEN CAST(k AS decimal(38, 2)) / d END, if(d = 0, NULL, 3 / d), "
        f"coalesce(CASE WHEN d = 0 THEN k END, k / d) FROM {table} ORDER BY k"
    )
    found = whole_service.execute(asked, session_properties={"engine": engine})
    assert found == [[1, "0.17", "0.50", "0.17"], [2, None, None, "2.00"], [3, None, None, None]]
    whole_service.execute(f"DROP TABLE {table}")

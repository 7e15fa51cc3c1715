"""Expressions over odd values of a stored table, on both engines, beside what Presto gives.

All of it went wrong once on one of them: random expressions, run on both, had found it.
"""

from __future__ import annotations

import prestodb
import pytest

from shared.errors import ErrorCode
from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = (
    "(1, nan(), 0e0, DECIMAL '999999999999.999999', DECIMAL '0.000415', 'abc', 2)",
    "(2, infinity(), -0e0, DECIMAL '-0.000415', DECIMAL '999999999999.999999', NULL, NULL)",
    "(3, -infinity(), -0e0, NULL, DECIMAL '0.000000', '', 1)",
    "(4, -0.5e0, 1e0, DECIMAL '0.000002', DECIMAL '0.000004', 'abc', NULL)",
    "(5, -1e20, NULL, DECIMAL '1.000000', NULL, 'a,b', 3000000000)",
    "(6, NULL, 0e0, DECIMAL '0.000000', DECIMAL '3.000000', '12', -1)",
)
"""``id, x, y, p, q, t, n``."""
DOUBLES = {
    "floor(x)": ["NaN", "Infinity", "-Infinity", -1.0, -1e20, None],
    "ceil(x)": ["NaN", "Infinity", "-Infinity", -0.0, -1e20, None],
    "truncate(x)": ["NaN", "Infinity", "-Infinity", -0.0, -1e20, None],
    "CAST(floor(CAST(x AS real)) AS double)": ["NaN", "Infinity", "-Infinity", -1.0, -1.0000000200408773e20, None],
    "x / y": ["NaN", "-Infinity", "Infinity", -0.5, None, None],
    "x % y": ["NaN", "NaN", "NaN", -0.5, None, None],
    "mod(x, y)": ["NaN", "NaN", "NaN", -0.5, None, None],
    "-1 / y": ["-Infinity", "Infinity", "Infinity", -1.0, None, "-Infinity"],
}
OTHERS = {
    "p / q": ["2409638554216867.467470", "0.000000", None, "0.500000", None, "0.000000"],
    "CAST(p AS decimal(38,4)) / CAST(q + 1 AS decimal(38,4))": [
        *("999600159936.0256", "0.0000", None, "0.0000", None, "0.0000"),
    ],
    "CAST(p * 1000000 AS decimal(30,0)) / 1000000000": ["1000000000", "0", None, "0", "0", "0"],
    "IF(q = 0, 7, p / q)": ["2409638554216867.467470", "0.000000", "7.000000", "0.500000", None, "0.000000"],
    "round(coalesce(p / nullif(q, 0), -1), 1)": [
        *("2409638554216867.500000", "0.000000", "-1.000000", "0.500000", "-1.000000", "0.000000"),
    ],
    "substr(t, 1, n)": ["ab", None, "", None, "a,b", ""],
    "substr(t, -9, n)": ["", None, "", None, "", ""],
    "substr(t, n)": ["bc", None, "", None, "", "2"],
    "t LIKE '%a%b%'": [True, None, False, True, True, False],
    "count_if(CAST(p AS boolean)) OVER ()": [4] * 6,
    "json_extract_scalar(IF(t = 'abc', 'null', '\"x\"'), '$')": [None, "x", "x", None, "x", "x"],
    "is_nan(x)": [True, False, False, False, False, None],
    "to_hex(CAST(empty_approx_set() AS varbinary))": ["020C0000"] * 6,
    "cardinality(merge(create_hll(id)) OVER ())": [6] * 6,
    "IF(id = 1, array_remove(ARRAY[ARRAY[id]], IF(id > 1, ARRAY[NULL], ARRAY[id])), ARRAY[])": [[], *[[]] * 5],
    "filter(ARRAY[id, 7], v -> v = TRY(ARRAY[id, 7][2]))": [[7]] * 6,
    "CAST(n > 2 AS boolean) OR CAST(q AS boolean)": [True, True, False, True, True, True],
    "last_day_of_month(DATE '9999-12-01' + INTERVAL '1' DAY * coalesce(length(t), 0))": ["9999-12-31"] * 6,
}


@pytest.fixture(scope="module")
def table(service: Service) -> str:
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.odd_values")
    service.execute(
        f"CREATE TABLE iceberg.odd_values.t AS SELECT * FROM (VALUES {', '.join(ROWS)}) AS v (id, x, y, p, q, t, n)"
    )
    return "iceberg.odd_values.t"


@pytest.mark.parametrize("engine", ["EMBEDDED", "SPARK"])
@pytest.mark.parametrize("expected", [DOUBLES, OTHERS])
def test_values(service: Service, table: str, engine: str, expected: dict[str, list[object]]) -> None:
    sql = f"SELECT {', '.join(expected)} FROM {table} ORDER BY id"
    found = service.execute(sql, session_properties={"engine": engine})
    for (text, values), mine in zip(expected.items(), zip(*found, strict=True), strict=True):
        # As texts: zeros have signs, and NaN is not itself.
        shown = [{"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(v), str(v)) for v in mine]
        assert shown == [str(v) for v in values], text


@pytest.mark.parametrize("engine", ["EMBEDDED", "SPARK"])
def test_wide_averages(service: Service, table: str, engine: str) -> None:
    """Sums of more than 38 digits, and of whole numbers that a bigint does not hold."""
    most = "DECIMAL '99999999999999999999999999999999999999'"
    averages = f"avg({most} - id), avg(DISTINCT CAST(p AS decimal(30,6)))"
    sql = f"SELECT {averages}, count(*) FROM {table}, UNNEST(sequence(1, 9)) AS s(k)"
    found = service.execute(sql, session_properties={"engine": engine})
    assert found == [["99999999999999999999999999999999999996", "200000000000.199917", 54]]


@pytest.mark.parametrize("engine", ["EMBEDDED", "SPARK"])
def test_bytes_among_bytes_and_null(service: Service, table: str, engine: str) -> None:
    service.execute("CREATE TABLE IF NOT EXISTS iceberg.odd_values.bytes (id bigint, w varbinary)")
    service.execute("DELETE FROM iceberg.odd_values.bytes")
    service.execute("INSERT INTO iceberg.odd_values.bytes VALUES (1, X'00'), (2, X'61'), (3, NULL)")
    for condition, ids in {
        "w IN (NULL, X'00')": [[1]],
        "w NOT IN (NULL, X'00')": [],
        "NOT w IN (X'00')": [[2]],
        "w IN (CAST(NULL AS varbinary), NULL) OR id = 3": [[3]],
    }.items():
        sql = f"SELECT id FROM iceberg.odd_values.bytes WHERE {condition} ORDER BY id"
        assert service.execute(sql, session_properties={"engine": engine}) == ids, condition


@pytest.mark.parametrize("engine", ["EMBEDDED", "SPARK"])
@pytest.mark.parametrize(
    ("expression", "code", "said"),
    [
        ("CAST(x AS decimal(38,10))", ErrorCode.INVALID_CAST_ARGUMENT, "Cannot cast DOUBLE 'NaN' to DECIMAL(38, 10)"),
        ("p / (q - q)", ErrorCode.DIVISION_BY_ZERO, "Division by zero"),
        ("mod(p, q - q)", ErrorCode.DIVISION_BY_ZERO, "Division by zero"),
        (
            "CAST(100 + id AS tinyint) + CAST(100 AS tinyint)",
            ErrorCode.NUMERIC_VALUE_OUT_OF_RANGE,
            "tinyint addition overflow: 101 + 100",
        ),
    ],
)
def test_errors(service: Service, table: str, engine: str, expression: str, code: ErrorCode, said: str) -> None:
    with pytest.raises(prestodb.exceptions.PrestoQueryError) as failed:
        service.execute(f"SELECT {expression} FROM {table} WHERE id = 1", session_properties={"engine": engine})
    assert (failed.value.error_name, failed.value.message) == (code.name, said)


@pytest.mark.parametrize("engine", ["EMBEDDED", "SPARK"])
def test_seconds_of_a_time_in_the_zone_of_the_session(service: Service, table: str, engine: str) -> None:
    moment = "TIMESTAMP '2024-07-01 00:00:00' + INTERVAL '1' DAY * id"
    sql = f"SELECT to_unixtime({moment}) FROM {table} WHERE id < 3 ORDER BY 1"
    for zone, hours in (("UTC", 0), ("Europe/Berlin", 2), ("America/New_York", -4)):
        found = service.execute(sql, session_properties={"engine": engine}, http_headers={"X-Presto-Time-Zone": zone})
        assert found == [[float(1719792000 + 86400 * day - 3600 * hours)] for day in (1, 2)], zone

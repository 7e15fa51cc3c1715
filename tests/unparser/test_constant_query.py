"""Queries over constants alone: rows as Python's values, Presto's errors, and what is left to an engine."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pytest

from coordinator.connectors.registry import Catalogs
from coordinator.optimizer.optimize import optimize
from coordinator.planner.query import plan_query
from coordinator.sql.parse_statement import parse_statement
from coordinator.sql.tree.queries import Query
from coordinator.unparser.constant_query import MAX_ROWS, constant_rows
from shared.errors import ProcessionError
from shared.spi.session import Session


def _rows(sql: str) -> tuple[tuple[object, ...], ...] | None:
    session = Session(user="me")
    tree = parse_statement(sql)
    assert isinstance(tree, Query)
    root, _ = optimize(plan_query(tree, session, Catalogs([])).root, session)
    found = constant_rows(root)
    return None if found is None else tuple(tuple(row) for row in found.rows)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("NULL", None),
        ("true AND NULL", None),
        ("false AND NULL", False),
        ("1.50", Decimal("1.50")),
        ("-0.00", Decimal("0.00")),
        ("CAST('12345678901234567890.123' AS decimal(38,3))", Decimal("12345678901234567890.123")),
        ("REAL '1.5'", 1.5),
        ("-infinity()", float("-inf")),
        ("'it''s'", "it's"),
        ("CAST('a' AS char(3))", "a"),
        ("X'00ff'", b"\x00\xff"),
        ("JSON '{\"a\": [1]}'", '{"a":[1]}'),
        ("DATE '2024-02-29'", date(2024, 2, 29)),
        ("TIMESTAMP '9999-12-31 23:59:59.999'", datetime(9999, 12, 31, 23, 59, 59, 999_000)),
        ("TIMESTAMP '2024-02-29 10:20:30 Asia/Tokyo'", "2024-02-29 10:20:30.000 Asia/Tokyo"),
        ("TIME '01:02:03.004'", time(1, 2, 3, 4000)),
        ("TIME '01:02:03 +05:30'", "01:02:03.000 +05:30"),
        ("INTERVAL '2' DAY - INTERVAL '1' SECOND", timedelta(days=2, seconds=-1)),
        ("INTERVAL '3' MONTH", 3),
        ("UUID '12151fd2-7586-11e9-8f9e-2a86e4085a59'", "12151fd2-7586-11e9-8f9e-2a86e4085a59"),
        ("IPADDRESS '10.0.0.1'", "10.0.0.1"),
        ("ARRAY[1, NULL]", [1, None]),
        ("ARRAY[ROW(DATE '2024-01-01', NULL)]", [(date(2024, 1, 1), None)]),
        ("MAP(ARRAY['a', 'b'], ARRAY[ROW(1.5), NULL])", [("a", (Decimal("1.5"),)), ("b", None)]),
        (
            "CAST(ARRAY[TIMESTAMP '2024-01-01 00:00:00 Asia/Tokyo'] AS array(timestamp with time zone))",
            ["2024-01-01 00:00:00.000 Asia/Tokyo"],
        ),
        ("TRY(1 / 0)", None),
        ("IF(true, 1, 1 / 0)", 1),
        ("coalesce(NULL, 2, 1 / 0)", 2),
        ("current_user", "me"),
        ("now() = now()", True),
        ("reduce(ARRAY[1, 2], 0, (a, b) -> a + b, a -> a * 10)", 30),
        ("reduce(ARRAY[1, 2], NULL, (a, b) -> coalesce(a, 0) + b, a -> a)", 3),
        ("transform(ARRAY[1, 2], x -> transform(ARRAY[x], y -> x + y))", [[2], [4]]),
    ],
)
def test_values(text: str, value: object) -> None:
    """As a literal, and as a column of VALUES."""
    assert _rows(f"SELECT {text}") == ((value,),)
    assert _rows(f"SELECT x, x FROM (VALUES ({text})) t(x)") == ((value, value),)
    assert _rows(f"SELECT {text} FROM (VALUES 1, 2)") == ((value,), (value,))


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1 WHERE false", ()),
        ("SELECT x FROM (VALUES 1, 2, NULL) t(x) WHERE x > 1", ((2,),)),
        ("SELECT x FROM (VALUES 1, NULL) t(x) WHERE x <> 7", ((1,),)),
        ("SELECT x + 1 FROM (SELECT x * 2 AS x FROM (VALUES 1, 2, 3) t(x)) LIMIT 2", ((3,), (5,))),
        ("VALUES (1, 'a'), (2, NULL)", ((1, "a"), (2, None))),
        ("SELECT x FROM (SELECT x FROM (VALUES 1, 2, 3) t(x) LIMIT 2) WHERE x > 1", ((2,),)),
    ],
)
def test_rows(sql: str, rows: object) -> None:
    assert _rows(sql) == rows


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM (VALUES 1)",
        "SELECT x FROM (VALUES 2, 1) t(x) ORDER BY x",
        "SELECT 1 FROM (VALUES 1) t(x) CROSS JOIN (VALUES 2) u(y)",
        "SELECT rand() < 2",
        "SELECT row_number() OVER () FROM (VALUES 1)",
        "SELECT x FROM UNNEST(ARRAY[1]) t(x)",
        f"SELECT x FROM (VALUES {', '.join(map(str, range(MAX_ROWS + 1)))}) t(x)",
    ],
)
def test_what_an_engine_answers(sql: str) -> None:
    assert _rows(sql) is None


def test_what_doubles_is_left_to_an_engine() -> None:
    """Each projection uses twice what the one before computed."""
    sql = "SELECT 1 AS x FROM (VALUES 1) t(y) WHERE y > 0"
    for _ in range(14):
        sql = f"SELECT x + x % (rank + 1) AS x FROM (SELECT x, x AS rank FROM ({sql}))"
    assert _rows(sql) is None


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT 1 / 0", "DIVISION_BY_ZERO: / by zero"),
        ("SELECT x FROM (VALUES 1, 2) t(x) WHERE 1 / (x - 2) > 0", "DIVISION_BY_ZERO: / by zero"),
        ("SELECT CAST(x AS integer) FROM (VALUES 'a') t(x)", "INVALID_CAST_ARGUMENT: Cannot cast 'a' to INT"),
        (
            "SELECT CAST(99999999999 AS bigint) * 99999999999",
            "NUMERIC_VALUE_OUT_OF_RANGE: bigint multiplication overflow: 99999999999 * 99999999999",
        ),
    ],
)
def test_errors(sql: str, error: str) -> None:
    with pytest.raises(ProcessionError) as failed:
        _rows(sql)
    assert f"{failed.value.code.name}: {failed.value.message}" == error

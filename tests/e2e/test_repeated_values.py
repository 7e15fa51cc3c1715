"""Values that the SQL of an engine would name several times: twelve calls within each other, and values by chance."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ENGINES = ["EMBEDDED", "SPARK"]
ROWS = "(1, -1.5e0, 'Ab'), (2, 2.345e0, 'CD'), (3, 1e20, NULL), (4, NULL, 'äÖ')"
"""``id, x, t``."""


def nested(pattern: str, innermost: str) -> str:
    for _ in range(12):
        innermost = pattern.replace("{}", innermost)
    return innermost


NESTED = {
    nested("floor({})", "x"): [-2.0, 2.0, 1e20, None],
    nested("ceil({})", "x"): [-1.0, 3.0, 1e20, None],
    nested("truncate({})", "x"): [-1.0, 2.0, 1e20, None],
    nested("round({}, 2)", "x"): [-1.5, 2.35, 1e20, None],
    nested("{} / 2e0", "x"): [-1.5 / 4096, 2.345 / 4096, 1e20 / 4096, None],
    nested("1e0 / ({})", "id"): [1.0, 2.0, 3.0, 4.0],
    nested("lower({})", "t"): ["ab", "cd", None, "äö"],
    nested("upper(lower({}))", "t"): ["AB", "CD", None, "ÄÖ"],
    nested("substr({}, 1, id)", "t"): ["A", "CD", None, "äÖ"],
    nested("greatest({}, 2)", "id"): [2, 2, 3, 4],
    nested("CASE {} WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE 5 END", "id"): [1, 2, 5, 5],
    nested("nullif({}, 3)", "id"): [1, 2, None, 4],
    nested("transform({}, e -> floor(e))", "ARRAY[x]"): [[-2.0], [2.0], [1e20], [None]],
    f"transform(ARRAY[x], e -> {nested('floor({})', 'e')})": [[-2.0], [2.0], [1e20], [None]],
    f"IF({nested('lower({})', 't')} = 'cd', 1 / (id - 1), {nested('floor({})', 'x')})": [-2.0, 1.0, 1e20, None],
    f"coalesce(TRY({nested('1 / ({})', 'id - 1')}), -1)": [-1, 1, -1, -1],
}
"""Without repeated text: of four copies by level there would be 16 million."""
BY_CHANCE = [
    "CASE floor(rand() * 2) WHEN 0e0 THEN true WHEN 1e0 THEN true ELSE false END",
    "coalesce(nullif(floor(rand() * 2), 0), 1) = 1",
    "CASE abs(random(2)) WHEN 0 THEN true WHEN 1 THEN true ELSE false END",
    "CASE reverse(CAST(random(2) AS varchar)) WHEN '0' THEN true WHEN '1' THEN true ELSE false END",
    "floor(rand() * 2) IN (0, 1)",
    "CAST(floor(rand() * 2) AS bigint) NOT IN (2, 3) AND random(2) IN (0, 1)",
    "CASE ARRAY[random(2)] WHEN ARRAY[0] THEN 1 WHEN ARRAY[1] THEN 2 ELSE 3 END < 3",
    "IF(id > 1, CASE random(2) WHEN 0 THEN 1 WHEN 1 THEN 2 ELSE 3 END, 1) < 3",
]
"""True for each value that chance may give, and false for some where it is asked twice."""
CLOCKS = {
    "x IN (TIME '00:00+00:00', TIME '05:00+00:00')": [True, False],
    "x IS DISTINCT FROM TIME '00:00+00:00'": [False, True],
    "nullif(x, TIME '00:00+00:00') IS NULL": [True, False],
    "CASE x WHEN TIME '00:00+00:00' THEN 1 WHEN TIME '03:00+01:00' THEN 2 END": [1, 2],
}


def doubled(depth: int) -> str:
    """Subqueries that each name the column of the one below twice."""
    query = "SELECT id AS x FROM {table}"
    for number in range(depth):
        query = f"SELECT x % 7 + x % 5 AS x FROM ({query}) s{number}"
    return query


LARGE = {
    f"SELECT x FROM ({doubled(20)}) WHERE x > 2 AND x < 100 ORDER BY x": [[4], [4], [4], [8]],
    f"SELECT max({'+'.join(['id'] * 700)}) FROM {{table}}": [[2800]],
    f"SELECT max(length({'||'.join(['t'] * 700)})) FROM {{table}}": [[1400]],
    f"SELECT count(*) FROM {{table}} WHERE {' AND '.join(f'id <> {n} * 2 + x' for n in range(900))}": [[3]],
}
"""Spark's server ended over the first and the last: no memory, no stack. Both engines refused the others."""


@pytest.fixture(scope="module")
def table(service: Service) -> Iterator[str]:
    service.execute("CREATE SCHEMA iceberg.repeated")
    columns = "CAST(id AS bigint) AS id, x, t"
    service.execute(f"CREATE TABLE iceberg.repeated.t AS SELECT {columns} FROM (VALUES {ROWS}) v (id, x, t)")
    yield "iceberg.repeated.t"
    service.execute("DROP TABLE iceberg.repeated.t")
    service.execute("DROP SCHEMA iceberg.repeated")


@pytest.mark.parametrize("engine", ENGINES)
def test_nested_calls(service: Service, table: str, engine: str) -> None:
    session = {"engine": engine}
    found = service.execute(f"SELECT {', '.join(NESTED)} FROM {table} ORDER BY id", session_properties=session)
    for expression, values, expected in zip(NESTED, zip(*found, strict=True), NESTED.values(), strict=True):
        assert list(values) == expected, expression[:100]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sql", LARGE)
def test_large_statements(service: Service, table: str, engine: str, sql: str) -> None:
    found = service.execute(sql.replace("{table}", table), session_properties={"engine": engine})
    assert found == LARGE[sql]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("expression", BY_CHANCE)
def test_chance_is_asked_once(service: Service, table: str, engine: str, expression: str) -> None:
    sql = f"SELECT bool_and({expression}) FROM {table} CROSS JOIN UNNEST(sequence(1, 100))"
    assert service.execute(sql, session_properties={"engine": engine}) == [[True]]


@pytest.mark.parametrize("engine", ENGINES)
def test_chance_among_the_pairs_of_a_join(service: Service, table: str, engine: str) -> None:
    """Spark refuses it in the condition of a join."""
    joins = (
        f"{table} a JOIN {table} b ON a.id = b.id AND rand() < 2 JOIN {table} c ON c.id >= b.id AND a.id + rand() < 2"
    )
    sql = f"SELECT a.id, c.t FROM {joins} ORDER BY c.id"
    assert service.execute(sql, session_properties={"engine": engine}) == [[1, "Ab"], [1, "CD"], [1, None], [1, "äÖ"]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("expression", CLOCKS)
def test_clocks_with_zones(service: Service, table: str, engine: str, expression: str) -> None:
    times = f"SELECT id, IF(id = 1, TIME '01:00+01:00', TIME '02:00+00:00') AS x FROM {table} WHERE id < 3"
    sql = f"SELECT {expression} FROM ({times}) ORDER BY id"
    assert [v for (v,) in service.execute(sql, session_properties={"engine": engine})] == CLOCKS[expression]

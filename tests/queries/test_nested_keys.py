# ruff: noqa: E501
# A table: a statement and its rows read better beside each other.
"""Joins, IN and aggregates over arrays, rows and maps on both engines, as Presto answers them (its JoinCompiler and
HashSemiJoinOperator: joins refuse NULLs inside what they compare, IN takes them for equal).
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import prestodb
import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ENGINES = ("EMBEDDED", "SPARK")
NONE_OR_ALL = [
    ("SELECT k, a IN (SELECT a FROM {t} WHERE k < 3) FROM {t}", [[1, True], [2, True], [3, None], [4, False], [5, False]]),
    ("SELECT k, x IN (SELECT x FROM {t}) FROM {t}", [[1, True], [2, True], [3, None], [4, True], [5, True]]),
    ("SELECT k, x IN (SELECT x FROM {t} WHERE x = 1) FROM {t}", [[1, True], [2, False], [3, None], [4, False], [5, False]]),
    ("SELECT k, x IN (SELECT x FROM {t} WHERE x > 99) FROM {t}", [[k, False] for k in range(1, 6)]),
    ("SELECT k, x NOT IN (SELECT x FROM {t} WHERE k = 3 OR k = 1) FROM {t}", [[1, False], *([k, None] for k in range(2, 6))]),
    ("SELECT k, count(*) FROM {t} WHERE (x IN (SELECT x FROM {t} WHERE x = 1)) IS NULL GROUP BY k", [[3, 1]]),
    ("SELECT k, k FROM {t} WHERE k = 1 OR x IN (SELECT x FROM {t} WHERE x = 2)", [[1, 1], [2, 2]]),
    ("SELECT k, k FROM {t} WHERE k = 3 OR x NOT IN (SELECT x FROM {t} WHERE x IS NULL OR x = 2)", [[3, 3]]),
    ("SELECT k, k FROM {t} WHERE k = 3 OR x NOT IN (SELECT x FROM {t} WHERE x = 2)", [[1, 1], [3, 3], [4, 4], [5, 5]]),
    ("SELECT k, IF(x IN (SELECT x FROM {t} WHERE x = 1), 'y', 'n') FROM {t} WHERE k < 4", [[1, "y"], [2, "n"], [3, "n"]]),
    ("SELECT k, x = ANY (SELECT x FROM {t}) FROM {t} WHERE k > 2", [[3, None], [4, True], [5, True]]),
    ("SELECT x.k, y.k FROM {t} x JOIN {t} y ON x.a = y.a WHERE x.k > 1 AND y.k > 1 AND x.k <> 4", [[2, 2], [5, 5]]),
    ("SELECT x.k, y.k FROM (SELECT * FROM {t} WHERE k < 3) x JOIN (SELECT * FROM {t} WHERE k <> 1) y ON x.a = y.a", [[2, 2]]),
    ("SELECT x.k, y.k FROM (SELECT * FROM {t} WHERE k < 3) x LEFT JOIN (SELECT * FROM {t} WHERE k <> 1) y ON x.r = y.r", [[1, None], [2, 2]]),
    ("SELECT x.k, y.k FROM (SELECT * FROM {t} WHERE k = 1) x FULL JOIN (SELECT * FROM {t} WHERE k = 2) y ON x.m = y.m", [[1, None], [None, 2]]),
    ("SELECT x.k, y.k FROM {t} x JOIN {t} y ON ARRAY[x.m] = ARRAY[y.m] WHERE x.k IN (2, 5)", [[2, 2], [2, 5], [5, 2], [5, 5]]),
    ("SELECT k, k FROM {t} u WHERE EXISTS (SELECT 1 FROM {t} y WHERE u.r = y.r AND y.k IN (2, 5))", [[2, 2], [5, 5]]),
    ("SELECT x.k, y.k FROM {t} x JOIN {t} y ON x.m IS NOT DISTINCT FROM y.m WHERE x.k <= y.k", [[1, 1], [2, 2], [2, 5], [3, 3], [4, 4], [5, 5]]),
    ("SELECT 0, cardinality(array_agg(DISTINCT m)) FROM {t}", [[0, 4]]),
    ("SELECT 0, cardinality(array_agg(DISTINCT ARRAY[m]) FILTER (WHERE k > 1)) FROM {t}", [[0, 3]]),
    ("SELECT 0, cardinality(set_agg(m)) FROM {t}", [[0, 4]]),
    ("SELECT k, cardinality(set_agg(m) OVER (ORDER BY k)) FROM {t}", [[1, 1], [2, 2], [3, 3], [4, 4], [5, 4]]),
    ("SELECT k, array_distinct(ARRAY[m, MAP(ARRAY['b', 'a'], ARRAY[2, 1])]) = ARRAY[m] FROM {t} WHERE k IN (2, 5)", [[2, True], [5, True]]),
    ("SELECT k, cardinality(array_union(ARRAY[m], ARRAY[MAP(ARRAY['b', 'a'], ARRAY[2, 1])])) FROM {t}", [[1, 2], [2, 1], [3, 2], [4, 2], [5, 1]]),
    ("SELECT k, cardinality(array_intersect(ARRAY[m], ARRAY[MAP(ARRAY['b', 'a'], ARRAY[2, 1])])) FROM {t}", [[1, 0], [2, 1], [3, 0], [4, 0], [5, 1]]),
    ("SELECT k, cardinality(array_except(ARRAY[m], ARRAY[MAP(ARRAY['b', 'a'], ARRAY[2, 1])])) FROM {t}", [[1, 1], [2, 0], [3, 1], [4, 1], [5, 0]]),
    ("SELECT k, array_except(ARRAY[m], ARRAY[MAP(ARRAY['b', 'a'], ARRAY[2, 1])]) = ARRAY[] FROM {t} WHERE k = 2", [[2, True]]),
    ("SELECT k, arrays_overlap(ARRAY[m], ARRAY[MAP(ARRAY['b', 'a'], ARRAY[2, 1])]) FROM {t} WHERE k = 5", [[5, True]]),
]  # fmt: skip
REFUSED = [
    ("SELECT 1 FROM {t} x JOIN {t} y ON x.a = y.a", "ARRAY comparison not supported for arrays with null elements"),
    ("SELECT 1 FROM {t} x LEFT JOIN {t} y ON x.r = y.r", "ROW comparison not supported for fields with null elements"),
    ("SELECT 1 FROM {t} x RIGHT JOIN {t} y ON x.m = y.m", "MAP comparison not supported for null value elements"),
    ("SELECT 1 FROM {t} x FULL JOIN {t} y USING (a)", "ARRAY comparison not supported for arrays with null elements"),
    (
        "SELECT 1 FROM {t} x JOIN {t} y ON ROW(x.k, x.a) = ROW(y.k, y.a) WHERE x.k = 1",
        "ARRAY comparison not supported for arrays with null elements",
    ),
    (
        "SELECT 1 FROM {t} u WHERE NOT EXISTS (SELECT 1 FROM {t} y WHERE u.r = y.r)",
        "ROW comparison not supported for fields with null elements",
    ),
]


@pytest.fixture(scope="module")
def table(whole_service: Service) -> Iterator[str]:
    name = f"iceberg.db.nested_keys_{uuid4().hex[:8]}"
    whole_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    whole_service.execute(
        f"""CREATE TABLE {name} AS SELECT k, x, a, CAST(r AS row(p integer, q integer)) r, m FROM (VALUES
        (1, 1, ARRAY[1, NULL], ROW(1, NULL), MAP(ARRAY['a'], ARRAY[CAST(NULL AS integer)])),
        (2, 2, ARRAY[1, 2], ROW(1, 2), MAP(ARRAY['a', 'b'], ARRAY[1, 2])),
        (3, NULL, NULL, NULL, NULL),
        (4, 4, ARRAY[2, NULL], ROW(2, NULL), MAP(ARRAY['b'], ARRAY[CAST(NULL AS integer)])),
        (5, 5, ARRAY[5], ROW(5, 5), MAP(ARRAY['b', 'a'], ARRAY[2, 1]))) AS v(k, x, a, r, m)"""
    )
    yield name
    whole_service.execute(f"DROP TABLE {name}")


@pytest.mark.parametrize("engine", ENGINES)
def test_answers(whole_service: Service, table: str, engine: str) -> None:
    properties = {"engine": engine}
    found = [
        whole_service.execute(text.format(t=table) + " ORDER BY 1, 2", session_properties=properties)
        for text, _ in NONE_OR_ALL
    ]
    different = [
        (text, rows, wanted) for (text, wanted), rows in zip(NONE_OR_ALL, found, strict=True) if rows != wanted
    ]
    assert different == []


@pytest.mark.parametrize("engine", ENGINES)
def test_refusals(whole_service: Service, table: str, engine: str) -> None:
    for text, message in REFUSED:
        with pytest.raises(prestodb.exceptions.PrestoUserError) as failed:
            whole_service.execute(text.format(t=table), session_properties={"engine": engine})
        assert (failed.value.error_name, failed.value.message) == ("NOT_SUPPORTED", message), text


@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_that_are_all_empty_reach_the_client(whole_service: Service, engine: str) -> None:
    """Of arrays of maps and of texts Spark sends no offsets, which ended the coordinator."""
    name = f"iceberg.db.empty_{uuid4().hex[:8]}"
    whole_service.execute(
        f"""CREATE TABLE {name} AS SELECT 1 AS k, CAST(ARRAY[] AS array(map(varchar, integer))) AS m,
        CAST(ARRAY[] AS array(array(varchar))) AS a, CAST(ARRAY[] AS array(row(x varchar, y array(varchar)))) AS r"""
    )
    try:
        for text in ("SELECT * FROM {t}", "SELECT k, array_distinct(m), array_distinct(a), reverse(r) FROM {t}"):
            found = whole_service.execute(text.format(t=name), session_properties={"engine": engine})
            assert found == [[1, [], [], []]]
    finally:
        whole_service.execute(f"DROP TABLE {name}")

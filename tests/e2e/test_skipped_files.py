"""Files and partitions that a condition skips hold no row that it wants, on both engines: each value has its own file.

The oracle are the same values in VALUES, where nothing is skipped. All of it went wrong once: Iceberg takes the two
zeros for two numbers and NULL for a value, numbers that it truncates wrap, and PyIceberg reads doubles as floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@dataclass(frozen=True)
class Case:
    values: tuple[str, ...]
    conditions: tuple[str, ...]
    layouts: tuple[str, ...] = ("id", "p")


NUMBERS = ("0.1", "-0.0", "0.0", "1.5", "-1.5")
OF_NUMBERS = (
    "p = 0.1", "p > 0.1", "p = -0.0", "p = 0.0", "p >= 0.0", "p <= -0.0", "p < 0.0", "p > -0.0", "p <> 0.0",
    "NOT p = -0.0", "p IN (0.0, 1.5)", "p NOT IN (-0.0, 1.5)", "p BETWEEN 0.0 AND 1.5",
    "NOT p BETWEEN -1.5 AND 0.0", "p = nan()", "p > 1.0 OR p < -1.0", "NOT (p < 1.0)", "p IS DISTINCT FROM 0.0",
    "p = infinity()", "p <= -infinity()", "p IS NULL OR p > 1", "p BETWEEN -0.0 AND nan()",
)  # fmt: skip
OF_REALS = (
    *(f"p {symbol} REAL '{n}'" for symbol in ("=", "<=", ">=", "<>") for n in ("0.1", "-0.0", "Infinity", "-Infinity")),
    "p IN (REAL 'Infinity', REAL '0.0')", "p <> REAL '0.1' OR p < REAL '0'",
)  # fmt: skip
OF_TEXTS = (
    "p IN ('a', 'b')", "p NOT IN ('a', 'b')", "p <> '' OR p <> 'a'", "p NOT IN ('a') OR p = 'a'",
    "p >= 'a' OR p IS NULL", "p NOT IN ('a', 'b') OR p IS NULL", "(p IN ('a', '') AND p <= 'b') OR id <> 1",
    "NOT (p NOT IN ('a', 'b') OR id > 2)",
)  # fmt: skip
OF_DATES = (
    "p > DATE '9999-12-31'", "p < DATE '0001-01-01'", "p < DATE '9999-12-31'",
    "p >= DATE '1970-01-01' OR p IS NULL",
)  # fmt: skip
OF_BOOLEANS = ("p <> true OR p < true", "NOT (p AND NOT p)", "p IS DISTINCT FROM true", "NOT p")
CASES = {
    "double": Case((*(f"DOUBLE '{n}'" for n in NUMBERS), "nan()", "infinity()", "-infinity()"), OF_NUMBERS),
    "real": Case((*(f"REAL '{n}'" for n in (*NUMBERS, "NaN", "Infinity", "-Infinity")),), OF_REALS),
    "boolean": Case(("true", "false"), OF_BOOLEANS),
    "varchar": Case(("''", "'a'", "'ab'", "chr(0)"), OF_TEXTS, ("id", "p", "truncate(p, 1)")),
    "integer": Case(
        ("0", "100", "-2147483648", "2147483647"),
        ("p <> 0 OR p <> 100", "NOT (p = 0 AND p = 100)", "p IN (0, 1)", "p <> 1 OR p = 2"),
    ),
    "date": Case(("DATE '1969-12-31'", "DATE '9999-12-31'", "DATE '0001-01-01'"), OF_DATES, ("year(p)", "month(p)")),
    "time": Case(("TIME '23:59:59.999'", "TIME '12:00:00.000'"), ("p = TIME '12:00:00.000'",), ("bucket(p, 4)",)),
}


def asked(relation: str, conditions: tuple[str, ...]) -> str:
    """Which rows each condition finds."""
    each = (f"SELECT {i} AS which, id FROM {relation} WHERE {c}" for i, c in enumerate(conditions))
    return " UNION ALL ".join(each) + " ORDER BY 1, 2"


@pytest.mark.parametrize("type_", CASES)
def test_what_is_skipped_has_no_wanted_row(service: Service, type_: str) -> None:
    case = CASES[type_]
    listed = ", ".join(f"({i}, CAST({value} AS {type_}))" for i, value in enumerate([*case.values, "NULL"]))
    expected = service.execute(asked(f"(VALUES {listed}) v(id, p)", case.conditions))
    for number, layout in enumerate(case.layouts):
        name = f"iceberg.skipped.{type_}_{number}"
        service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.skipped")
        service.execute(f"CREATE TABLE {name} (id bigint, p {type_}) WITH (partitioning = ARRAY['{layout}'])")
        service.execute(f"INSERT INTO {name} VALUES {listed}")
        for engine in ("EMBEDDED", "SPARK"):
            found = service.execute(asked(name, case.conditions), session_properties={"engine": engine})
            assert found == expected, (layout, engine)


def test_truncated_numbers_that_wrap(service: Service) -> None:
    """Not on Spark, whose Iceberg compares what it truncated below the least number with what it did not."""
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.skipped")
    service.execute("CREATE TABLE iceberg.skipped.wrapped (p bigint) WITH (partitioning = ARRAY['truncate(p, 10)'])")
    service.execute("INSERT INTO iceberg.skipped.wrapped VALUES 0, -9223372036854775808, 9223372036854775807")
    for condition, count in {"p < 5": 2, "p = -9223372036854775808": 1, "p > 5": 1}.items():
        found = service.execute(
            f"SELECT count(*) FROM iceberg.skipped.wrapped WHERE {condition}", session_properties={"engine": "EMBEDDED"}
        )
        assert found == [[count]], condition


def test_the_two_zeros_are_written_once(service: Service) -> None:
    """PyIceberg finds the rows of a partition by comparing."""
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.skipped")
    service.execute("CREATE TABLE iceberg.skipped.zeros (id bigint, p double) WITH (partitioning = ARRAY['p'])")
    service.execute("INSERT INTO iceberg.skipped.zeros VALUES (1, 0.0), (2, DOUBLE '-0.0'), (3, 1.5), (4, NULL)")
    service.execute("UPDATE iceberg.skipped.zeros SET id = id + 10 WHERE p = 0.0")
    assert service.execute("SELECT id FROM iceberg.skipped.zeros ORDER BY id") == [[3], [4], [11], [12]]


def test_spark_writes_partitions_that_it_sorts_otherwise(service: Service) -> None:
    """To it UUIDs are texts and both zeros are one number; a rewrite keeps the partitions of the zeros apart."""
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.skipped")
    name = "iceberg.skipped.sorted"
    layout = "WITH (partitioning = ARRAY['bucket(k, 3)', 'p'])"
    service.execute(f"CREATE TABLE {name} (id bigint, k uuid, p double) {layout}")
    zeros = ["0.0", "DOUBLE '-0.0'", "0.0", "nan()", "DOUBLE '-0.0'", "0.0", "nan()"]
    keys = [f"UUID '{i:08x}-0000-0000-0000-00000000000{i}'" for i in range(7)]
    listed = ", ".join(f"({i}, {key}, {zero})" for i, (key, zero) in enumerate(zip(keys, zeros, strict=True)))
    for _ in range(2):
        service.execute(f"INSERT INTO {name} VALUES {listed}", session_properties={"engine": "SPARK"})
    asked = f"SELECT id, CAST(p AS varchar) FROM {name} ORDER BY 1"
    expected = [[i, {"0.0": "0.0", "nan()": "NaN"}.get(zero, "-0.0")] for i, zero in enumerate(zeros) for _ in range(2)]
    for _ in range(2):
        for reader in ("EMBEDDED", "SPARK"):
            assert service.execute(asked, session_properties={"engine": reader}) == expected, reader
        given = "schema => 'skipped', table_name => 'sorted', options => MAP(ARRAY['rewrite-all'], ARRAY['true'])"
        service.execute(f"CALL iceberg.system.rewrite_data_files({given})")


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_spark_changes_sorted_tables_with_such_partitions(service: Service, mode: str) -> None:
    """By an order of its own a table's writer would close each partition's file behind its rows, and meet it again."""
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.skipped")
    name = f"iceberg.skipped.ordered_{mode.partition('-')[0]}"
    modes = ", ".join(f"\"write.{statement}.mode\" = '{mode}'" for statement in ("update", "merge"))
    layout = f"WITH (partitioning = ARRAY['bucket(k, 3)', 'p'], sorted_by = ARRAY['id'], {modes})"
    service.execute(f"CREATE TABLE {name} (id bigint, k uuid, p double) {layout}")
    zeros = ["0.0", "DOUBLE '-0.0'", "1e300", "0.0", "DOUBLE '-0.0'"]
    keys = [f"UUID '{first}0000000-0000-0000-0000-000000000001'" for first in "f7800"]
    listed = ", ".join(f"({i}, {key}, {zero})" for i, (key, zero) in enumerate(zip(keys * 3, zeros * 3, strict=True)))
    source = f"(SELECT id FROM {name}) AS s ON t.id = s.id"
    for statement in (
        f"INSERT INTO {name} VALUES {listed}",
        f"UPDATE {name} SET id = id + 100 WHERE id % 2 = 0",
        f"MERGE INTO {name} AS t USING {source} WHEN MATCHED THEN UPDATE SET id = t.id + 1000",
    ):
        service.execute(statement, session_properties={"engine": "SPARK"})
    shown = ["0.0", "-0.0", "1.0E300", "0.0", "-0.0"] * 3
    expected = sorted([i + 1000 + (100 if i % 2 == 0 else 0), zero] for i, zero in enumerate(shown))
    for reader in ("EMBEDDED", "SPARK"):
        asked = f"SELECT id, CAST(p AS varchar) FROM {name} ORDER BY id"
        assert service.execute(asked, session_properties={"engine": reader}) == expected, reader


@pytest.mark.parametrize("engine", ["EMBEDDED", "SPARK"])
def test_rows_of_a_partition_by_doubles_change(service: Service, engine: str) -> None:
    """The delete files of a change belong to partitions, which are found again by all of their digits."""
    name = f"iceberg.skipped.changed_{engine.lower()}"
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.skipped")
    service.execute(f"CREATE TABLE {name} (id bigint, p double) WITH (partitioning = ARRAY['p'])")
    service.execute(f"INSERT INTO {name} VALUES (1, 0.1), (2, 0.1), (3, 0.2), (4, NULL), (5, 1e300)")
    chosen = {"engine": engine}
    service.execute(f"UPDATE {name} SET id = 10 WHERE id = 1", session_properties=chosen)
    service.execute(f"DELETE FROM {name} WHERE p = 0.2 OR p <> 0.1 AND p > 1.0", session_properties=chosen)
    for reader in ("EMBEDDED", "SPARK"):
        found = service.execute(f"SELECT id, p FROM {name} ORDER BY id", session_properties={"engine": reader})
        assert found == [[2, 0.1], [4, None], [10, 0.1]], reader

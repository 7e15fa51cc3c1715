"""Conditions on stored UUIDs: Iceberg's own, on Spark, take their halves for signed numbers and skip what is there."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]
VALUES = sorted(uuid.UUID(int=number) for number in (1, 2**63, 2**64, 2**127, 2**127 + 2**63, 2**128 - 1))
ENGINES = ("EMBEDDED", "SPARK")


@pytest.fixture(scope="module")
def table(service: Service) -> Iterator[str]:
    """Each row with its number in the order of UUIDs; one file."""
    service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.db")
    name = "iceberg.db.of_uuids"
    service.execute(f"CREATE TABLE {name} (id integer, u uuid, r row(n integer, u uuid))")
    rows = ", ".join(f"({i}, UUID '{v}', ROW({i}, UUID '{v}'))" for i, v in enumerate(VALUES))
    service.execute(f"INSERT INTO {name} VALUES {rows}, (NULL, NULL, NULL)")
    yield name
    service.execute(f"DROP TABLE {name}")


def found(service: Service, table: str, condition: str, engine: str) -> list[int]:
    rows = service.execute(f"SELECT id FROM {table} WHERE {condition}", session_properties={"engine": engine})
    return sorted(row[0] for row in rows)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_found(service: Service, table: str, engine: str) -> None:
    for i, value in enumerate(VALUES):
        assert found(service, table, f"u = UUID '{value}'", engine) == [i]
        assert found(service, table, f"u IN (UUID '{value}', UUID '{uuid.UUID(int=3)}')", engine) == [i]
        assert found(service, table, f"u < UUID '{value}'", engine) == list(range(i))
        assert found(service, table, f"u >= UUID '{value}'", engine) == list(range(i, len(VALUES)))
        assert found(service, table, f"u <> UUID '{value}'", engine) == [n for n in range(len(VALUES)) if n != i]


def test_rows_are_found_inside_of_rows(service: Service, table: str) -> None:
    for i, value in enumerate(VALUES):
        assert found(service, table, f"r.u = UUID '{value}'", "SPARK") == [i]
    assert service.execute(f"SELECT count(*) FROM {table} WHERE r IS NULL OR u IS NULL") == [[1]]


def test_rows_are_changed(service: Service, table: str) -> None:
    copy = f"{table}_changed"
    service.execute(f"CREATE TABLE {copy} AS SELECT id, u FROM {table}")
    try:
        changes = (
            f"UPDATE {copy} SET id = id + 10 WHERE u = UUID '{VALUES[3]}'",
            f"DELETE FROM {copy} WHERE u = UUID '{VALUES[1]}'",
            f"MERGE INTO {copy} t USING (VALUES UUID '{VALUES[5]}') s (k) ON t.u = s.k "
            f"WHEN MATCHED AND t.u > UUID '{VALUES[0]}' THEN UPDATE SET id = 20 "
            "WHEN NOT MATCHED THEN INSERT VALUES (0, k)",
        )
        assert [service.execute(each) for each in changes] == [[[1]]] * 3
        for engine in ENGINES:
            rows = service.execute(f"SELECT id, u FROM {copy}", session_properties={"engine": engine})
            assert sorted(rows, key=str) == sorted(
                [
                    *([0, str(VALUES[0])], [2, str(VALUES[2])], [13, str(VALUES[3])], [4, str(VALUES[4])]),
                    *([20, str(VALUES[5])], [None, None]),
                ],
                key=str,
            )
    finally:
        service.execute(f"DROP TABLE {copy}")

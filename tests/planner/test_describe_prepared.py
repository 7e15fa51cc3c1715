"""DESCRIBE INPUT and DESCRIBE OUTPUT against the answers of a real Presto 0.296 over ``tpch.tiny``."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.planning.plan_statement import plan_statement
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.spi.session import Session
from tests import tpch_tables

NATION = ("tpch", "tiny", "nation")
NOWHERE = ("", "", "")
INPUTS: dict[str, list[tuple[int, str]]] = {
    "SELECT 1": [],
    "SELECT ?": [(0, "unknown")],
    "SELECT ? FROM nation WHERE nationkey = ? and name < ?": [(0, "unknown"), (1, "bigint"), (2, "varchar")],
    "SELECT * FROM nation WHERE nationkey > ? AND regionkey IN (?, 2, ?) LIMIT 5": [
        (0, "bigint"),
        (1, "bigint"),
        (2, "bigint"),
    ],
    "SELECT name FROM nation WHERE name LIKE ? OR name BETWEEN ? AND ?": [
        (0, "varchar"),
        (1, "varchar"),
        (2, "varchar"),
    ],
    "SELECT CASE ? WHEN 1 THEN ? ELSE 2.5 END, coalesce(?, 'a'), CAST(? AS date)": [
        (0, "integer"),
        (1, "decimal"),
        (2, "varchar"),
        (3, "unknown"),
    ],
    "SELECT orderdate FROM orders WHERE orderdate >= ? AND totalprice > ?": [(0, "date"), (1, "double")],
}
OUTPUTS: dict[str, list[tuple[Any, ...]]] = {
    "SELECT count(*), name n, nationkey, regionkey+1 FROM nation GROUP BY 2,3,4": [
        ("_col0", *NOWHERE, "bigint", 8, False),
        ("n", *NATION, "varchar(25)", 0, True),
        ("nationkey", *NATION, "bigint", 8, False),
        ("_col3", *NOWHERE, "bigint", 8, False),
    ],
    "SELECT * FROM nation WHERE nationkey > ? LIMIT 5": [
        ("nationkey", *NATION, "bigint", 8, False),
        ("name", *NATION, "varchar(25)", 0, False),
        ("regionkey", *NATION, "bigint", 8, False),
        ("comment", *NATION, "varchar(152)", 0, False),
    ],
    "SELECT 1, 'a', 1.5, 2e0, true, date '2020-01-01', interval '1' day, null": [
        ("_col0", *NOWHERE, "integer", 4, False),
        ("_col1", *NOWHERE, "varchar(1)", 0, False),
        ("_col2", *NOWHERE, "decimal(2,1)", 8, False),
        ("_col3", *NOWHERE, "double", 8, False),
        ("_col4", *NOWHERE, "boolean", 1, False),
        ("_col5", *NOWHERE, "date", 4, False),
        ("_col6", *NOWHERE, "interval day to second", 8, False),
        ("_col7", *NOWHERE, "unknown", 1, False),
    ],
}


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> Catalogs:
    folder = tmp_path_factory.mktemp("catalog")
    (folder / "tpch.properties").write_text(tpch_tables.catalog_file(), encoding="utf-8")
    return Catalogs(read_catalogs(folder))


def described(what: str, prepared: str, catalogs: Catalogs) -> PlannedStatement:
    session = Session(user="test", catalog="tpch", schema="tiny", prepared_statements={"p": prepared})
    return plan_statement(f"DESCRIBE {what} p", session, catalogs, PlanCheckers())


def rows(planned: PlannedStatement) -> list[tuple[Any, ...]]:
    assert isinstance(planned.work, ReturnRows)
    return list(planned.work.rows)


@pytest.mark.parametrize(("prepared", "expected"), INPUTS.items(), ids=str)
def test_types_of_parameters(catalogs: Catalogs, prepared: str, expected: list[tuple[int, str]]) -> None:
    planned = described("INPUT", prepared, catalogs)
    assert rows(planned) == expected
    width = max((len(kind) for _, kind in expected), default=0)
    assert [column.type for column in planned.columns] == (
        ["integer", f"varchar({width})"] if expected else ["unknown", "unknown"]
    )


@pytest.mark.parametrize(("prepared", "expected"), OUTPUTS.items(), ids=str)
def test_columns_of_a_result(catalogs: Catalogs, prepared: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(described("OUTPUT", prepared, catalogs)) == expected

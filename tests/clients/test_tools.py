"""Superset, Airflow and Great Expectations, unchanged, against the whole service.

None is a dependency of this project. Each is installed into an environment of its own, whose ``python`` a variable
names: ``PROCESSION_SUPERSET``, ``PROCESSION_AIRFLOW``, ``PROCESSION_EXPECTATIONS``. docs/clients.md has the versions.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.service import Service

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(600)]
PROGRAMS = Path(__file__).parent / "programs"
FAMILIES = pytest.mark.parametrize("family", ["presto", "trino"])
CONFIG = """\
SECRET_KEY = "a key of this test, which signs nothing that lasts"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
FEATURE_FLAGS = {{"ESTIMATE_QUERY_COST": True}}
"""


def python_of(tool: str) -> Path:
    variable = f"PROCESSION_{tool.upper()}"
    if variable not in os.environ:
        pytest.skip(f"{variable} names no python")
    return Path(os.environ[variable])


def printed(python: Path, program: str, *arguments: str, **environment: str) -> Any:
    """The JSON of the last line that a program of ``programs`` prints."""
    command = [str(python), str(PROGRAMS / program), *arguments]
    variables = os.environ | environment
    run = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def shop(whole_service: Service) -> Iterator[Service]:
    """``iceberg.tools.sales``: six rows of two shops over three days."""
    whole_service.execute("CREATE SCHEMA IF NOT EXISTS iceberg.tools")
    whole_service.execute(
        "CREATE TABLE iceberg.tools.sales AS SELECT CAST(i AS bigint) AS id, IF(i % 2 = 0, 'ada', 'grace') AS shop, "
        "CAST(i AS decimal(12,2)) AS price, date_add('day', (i - 1) / 2, DATE '2026-01-01') AS day, "
        "date_add('day', (i - 1) / 2, TIMESTAMP '2026-01-01 12:00:00') AS at FROM UNNEST(sequence(1, 6)) AS t(i)"
    )
    yield whole_service
    for sql in ("DROP TABLE iceberg.tools.sales", "DROP SCHEMA iceberg.tools"):
        whole_service.execute(sql)


def address(service: Service, family: str) -> str:
    return service.url.replace("http://", f"{family}://tester@") + "/iceberg/tools"


@pytest.fixture(scope="module")
def superset(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Superset's python, and its configuration over a database that is set up."""
    python, folder = python_of("superset"), tmp_path_factory.mktemp("superset")
    config = folder / "superset_config.py"
    config.write_text(CONFIG.format(folder=folder))
    admin = "fab create-admin --username admin --firstname a --lastname b --email a@b.c --password admin"
    for command in ("db upgrade", admin, "init"):
        variables = os.environ | {"SUPERSET_CONFIG_PATH": str(config), "FLASK_APP": "superset"}
        program = [str(python.parent / "superset"), *command.split()]
        subprocess.run(program, env=variables, capture_output=True, timeout=200, check=True)
    return python, str(config)


@FAMILIES
def test_superset(shop: Service, superset: tuple[Path, str], family: str) -> None:
    python, config = superset
    found = printed(python, "superset_session.py", address(shop, family), SUPERSET_CONFIG_PATH=config)
    assert {"iceberg", "system", "tpch"} <= set(found["catalogs"])
    assert found["tables"] == ["sales"]
    assert [name for name, _ in found["columns"]] == ["id", "shop", "price", "day", "at"]
    count, first, is_time = found["lab"]
    assert (count, first["id"], first["price"], is_time[3:]) == (3, 1, 1, [True, True])
    assert found["call"] == 1
    assert "nope" in found["error"]
    assert sorted((row["count"], row["total"]) for row in found["days"]) == [(2, 3), (2, 7), (2, 11)]
    assert {row["shop"]: row["count"] for row in found["range"]} == {"ada": 2, "grace": 2}
    assert found["csv"].split() == ["shop,COUNT(*)", "ada,3", "grace,3"]
    assert [row["count"] for row in found["virtual"]] == [1]
    if family == "trino":
        assert found["estimate"] == [{"Output count": "6  rows", "Output size": "408 B"}]
        assert found["stopped"] == "stopped"


@FAMILIES
def test_airflow(shop: Service, tmp_path: Path, family: str) -> None:
    host, port = shop.url.removeprefix("http://").split(":")
    home = {"AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    found = printed(python_of("airflow"), "airflow_session.py", family, host, port, "tools", **home)
    assert found == {
        "loaded": [[1, "it's", "2026-01-02"], [2, None, None]],
        "frame": [6, 5],
        "split": [[[1]], [[2]]],
        "call": 6,
        "sensors": [True, False],
        "dropped": None,
    }


def test_great_expectations(shop: Service) -> None:
    found = printed(python_of("expectations"), "expectations_session.py", address(shop, "trino"))
    assert found["held"] == [True] * (len(found["held"]) - 1) + [False]
    assert found["day"] is True

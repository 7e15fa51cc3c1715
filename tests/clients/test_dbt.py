"""dbt with its adapter for Trino, against the whole service: ``PROCESSION_DBT`` names a ``dbt`` program.

dbt is no dependency of this project: ``pip install "dbt-trino<1.11" "dbt-core<1.11"`` in an environment of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.service import Service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif("PROCESSION_DBT" not in os.environ, reason="PROCESSION_DBT names no dbt"),
]
PROJECT = Path(__file__).parent / "dbt"
SCHEMA = "dbt_shop"
Dbt = Callable[..., list[dict]]


@pytest.fixture
def dbt(whole_service: Service, tmp_path: Path) -> Dbt:
    """Runs a command of dbt and gives the results of its nodes."""
    project = Path(shutil.copytree(PROJECT, tmp_path / "project"))
    address = urlsplit(whole_service.url)
    target = {"type": "trino", "method": "none", "user": "dbt", "host": address.hostname, "port": address.port}
    target |= {"database": "iceberg", "schema": SCHEMA, "threads": 1}
    profiles = {"shop": {"target": "dev", "outputs": {"dev": target}}}
    (project / "profiles.yml").write_text(json.dumps(profiles))

    def run(*arguments: str) -> list[dict]:
        environment = os.environ | {"DBT_PROFILES_DIR": str(project), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
        command = [os.environ["PROCESSION_DBT"], *arguments]
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        results = project / "target" / "run_results.json"
        return json.loads(results.read_text())["results"] if results.exists() else []

    return run


def test_a_project(dbt: Dbt, whole_service: Service) -> None:
    """debug, seed, run twice, snapshot of a change, test, docs, and a procedure by run-operation."""

    def rows(sql: str) -> list[list[object]]:
        return whole_service.execute(sql, catalog="iceberg", schema=SCHEMA)

    dbt("debug")
    assert [r["status"] for r in dbt("seed")] == ["success"]
    assert rows("SELECT id, customer, amount, paid FROM raw_orders ORDER BY id") == [
        [1, "ada", 10.5, True],
        [2, "grace", 7.0, False],
        [3, "ada", None, True],
    ]
    for times in (1, 2):
        assert {r["status"] for r in dbt("run")} == {"success"}
        expected = [["append", 1 + 2 * times], ["delete+insert", 3], ["merge", 3]]
        tables = {"append": "inc_append", "delete+insert": "inc_delete_insert", "merge": "inc_merge"}
        counts = " UNION ALL ".join(f"SELECT '{k}', count(*) FROM {table}" for k, table in tables.items())
        assert sorted(rows(counts)) == expected
    assert rows("SELECT customer, orders, amount FROM customers ORDER BY 1") == [["ada", 2, 10.5], ["grace", 1, 7.0]]
    dbt("snapshot")
    rows("UPDATE orders SET amount = 8 WHERE id = 2")
    dbt("snapshot")
    history = "SELECT id, amount, dbt_valid_to IS NULL FROM orders_history ORDER BY id, dbt_valid_from"
    assert rows(history) == [[1, 10.5, True], [2, 7.0, False], [2, 8.0, True], [3, None, True]]
    assert {r["status"] for r in dbt("test")} == {"pass"}
    dbt("docs", "generate")
    dbt("run-operation", "compact", "--args", '{"table": "orders"}')
    assert [r["status"] for r in dbt("seed", "--full-refresh")] == ["success"]
    for kind, name in rows(
        "SELECT table_type, table_name FROM information_schema.tables WHERE table_schema = 'dbt_shop'"
    ):
        whole_service.execute(f'DROP {"VIEW" if kind == "VIEW" else "TABLE"} iceberg.{SCHEMA}."{name}"')
    whole_service.execute(f"DROP SCHEMA iceberg.{SCHEMA}")

"""Runs in Airflow's own environment: hooks, operators and sensors over a service; prints what it got as JSON.

Arguments: a family, host, port and schema, where ``sales`` (id, shop, price, day, at) is and ``loaded`` is not.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import date
from typing import Any

FAMILY, HOST, PORT, SCHEMA = sys.argv[1:]
CONNECTION = f"{FAMILY}_default"
os.environ[f"AIRFLOW_CONN_{CONNECTION.upper()}"] = json.dumps(
    {"conn_type": FAMILY, "host": HOST, "port": int(PORT), "login": "airflow", "schema": SCHEMA}
    | {"extra": {"catalog": "iceberg", "protocol": "http"}}
)

from airflow.providers.common.sql.operators import sql as operators  # noqa: E402
from airflow.providers.common.sql.sensors.sql import SqlSensor  # noqa: E402


def hook() -> Any:
    """The hook of the family."""
    if FAMILY == "trino":
        from airflow.providers.trino.hooks.trino import TrinoHook

        return TrinoHook(CONNECTION)
    from airflow.providers.presto.hooks.presto import PrestoHook

    return PrestoHook(CONNECTION)


def run(kind: str, **options: Any) -> Any:
    """The result of an operator, outside of a schedule."""
    return getattr(operators, kind)(task_id=kind, conn_id=CONNECTION, **options).execute({})


def asked() -> dict[str, Any]:
    """What a schedule asks, by name; the checks raise where they do not hold."""
    used = hook()
    used.run("CREATE TABLE loaded (id bigint, shop varchar, day date)")
    used.insert_rows("loaded", [(1, "it's", date(2026, 1, 2)), (2, None, None)], target_fields=["id", "shop", "day"])
    checks = {"id": {"null_check": {"equal_to": 0}, "unique_check": {"equal_to": 0}, "max": {"leq_to": 6}}}
    run("SQLColumnCheckOperator", table="sales", column_mapping=checks)
    run("SQLTableCheckOperator", table="sales", checks={"rows": {"check_statement": "count(*) = 6"}})
    run("SQLValueCheckOperator", sql="SELECT count(*) FROM sales", pass_value=6)
    run("SQLThresholdCheckOperator", sql="SELECT count(*) FROM sales", min_threshold=1, max_threshold="SELECT 9")
    call = f"CALL iceberg.system.rewrite_data_files('{SCHEMA}', 'sales')"
    return {
        "loaded": used.get_records("SELECT id, shop, CAST(day AS varchar) FROM loaded ORDER BY id"),
        "frame": list(used.get_df("SELECT * FROM sales").shape),
        "split": run("SQLExecuteQueryOperator", sql="SELECT 1; SELECT 2", split_statements=True, return_last=False),
        "call": len(run("SQLExecuteQueryOperator", sql=call)[0]),
        "sensors": [
            SqlSensor(task_id="found", conn_id=CONNECTION, sql=f"SELECT count(*) FROM sales WHERE id = {key}").poke({})
            for key in (1, 99)
        ],
        "dropped": used.run("DROP TABLE loaded"),
    }


print(json.dumps(asked(), default=str))

"""Runs in Superset's own environment: its REST API in-process over a service; prints what it got as one line of JSON.

Arguments: an address for SQLAlchemy with catalog and schema, where ``sales`` (id, shop, price, day, at) is.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from superset.app import create_app

SLOW = (
    "SELECT count(*) FROM tpch.sf1.lineitem a JOIN tpch.sf1.lineitem b ON a.partkey = b.partkey "
    "JOIN tpch.sf1.lineitem c ON b.partkey = c.partkey"
)


class Superset:
    """A client that is logged in, and one database."""

    def __init__(self, address: str) -> None:
        app = create_app()
        app.config.update(WTF_CSRF_ENABLED=False)
        self.client = app.test_client()
        login = {"username": "admin", "password": "admin", "provider": "db"}
        token = self.client.post("/api/v1/security/login", json=login).json["access_token"]
        self.headers = {"Authorization": f"Bearer {token}"}
        extra = json.dumps({"cost_estimate_enabled": True, "allow_multi_catalog": True})
        name = address.partition(":")[0]
        made = {"database_name": name, "sqlalchemy_uri": address, "allow_dml": True, "extra": extra}
        self.database = self.post("database/", made)["id"]
        self.catalog, self.schema = address.split("/")[-2:]

    def get(self, path: str) -> Any:
        answer = self.client.get(f"/api/v1/{path}", headers=self.headers)
        assert answer.status_code == 200, answer.json
        return answer.json

    def post(self, path: str, body: Any, *, status: tuple[int, ...] = (200, 201)) -> Any:
        answer = self.client.post(f"/api/v1/{path}", headers=self.headers, json=body)
        assert answer.status_code in status, answer.json
        return answer.json if answer.is_json else answer.text

    def lab(self, sql: str, limit: int = 100, client_id: str | None = None, **options: Any) -> Any:
        key = client_id or f"{time.time_ns()}"[-11:]
        where = {"database_id": self.database, "schema": self.schema, "catalog": self.catalog, "client_id": key}
        return self.post("sqllab/execute/", where | {"sql": sql, "queryLimit": limit} | options, status=(200, 500))

    def dataset(self, name: str, sql: str | None = None) -> int:
        where = {"database": self.database, "schema": self.schema, "catalog": self.catalog, "table_name": name}
        made: int = self.post("dataset/", where if sql is None else where | {"sql": sql})["id"]
        return made

    def chart(self, dataset: int, form: str = "json", **query: Any) -> Any:
        asked = {"filters": [], "columns": [], "metrics": ["count"], "orderby": [], "row_limit": 100, "extras": {}}
        source = {"id": dataset, "type": "table"}
        body = {"datasource": source, "queries": [asked | query], "result_format": form, "force": True}
        answer = self.post("chart/data", body)
        return answer if form == "csv" else answer["result"][0]["data"]

    def stopped(self) -> str:
        """What becomes of a long statement in the SQL Lab that is stopped from elsewhere."""
        key, found = f"{time.time_ns()}"[-11:], {}
        running = threading.Thread(target=lambda: found.update(self.lab(SLOW, client_id=key)))
        running.start()
        time.sleep(4)
        self.post("query/stop", {"client_id": key})
        running.join(60)
        return str(found.get("status"))


def asked(superset: Superset) -> dict[str, Any]:
    """What a dashboard, the SQL Lab and the pages of a database ask, by name."""
    database, where = f"database/{superset.database}", f"schema={superset.schema}&catalog={superset.catalog}"
    table = superset.get(f"{database}/table_metadata/?name=sales&{where}")
    rows = superset.lab("SELECT * FROM sales ORDER BY id", 3)
    sales = superset.dataset("sales")
    axis = {
        "timeGrain": "P1D",
        "columnType": "BASE_AXIS",
        "sqlExpression": "at",
        "label": "at",
        "expressionType": "SQL",
    }
    total = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "price"}, "label": "total"}
    ranged = {"filters": [{"col": "at", "op": "TEMPORAL_RANGE", "val": "2026-01-01 : 2026-01-03"}]}
    virtual = superset.dataset("by_shop", "SELECT shop, sum(price) AS total FROM sales GROUP BY 1")
    found = {
        "catalogs": sorted(superset.get(f"{database}/catalogs/?q=(force:!t)")["result"]),
        "tables": [
            t["value"]
            for t in superset.get(f"{database}/tables/?q=(catalog_name:iceberg,schema_name:{superset.schema})")[
                "result"
            ]
        ],
        "columns": [[c["name"], c["longType"]] for c in table["columns"]],
        "lab": [len(rows["data"]), rows["data"][0], [c["is_dttm"] for c in rows["columns"]]],
        "call": len(superset.lab(f"CALL iceberg.system.rewrite_data_files('{superset.schema}', 'sales')")["data"]),
        "error": superset.lab("SELECT nope FROM sales")["errors"][0]["message"],
        "days": superset.chart(sales, columns=[axis], metrics=["count", total]),
        "range": superset.chart(sales, columns=["shop"], **ranged),
        "csv": superset.chart(sales, "csv", columns=["shop"], orderby=[["shop", True]]),
        "virtual": superset.chart(virtual, columns=["shop"], metrics=["count"], row_limit=1),
    }
    if sys.argv[1].startswith("trino"):  # Superset estimates nothing for Presto
        estimate = {"database_id": superset.database, "sql": "SELECT * FROM sales", "schema": superset.schema}
        found["estimate"] = superset.post("sqllab/estimate/", estimate | {"catalog": superset.catalog})["result"]
        found["stopped"] = superset.stopped()
    for dataset in (sales, virtual):  # names of datasets are unique in SQLite
        superset.client.delete(f"/api/v1/dataset/{dataset}", headers=superset.headers)
    return found


print(json.dumps(asked(Superset(sys.argv[1])), default=str))

"""The history under the rules of queries: bob sees his own statements, alice everybody's."""

from __future__ import annotations

import time

import trino

from tests.security.authentication.secured import PASSWORD, Secured
from tests.security.authentication.test_service import basic, trino_cursor


def test_only_who_may_view_sees_statements_of_others(secured: Secured) -> None:
    for user in ("alice", "bob"):
        cursor = trino_cursor(secured, user, trino.auth.BasicAuthentication(user, PASSWORD))
        cursor.execute(f"SELECT '{user} asks'")
        cursor.fetchall()
    limit = time.monotonic() + 60
    while len(texts(secured, "alice")) < 2:
        assert time.monotonic() < limit
        time.sleep(0.1)
    assert texts(secured, "alice") == {"SELECT 'alice asks'", "SELECT 'bob asks'"}
    assert texts(secured, "bob") == {"SELECT 'bob asks'"}
    others = secured.get("/v1/history?text='alice asks'", headers=basic("alice", PASSWORD)).json()["queries"][0][
        "queryId"
    ]
    assert secured.get(f"/v1/history/{others}", headers=basic("bob", PASSWORD)).status_code == 404
    assert secured.get(f"/v1/history/{others}", headers=basic("alice", PASSWORD)).status_code == 200
    assert secured.get("/v1/history").status_code == 401
    cursor = trino_cursor(secured, "bob", trino.auth.BasicAuthentication("bob", PASSWORD))
    for table in ("queries", "tables_read", "tables_written", "plans", "procedures"):
        column = '"user"' if table != "plans" else "query_id"
        cursor.execute(f"SELECT DISTINCT {column} FROM system.history.{table}")
        found = {row[0] for row in cursor.fetchall()}
        assert found <= {"bob"} if table != "plans" else others not in found


def texts(secured: Secured, user: str) -> set[str]:
    found = secured.get("/v1/history?text= asks'", headers=basic(user, PASSWORD)).json()["queries"]
    return {query["query"] for query in found}

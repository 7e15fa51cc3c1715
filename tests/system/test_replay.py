"""Every recorded conversation with a real Presto server, sent again to us: same status, columns, rows and errors.

What is not the same stands in ``EXCEPTIONS``, each with its reason. Of EXPLAIN all but the text is compared here; texts
are tests/explain's.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.system.conftest import RECORDED, read_recorded

ENGINE = "this server has other properties"
ROLES = "no SQL functions here"
TRANSACTION = "X-Presto-Transaction-Id"
IN_TRANSACTION = ("in_transaction", "error_in_transaction", "rollback")
LAKE = (
    "show_catalogs",
    "show_catalogs_like",
    "explain_ddl",
    "create_table",
    "create_table_if_not_exists",
    "create_view",
    "rename_table",
    "drop_table_missing",
    "drop_table_if_exists",
    "drop_w3",
    "drop_schema",
    "truncate",
    "iceberg_delete",
    "iceberg_system_table",
)
EXCEPTIONS = {
    "pages_target_size": "the order of rows without ORDER BY",
    "replay_and_bad_tokens": "asks the same page several times; tests/protocol/test_conversation.py does",
    "binary_results": "pages are binary; tests/protocol/test_binary_results.py compares them",
    "err_set_session_value": "Presto answers GENERIC_INTERNAL_ERROR with a Java class",
    "system_catalogs": "the recorded server had catalogs of other connectors",
    "show_session": ENGINE,
    "show_schemas_from": "system has schemas history and maintenance here",
    "table_properties": ENGINE,
    "set_session_catalog": ENGINE,
    "jdbc_types": "the recording holds 40 of its 47 rows; test_system_tables compares those",
    "create_function": ROLES,
    "drop_function": ROLES,
    **dict.fromkeys(LAKE, "tests/system/test_replay_lake.py does, in order"),
    "select_w": "an Iceberg table is read through Spark; tests/e2e/test_create_and_insert.py does",
    "iceberg_insert": "an Iceberg table is written through Spark; tests/e2e/test_create_and_insert.py does",
    "delete_unsupported": "Presto's memory connector cannot delete; Iceberg can",
    "show_create_view": "views keep the text that they were made with, Presto formats it anew",
    "iceberg_call": "ours tells how much was deleted, as Iceberg's own procedure does",
    "iceberg_call_missing_table": "a user's error here, an internal one in Presto",
    "cancel_running": "reads hundreds of gigabytes",
    "cancel_queued": "reads hundreds of gigabytes",
}


def statements() -> list[dict[str, Any]]:
    """Conversations that begin with a statement."""
    return [
        e for e in read_recorded(RECORDED).values() if e.get("sql") and "/v1/statement" in e["exchanges"][0]["path"]
    ]


def summary(status: int, pages: list[dict[str, Any]], text: str | None) -> dict[str, Any]:
    """What must be the same: rows in any order, and of an error all but the Java stack."""

    def first(member: str) -> Any:
        return next((page[member] for page in pages if member in page), None)

    error = first("error")
    wanted = ("message", "errorCode", "errorName", "errorType", "errorLocation")
    return {
        "status": status,
        "text": text,
        "columns": first("columns") if error is None else None,
        "rows": sorted(json.dumps(row) for page in pages for row in page.get("data", ())),
        "error": None if error is None else {member: error.get(member) for member in wanted},
        "updateType": first("updateType") if error is None else None,
        "updateCount": first("updateCount"),
    }


def begun(client: httpx.Client, headers: dict[str, str]) -> str:
    """A transaction of this server, for what was recorded within one of the other."""
    response = client.post("/v1/statement", content="START TRANSACTION", headers=headers | {TRANSACTION: "NONE"})
    while "nextUri" in response.json():
        response = client.get(response.json()["nextUri"])
    return str(response.headers["X-Presto-Started-Transaction-Id"])


def ours(client: httpx.Client, entry: dict[str, Any]) -> dict[str, Any]:
    headers = {k: v for k, v in entry["exchanges"][0]["request_headers"].items() if k.startswith("X-")}
    if entry["name"] in IN_TRANSACTION:
        headers[TRANSACTION] = begun(client, headers)
    response = client.post("/v1/statement", content=entry["sql"], headers=headers)
    if response.status_code != 200:
        return summary(response.status_code, [], response.text)
    pages = [response.json()]
    while "nextUri" in pages[-1]:
        pages.append(client.get(pages[-1]["nextUri"]).json())
    return summary(200, pages, None)


def theirs(entry: dict[str, Any]) -> dict[str, Any]:
    exchanges = entry["exchanges"]
    pages = [e["json"] for e in exchanges if isinstance(e.get("json"), dict)]
    return summary(exchanges[0]["status"], pages, exchanges[0].get("text"))


@pytest.mark.parametrize("entry", [e for e in statements() if e["name"] not in EXCEPTIONS], ids=lambda e: e["name"])
def test_same_answer(client: httpx.Client, entry: dict[str, Any]) -> None:
    found, expected = ours(client, entry), theirs(entry)
    if entry["name"].startswith("explain"):
        found, expected = ({k: v for k, v in s.items() if k not in ("rows", "columns")} for s in (found, expected))
    assert found == expected


def test_exceptions_are_of_recorded_conversations() -> None:
    assert set(EXCEPTIONS) <= {entry["name"] for entry in statements()}


def test_jdbc_types_has_what_was_recorded(client: httpx.Client) -> None:
    entry = read_recorded(RECORDED)["jdbc_types"]
    recorded = {row for row in theirs(entry)["rows"] if row.startswith("[")}
    found = ours(client, entry)["rows"]
    assert recorded <= set(found)
    assert (len(recorded), len(found)) == (40, 47)

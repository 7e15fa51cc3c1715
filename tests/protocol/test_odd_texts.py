"""Texts that databases or UTF-8 have no place for (NUL, half a surrogate pair) get an answer or a clear error."""

from __future__ import annotations

import httpx
import pytest

from shared.errors import ErrorCode, ProcessionError
from tests.e2e.service import Service

pytestmark = [pytest.mark.slow]
HALF = "'\"\\ud800x\"'"


def asked(service: Service, statement: str) -> tuple[str | None, str, list[list[object]]]:
    """The name of the error and its message, and the rows."""
    headers = {"X-Presto-User": "odd", "X-Presto-Catalog": "iceberg", "X-Presto-Schema": "odd_texts"}
    rows: list[list[object]] = []
    with httpx.Client(timeout=60, headers=headers) as client:
        answer = client.post(f"{service.url}/v1/statement", content=statement.encode())
        while True:
            assert answer.status_code == 200, answer.text
            page = answer.json()
            rows += page.get("data", [])
            if "nextUri" not in page:
                break
            answer = client.get(page["nextUri"])
    error = page.get("error", {})
    return error.get("errorName"), error.get("message", ""), rows


@pytest.mark.parametrize(
    "statement",
    [
        'SELECT 1 FROM "a\0b"',
        'SELECT 1 FROM "s\0".t',
        'CREATE TABLE "a\0b" (x bigint)',
        'CREATE SCHEMA "a\0b"',
        'CREATE TABLE "a\0b" AS SELECT 1 x',
        'CREATE VIEW "a\0b" AS SELECT 1 x',
        'DROP TABLE "a\0b"',
        "CALL iceberg.system.table_storage('odd_texts', 'a\0b')",
        'SHOW COLUMNS FROM "a\0b"',
    ],
)
def test_names_with_nul_are_the_users_mistake(quiet_service: Service, statement: str) -> None:
    asked(quiet_service, "CREATE SCHEMA IF NOT EXISTS odd_texts")
    name, message, _ = asked(quiet_service, statement)
    assert name is not None
    assert ErrorCode[name].type == "USER_ERROR", (name, message)


def test_errors_with_half_a_pair_of_surrogates_reach_the_client(quiet_service: Service) -> None:
    name, message, _ = asked(
        quiet_service, f"SELECT CAST(CAST(json_parse(x) AS varchar) AS bigint) FROM (VALUES {HALF}) t(x)"
    )
    assert (name, message) == ("INVALID_CAST_ARGUMENT", "Cannot cast '?x' to BIGINT")


def test_an_error_holds_what_utf8_can() -> None:
    assert ProcessionError(ErrorCode.NOT_FOUND, "a\ud800b \U0001f600 é").message == "a?b \U0001f600 é"


def test_filters_over_the_history_take_any_text(quiet_service: Service) -> None:
    for wanted in ("user=%00", "state=%00", "text=%00%F0%9F%98%80", "table=%00", "group=%00", "trace_id=%00"):
        assert httpx.get(f"{quiet_service.url}/v1/history?{wanted}", timeout=60).status_code == 200
    for table in ("queries", "tables_read", "procedures"):
        assert asked(quiet_service, f"SELECT 1 FROM system.history.{table} WHERE query_id = U&'\\0000'")[::2] == (
            None,
            [],
        )

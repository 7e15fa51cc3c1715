"""The audit log of a whole service, and of servers that let in whom they know."""

from __future__ import annotations

import contextlib
import json
import uuid
from dataclasses import replace
from typing import Any

import httpx
import prestodb
import pytest

from tests.e2e.service import Service
from tests.protocol.conftest import running_server
from tests.protocol.test_authentication import as_, secured

pytestmark = pytest.mark.slow


def lines(service: Service, part: str) -> list[dict[str, Any]]:
    file = service.data_dir / "logs" / "audit.jsonl"
    return [line for line in map(json.loads, file.read_text().splitlines()) if part in line.get("query", "")]


@pytest.mark.parametrize(
    ("sql", "decision", "accesses"),
    [
        ("SELECT name FROM tpch.tiny.nation", "allowed", [("SelectFromColumns", "tpch.tiny.nation", ["name"])]),
        ("EXPLAIN SELECT count(*) FROM tpch.tiny.region", "allowed", [("SelectFromColumns", "tpch.tiny.region", None)]),
        ("CREATE SCHEMA IF NOT EXISTS iceberg.audited", "allowed", [("CreateSchema", "iceberg.audited", None)]),
        ("SELECT nothing FROM tpch.tiny.nation", "failed", []),
        ("SET SESSION query_priority = 7", "allowed", []),
        ("SELEC", "failed", []),
    ],
)
def test_every_statement_has_a_line(quiet_service: Service, sql: str, decision: str, accesses: list[Any]) -> None:
    """As it returns, whatever clients say of themselves."""
    mark = uuid.uuid4().hex
    options = {"source": "audit-log.enabled=false", "http_headers": {"X-Presto-Client-Tags": "no-audit"}}
    with contextlib.suppress(prestodb.exceptions.PrestoQueryError):
        quiet_service.execute(f"{sql} -- {mark}", **options)
    (line,) = lines(quiet_service, mark)
    assert (line["decision"], line["user"], line["source"]) == (decision, "tester", "audit-log.enabled=false")
    assert [(each["access"], each["object"], each.get("columns")) for each in line.get("accesses", [])] == accesses


def test_metrics_tell_of_it(quiet_service: Service) -> None:
    quiet_service.execute("SELECT 1")
    text = httpx.get(f"{quiet_service.url}/metrics", timeout=60).text
    assert "procession_audit_failing 0.0" in text
    assert "procession_audit_lost_lines_total 0.0" in text


def test_logins_that_fail_and_queries_that_are_ended() -> None:
    refused: list[tuple[str, str | None, str | None]] = []
    done: list[tuple[str, str, str]] = []
    settings = replace(
        secured(),
        login_refused=lambda *told: refused.append(told),
        done=lambda access, subject, identity: done.append((access, subject, identity.user)),
    )
    with running_server(server_settings=settings) as server:
        wrong = server.client.get("/v1/query", headers=as_("alice", "not hers"))
        assert wrong.status_code == 401
        assert [(user, address) for _, user, address in refused] == [("alice", "127.0.0.1")]
        assert "not hers" not in str(refused)
        page = server.client.post("/v1/statement", content="SELECT slow", headers=as_("alice")).json()
        path = f"/v1/query/{page['id']}/killed"
        assert server.client.put(path, content="x", headers=as_("bob")).status_code == 403
        assert done == []
        assert server.client.put(path, content="x", headers=as_("alice")).status_code == 200
        assert done == [("KillQueryOwnedBy", page["id"], "alice")]

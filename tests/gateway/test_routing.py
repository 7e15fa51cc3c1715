"""Trino Gateway's external routing rules."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.gateway.precheck import create_prechecks
from coordinator.gateway.settings import GatewaySettings
from coordinator.gateway.validator import StatementValidator
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Planner:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Session]] = []

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        self.asked.append((text, session))
        if text == "bad":
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, "no")
        if text == "full":
            raise ProcessionError(ErrorCode.QUERY_QUEUE_FULL, "Too many")
        return PlannedStatement("SELECT", (), ReturnRows(()))


@pytest.fixture
def planner() -> Planner:
    return Planner()


@pytest.fixture
async def client(planner: Planner) -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    settings = GatewaySettings(accepted_target="lake", refused_target="java")
    prechecks = create_prechecks(StatementValidator(planner, PlanCheckers()), settings)
    app.router.routes[:0] = prechecks.quick_routes()
    app.include_router(prechecks.router())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        yield client


def asked(sql: str, **changes: object) -> dict[str, object]:
    """What Trino Gateway posts, member by member (RoutingGroupExternalBody, TrinoQueryProperties)."""
    properties = {
        "body": sql, "queryType": "Query", "resourceGroupQueryType": "SELECT", "tables": ["lake.db.t"],
        "defaultCatalog": "lake", "defaultSchema": "db", "catalogs": ["lake"], "schemas": ["db"],
        "catalogSchemas": ["lake.db"], "isNewQuerySubmission": True, "errorMessage": None,
    }  # fmt: skip
    return {
        "trinoQueryProperties": properties, "trinoRequestUser": {"user": "ann", "userInfo": None},
        "contentType": "application/json", "remoteUser": None, "method": "POST", "requestURI": "/v1/statement",
        "queryString": None, "session": None, "remoteAddr": "127.0.0.1", "remoteHost": "127.0.0.1", "parameters": {},
    } | changes  # fmt: skip


@pytest.mark.parametrize(
    ("body", "group", "errors"),
    [
        (asked("SELECT 1"), "lake", []),
        (asked("bad"), "java", []),
        (asked("full"), "adhoc", ["Too many"]),
        (asked("", method="GET"), "lake", []),
        ({"trinoQueryProperties": None}, "lake", []),
    ],
)
async def test_the_verdict_chooses_the_group(
    client: httpx.AsyncClient, body: dict[str, object], group: str, errors: list[str]
) -> None:
    response = await client.post("/v1/routing-group", json=body, headers={"X-Trino-Routing-Group": "adhoc"})
    assert response.status_code == 200
    assert response.json() == {"routingGroup": group, "errors": errors, "externalHeaders": {}}


async def test_the_session_is_the_clients(client: httpx.AsyncClient, planner: Planner) -> None:
    headers = {"X-Trino-User": "bob", "X-Trino-Schema": "s", "X-Trino-Catalog": "c", "X-Trino-Session": "a=b"}
    await client.post("/v1/routing-group", json=asked("SELECT 1"), headers=headers)
    await client.post("/v1/routing-group", json=asked("SELECT 1"))
    (_, named), (_, unnamed) = planner.asked
    assert (named.user, named.catalog, named.schema, named.properties) == ("bob", "c", "s", {"a": "b"})
    assert (unnamed.user, unnamed.catalog, unnamed.schema, unnamed.protocol) == ("ann", "lake", "db", "Trino")


async def test_parameters_of_prepared_statements_are_unknown(client: httpx.AsyncClient, planner: Planner) -> None:
    await client.post("/v1/routing-group", json=asked("SELECT 'it''s?', ? + ?"))
    assert planner.asked[0][0] == "EXECUTE IMMEDIATE 'SELECT ''it''''s?'', ? + ?' USING NULL, NULL"


async def test_not_a_routing_request(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/routing-group", content="SELECT 1")
    assert response.status_code == 400
    assert response.text.startswith("Not a routing request")

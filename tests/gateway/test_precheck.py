"""The gateway's routes over a planner and checkers that obey the statement."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from time import monotonic

import httpx
import pytest
from fastapi import FastAPI

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.gateway.precheck import create_prechecks
from coordinator.gateway.requests import Admit, as_it_is
from coordinator.gateway.settings import GatewaySettings
from coordinator.gateway.validator import StatementValidator
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.specification import global_group
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, Variable
from shared.plan.fragment import UNGROUPED_EXECUTION, SimplePlanFragment, SubPlan
from shared.plan.nodes import Partitioning, PartitioningHandle, PartitioningScheme, PlanNode, ValuesNode
from shared.spi.plan_checker import PrestoWarning, WarningCollector
from shared.spi.session import Session

pytestmark = pytest.mark.anyio

X = Variable(name="x", type="bigint")
ONE = Constant(valueBlock=encode_constant(1, "bigint"), type="bigint")
SETTINGS = GatewaySettings(
    max_statement_length=100, max_batch=5, max_batch_bytes=2000, accepted_target="lake", refused_target="java"
)
HEADERS = {"X-Presto-User": "ann"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def fragment(fragment_id: str, partitioning: str) -> SimplePlanFragment:
    handle = PartitioningHandle(connectorHandle={"@type": "$remote", "partitioning": partitioning})
    return SimplePlanFragment(
        id=fragment_id,
        root=ValuesNode(id="0", outputVariables=(X,), rows=((ONE,),)),
        variables=(X,),
        partitioning=handle,
        tableScanSchedulingOrder=(),
        partitioningScheme=PartitioningScheme(
            partitioning=Partitioning(handle=handle, arguments=()), outputLayout=(X,)
        ),
        stageExecutionDescriptor=UNGROUPED_EXECUTION,
        outputTableWriterFragment=False,
    )


class Planner:
    """Refuses by the statement's first word, else gives a plan of a coordinator's and a worker's fragment."""

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        if text.startswith("bad"):
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, "Table t does not exist", location=ErrorLocation(1, 15))
        if text.startswith("full"):
            raise ProcessionError(ErrorCode.QUERY_QUEUE_FULL, "Too many statements are waiting to be planned (2)")
        plan = SubPlan(fragment("0", "COORDINATOR_ONLY"), (SubPlan(fragment("1", "SOURCE")),))
        return PlannedStatement("SELECT", (), ReturnRows(()), subplan=plan, inputs=(f"lake.db.{session.user}",))


class Checker:
    name = "picky"
    vetoed = ""

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None: ...

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None: ...

    async def validate_fragment(self, fragment: SimplePlanFragment, session: Session, warn: WarningCollector) -> None:
        if fragment.id == "1":
            warn(PrestoWarning(3, "PERFORMANCE_WARNING", "slow"))
        if session.properties.get("veto") == fragment.id:
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, "Error from native plan checker: no")


@asynccontextmanager
async def served(
    validator: StatementValidator, settings: GatewaySettings | None = None, admit: Admit = as_it_is
) -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    prechecks = create_prechecks(validator, settings, admit=admit)
    app.router.routes[:0] = prechecks.quick_routes()
    app.include_router(prechecks.router())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x", headers=HEADERS) as client:
        yield client


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with served(StatementValidator(Planner(), PlanCheckers([Checker()])), SETTINGS) as client:
        yield client


async def test_a_good_statement(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/validate", content="SELECT 1")
    assert response.status_code == 200
    assert response.headers["x-procession-verdict"] == "accepted"
    body = response.json()
    assert body.pop("seconds") >= 0
    assert body == {
        "ok": True,
        "verdict": "accepted",
        "resourceGroupId": ["global"],
        "resourceGroupState": "CAN_RUN",
        "target": "lake",
        "queryType": "SELECT",
        "inputs": ["lake.db.ann"],
        "fragments": [
            {"id": "0", "verdict": "not_checked", "reason": "COORDINATOR_ONLY"},
            {"id": "1", "verdict": "accepted"},
        ],
        "warnings": [{"warningCode": {"code": 3, "name": "PERFORMANCE_WARNING"}, "message": "slow"}],
    }


async def test_a_statement_that_cannot_be_planned(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/validate", content="bad")
    assert (response.status_code, response.headers["x-procession-verdict"]) == (200, "refused")
    body = response.json()
    assert set(body) == {"ok", "verdict", "seconds", "target", "error"}
    assert (body["ok"], body["verdict"], body["target"]) == (False, "refused", "java")
    assert body["error"]["message"] == "line 1:15: Table t does not exist"
    assert body["error"]["errorName"] == "SYNTAX_ERROR"
    assert body["error"]["errorLocation"] == {"lineNumber": 1, "columnNumber": 15}


async def test_a_refused_fragment(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/validate", content="SELECT 1", headers={"X-Presto-Session": "veto=1"})
    assert response.status_code == 200
    body = response.json()
    assert body["ok"] is False
    assert body["fragments"][1]["verdict"] == "refused"
    assert body["fragments"][1]["error"] == body["error"]
    assert body["error"]["errorName"] == "NOT_SUPPORTED"


async def test_a_coordinator_that_cannot_say(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/validate", content="full")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.headers["x-procession-verdict"] == "undecided"
    assert response.json()["error"]["errorName"] == "QUERY_QUEUE_FULL"


async def test_bad_requests(client: httpx.AsyncClient) -> None:
    empty = await client.post("/v1/validate", content=" \n")
    assert (empty.status_code, empty.text) == (400, "SQL statement is empty")
    nobody = await client.post("/v1/validate", content="SELECT 1", headers={"X-Presto-User": ""})
    assert (nobody.status_code, nobody.text) == (400, "User must be set")
    long = await client.post("/v1/validate", content="x" * 101)
    assert (long.status_code, long.json()["verdict"]) == (200, "refused")
    assert long.json()["error"]["message"] == "Query text length (101) exceeds the maximum length (100)"
    assert (await client.post("/v1/validate", content="x" * 401)).status_code == 413


async def test_capability(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/validate")).json() == {
        "validate": True,
        "maxStatementLength": 100,
        "maxBatch": 5,
        "maxRequestsPerSecond": 200.0,
    }
    assert (await client.head("/v1/validate")).status_code == 200


@pytest.mark.parametrize(("sql", "status", "verdict"), [("SELECT+1", 200, "accepted"), ("bad", 403, "refused")])
@pytest.mark.parametrize("in_header", [False, True])
async def test_precheck_for_external_authorization(
    client: httpx.AsyncClient, sql: str, status: int, verdict: str, in_header: bool
) -> None:
    if in_header:
        response = await client.get("/v1/precheck", headers={"X-Procession-Statement": sql})
    else:
        response = await client.post("/v1/precheck", content=sql)
    assert response.status_code == status
    assert response.headers["x-procession-verdict"] == verdict
    assert response.headers["x-procession-target"] == ("lake" if status == 200 else "java")
    assert response.headers.get("x-procession-resource-group") == ("global" if status == 200 else None)
    assert response.content == b""


async def test_precheck_of_a_full_coordinator_and_of_nothing(client: httpx.AsyncClient) -> None:
    assert (await client.post("/v1/precheck", content="full")).status_code == 503
    assert (await client.get("/v1/precheck")).status_code == 403


async def test_a_proxy_that_decides_by_itself(client: httpx.AsyncClient) -> None:
    for sql in ("SELECT 1", "bad", "full"):
        response = await client.post("/v1/precheck?deny=false", content=sql)
        assert response.status_code == 200
    assert response.headers["x-procession-verdict"] == "undecided"
    assert "x-procession-target" not in response.headers


async def test_a_closed_queue_leaves_the_statement_undecided() -> None:
    closed = global_group(hard_concurrency_limit=0, max_queued=0)
    validator = StatementValidator(Planner(), PlanCheckers(), ResourceGroups(closed))
    async with served(validator) as client:
        response = await client.post("/v1/validate", content="SELECT 1")
        assert (response.status_code, response.json()["resourceGroupState"]) == (503, "FULL")
        assert response.json()["error"]["message"] == 'Too many queued queries for "global"'
        refused = await client.post("/v1/validate", content="bad")
        assert (refused.status_code, refused.json()["verdict"]) == (200, "refused")


async def test_a_coordinator_that_shuts_down() -> None:
    gone = ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down", retriable=True)
    async with served(StatementValidator(Planner(), PlanCheckers(), refusal=lambda: gone)) as client:
        response = await client.post("/v1/precheck", content="SELECT 1")
        assert (response.status_code, response.headers["x-procession-error"]) == (503, "SERVER_SHUTTING_DOWN")


async def test_too_many_prechecks() -> None:
    settings = GatewaySettings(rate=0.1, burst=2)
    async with served(StatementValidator(Planner(), PlanCheckers()), settings) as client:
        answers = [await client.post("/v1/validate", content="SELECT 1") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert 1 <= int(answers[2].headers["retry-after"]) <= 10
        assert (await client.post("/v1/precheck", content="SELECT 1")).status_code == 429
        assert (await client.post("/v1/routing-group", json={})).status_code == 429
        assert (await client.head("/v1/validate")).status_code == 200


NDJSON = {"Content-Type": "application/x-ndjson; charset=utf-8"}


async def test_a_batch_is_answered_line_by_line_in_order(client: httpx.AsyncClient) -> None:
    lines = [
        b'"SELECT 1"',
        b'{"id": {"n": 7}, "sql": "bad"}',
        b"",
        b'{"sql": "SELECT 1", "session": {"veto": "1"}, "id": "third"}',
        b'{"sql": 5}',
    ]
    response = await client.post("/v1/validate", content=b"\n".join(lines), headers=NDJSON)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/x-ndjson")
    answers = [json.loads(line) for line in response.text.splitlines()]
    assert [answer.get("verdict") for answer in answers] == ["accepted", "refused", "refused", None]
    assert [answer.get("id") for answer in answers] == [None, {"n": 7}, "third", None]
    assert answers[3] == {"line": 4, "problem": "Expected `str`, got `int` - at `$.sql`"}


async def test_what_a_line_of_a_batch_sets_has_to_be_allowed() -> None:
    def admit(session: Session) -> Session:
        if "veto" in session.properties:
            raise ProcessionError(ErrorCode.PERMISSION_DENIED, "Access Denied: Cannot set system session property veto")
        return replace(session, user=f"{session.user}, let in")

    validator = StatementValidator(Planner(), PlanCheckers([Checker()]))
    lines = b'{"sql": "SELECT 1", "session": {"veto": "0"}}\n{"sql": "SELECT 1", "session": {"other": "0"}}\n'
    async with served(validator, SETTINGS, admit) as client:
        response = await client.post("/v1/validate", content=lines, headers=NDJSON)
    refused, let_in = (json.loads(line) for line in response.text.splitlines())
    assert (refused["ok"], refused["error"]["errorName"]) == (False, "PERMISSION_DENIED")
    assert let_in["inputs"] == ["lake.db.ann, let in"]


async def test_a_batch_that_is_too_large(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/validate", content=b'"SELECT 1"\n' * 6, headers=NDJSON)
    assert (response.status_code, response.text) == (413, "A batch holds 5 statements at most")
    response = await client.post("/v1/validate", content=b"x" * 2001, headers=NDJSON)
    assert (response.status_code, response.text) == (413, "Request body exceeds 2000 bytes")


async def test_a_batch_waits_for_its_rate() -> None:
    settings = GatewaySettings(rate=20.0, burst=2)
    async with served(StatementValidator(Planner(), PlanCheckers()), settings) as client:
        start = monotonic()
        response = await client.post("/v1/validate", content=b'"SELECT 1"\n' * 6, headers=NDJSON)
        assert monotonic() - start > 0.15  # six and the request itself: two at once, then one each 50 ms
        assert [json.loads(line)["ok"] for line in response.text.splitlines()] == [True] * 6


async def test_a_time_zone_that_there_is_none_of(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/validate", content="SELECT 1", headers={"X-Presto-Time-Zone": "websocket"})
    assert (response.status_code, response.text) == (400, "Time zone not supported: websocket")

"""The gateway's routes over a planner and checkers that obey the statement."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.gateway.precheck import create_precheck_router
from coordinator.gateway.validator import StatementValidator
from coordinator.planner.planned_statement import PlannedStatement, ReturnRows
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


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    validator = StatementValidator(Planner(), PlanCheckers([Checker()]))
    app.include_router(create_precheck_router(validator, max_statement_length=100))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x", headers=HEADERS) as client:
        yield client


async def test_a_good_statement(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/validate", content="SELECT 1")
    assert response.status_code == 200
    assert response.headers["x-procession-verdict"] == "accepted"
    body = response.json()
    assert body.pop("seconds") >= 0
    assert body == {
        "ok": True,
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
    assert response.status_code == 422
    body = response.json()
    assert set(body) == {"ok", "seconds", "error"}
    assert body["error"]["message"] == "line 1:15: Table t does not exist"
    assert body["error"]["errorName"] == "SYNTAX_ERROR"
    assert body["error"]["errorLocation"] == {"lineNumber": 1, "columnNumber": 15}


async def test_a_refused_fragment(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/validate", content="SELECT 1", headers={"X-Presto-Session": "veto=1"})
    assert response.status_code == 422
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
    assert long.status_code == 422
    assert long.json()["error"]["message"] == "Query text length (101) exceeds the maximum length (100)"
    assert (await client.post("/v1/validate", content="x" * 401)).status_code == 413


async def test_capability(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/validate")).json() == {"validate": True, "maxStatementLength": 100}
    assert (await client.head("/v1/validate")).status_code == 200


@pytest.mark.parametrize(("sql", "status", "verdict"), [("SELECT+1", 204, "accepted"), ("bad", 403, "refused")])
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
    assert response.content == b""


async def test_precheck_of_a_full_coordinator_and_of_nothing(client: httpx.AsyncClient) -> None:
    assert (await client.post("/v1/precheck", content="full")).status_code == 503
    assert (await client.get("/v1/precheck")).status_code == 403

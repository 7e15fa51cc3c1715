"""What a refusal of native workers means, by mode, kind of statement, and whether there are native workers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from coordinator.checks.native import NativePlanChecker
from coordinator.checks.native_converter import native_converter
from coordinator.checks.native_settings import NativeSettings
from coordinator.checks.plan_checkers import FragmentVerdict, PlanCheckers
from shared.errors import ProcessionError
from shared.plan.expressions import Variable
from shared.plan.fragment import SimplePlanFragment, SubPlan
from shared.plan.nodes import CallDistributedProcedureNode, TableHandle, TableScanNode
from shared.spi.plan_converter import PlanFormat
from shared.spi.session import Session

pytestmark = pytest.mark.anyio
REFUSAL = {
    "type": "VeloxUserError",
    "message": "no such thing",
    "suppressed": [],
    "stack": [],
    "errorCode": {"code": 13, "name": "NOT_SUPPORTED", "type": "USER_ERROR", "retriable": False},
    "errorLocation": {"lineNumber": 3, "columnNumber": 7},
}
SAID = "line 3:7: Error from native plan checker: no such thing"
MakeFragment = Callable[..., SimplePlanFragment]


@pytest.fixture
def query(make_fragment: MakeFragment) -> SimplePlanFragment:
    return make_fragment(_scan())


@pytest.fixture
def rewrite(make_fragment: MakeFragment) -> SimplePlanFragment:
    scan, data = _scan(), Variable(name="data", type="varbinary")
    call = CallDistributedProcedureNode(
        id="1",
        source=scan,
        rowCountVariable=Variable(name="rows", type="bigint"),
        fragmentVariable=data,
        tableCommitContextVariable=Variable(name="context", type="varbinary"),
        columns=scan.outputVariables,
        columnNames=("x",),
        notNullColumnVariables=(),
    )
    return make_fragment(call)


def _scan() -> TableScanNode:
    column = Variable(name="x", type="bigint")
    table = TableHandle(connectorId="iceberg", connectorHandle={"tableName": "t"})
    return TableScanNode(id="0", table=table, outputVariables=(column,), assignments={column.key: {"name": "x"}})


async def judged(url: str, fragment: SimplePlanFragment, session: dict[str, str], **options: Any) -> FragmentVerdict:
    checkers = PlanCheckers([NativePlanChecker(NativeSettings(sidecar_uri=url, **options))])
    try:
        found = checkers.fragment_verdicts(SubPlan(fragment), Session(user="u", properties=session), verified=True)
        (verdict,) = [each async for each in found]
    finally:
        await checkers.aclose()
    return verdict


@pytest.fixture
def refusing(sidecar: Any) -> str:
    sidecar.answers = [(422, "application/json", json.dumps({"failures": [REFUSAL]}).encode())]
    return str(sidecar.url)


@pytest.mark.parametrize("session", [{}, {"native_execution_enabled": "false"}, {"native_plan_checker_mode": "warn"}])
async def test_a_query_for_spark_runs_with_a_warning(
    refusing: str, query: SimplePlanFragment, session: dict[str, str]
) -> None:
    verdict = await judged(refusing, query, session)
    assert verdict.error is None
    assert [(warning.name, warning.message) for warning in verdict.warnings] == [("NATIVE_PLAN_CHECKER_REFUSED", SAID)]
    assert verdict.native is not None
    assert verdict.native.verdict == "refused"


@pytest.mark.parametrize(
    ("session", "options"),
    [
        ({"native_execution_enabled": "true"}, {}),
        ({}, {"native_workers": True}),
        ({"native_plan_checker_mode": "veto"}, {}),
        ({"native_plan_checker_mode": "AUTO"}, {"mode": "warn", "native_workers": True}),
    ],
)
async def test_a_query_for_native_workers_is_vetoed(
    refusing: str, query: SimplePlanFragment, session: dict[str, str], options: dict[str, Any]
) -> None:
    verdict = await judged(refusing, query, session, **options)
    assert verdict.error is not None
    assert verdict.error.wire_message == SAID
    assert verdict.warnings == ()


@pytest.mark.parametrize("session", [{}, {"native_execution_enabled": "false"}])
async def test_a_procedure_is_vetoed_wherever_it_runs(
    refusing: str, rewrite: SimplePlanFragment, session: dict[str, str]
) -> None:
    checker = NativePlanChecker(NativeSettings(sidecar_uri=refusing))
    with pytest.raises(ProcessionError, match="no such thing"):
        await checker.validate_fragment(rewrite, Session(user="u", properties=session), print)
    await checker.aclose()
    assert (await judged(refusing, rewrite, session)).error is not None


@pytest.mark.parametrize("mode", ["auto", "veto", "warn", "log"])
async def test_the_native_verdict_is_told_whatever_the_mode(
    refusing: str, query: SimplePlanFragment, mode: str
) -> None:
    verdict = await judged(refusing, query, {"native_plan_checker_mode": mode})
    assert verdict.native is not None
    assert (verdict.native.verdict, verdict.native.vetoes) == ("refused", mode == "veto")
    assert verdict.native.error is not None
    assert verdict.native.error.wire_message == SAID


@pytest.mark.parametrize(
    ("session", "word"), [({}, "accepted"), ({"native_plan_checker_enabled": "false"}, "not_checked")]
)
async def test_other_native_verdicts(
    sidecar: Any, query: SimplePlanFragment, session: dict[str, str], word: str
) -> None:
    sidecar.answers = [(200, "application/json", b"{}")]
    verdict = await judged(sidecar.url, query, session)
    assert verdict.native is not None
    assert verdict.native.verdict == word


async def test_without_sidecar_nobody_knows(query: SimplePlanFragment) -> None:
    verdict = await judged("http://127.0.0.1:1", query, {"native_plan_checker_unavailable": "fail-open"})
    assert verdict.native is not None
    assert (verdict.native.verdict, verdict.error) == ("undecided", None)
    assert [warning.name for warning in verdict.warnings] == ["NATIVE_PLAN_CHECKER_UNAVAILABLE"]


@pytest.mark.parametrize(
    ("session", "options"),
    [({}, {}), ({"native_plan_checker_mode": "warn"}, {"native_workers": True}), ({}, {"unavailable": "fail-open"})],
)
async def test_without_sidecar_a_query_for_spark_runs_with_a_warning(
    query: SimplePlanFragment, session: dict[str, str], options: dict[str, Any]
) -> None:
    verdict = await judged("http://127.0.0.1:1", query, session, **options)
    assert verdict.error is None
    assert [warning.name for warning in verdict.warnings] == ["NATIVE_PLAN_CHECKER_UNAVAILABLE"]
    assert verdict.native is not None
    assert verdict.native.verdict == "undecided"


@pytest.mark.parametrize(
    ("session", "options"),
    [
        ({"native_execution_enabled": "true"}, {}),
        ({"native_plan_checker_mode": "veto"}, {}),
        ({}, {"unavailable": "fail-closed"}),
        ({"native_plan_checker_unavailable": "fail-closed"}, {"mode": "warn"}),
    ],
)
async def test_without_sidecar_a_query_fails_where_a_refusal_would_or_it_is_said(
    query: SimplePlanFragment, session: dict[str, str], options: dict[str, Any]
) -> None:
    verdict = await judged("http://127.0.0.1:1", query, session, **options)
    assert verdict.error is not None
    assert verdict.error.wire_message.startswith("I/O error getting native plan checker response")


async def test_without_sidecar_a_procedure_fails(rewrite: SimplePlanFragment) -> None:
    assert (await judged("http://127.0.0.1:1", rewrite, {})).error is not None
    opened = await judged("http://127.0.0.1:1", rewrite, {}, unavailable="fail-open")
    assert [warning.name for warning in opened.warnings] == ["NATIVE_PLAN_CHECKER_UNAVAILABLE"]


async def test_explain_native_asks_the_sidecar_of_the_checker(sidecar: Any, query: SimplePlanFragment) -> None:
    """Also where only the checker's own file names one."""
    sidecar.answers = [(200, "text/plain", b"-- TableScan")]
    checker = NativePlanChecker(NativeSettings(sidecar_uri=sidecar.url))
    elsewhere = {"native-plan-checker.sidecar-uri": "http://127.0.0.1:1"}
    for found in (native_converter([checker], elsewhere), native_converter([checker], {})):
        assert found is not None
        assert (await found.convert(query, PlanFormat.TEXT)).text == "-- TableScan"
        await found.aclose()
    without_checker = native_converter([], {"native-plan-checker.sidecar-uri": sidecar.url})
    assert without_checker is not None
    assert (await without_checker.convert(query, PlanFormat.TEXT)).text == "-- TableScan"
    await without_checker.aclose()
    await checker.aclose()
    assert native_converter([], {}) is None

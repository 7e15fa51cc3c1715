"""The native checker against scripted sidecars; verdicts compared with those of a real Presto coordinator."""

from __future__ import annotations

import gzip
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.checks.worker_form import why_not_checked, worker_form
from coordinator.vocabulary.trace_context import begin_tracing
from coordinator.vocabulary.traced_calls import TracedCalls, collecting
from shared.errors import ErrorCode, ErrorLocation, ProcessionError, WireErrorCode
from shared.plan.expressions import Variable
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import (
    CallDistributedProcedureNode,
    DistributedMaintenanceNode,
    ProjectNode,
    ValuesNode,
)
from shared.plan.traversal import walk
from shared.spi.session import Session
from tests.checks.native_checks import PLAN_ERROR, REFUSED_PORT, check, checker, refusal

pytestmark = pytest.mark.anyio

MakeFragment = Callable[..., SimplePlanFragment]
VERDICTS = Path(__file__).parent.parent / "data" / "sidecar_verdicts" / "verdicts.jsonl.gz"


def _verdicts() -> list[dict[str, Any]]:
    with gzip.open(VERDICTS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


# Presto refuses to read a failure without "suppressed" or with an unknown type of error; we pass on what it says.
LENIENT = {"422_no_suppressed": "NOT_SUPPORTED", "422_unknown_type": "NOT_SUPPORTED"}


@pytest.mark.parametrize("verdict", _verdicts(), ids=lambda verdict: verdict["case"])
async def test_verdicts_as_a_real_coordinator_reads_them(
    verdict: dict[str, Any], sidecar: Any, fragment: SimplePlanFragment, session: Session
) -> None:
    answer, error = verdict["answer"], verdict["error"]
    body = answer.get("body", '{"failures":[]}').encode()
    sidecar.answers = [(answer.get("status", 200), answer.get("type", "application/json"), body)]
    if error is None or error["errorName"] == "PAGE_TRANSPORT_ERROR":
        assert await check(checker(sidecar.url), fragment, session) == []
        return
    with pytest.raises(ProcessionError) as caught:
        await check(checker(sidecar.url), fragment, session)
    code = caught.value.code
    name = code.name
    if verdict["case"] in LENIENT:
        assert name == LENIENT[verdict["case"]]
        return
    assert (name, code.code, code.type) == (error["errorName"], error["errorCode"], error["errorType"])
    expected = error["message"]
    if expected.startswith("Invalid JSON bytes"):
        expected = (
            f"Invalid JSON bytes for PlanConversionResponse from native plan checker with code: {answer['status']}"
        )
    assert caught.value.message == expected


async def test_the_request_is_what_presto_sends(
    sidecar: Any, fragment: SimplePlanFragment, session: Session, captured: list[dict[str, Any]]
) -> None:
    await check(checker(sidecar.url), fragment, session)
    (request,) = sidecar.requests
    assert request.path == "/v1/velox/plan"
    assert request.headers["content-type"] == "application/json; charset=utf-8"
    assert "accept" not in request.headers
    assert json.loads(request.body) == next(e["body"] for e in captured if e["fragment"] is fragment)


def test_what_real_presto_withheld_is_withheld(captured: list[dict[str, Any]]) -> None:
    for entry in captured:
        if "checker" in entry["via"]:
            # real Presto sends fragments without any rows, too; nothing can go wrong in those
            assert why_not_checked(entry["fragment"]) in (None, "EMPTY")
        elif entry["skipped_by_real_checker"] is not None:
            assert why_not_checked(entry["fragment"]) == entry["skipped_by_real_checker"]


def test_writers_become_what_real_presto_sends(captured: list[dict[str, Any]]) -> None:
    """Fragments as planned ('dump') and as its checker sent them: ours from the former equals the latter."""
    sent = {(e["mode"], e["query"], e["body"]["id"]): e for e in captured if e["via"] == ["checker"]}
    compared = 0
    for entry in captured:
        other = sent.get((entry["mode"], entry["query"], entry["body"]["id"]))
        if entry["via"] != ["dump"] or other is None:
            continue
        ours, theirs = worker_form(entry["fragment"]), other["fragment"]
        for mine, real in zip(walk(ours.root), walk(theirs.root), strict=True):
            assert type(mine) is type(real)
            if isinstance(real, ProjectNode) and real.locality == "UNKNOWN":
                assert isinstance(mine, ProjectNode)
                assert dict(mine.assignments.assignments) == dict(real.assignments.assignments)
                compared += 1
    assert compared >= 10


def test_our_own_writers_have_a_worker_form(make_fragment: MakeFragment) -> None:
    rows, data = Variable(name="rows", type="bigint"), Variable(name="data", type="varbinary")
    values = ValuesNode(id="0", outputVariables=(rows,), rows=())
    call = CallDistributedProcedureNode(
        id="1",
        source=values,
        rowCountVariable=rows,
        fragmentVariable=data,
        tableCommitContextVariable=replace(data, name="context"),
        columns=(rows,),
        columnNames=("rows",),
        notNullColumnVariables=(),
    )
    rewritten = worker_form(make_fragment(call)).root
    assert isinstance(rewritten, ProjectNode)
    assert list(rewritten.assignments.assignments) == ["rows<bigint>", "data<varbinary>", "context<varbinary>"]
    maintenance = DistributedMaintenanceNode(id="1", procedureName="p", outputVariables=(rows,))
    assert worker_form(make_fragment(maintenance)).root == ValuesNode(id="1", outputVariables=(rows,), rows=())
    assert why_not_checked(make_fragment(values)) == "EMPTY"


async def test_a_traced_request_passes_its_span_on(
    sidecar: Any, fragment: SimplePlanFragment, session: Session
) -> None:
    calls = TracedCalls()
    begin_tracing("q1", f"00-{'a' * 32}-{'b' * 16}-01")
    with collecting(calls, "check"):
        await check(checker(sidecar.url), fragment, session)
    (call,) = calls.calls
    assert (call.name, call.verb, call.error) == ("sidecar.plan", "check", None)
    assert sidecar.requests[0].headers["traceparent"] == f"00-{'a' * 32}-{call.span_id}-01"


async def test_without_sidecar_it_fails_closed_by_default(fragment: SimplePlanFragment, session: Session) -> None:
    start = time.monotonic()
    with pytest.raises(ProcessionError) as caught:
        await check(checker(REFUSED_PORT, request_timeout=300.0), fragment, session)
    assert caught.value.code is ErrorCode.NATIVEPLANCHECKER_CONNECTION_ERROR
    assert "the sidecar cannot be reached" in caught.value.message
    assert "127.0.0.1" not in caught.value.message
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("by_session", [False, True])
async def test_fail_open_warns(by_session: bool, fragment: SimplePlanFragment, session: Session) -> None:
    if by_session:
        session = Session(user="u", properties={"native_plan_checker_unavailable": "fail-open"})
        native = checker(REFUSED_PORT)
    else:
        native = checker(REFUSED_PORT, unavailable="fail-open")
    (warning,) = await check(native, fragment, session)
    assert warning.name == "NATIVE_PLAN_CHECKER_UNAVAILABLE"
    assert warning.message.startswith("Not checked by native plan checker: I/O error")


async def test_fail_open_does_not_excuse_a_refusal(
    sidecar: Any, fragment: SimplePlanFragment, session: Session
) -> None:
    sidecar.answers = [refusal()]
    with pytest.raises(ProcessionError, match="Error from native plan checker: no such thing"):
        await check(checker(sidecar.url, unavailable="fail-open"), fragment, session)


async def test_modes(
    sidecar: Any, fragment: SimplePlanFragment, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    sidecar.answers = [refusal()]
    (warning,) = await check(checker(sidecar.url, mode="warn"), fragment, session)
    assert warning.message == "Error from native plan checker: no such thing"
    by_session = Session(user="u", query_id="q7", properties={"native_plan_checker_mode": "log"})
    with caplog.at_level(logging.WARNING):
        assert await check(checker(sidecar.url), fragment, by_session) == []
    assert "query q7 fragment 1: Error from native plan checker: no such thing" in caplog.text


async def test_switched_off(sidecar: Any, fragment: SimplePlanFragment, session: Session) -> None:
    sidecar.answers = [refusal()]
    assert await check(checker(sidecar.url, enabled=False), fragment, session) == []
    off = Session(user="u", properties={"native_plan_checker_enabled": "false"})
    assert await check(checker(sidecar.url), fragment, off) == []
    assert sidecar.requests == []


async def test_wrong_session_value(fragment: SimplePlanFragment) -> None:
    session = Session(user="u", properties={"native_plan_checker_mode": "loud"})
    with pytest.raises(ProcessionError) as caught:
        await check(checker(REFUSED_PORT), fragment, session)
    assert caught.value.code is ErrorCode.INVALID_SESSION_PROPERTY
    assert caught.value.message == "native_plan_checker_mode must be one of auto, veto, warn, log, got: loud"


async def test_unknown_error_codes_pass_through(sidecar: Any, fragment: SimplePlanFragment, session: Session) -> None:
    sidecar.answers = [refusal(errorCode=PLAN_ERROR | {"name": "ACME", "code": 99})]
    with pytest.raises(ProcessionError) as caught:
        await check(checker(sidecar.url), fragment, session)
    assert caught.value.code == WireErrorCode("ACME", 99, "USER_ERROR")


async def test_errors_are_located(sidecar: Any, fragment: SimplePlanFragment, session: Session) -> None:
    """By the sidecar's own word, by the node that it names, by a function that its text names; else not at all."""
    node = next(n for n in walk(fragment.root) if n.sourceLocation is not None)
    assert node.sourceLocation is not None
    at_node = ErrorLocation(node.sourceLocation.line, node.sourceLocation.column)
    calls = [
        (refusal(errorLocation={"lineNumber": 7, "columnNumber": 9}), ErrorLocation(7, 9)),
        (refusal(planNodeId=node.id), at_node),
        (refusal("Scalar function presto.default.$operator$multiply not registered"), None),
        (refusal("something else"), None),
    ]
    found = []
    for answer, _ in calls:
        sidecar.answers = [answer]
        with pytest.raises(ProcessionError) as caught:
            await check(checker(sidecar.url), fragment, session)
        found.append(caught.value.location)
    assert found[0] == calls[0][1]
    assert found[1] == at_node
    assert found[2] is not None
    assert found[3] is None

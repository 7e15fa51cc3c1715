"""As shipped: a query that only native workers cannot run is run, with a warning, and gateways are told both."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from coordinator.gateway.settings import GatewaySettings
from coordinator.gateway.validator import StatementVerdict
from coordinator.gateway.wire import headers, target
from tests.e2e.service import Service

GOOD = "SELECT name FROM nation WHERE nationkey = 3"
ONLY_VELOX_REFUSES = "SELECT nationkey,\n  CAST(name AS char(3)) FROM nation WHERE nationkey = 3"
HEADERS = {"X-Presto-User": "ann", "X-Presto-Catalog": "tpch", "X-Presto-Schema": "tiny"}
NATIVE_WORKERS = {"X-Presto-Session": "native_execution_enabled=true"}
MODES = [{"X-Presto-Session": f"native_plan_checker_mode={mode}"} for mode in ("auto", "warn", "log")]


@pytest.fixture(scope="module")
def service(quiet_service: Service) -> Service:
    return quiet_service


def ask(service: Service, path: str, text: str, **more: str) -> httpx.Response:
    return httpx.post(service.url + path, content=text, headers=HEADERS | more, timeout=60)


def run(service: Service, text: str) -> dict[str, Any]:
    """The last page, with all rows."""
    page = ask(service, "/v1/statement", text).json()
    rows = []
    while "nextUri" in page:
        page = httpx.get(page["nextUri"], timeout=60).json()
        rows += page.get("data", [])
    return {**page, "data": rows}


@pytest.mark.slow
def test_the_query_runs_with_a_warning_at_its_place(service: Service) -> None:
    page = run(service, ONLY_VELOX_REFUSES)
    assert page["data"] == [[3, "CAN"]], page.get("error")
    (warning,) = page["warnings"]
    assert warning["warningCode"]["name"] == "NATIVE_PLAN_CHECKER_REFUSED"
    assert warning["message"].startswith("line 2:3: Error from native plan checker: ")


@pytest.mark.slow
@pytest.mark.parametrize("session", [{}, *MODES])
def test_gateways_are_told_both(service: Service, session: dict[str, str]) -> None:
    answer = ask(service, "/v1/validate", ONLY_VELOX_REFUSES, **session)
    told = answer.json()
    assert (told["ok"], told["verdict"], told["nativeVerdict"]) == (True, "accepted", "refused")
    assert "error" not in told
    refused = [fragment for fragment in told["fragments"] if fragment["verdict"] == "refused"]
    assert refused
    for fragment in refused:
        assert fragment["error"]["errorLocation"] == {"lineNumber": 2, "columnNumber": 3}
    precheck = ask(service, "/v1/precheck", ONLY_VELOX_REFUSES, **session)
    for response in (answer, precheck):
        assert response.status_code == 200
        assert response.headers["x-procession-verdict"] == "accepted"
        assert response.headers["x-procession-native-verdict"] == "refused"


@pytest.mark.slow
def test_a_session_of_native_workers_is_refused(service: Service) -> None:
    told = ask(service, "/v1/validate", ONLY_VELOX_REFUSES, **NATIVE_WORKERS).json()
    assert (told["ok"], told["verdict"]) == (False, "refused")
    assert told["error"]["errorName"] == "NOT_SUPPORTED"
    assert ask(service, "/v1/precheck", ONLY_VELOX_REFUSES, **NATIVE_WORKERS).status_code == 403


@pytest.mark.slow
def test_what_native_workers_run(service: Service) -> None:
    told = ask(service, "/v1/validate", GOOD).json()
    assert (told["ok"], told["nativeVerdict"], told["warnings"]) == (True, "accepted", [])
    assert ask(service, "/v1/precheck", GOOD).headers["x-procession-native-verdict"] == "accepted"


@pytest.mark.parametrize(("configured", "expected"), [("spark", "spark"), ("", "lake")])
def test_a_target_for_what_native_workers_cannot_run(configured: str, expected: str) -> None:
    settings = GatewaySettings(accepted_target="lake", native_refused_target=configured)
    refused = StatementVerdict(ok=True, seconds=0.0, native="refused")
    assert headers(refused, settings)["X-Procession-Target"] == expected
    assert target(StatementVerdict(ok=True, seconds=0.0, native="accepted"), settings) == "lake"

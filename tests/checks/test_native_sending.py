"""How the native checker talks to sidecars: what is sent again, together, once or not at all."""

from __future__ import annotations

import time
from typing import Any

import pytest

from coordinator.checks.circuit_breaker import BreakerState, CircuitBreaker
from coordinator.checks.native import NativePlanChecker
from coordinator.checks.native_converter import NativePlanConverter
from coordinator.checks.native_settings import ENABLED_PROPERTY, NativeSettings
from coordinator.checks.plan_checkers import FragmentVerdict, PlanCheckers
from coordinator.checks.sidecar_client import SidecarClient
from coordinator.checks.worker_form import why_not_checked, worker_form
from shared.errors import ErrorCode, ProcessionError
from shared.plan.fragment import SimplePlanFragment, SubPlan, decode_fragment, encode_fragment
from shared.spi.plan_checker import NativeVerdict
from shared.spi.plan_converter import PlanFormat
from shared.spi.session import Session
from tests.checks.native_checks import check, checker, refusal

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("fault", ["reset", "truncate"])
async def test_lost_connections_are_retried(
    fault: str, sidecar: Any, fragment: SimplePlanFragment, session: Session
) -> None:
    sidecar.answers = [fault, fault, (200, "application/json", b"{}")]
    assert await check(checker(sidecar.url), fragment, session) == []
    assert len(sidecar.requests) == 3


async def test_retries_are_bounded(sidecar: Any, fragment: SimplePlanFragment, session: Session) -> None:
    sidecar.answers = ["reset"]
    with pytest.raises(ProcessionError) as caught:
        await check(checker(sidecar.url, max_retries=1), fragment, session)
    assert len(sidecar.requests) == 2
    assert caught.value.code is ErrorCode.NATIVEPLANCHECKER_CONNECTION_ERROR
    assert caught.value.message.startswith("I/O error getting native plan checker response: ")


@pytest.mark.parametrize("answer", [refusal(), (500, "text/html", b"<html>"), (503, "", b"")])
async def test_answers_are_never_retried(
    answer: Any, sidecar: Any, fragment: SimplePlanFragment, session: Session
) -> None:
    sidecar.answers = [answer]
    with pytest.raises(ProcessionError):
        await check(checker(sidecar.url), fragment, session)
    assert len(sidecar.requests) == 1


@pytest.mark.slow
async def test_a_hanging_sidecar_is_given_up_at_the_deadline(
    sidecar: Any, fragment: SimplePlanFragment, session: Session
) -> None:
    sidecar.answers = ["hang"]
    start = time.monotonic()
    with pytest.raises(ProcessionError, match=r"no answer within 2(\.0)? s"):
        await check(checker(sidecar.url, request_timeout=2.0), fragment, session)
    assert time.monotonic() - start < 30
    assert len(sidecar.requests) == 1


@pytest.mark.slow
async def test_fragments_of_a_plan_go_out_together_over_pooled_connections(
    sidecar: Any, captured: list[dict[str, Any]], session: Session
) -> None:
    fragments = [e["fragment"] for e in captured if e["mode"] == "native" and e["query"] == "q05"]
    assert len(fragments) > 4
    plan = SubPlan(fragments[0], tuple(SubPlan(f) for f in fragments[1:]))
    sidecar.delay = 0.5
    native = checker(sidecar.url)
    checkers = PlanCheckers([native])
    await checkers.validate_fragments(plan, session, print)
    assert sidecar.most_at_once == len(sidecar.requests)
    before = sidecar.connections
    native._cache.clear()
    await checkers.validate_fragments(plan, session, print)
    assert sidecar.connections == before
    await checkers.aclose()


async def test_accepted_fragments_are_remembered_refused_ones_are_not(
    sidecar: Any, fragment: SimplePlanFragment, session: Session
) -> None:
    sidecar.answers = [refusal(), (200, "application/json", b"{}")]
    native = checker(sidecar.url)
    with pytest.raises(ProcessionError):
        await native.validate_fragment(fragment, session, print)
    for _ in range(3):
        await native.validate_fragment(fragment, session, print)
    assert len(sidecar.requests) == 2
    stats = native.stats()
    assert (stats.sent, stats.cache_hits, stats.refused) == (2, 2, 1)
    await native.aclose()


async def test_a_known_verdict_is_given_without_reading_the_fragment(
    sidecar: Any, fragment: SimplePlanFragment, session: Session
) -> None:
    observed: list[tuple[str, str]] = []
    native = checker(sidecar.url)
    checkers = PlanCheckers([native], lambda phase, name, _: observed.append((phase, name)))
    encoded = encode_fragment(fragment)

    async def verdicts(of: SubPlan, asked: Session = session) -> list[FragmentVerdict]:
        return [each async for each in checkers.fragment_verdicts(of, asked, verified=True)]

    assert native.known_verdict(encoded, session) is None
    (first,) = await verdicts(SubPlan(fragment))
    (again,) = await verdicts(SubPlan.received(encoded, ()))
    assert (first.known, again.known is None) == (None, False)
    for each in (first, again):
        assert (each.fragment_id, each.not_checked, each.error, each.native) == (
            fragment.id,
            None,
            None,
            NativeVerdict("accepted"),
        )
    (off,) = await verdicts(SubPlan.received(encoded, ()), Session("u", properties={ENABLED_PROPERTY: "false"}))
    assert off.native == NativeVerdict("not_checked")
    with pytest.raises(ProcessionError) as told:
        await checkers.validate_fragments(
            SubPlan.received(encoded, ()), Session("u", properties={ENABLED_PROPERTY: "x"}), print, verified=True
        )
    assert told.value.code is ErrorCode.INVALID_SESSION_PROPERTY
    assert observed == [("FRAGMENT", "native")] * 4
    assert (native.stats().sent, native.stats().cache_hits, len(sidecar.requests)) == (1, 1, 1)
    await checkers.aclose()


async def test_the_breaker_spares_callers_a_dead_sidecar(
    sidecar: Any, fragment: SimplePlanFragment, session: Session
) -> None:
    sidecar.answers = [(503, "", b""), (503, "", b""), (200, "application/json", b"{}")]
    settings, now = NativeSettings(sidecar_uri=sidecar.url, mode="veto"), [0.0]
    native = NativePlanChecker(settings, SidecarClient(settings, CircuitBreaker(2, 5.0, now=lambda: now[0])))
    for _ in range(4):
        with pytest.raises(ProcessionError):
            await native.validate_fragment(fragment, session, print)
    assert len(sidecar.requests) == 2
    assert native.stats().breaker is BreakerState.OPEN
    now[0] = 5.1
    await native.validate_fragment(fragment, session, print)
    assert native.stats().breaker is BreakerState.CLOSED
    await native.aclose()


@pytest.mark.parametrize("plan_format", list(PlanFormat))
async def test_converter_negotiates_and_verifies_the_media_type(
    plan_format: PlanFormat, sidecar: Any, fragment: SimplePlanFragment
) -> None:
    converter = NativePlanConverter(NativeSettings(sidecar_uri=sidecar.url))
    sidecar.answers = [(200, f"{plan_format.value}; charset=utf-8", "-- Tablé".encode()), (200, "text/html", b"x")]
    converted = await converter.convert(fragment, plan_format)
    assert (converted.text, converted.failure) == ("-- Tablé", None)
    assert sidecar.requests[0].headers["accept"] == plan_format.value
    with pytest.raises(ProcessionError, match=f"Expected {plan_format.value} from native plan checker, got text/html"):
        await converter.convert(fragment, plan_format)
    await converter.aclose()


async def test_converter_shows_failures_in_place(
    sidecar: Any, fragment: SimplePlanFragment, captured: list[dict[str, Any]]
) -> None:
    converter = NativePlanConverter(NativeSettings(sidecar_uri=sidecar.url))
    sidecar.answers = [refusal(errorLocation={"lineNumber": 1, "columnNumber": 2})]
    converted = await converter.convert(fragment, PlanFormat.TEXT)
    assert converted.failure == "line 1:2: Error from native plan checker: no such thing"
    skipped = next(e["fragment"] for e in captured if e["skipped_by_real_checker"] == "COORDINATOR_ONLY")
    assert (await converter.convert(skipped, PlanFormat.TEXT)).skipped == "COORDINATOR_ONLY"
    assert len(sidecar.requests) == 1
    await converter.aclose()


async def test_what_is_sent_can_be_read_back(sidecar: Any, captured: list[dict[str, Any]], session: Session) -> None:
    entries = [e for e in captured if why_not_checked(e["fragment"]) is None][::40]
    native = checker(sidecar.url, cache_size=0)
    for entry in entries:
        await native.validate_fragment(entry["fragment"], session, print)
    assert [decode_fragment(r.body) for r in sidecar.requests] == [worker_form(e["fragment"]) for e in entries]
    await native.aclose()

"""The fragments of a real coordinator: each with the verdict that Presto C++ gives, and the compile check beside it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.messages import Format, PlanRequest

UNKNOWN_NODES = (".TableFinishNode", ".MetadataDeleteNode", "com.facebook.presto.sql.planner.plan.UpdateNode")
WRITERS = (".TableWriterNode", ".DeleteNode")
UNREADABLE_TYPE = re.compile(r'"(char\(\d+\)|time|time with time zone)"')


def expected_refusal(body: bytes) -> str | None:
    """By what the fragment holds: nodes that Presto C++ does not know, writers without a target, types of no Velox."""
    text = body.decode()
    tags = set(re.findall(r'"@type": ?"([^"]+)"', text))
    if tags & set(UNKNOWN_NODES):
        return "Unknown plan node type"
    if tags & set(WRITERS):
        return "Unsupported table writer handle"
    return "Failed to parse type" if UNREADABLE_TYPE.search(text) else None


@pytest.fixture(scope="module")
def verdict(velox: None) -> Callable[..., str | None]:
    from sidecar.velox import service

    def run(body: bytes, form: Format, *, check: bool) -> str | None:
        reply = service.answer(PlanRequest(body=body, format=form, compile_check=check))
        if reply.ok:
            assert reply.body
            return None
        failure = json.loads(reply.body)["failures"][0]
        assert failure["errorCode"]["name"] in ("GENERIC_INTERNAL_ERROR", "NOT_SUPPORTED", "GENERIC_USER_ERROR")
        return str(failure["message"])

    return run


@pytest.mark.slow
def test_conversion(captured: list[dict[str, Any]], verdict: Callable[..., str | None]) -> None:
    wrong = []
    for row in captured:
        expected, found = expected_refusal(row["body"]), verdict(row["body"], Format.NONE, check=False)
        if (expected is None) != (found is None) or (expected is not None and expected not in str(found)):
            wrong.append((row["mode"], row["query"], row["fragment"], expected, found))
    assert not wrong
    assert sum(expected_refusal(r["body"]) is None for r in captured) == 951


@pytest.mark.slow
def test_compile_check_finds_only_what_this_velox_lacks(
    captured: list[dict[str, Any]], verdict: Callable[..., str | None]
) -> None:
    found = {}
    for row in captured:
        if expected_refusal(row["body"]) is None:
            message = verdict(row["body"], Format.TEXT, check=True)
            if message is not None:
                found[row["query"], row["fragment"]] = message
    assert all("st_point" in m or "st_buffer" in m for m in found.values()), found
    assert {query for query, _ in found} == {"spatial_join"}


@pytest.mark.slow
def test_json_can_be_read_by_velox_again(captured: list[dict[str, Any]], velox: None) -> None:
    from sidecar.velox import pieces, runtime, service

    for row in captured[::7]:
        reply = service.answer(PlanRequest(body=row["body"], format=Format.JSON, compile_check=False))
        if reply.ok:
            plan = json.loads(reply.body)
            if pieces.depth(plan) <= 100:
                assert runtime.to_text(runtime.to_plan(plan))


@pytest.mark.slow
@pytest.mark.full("sidecar/test_memory: the same conversions by way of the service, whose processes must not grow")
def test_memory_does_not_grow(captured: list[dict[str, Any]], verdict: Callable[..., str | None]) -> None:
    def resident_mb() -> float:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6

    bodies = [r["body"] for r in captured if len(r["body"]) < 20_000]
    refused = bodies[0].replace(b"OutputNode", b"NoSuchNode")

    def rounds(count: int) -> None:
        for i in range(count):
            verdict(bodies[i % len(bodies)], Format.TEXT, check=True)
            verdict(refused, Format.TEXT, check=True)

    full = os.environ.get("PROCESSION_TEST_FULL") == "1"
    rounds(1000 if full else 500)
    before = resident_mb()
    rounds(10_000 if full else 1200)
    assert resident_mb() - before < (15 if full else 10)

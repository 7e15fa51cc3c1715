"""The running service: HTTP, negotiation, limits, processes that crash, hang and are orphaned."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz import paths
from sidecar.app import create_app
from sidecar.messages import CrashRequest, Format, PlanRequest
from sidecar.pool import BusyError, CrashedError, DeadlineError, Pool
from sidecar.settings import SidecarSettings
from tests.processes import command_of

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PLAN = "/v1/velox/plan"
HEADERS = {"content-type": "application/json"}


def start(*flags: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "sidecar", "--port", "0", *flags], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    url = re.search(r"http://\S+", line)
    assert url, line
    return process, url[0]


def finish(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    assert process.stdout is not None
    process.stdout.close()


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    process, url = start("--workers", "2", "--max-body-bytes", "1000000")
    with httpx.Client(base_url=url, timeout=60) as made:
        wait_until(lambda: made.get("/v1/info").json()["starting"] is False)
        yield made
    finish(process)


@pytest.fixture
def body(plans: SimpleNamespace) -> bytes:
    a = plans.var("a")
    return bytes(plans.fragment(plans.scan(a), [a]))


def failure(response: httpx.Response) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/json"
    (found,) = response.json()["failures"]
    assert {"type", "message", "suppressed", "stack", "errorCode"} <= found.keys()
    made: dict[str, Any] = found
    return made


@pytest.mark.parametrize(
    ("accept", "content_type", "beginning"),
    [
        ("text/plain", "text/plain; charset=utf-8", "-- PartitionedOutput[root.0][SINGLE Presto] -> a:BIGINT\n"),
        ("application/json", "application/json", "{"),
        ("text/vnd.graphviz", "text/vnd.graphviz; charset=utf-8", "digraph"),
        ("application/graphviz", "application/graphviz; charset=utf-8", "digraph"),
        ("application/json;q=0.2, text/plain;q=0.3", "text/plain; charset=utf-8", "--"),
        ("*/*", "application/json", "{"),
    ],
)
def test_forms(client: httpx.Client, body: bytes, accept: str, content_type: str, beginning: str) -> None:
    response = client.post(PLAN, content=body, headers=HEADERS | {"accept": accept})
    assert response.status_code == 200
    assert response.headers["content-type"] == content_type
    assert response.text.startswith(beginning)
    if content_type == "application/json":
        assert response.json()["name"] == "PartitionedOutputNode"


def test_a_presto_coordinator_gets_its_own_answer(client: httpx.Client, body: bytes) -> None:
    request = client.build_request("POST", PLAN, content=body)
    del request.headers["accept"]
    request.headers["content-type"] = "application/json;charset=utf-8"
    request.headers["CONTENT_TYPE"] = "APPLICATION_JSON"
    response = client.send(request)
    assert (response.status_code, response.json()) == (200, {"failures": []})


def test_refusal(client: httpx.Client, body: bytes) -> None:
    response = client.post(PLAN, content=body.replace(b".TableScanNode", b".NoSuchNode"), headers=HEADERS)
    assert response.status_code == 400
    assert failure(response)["message"] == "Unknown plan node type .NoSuchNode"


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({"accept": "image/png"}, b"{}", 406),
        ({"content-type": "text/csv"}, b"{}", 415),
        ({}, b"x" * 1_000_001, 413),
        ({}, b"{", 400),
        ({}, b"", 400),
        ({}, b"\xff", 400),
        ({}, b"[" * 500_000, 400),
    ],
)
def test_bad_requests(client: httpx.Client, headers: dict[str, str], content: bytes, status: int) -> None:
    response = client.post(PLAN, content=content, headers=HEADERS | headers)
    assert response.status_code == status
    assert failure(response)["message"]


def test_too_large_without_a_declared_length(client: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x" * 100_000

    assert failure(client.post(PLAN, content=chunks(), headers=HEADERS))["errorCode"]["name"] == "QUERY_TEXT_TOO_LARGE"


def test_other_paths_answer_with_failures_too(client: httpx.Client) -> None:
    assert client.get("/nope").status_code == 404
    assert failure(client.get("/nope"))
    assert client.get(PLAN).status_code == 405
    assert failure(client.get(PLAN))


def test_compile_check_by_request(client: httpx.Client, plans: SimpleNamespace) -> None:
    a = plans.var("a")
    unknown = plans.fragment(plans.project(plans.scan(a), x=plans.call("no_such", "bigint", a)))
    assert client.post(PLAN, content=unknown, headers=HEADERS).status_code == 400
    assert client.post(PLAN, params={"compileCheck": "false"}, content=unknown, headers=HEADERS).status_code == 200


def test_describing_endpoints(client: httpx.Client) -> None:
    info = client.get("/v1/info").json()
    assert info["coordinator"] is False and info["nodeVersion"]["version"]
    assert client.get("/v1/info/state").json() == "ACTIVE"
    assert client.head("/v1/status").status_code == 200
    assert client.get("/v1/status").json()["nodeId"] == info["nodeId"]
    assert client.get("/v1/info/stats").json()["nodeState"] == "ACTIVE"
    functions = client.get("/v1/functions").json()
    assert functions["abs"]
    assert client.get("/v1/functions/native").json() == functions
    assert client.get("/v1/functions/elsewhere").json() == {}


def test_session_properties_as_a_coordinator_reads_them(client: httpx.Client) -> None:
    """NativeSystemSessionPropertyProvider makes a typed property of each by its default's text."""
    parsers: dict[str, Callable[[str], object]] = {
        "boolean": ("true", "false").index,
        "tinyint": int,
        "integer": int,
        "bigint": int,
        "double": float,
        "varchar": str,
    }
    listed = client.get("/v1/properties/session").json()
    for found in listed:
        assert found.keys() == {"name", "description", "typeSignature", "defaultValue", "hidden"}
        parsers[found["typeSignature"]](found["defaultValue"])
    names = [found["name"] for found in listed]
    assert len(names) == len(set(names))
    assert {"native_join_spill_enabled", "native_max_spill_level", "native_query_trace_dir"} <= set(names)


def test_expressions(client: httpx.Client, plans: SimpleNamespace) -> None:
    three = plans.op("add", "bigint", plans.const(1), plans.const(2))
    content = json.dumps({"expressions": [three, plans.var("a")], "sessionProperties": {}}).encode()
    items = client.post("/v1/expressions", content=content, headers=HEADERS).json()
    assert [i["optimizedExpression"] for i in items] == [plans.const(3), plans.var("a")]
    for level in ("SERIALIZABLE", "OPTIMIZED", "EVALUATED"):  # all of Presto's
        headers = HEADERS | {"x-presto-expression-optimizer-level": level}
        assert client.post("/v1/expressions", content=content, headers=headers).json() == items
    headers = HEADERS | {"x-presto-expression-optimizer-level": "NONE"}
    assert client.post("/v1/expressions", content=content, headers=headers).status_code == 400


def test_many_at_once(client: httpx.Client, captured: list[dict[str, Any]]) -> None:
    bodies = [r["body"] for r in captured if len(r["body"]) < 8000][:120]
    with ThreadPoolExecutor(16) as threads:
        codes = list(threads.map(lambda b: client.post(PLAN, content=b, headers=HEADERS).status_code, bodies))
    assert set(codes) <= {200, 400}
    assert codes.count(200) > 90


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_fragments_are_answered(
    client: httpx.Client, captured: list[dict[str, Any]], data: st.DataObject
) -> None:
    small = [r["body"] for r in captured if len(r["body"]) < 6000]
    plan = json.loads(small[data.draw(st.integers(0, len(small) - 1))])
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = plan
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(place[key], dict | list) and data.draw(st.integers(0, 5)):
                place = place[key]
                continue
            action = data.draw(st.sampled_from(["delete", "replace", "double"]))
            if action == "delete":
                del place[key]
            elif action == "replace":
                place[key] = data.draw(json_values)
            elif isinstance(place, list):
                place.append(place[key])
            break
    response = client.post(PLAN, content=json.dumps(plan).encode(), headers=HEADERS)
    assert response.status_code in (200, 400)
    if response.status_code == 400:
        assert "Velox crashed" not in failure(response)["message"]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=json_values)
def test_any_json_is_answered(client: httpx.Client, value: Any) -> None:
    for path in (PLAN, "/v1/expressions"):
        response = client.post(path, content=json.dumps(value).encode(), headers=HEADERS)
        if value == [] and path == "/v1/expressions":
            assert (response.status_code, response.json()) == (200, []), "no expression is none to fold"
            continue
        assert response.status_code == 400
        assert failure(response)["message"]


def test_flags(body: bytes) -> None:
    process, url = start("--workers", "1", "--refusal-status", "422", "--no-compile-check")
    try:
        assert httpx.post(url + PLAN, content=b"{}", headers=HEADERS, timeout=60).status_code == 422
        listed = httpx.get(url + "/v1/properties/session", timeout=60).json()
        assert next(p for p in listed if "compile_check" in p["name"])["defaultValue"] == "false"
        busy = subprocess.run(
            [sys.executable, "-m", "sidecar", "--port", url.rsplit(":", 1)[1]],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert busy.returncode == 2
        assert busy.stderr.count("\n") == 1 and "Address already in use" in busy.stderr
    finally:
        finish(process)


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(p) for p in found.split()]


def gone(pid: int) -> bool:
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return True


def test_no_child_outlives_the_service() -> None:
    process, url = start("--workers", "2")
    wait_until(lambda: httpx.get(url + "/v1/info", timeout=60).json()["starting"] is False)
    children = children_of(process.pid)
    assert len(children) == 2
    process.kill()
    process.wait(60)
    assert process.stdout is not None
    process.stdout.close()
    wait_until(lambda: all(gone(c) for c in children))


def test_odd_paths_and_headers(client: httpx.Client) -> None:
    asked = paths.routes(create_app(SidecarSettings()))
    target = paths.Target(str(client.base_url), asked)
    assert list(paths.run(target, 20261123, range(120), Counter())) == []
    assert client.get("/v1/info").status_code == 200


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_pool_survives_crashes_and_hangs(body: bytes) -> None:
    pool = Pool(1, deadline_seconds=60, max_waiting=2)
    pool.start()
    try:
        request = PlanRequest(body=body, format=Format.TEXT, compile_check=True)
        await pool.wait_ready()
        assert (await pool.ask(request)).ok
        with pytest.raises(CrashedError, match="SIGSEGV"):
            await pool.ask(CrashRequest())
        assert (await pool.ask(request)).ok
        with pytest.raises(DeadlineError, match=r"0\.2 s"):
            await pool.ask(CrashRequest(hang=True), deadline_seconds=0.2)
        assert (await pool.ask(request)).ok
        assert (pool.crashes, pool.kills) == (1, 1)
        hanging = [asyncio.ensure_future(pool.ask(CrashRequest(hang=True), deadline_seconds=1.5)) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(BusyError, match="2 plan fragments are waiting"):
            await pool.ask(request)
        outcomes = await asyncio.gather(*hanging, return_exceptions=True)
        assert all(isinstance(o, BusyError | DeadlineError) for o in outcomes)
        assert (await pool.ask(request)).ok
    finally:
        await pool.stop()
    assert pool.processes == ()


@pytest.mark.anyio
async def test_processes_killed_while_idle_cost_no_request(body: bytes) -> None:
    pool = Pool(2, deadline_seconds=60)
    pool.start()
    try:
        await pool.wait_ready()
        request = PlanRequest(body=body, format=Format.TEXT, compile_check=True)
        for _ in range(3):
            assert (await pool.ask(request)).ok
            killed = set(pool.processes)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            # A loaded machine takes its time to end them; what dies with a request in hand is a crash of its own.
            for child in [child for child in pool._all if child.process.pid in killed]:
                while not child.is_dead:
                    await asyncio.sleep(0.02)
        assert (await pool.ask(request)).ok
        assert pool.crashes > 0
    finally:
        await pool.stop()


@pytest.mark.anyio
async def test_a_cancelled_request_does_not_poison_the_next(body: bytes) -> None:
    pool = Pool(1, deadline_seconds=60)
    pool.start()
    try:
        await pool.wait_ready()
        task = asyncio.ensure_future(pool.ask(CrashRequest(hang=True)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await pool.ask(PlanRequest(body=body, format=Format.TEXT, compile_check=True))).ok
    finally:
        await pool.stop()


@pytest.mark.anyio
async def test_stop_ends_every_process() -> None:
    pool = Pool(2)
    pool.start()
    await pool.wait_ready()
    processes = pool.processes
    assert processes
    await pool.stop()
    assert all(gone(p) for p in processes)


@pytest.mark.anyio
@pytest.mark.parametrize("pause", [0.0, 0.002, 0.01, 0.03])
async def test_a_stop_in_the_middle_of_a_start_or_of_an_end_leaves_no_process(pause: float) -> None:
    def converters() -> list[int]:
        alive = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
        return [child.pid for child in alive if "sidecar.velox.worker" in " ".join(command_of(child))]

    pool = Pool(2)
    pool.start()
    await asyncio.sleep(pause)
    await pool.stop()
    assert converters() == []
    pool = Pool(1)
    pool.start()
    await pool.wait_ready()
    with pytest.raises(DeadlineError):
        await pool.ask(CrashRequest(hang=True), deadline_seconds=0.01)
    await pool.stop()
    assert converters() == []

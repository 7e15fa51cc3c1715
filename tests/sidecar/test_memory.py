"""Conversions do not make the service grow: neither its converter processes nor the one that speaks HTTP."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
WARM, CONVERSIONS = (1_000, 10_000) if FULL else (500, 1_100)
ALLOWED_GROWTH = 1.05
"""Five per cent: allocators keep what the largest fragments needed; a leak of 1 KB a conversion is 9 MB of 150."""


@pytest.fixture
def service() -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "sidecar", "--port", "0", "--workers", "2"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found
    limit = time.monotonic() + 60
    while httpx.get(found[0] + "/v1/info", timeout=60).json()["starting"] or len(children(process.pid)) < 2:
        assert time.monotonic() < limit
        time.sleep(0.05)
    yield process, found[0]
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    process.stdout.close()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident(pid: int) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def distinct(captured: list[dict[str, Any]]) -> Iterator[bytes]:
    """The captured fragments without end, with other names every time, so that nothing is met twice."""
    for number, recorded in zip(count(), cycle(captured), strict=False):
        body: bytes = recorded["body"] if isinstance(recorded["body"], bytes) else recorded["body"].encode()
        yield re.sub(rb"(nation|order|cust|part|supp)key", rb"\g<1>key_%d" % number, body)


def convert(client: httpx.Client, body: bytes) -> int:
    return client.post("/v1/velox/plan", content=body, headers={"content-type": "application/json"}).status_code


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_conversions_leave_no_memory_behind(
    service: tuple[subprocess.Popen[str], str], captured: list[dict[str, Any]]
) -> None:
    process, url = service
    bodies, pids = distinct(captured), [process.pid, *children(process.pid)]
    with httpx.Client(base_url=url, timeout=60) as client, ThreadPoolExecutor(4) as threads:
        first = list(threads.map(lambda body: convert(client, body), islice(bodies, WARM)))
        before = [resident(pid) for pid in pids]
        rest = list(threads.map(lambda body: convert(client, body), islice(bodies, CONVERSIONS - WARM)))
        after = [resident(pid) for pid in pids]
    assert [process.pid, *children(process.pid)] == pids, "a process was replaced"
    assert set(first) | set(rest) <= {200, 400}
    assert rest.count(200) > len(rest) * 0.8
    print(f"resident MB of HTTP and converters: {[b >> 20 for b in before]} then {[b >> 20 for b in after]}")
    for old, new in zip(before, after, strict=True):
        assert new <= old * ALLOWED_GROWTH, (before, after)

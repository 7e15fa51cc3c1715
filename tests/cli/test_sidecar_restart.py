"""A sidecar of ``procession up`` that dies, or lives and says nothing, is there again under its address."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

pytestmark = pytest.mark.slow


def sidecar_of(pid: int) -> psutil.Process:
    """The sidecar itself, below its guard."""
    for child in psutil.Process(pid).children(recursive=True):
        command = child.cmdline()
        if "sidecar" in command and "--port" in command and not any(part.endswith("guard.py") for part in command):
            return child
    raise AssertionError("no sidecar")


def answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/v1/info", timeout=5).is_success
    except httpx.TransportError:
        return False


def test_a_dead_or_silent_sidecar_is_started_again(running: Any, etc: Path, tmp_path: Path) -> None:
    with (etc / "config.properties").open("a") as config:
        config.write("\nsidecar.watchdog-timeout=3s\n")
    log = tmp_path / "log"
    child = running("up", "--etc", str(etc), "--data-dir", str(tmp_path / "data"), log=log)
    try:
        for harm in (signal.SIGKILL, signal.SIGSTOP):
            first = sidecar_of(child.process.pid)
            address = "http://127.0.0.1:" + first.cmdline()[first.cmdline().index("--port") + 1]
            assert answers(address)
            first.send_signal(harm)
            first.wait(60)
            deadline = time.monotonic() + 60
            while not answers(address):
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)
            assert sidecar_of(child.process.pid).pid != first.pid
    finally:
        assert child.end(signal.SIGTERM) == 0, log.read_text()
    assert not answers(address)
    assert "Traceback" not in log.read_text()

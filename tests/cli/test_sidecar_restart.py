"""A sidecar of ``procession up`` that dies, or lives and says nothing, is there again under its address."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.processes import command_of

pytestmark = pytest.mark.slow


def sidecar_of(pid: int) -> psutil.Process:
    """The sidecar itself, below its guard."""
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it may end meanwhile
            command = command_of(child)
            if "sidecar" in command and "--port" in command and not any(part.endswith("guard.py") for part in command):
                return child
    raise AssertionError("no sidecar")


def answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/v1/info", timeout=60).is_success
    except httpx.TransportError:
        return False


def until(condition: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def comes_back_after(harm: signal.Signals, number: int, parent: int, log: Path) -> str:
    """The address of the sidecar, which is another process than before; ``number`` came back earlier."""
    # One that is suspended before its keeper has seen it answer is given a minute to start.
    until(lambda: log.read_text().count("the sidecar answers again") == number, log)
    first = sidecar_of(parent)
    address = "http://127.0.0.1:" + first.cmdline()[first.cmdline().index("--port") + 1]
    assert answers(address)
    first.send_signal(harm)
    until(lambda: not first.is_running(), log)
    until(lambda: answers(address), log)
    assert sidecar_of(parent).pid != first.pid
    return address


def test_a_dead_or_silent_sidecar_is_started_again(running: Any, etc: Path, tmp_path: Path) -> None:
    with (etc / "config.properties").open("a") as config:
        config.write("\nsidecar.watchdog-timeout=3s\n")
    log = tmp_path / "log"
    child = running("up", "--etc", str(etc), "--data-dir", str(tmp_path / "data"), log=log)
    try:
        for number, harm in enumerate((signal.SIGKILL, signal.SIGSTOP)):
            address = comes_back_after(harm, number, child.process.pid, log)
    finally:
        assert child.end(signal.SIGTERM) == 0, log.read_text()
    assert not answers(address)
    assert "Traceback" not in log.read_text()

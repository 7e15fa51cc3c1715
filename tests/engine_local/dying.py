"""Processes that die in the middle of a statement, however long the machine takes to begin it."""

from __future__ import annotations

import time

import psutil


def killed_at_work(child: psutil.Process) -> None:
    """Kill an idle process once it has computed for a tenth of a second. Blocks."""

    def spent() -> float:
        times = child.cpu_times()
        return float(times.user + times.system)

    before = spent()
    while spent() < before + 0.1:
        time.sleep(0.01)
    child.kill()
